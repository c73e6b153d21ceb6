//! Damaged indexes: every kind of file cut, flipped and emptied, and every command that reads the index. None crashes, none
//! answers something else, and the damage is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gbrain_core::defect::reports_panic;

use crate::support::{Home, demo_home};

/// Commands that read the index.
const READING: &[&[&str]] = &[
    &["query", "who owns the berth planner?", "--json", "--now", "2026-06-01T00:00:00Z"],
    &["query", "charge floor", "--mode", "graph", "--json", "--now", "2026-06-01T00:00:00Z"],
    &["search", "three plugs did not unlock", "--json", "--now", "2026-06-01T00:00:00Z"],
    &["links", "tickets/hrb-147", "--source", "wiki", "--json"],
    &["stats"],
    &["reembed", "--status"],
    &["doctor"],
    &["reindex", "--verify"],
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The files of the one index, the largest of each kind.
fn index_files(home: &Path) -> BTreeMap<String, PathBuf> {
    let index = fs::read_dir(home.join("index")).unwrap().next().unwrap().unwrap().path();
    let mut files: BTreeMap<String, (u64, PathBuf)> = BTreeMap::new();
    for entry in fs::read_dir(index).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let kind = match name.ends_with(".json") || name.starts_with('.') {
            true => name.clone(),
            false => name.rsplit('.').next().unwrap().to_owned(),
        };
        let length = fs::metadata(&path).unwrap().len();
        let known = files.entry(kind).or_insert((0, path.clone()));
        if length >= known.0 {
            *known = (length, path);
        }
    }
    files.into_iter().filter(|(_, (length, _))| *length > 0).map(|(k, (_, p))| (k, p)).collect()
}

/// The part of an answer that must not change: `served` contains times.
fn answer(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(mut value) => {
            if let Some(object) = value.as_object_mut() {
                object.remove("served");
            }
            value.to_string()
        }
        Err(_) => String::new(),
    }
}

#[test]
fn every_kind_of_damage_is_named_and_mended_by_every_command() {
    let home = demo_home(Home::sqlite());
    home.ok(&["delete", "wiki::concepts/two-lantern-rule"]);
    let expected: Vec<String> = READING.iter().map(|words| answer(&home.ok(words))).collect();
    let files = index_files(home.path());
    for kind in ["meta.json", "fast", "fieldnorm", "idx", "store", "term", "vec", ".managed.json"] {
        assert!(files.contains_key(kind), "{kind}: {files:?}");
    }
    for (kind, path) in &files {
        let healthy = fs::read(path).unwrap();
        let mut flipped = healthy.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x10;
        let damages =
            [("emptied", Vec::new()), ("cut", healthy[..middle].to_vec()), ("flipped", flipped)];
        for (at, (how, bytes)) in damages.into_iter().enumerate() {
            let damaged = Home::sqlite();
            copy(home.path(), damaged.path());
            let target = damaged.path().join(path.strip_prefix(home.path()).unwrap());
            // Each command is the first to meet some damage; the others meet what it left.
            fs::write(&target, bytes).unwrap();
            let first = (at + kind.len()) % READING.len();
            let order = (0..READING.len()).map(|n| (first + n) % READING.len());
            for (place, command) in order.enumerate() {
                let words = READING[command];
                let ran = damaged.run(words);
                let what = format!("{kind} {how}: {words:?}: {}", ran.stderr);
                assert!(!reports_panic(&ran.stderr), "{what}");
                if kind == "vec" && words.contains(&"--verify") && ran.code == Some(1) {
                    // Commands that need vectors compute them again; `--verify` only reports.
                    assert!(
                        ran.stdout.contains("its checksum does not match"),
                        "{what}{}",
                        ran.stdout
                    );
                    continue;
                }
                assert_eq!(ran.code, Some(0), "{what}{}", ran.stdout);
                assert_eq!(answer(&ran.stdout), expected[command], "{what}");
                let is_checked =
                    ["fast", "fieldnorm", "idx", "store", "term"].contains(&kind.as_str());
                if place == 0 && is_checked {
                    assert!(ran.stderr.contains("is damaged"), "{what}");
                }
            }
        }
    }
}

/// A failing disk changes bytes and leaves the times of a file alone: what is remembered of it says that it is well.
#[test]
fn verifying_finds_bytes_that_changed_without_a_trace() {
    let home = demo_home(Home::sqlite());
    home.ok(&["delete", "wiki::concepts/two-lantern-rule"]);
    home.ok(&["query", "who owns the berth planner?"]);
    for kind in ["fast", "fieldnorm", "idx", "store", "term", "vec"] {
        let path = index_files(home.path()).remove(kind).unwrap();
        let remembered = path.with_file_name("verified.json");
        // Files are remembered once they are old enough for their next change to have another time.
        std::thread::sleep(std::time::Duration::from_millis(150));
        home.ok(&["search", "plugs"]);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        forge_stamp(&remembered, &name, &path);
        let ran = home.run(&["reindex", "--verify"]);
        assert_eq!(ran.code, Some(1), "{kind}: {}{}", ran.stdout, ran.stderr);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains(&format!("{name}: its checksum does not match")), "{told}");
        // The next command that needs it makes it again.
        home.ok(&["query", "plugs"]);
        home.ok(&["reindex", "--verify"]);
    }
}

/// Damage that checksums were not compared for is found when it is read: the command that meets it says so or answers, none
/// crashes, and the next one finds a whole index.
#[test]
fn damage_that_left_no_trace_is_mended_once_it_is_read() {
    let query = ["query", "who owns the berth planner?", "--now", "2026-06-01T00:00:00Z"];
    let healthy = demo_home(Home::sqlite());
    healthy.ok(&query);
    std::thread::sleep(std::time::Duration::from_millis(150));
    healthy.ok(&query);
    for kind in ["fast", "fieldnorm", "idx", "store", "term", "vec"] {
        for step in [7, 61, 353] {
            let home = Home::sqlite();
            copy(healthy.path(), home.path());
            let path = index_files(home.path()).remove(kind).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len();
            for at in (0..40).map(|n| (n * step * 13) % end) {
                bytes[at] ^= 1 << (at % 8);
            }
            fs::write(&path, bytes).unwrap();
            forge_stamps(&path.with_file_name("verified.json"), &path);
            let first = home.run(&query);
            let what = format!("{kind} {name} {step}: {}", first.stderr);
            assert!(!reports_panic(&first.stderr), "{what}");
            assert!(matches!(first.code, Some(0 | 2)), "{what}");
            let second = home.run(&query);
            assert!(!reports_panic(&second.stderr), "{what}: {}", second.stderr);
            if first.stderr.contains("damaged") {
                assert_eq!(second.code, Some(0), "{what}: {}", second.stderr);
                assert_eq!(home.run(&["reindex", "--verify"]).code, Some(0), "{what}");
            }
        }
    }
}

/// Writes down that every file beside one was compared as it is now: copies have other inodes and times.
fn forge_stamps(remembered: &Path, path: &Path) {
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(remembered).unwrap();
        let known: serde_json::Value = serde_json::from_str(&text).unwrap();
        if known["files"].get(&name).is_some() {
            forge_stamp(remembered, &name, &file);
        }
    }
}

/// Writes down that a file was compared as it is now.
fn forge_stamp(remembered: &Path, name: &str, path: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let text = fs::read_to_string(remembered).unwrap();
    let mut known: serde_json::Value = serde_json::from_str(&text).unwrap();
    let meta = fs::metadata(path).unwrap();
    known["files"][name] = serde_json::json!({
        "length": meta.len(),
        "inode": meta.ino(),
        "modified": [meta.mtime(), meta.mtime_nsec()],
        "changed": [meta.ctime(), meta.ctime_nsec()],
    });
    fs::write(remembered, known.to_string()).unwrap();
}
