//! Files of the home: for their owner only, whatever the umask and the rights of the directory; and read where nothing
//! can be written.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::capture::capturing;
use crate::serve::client::{Call, Server, token};
use crate::support::{Home, Ran, demo_home, find};

/// Everything in a directory, with its mode.
fn modes(dir: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            all.extend(modes(&path));
        }
        all.push((path, mode));
    }
    all
}

fn open_to_others(home: &Home) -> Vec<(PathBuf, u32)> {
    modes(home.path()).into_iter().filter(|(_, mode)| mode & 0o077 != 0).collect()
}

/// The command of a home, run with an umask that takes no right away.
fn with_open_umask(home: &Home, args: &[&str]) -> Command {
    let plain = home.command(args);
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(plain.get_program());
    command.args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null());
    command
}

#[test]
fn everything_in_a_home_that_others_may_read_is_for_its_owner_only() {
    for home in Home::both() {
        let home = capturing(home);
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        // The one file that this test has made itself.
        let config = home.path().join("config.json");
        fs::set_permissions(config, Permissions::from_mode(0o600)).unwrap();
        let run = |args: &[&str]| {
            let ran = Ran::of(with_open_umask(&home, args).output().unwrap());
            assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        };
        let wiki = crate::support::demo("wiki");
        run(&["import", wiki.to_str().unwrap(), "--source", "wiki"]);
        run(&["query", "who owns the berth planner?"]);
        run(&[
            "eval",
            "export",
            "--output",
            home.path().join("runs/export.ndjson").to_str().unwrap(),
        ]);
        run(&["purge", "wiki::concepts/two-lantern-rule", "--yes"]);
        run(&["doctor", "--deep"]);
        let server = Server::of(with_open_umask(&home, &["serve"]), &[]);
        let put = Call::json("PUT", "/v1/pages/made", &json!({ "content": "Made." }));
        assert_eq!(server.send(&put).status, 200);
        let query = Call::json("POST", "/v1/query", &json!({ "query": "made" }));
        assert_eq!(server.send(&query).status, 200);
        // While it runs: the database's log, locks and what waits.
        let written = modes(home.path()).len();
        assert!(written > 20, "{written}");
        assert_eq!(open_to_others(&home), []);
        server.stop();
        assert_eq!(open_to_others(&home), []);
    }
}

#[test]
fn doctor_repairs_the_whole_home() {
    let home = demo_home(Home::sqlite());
    token(&home, "read");
    for (path, _) in modes(home.path()) {
        let mode = if path.is_dir() { 0o777 } else { 0o664 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().join("notes.md");
    fs::write(&elsewhere, "").unwrap();
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.path().join("link")).unwrap();
    assert!(open_to_others(&home).len() > 20);
    let check = |args: &[&str]| {
        let report = home.json(args);
        find(&report["checks"], "name", "permissions").clone()
    };
    let found = check(&["doctor"]);
    assert_eq!(found["status"], "warn", "{found}");
    assert!(found["remedy"].as_str().unwrap().contains("doctor --fix"), "{found}");
    assert_eq!(check(&["doctor", "--fix"])["status"], "ok");
    let is_link = |(path, _): &(PathBuf, u32)| path.ends_with("link");
    let left: Vec<_> = open_to_others(&home).into_iter().filter(|one| !is_link(one)).collect();
    assert_eq!(left, []);
    assert_eq!(fs::metadata(home.path()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&elsewhere).unwrap().mode() & 0o777, 0o644, "not the home's");
    assert_eq!(check(&["doctor"])["status"], "ok");
}

/// A user who is not root: root may write everywhere.
const NOBODY: u32 = 65_534;

/// Makes a home that can't be written to, and gives the command of a user who may read it.
fn read_only(home: &Home) -> impl Fn(&[&str]) -> Ran + '_ {
    let is_root = fs::metadata(home.path()).unwrap().uid() == 0;
    let everything = modes(home.path()).into_iter().map(|(path, _)| path);
    for path in everything.chain([home.path().to_owned()]) {
        if is_root {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mode = if path.is_dir() { 0o500 } else { 0o400 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    move |args| {
        let mut command = home.command(args);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        Ran::of(command.output().unwrap())
    }
}

/// Lets the home be removed.
fn open_up(home: &Home) {
    let dirs: Vec<_> = modes(home.path()).into_iter().filter(|(path, _)| path.is_dir()).collect();
    for path in dirs.into_iter().map(|(path, _)| path).chain([home.path().to_owned()]) {
        fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    }
}

const READING: &[&[&str]] = &[
    &["search", "three plugs did not unlock", "--json", "--now", "2026-06-01T00:00:00Z"],
    &["query", "who owns the berth planner?", "--json", "--now", "2026-06-01T00:00:00Z"],
    &["get", "wiki::tickets/hrb-147"],
    &["list", "--json"],
    &["links", "tickets/hrb-147", "--source", "wiki", "--json"],
    &["history", "wiki::tickets/hrb-147"],
];

fn hits(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(mut value) => {
            value.as_object_mut().map(|object| object.remove("served"));
            value.to_string()
        }
        Err(_) => text.to_owned(),
    }
}

#[test]
fn a_home_that_cannot_be_written_to_is_read() {
    let home = demo_home(Home::sqlite());
    let expected: Vec<String> = READING.iter().map(|args| hits(&home.ok(args))).collect();
    let run = read_only(&home);
    for (args, expected) in READING.iter().zip(&expected) {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(hits(&ran.stdout), *expected, "{args:?}");
    }
    run(&["delete", "wiki::tickets/hrb-147"]).exits(2).stderr_has("read-only");
    open_up(&home);
}

#[test]
fn a_home_without_an_index_that_cannot_be_written_to_says_what_it_does() {
    let home = demo_home(Home::sqlite());
    let expected: Vec<String> = READING.iter().map(|args| hits(&home.ok(args))).collect();
    fs::remove_dir_all(home.path().join("index")).unwrap();
    let run = read_only(&home);
    for (args, expected) in READING.iter().zip(&expected) {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(hits(&ran.stdout), *expected, "{args:?}");
    }
    let told = run(READING[0]).stderr;
    assert!(told.contains("in-memory index for this process only"), "{told}");
    open_up(&home);
}

#[test]
fn an_index_that_is_behind_and_cannot_be_written_says_so() {
    let home = demo_home(Home::sqlite());
    home.ok(&["search", "plugs"]);
    // The store is ahead: the index is put back as it was before the last write.
    let (index, kept) = (home.path().join("index"), home.path().join("kept"));
    let copied = Command::new("cp").arg("-a").arg(&index).arg(&kept).status().unwrap();
    assert!(copied.success());
    home.put("late", "A quenelle.");
    home.ok(&["search", "quenelle"]);
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&kept, &index).unwrap();
    let run = read_only(&home);
    let ran = run(&["search", "plugs", "--json"]).exits(0);
    let answer: serde_json::Value = ran.json();
    assert_eq!(answer["served"]["behind"], json!(1), "{answer}");
    let degraded = json!({ "stage": "index", "reason": "not_writable" });
    assert!(answer["degraded"].as_array().unwrap().contains(&degraded), "{answer}");
    open_up(&home);
}
