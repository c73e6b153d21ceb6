//! Every command, its output, its errors and its exit codes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use gbrain_core::defect::reports_panic;

use crate::support::{Home, demo, demo_home, wait_until};

#[test]
fn init_makes_a_private_home_and_changes_nothing_the_second_time() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::sqlite();
    home.ok(&["init"]);
    let config = fs::read_to_string(home.path().join("config.json")).unwrap();
    assert!(config.contains("\"format\": \"gbrain/1\""), "{config}");
    let mode =
        |name: &str| fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("config.json"), mode("brain.db")), (0o600, 0o600));
    let before = home.json(&["init"])["store_id"].clone();
    assert_eq!(home.json(&["init"])["store_id"], before);
    assert_eq!(fs::read_to_string(home.path().join("config.json")).unwrap(), config);
}

#[test]
fn a_page_lives_through_versions_deletion_and_return() {
    for home in Home::both() {
        assert_eq!(home.put("people/ada", "# Ada\n\nfirst text").code, Some(0));
        assert_eq!(
            home.put("people/ada", "# Ada\n\nsecond text").stdout,
            "default::people/ada changed (version 2)\n"
        );
        assert_eq!(
            home.put("people/ada", "# Ada\n\nsecond text").stdout,
            "default::people/ada unchanged (version 2)\n"
        );
        assert_eq!(home.ok(&["get", "people/ada"]), "# Ada\n\nsecond text");
        assert_eq!(home.ok(&["get", "people/ada", "--version", "1"]), "# Ada\n\nfirst text");
        assert_eq!(home.hits(&["search", "second"]), ["default::people/ada"]);
        home.ok(&["delete", "people/ada"]);
        assert_eq!(home.run(&["get", "people/ada"]).code, Some(2));
        assert!(home.hits(&["search", "second"]).is_empty());
        home.ok(&["restore", "people/ada"]);
        assert_eq!(home.hits(&["search", "second"]), ["default::people/ada"]);
        let history = home.json(&["history", "people/ada"]);
        let ops: Vec<_> = history["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["op"].as_str().unwrap())
            .collect();
        assert_eq!(ops, ["write", "write", "delete", "restore"]);
    }
}

#[test]
fn purge_erases_from_every_file_of_the_home() {
    let home = Home::sqlite();
    home.put("notes/secret", "the marker is xyzzyplugh");
    home.put("notes/other", "something else");
    assert_eq!(home.hits(&["search", "xyzzyplugh"]), ["default::notes/secret"]);
    home.run(&["purge", "notes/secret"]).exits(2).stderr_has("--yes");
    home.ok(&["purge", "notes/secret", "--yes"]);
    assert!(home.hits(&["search", "xyzzyplugh"]).is_empty());
    assert_eq!(home.run(&["history", "notes/secret"]).code, Some(2));
    for entry in walk(home.path()) {
        let bytes = fs::read(&entry).unwrap();
        let found = bytes.windows(10).any(|window| window == b"xyzzyplugh");
        assert!(!found, "{} still holds the text", entry.display());
    }
    home.ok(&["reindex", "--verify"]);
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn import_tells_what_it_did_and_one_bad_file_stops_nothing() {
    let home = Home::sqlite();
    let notes = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(notes.path().join(name), bytes).unwrap();
    write("a.md", b"# A\n\nalpha");
    write("b.md", b"# B\n\nbeta");
    write("bad.md", b"caf\xe9");
    write("broken.md", b"---\ntitle: [\n---\nx");
    write("empty.md", b"  \n");
    write("cut.json", b"{\"turns\": [");
    write("a.txt", b"takes the slug of a.md");
    write("photo.png", b"\x89PNG");
    let path = notes.path().to_str().unwrap();
    let ran = home.run(&["import", path, "--json"]).exits(2);
    let summary: serde_json::Value = ran.json();
    assert_eq!((summary["added"].as_u64(), summary["unchanged"].as_u64()), (Some(2), Some(0)));
    let failed: Vec<_> = summary["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(failed.len(), 5, "{failed:?}");
    let reasons = summary["failed"].to_string();
    assert!(reasons.contains("not valid UTF-8 at byte 3"), "{reasons}");
    assert!(reasons.contains("already taken by"), "{reasons}");
    for name in ["bad.md", "broken.md", "empty.md", "cut.json", "a.txt"] {
        fs::remove_file(notes.path().join(name)).unwrap();
    }
    assert_eq!(
        home.ok(&["import", path]),
        "0 added, 0 changed, 2 unchanged, 0 deleted, 0 failed\n"
    );
    write("b.md", b"# B\n\nbeta two");
    fs::remove_file(notes.path().join("a.md")).unwrap();
    assert_eq!(
        home.ok(&["import", path]),
        "0 added, 1 changed, 0 unchanged, 1 deleted, 0 failed\n"
    );
    assert!(home.hits(&["search", "alpha"]).is_empty());
}

#[test]
fn an_unchanged_import_writes_nothing() {
    let home = demo_home(Home::sqlite());
    let before = home.json(&["stats"]);
    let database = fs::read(home.path().join("brain.db")).unwrap();
    home.ok(&["import", demo("wiki").to_str().unwrap(), "--source", "wiki"]);
    assert_eq!(home.json(&["stats"])["generation"], before["generation"]);
    assert!(
        fs::read(home.path().join("brain.db")).unwrap() == database,
        "the database file changed"
    );
}

#[test]
fn a_directory_that_lost_everything_does_not_empty_the_brain() {
    let home = Home::sqlite();
    let notes = tempfile::tempdir().unwrap();
    fs::write(notes.path().join("a.md"), "alpha").unwrap();
    let path = notes.path().to_str().unwrap();
    home.ok(&["import", path]);
    fs::remove_file(notes.path().join("a.md")).unwrap();
    home.run(&["import", path]).exits(2).stderr_has("--allow-empty");
    assert_eq!(home.hits(&["search", "alpha"]), ["default::a"]);
    home.ok(&["import", path, "--allow-empty"]);
    assert!(home.hits(&["search", "alpha"]).is_empty());
}

#[test]
fn import_watches() {
    let home = Home::sqlite();
    let notes = tempfile::tempdir().unwrap();
    fs::write(notes.path().join("a.md"), "alpha").unwrap();
    let mut child = home
        .command(&["import", notes.path().to_str().unwrap(), "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
    let ready = talk.next().unwrap().unwrap();
    assert!(ready.contains("watching"), "{ready}");
    fs::write(notes.path().join("b.md"), "bravo").unwrap();
    wait_until("the new file is imported", || !home.hits(&["search", "bravo"]).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn mistakes_get_exit_2_and_a_remedy() {
    let home = Home::sqlite();
    let check = |args: &[&str], expected: &str| {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert!(!reports_panic(&ran.stderr), "{}", ran.stderr);
    };
    home.put("people/ada", "Ada");
    check(&["get", "people/adda"], "did you mean `default::people/ada`?");
    check(&["get", "../etc/passwd"], "slug");
    check(&["import", "/no/such/place"], "No such file");
    check(&["search", "x", "--limit", "0"], "--limit");
    check(&["search", "x", "--since", "soon"], "--since");
    check(&["search", "x", "--source", "No Such"], "source");
    check(&["config", "set", "search.pol", "1"], "pool");
    check(&["config", "set", "search.pool", "NaN"], "number from");
    check(&["config", "set", "eval.capture", "true"], "\"eval\": { \"capture\": true }");
    check(&["--workspace", "nobody", "search", "x"], "nobody");
    check(&["workspaces", "remove", "default", "--yes"], "default");
    check(&["frobnicate"], "unrecognized subcommand");
    let error: serde_json::Value =
        serde_json::from_str(&home.run(&["get", "nothing", "--json"]).stdout).unwrap();
    assert_eq!(error["error"]["kind"], "not_found");
}

#[test]
fn settings_live_in_the_database_and_change_answers() {
    let home = Home::sqlite();
    home.put("a", "alpha beta");
    home.ok(&["config", "set", "search.cut_ratio", "0.5"]);
    assert_eq!(home.json(&["config", "get", "search.cut_ratio"])["value"], "0.5");
    let hash = |home: &Home| home.json(&["query", "alpha"])["request"]["settings_hash"].clone();
    let changed = hash(&home);
    home.ok(&["config", "unset", "search.cut_ratio"]);
    assert_ne!(hash(&home), changed);
}

#[test]
fn a_foreign_database_is_never_touched() {
    let home = Home::sqlite();
    home.write("brain.db", "this is not a database, it is a diary");
    home.run(&["search", "x"]).exits(2).stderr_has("brain.db");
    assert_eq!(
        fs::read_to_string(home.path().join("brain.db")).unwrap(),
        "this is not a database, it is a diary"
    );
}

#[test]
fn workspaces_do_not_see_each_other() {
    for home in Home::both() {
        home.ok(&["workspaces", "add", "team-a"]);
        home.put("notes/x", "the quick otter");
        let mut other = home.command(&["--workspace", "team-a", "search", "otter", "--json"]);
        let answer: serde_json::Value =
            serde_json::from_slice(&other.output().unwrap().stdout).unwrap();
        assert_eq!(answer["hits"].as_array().unwrap().len(), 0);
        assert_eq!(home.hits(&["search", "otter"]), ["default::notes/x"]);
        home.ok(&["workspaces", "remove", "team-a", "--yes"]);
        assert_eq!(home.run(&["--workspace", "team-a", "stats"]).code, Some(2));
    }
}

#[test]
fn the_index_may_vanish_or_break_at_any_time() {
    let home = demo_home(Home::sqlite());
    let before = home.hits(&["search", "plug gateway"]);
    fs::remove_dir_all(home.path().join("index")).unwrap();
    assert_eq!(home.hits(&["search", "plug gateway"]), before);
    for file in walk(&home.path().join("index")) {
        if file.file_name().unwrap() == "meta.json" {
            fs::write(&file, "{ not json").unwrap();
        }
    }
    assert_eq!(home.hits(&["search", "plug gateway"]), before);
    home.ok(&["reindex", "--verify"]);
}

#[test]
fn verify_finds_what_was_tampered_with() {
    let home = demo_home(Home::sqlite());
    home.ok(&["reindex", "--verify"]);
    let database = home.path().join("brain.db");
    let changed = fs::read(&database).unwrap();
    let marker = b"a plug must always fail unlocked";
    let at = changed
        .windows(marker.len())
        .position(|window| window == marker)
        .expect("the text is in the file");
    let mut changed = changed;
    changed[at] = b'A';
    fs::write(&database, changed).unwrap();
    home.run(&["reindex", "--verify"]).exits(1);
}

#[test]
fn the_demo_runs_whole() {
    let home = Home::sqlite();
    let dir = home.path().join("demo");
    let shown = home.ok(&["demo", "--full", "--dir", dir.to_str().unwrap()]);
    assert!(shown.contains("80 added"), "{shown}");
    assert!(shown.contains("clean: checked 101 pages"), "{shown}");
}
