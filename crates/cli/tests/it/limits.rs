//! A full disk, a limit on files or connections, and a role without row-level security: each is named, with its remedy.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use gbrain_testkit::served::Served;

use crate::prompts::Library;
use crate::support::{Home, Ran, demo_home, find};

/// The signal that ends a process which writes a larger file than it may.
const FILE_TOO_LARGE: i32 = 25;

/// A shell that limits the size of files to so many blocks of 512 bytes, and then becomes the command. With `signal`
/// the kernel ends a process that writes more; without, the write fails.
fn with_file_limit(command: &Command, blocks: usize, signal: bool) -> Command {
    let mut shell = Command::new("sh");
    let trap = if signal { "" } else { "trap '' XFSZ; " };
    shell.args(["-c", &format!("{trap}ulimit -c 0; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        shell.current_dir(dir);
    }
    shell
}

#[test]
fn a_database_file_that_cant_grow_is_not_called_unreachable() {
    let home = demo_home(Home::sqlite());
    let text = "word ".repeat(100_000);
    let file = home.write("long.md", text);
    let import = home.command(&["import", &file]);
    let ran = Ran::of(with_file_limit(&import, 400, false).output().unwrap())
        .exits(2)
        .stderr_has("ulimit -f");
    assert!(!ran.stderr.contains("check that it runs"), "{}", ran.stderr);
    home.ok(&["import", &file]);
}

#[test]
fn an_index_that_has_no_room_says_so_and_not_to_make_it_again() {
    let home = demo_home(Home::sqlite());
    let ran = Ran::of(with_file_limit(&home.command(&["reindex"]), 80, false).output().unwrap())
        .exits(2)
        .stderr_has("`ulimit -f`");
    assert!(!ran.stderr.contains("can be made again"), "{}", ran.stderr);
    home.ok(&["reindex"]);
    home.ok(&["reindex", "--verify"]);
}

#[test]
fn a_report_on_a_full_disk_names_the_file_and_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("q"), "q1 0 a 1\n").unwrap();
    fs::write(dir.path().join("r"), "q1 Q0 a 1 2.5 ours\n").unwrap();
    let home = Home::sqlite();
    let words = ["eval", "score", "--qrels", "q", "--run", "r", "--output", "/dev/full"];
    Ran::of(home.command(&words).current_dir(dir.path()).output().unwrap())
        .exits(2)
        .stderr_has("/dev/full")
        .stderr_has("hint: the disk is full");
}

/// A role of the test's own server.
fn role(home: &Home, rights: &str) -> (String, String) {
    let role = format!("limited_{:016x}", fastrand::u64(..));
    home.sql(&format!("CREATE ROLE {role} LOGIN {rights}"));
    (role.clone(), format!("{} user={role}", home.url()))
}

#[test]
fn a_server_without_connections_is_named_with_its_remedy() {
    let home = Home::postgres();
    let (role, url) = role(&home, "CONNECTION LIMIT 0");
    let ran = Ran::of(home.command(&["stats"]).env("DATABASE_URL", url).output().unwrap());
    home.sql(&format!("DROP ROLE {role}"));
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("takes no more connections"), "{}", ran.stderr);
    assert!(ran.stderr.contains("max_connections"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("another process held"), "{}", ran.stderr);
}

/// The lines about row-level security of `doctor` and of a starting server.
fn row_security(home: &Home, url: Option<&str>) -> (String, String) {
    let command = |words: &[&str]| {
        let mut command = home.command(words);
        if let Some(url) = url {
            command.env("DATABASE_URL", url);
        }
        command
    };
    let doctor = Ran::of(command(&["doctor", "--offline", "--json"]).output().unwrap());
    let doctor: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let check = find(&doctor["checks"], "name", "row_security");
    let status = check["status"].as_str().unwrap().to_owned();
    let served = Served::start(command(&["serve"])).unwrap();
    (status, served.stop().unwrap().stderr)
}

#[test]
fn a_role_that_bypasses_row_level_security_is_reported() {
    let home = Home::postgres();
    let (status, said) = row_security(&home, None);
    assert_eq!(status, "warn");
    assert!(said.contains("does not apply to the database role"), "{said}");
    let grant = |role: &str| {
        home.sql(&format!(
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; \
             GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}"
        ));
    };
    for (rights, expected, words) in [("BYPASSRLS", "warn", "(BYPASSRLS)"), ("", "ok", "")] {
        let (role, url) = role(&home, rights);
        grant(&role);
        let (status, said) = row_security(&home, Some(&url));
        home.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
        assert_eq!(status, expected, "{rights}");
        assert!(said.contains(words), "{said}");
        assert_eq!(
            said.contains("does not apply to the database role"),
            expected == "warn",
            "{said}"
        );
    }
    let (status, said) = row_security(&Home::sqlite(), None);
    assert!(status == "ok" && !said.contains("row-level security"), "{status}: {said}");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Older than a file that a running process may have made.
fn make_old(path: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(path).unwrap().set_modified(hour_ago).unwrap();
}

/// Runs a command that is killed by its first byte to a file.
#[track_caller]
fn kill_at_first_write(command: &Command) {
    let output = with_file_limit(command, 0, true).output().unwrap();
    assert_eq!(output.status.signal(), Some(FILE_TOO_LARGE), "{:?}", Ran::of(output));
}

#[test]
fn a_writer_that_is_killed_leaves_no_file() {
    let home = demo_home(Home::sqlite());
    let config = r#"{"eval":{"capture":true,"synthetic":true}}"#;
    home.write("config.json", config);
    home.ok(&["query", "charge floor"]);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("judged.qrels"), "q1 0 a 1\n").unwrap();
    fs::write(at("ours.run"), "q1 Q0 a 1 2.5 ours\n").unwrap();
    fs::write(at("captured.ndjson"), home.ok(&["eval", "export"])).unwrap();
    let inputs = ["captured.ndjson", "judged.qrels", "ours.run"];
    for words in [
        "bench publish --from captured.ndjson --why first --to report",
        "eval score --qrels judged.qrels --run ours.run --output report",
        "eval compare ours.run ours.run --qrels judged.qrels --markdown report",
        "eval compare ours.run ours.run --qrels judged.qrels --html report",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let command = || {
            let mut command = home.command(&words);
            command.current_dir(dir.path());
            command
        };
        kill_at_first_write(&command());
        assert_eq!(names(dir.path()), inputs, "{words:?}");
        let ran = Ran::of(command().output().unwrap());
        assert!(at("report").is_file(), "{words:?}: {}", ran.stderr);
        let report = fs::read(at("report")).unwrap();
        if words[0] != "bench" {
            kill_at_first_write(&command());
            assert_eq!(fs::read(at("report")).unwrap(), report, "{words:?}");
        }
        assert_eq!(names(dir.path()), [&inputs[..], &["report"]].concat(), "{words:?}");
        fs::remove_file(at("report")).unwrap();
    }
}

#[test]
fn a_prompt_whose_maker_was_killed_is_removed_by_the_next() {
    let library = Library::new();
    let prompts = library.path("prompts");
    kill_at_first_write(&library.command("eva", &["new", "first"]));
    let left: Vec<String> = names(&prompts);
    let left = left.iter().find(|name| name.starts_with('.')).expect("a directory has a name");
    // Young ones may be of a process that runs.
    library.eva(&["new", "second"], 0);
    assert!(prompts.join(left).is_dir());
    make_old(&prompts.join(left));
    library.eva(&["new", "third"], 0);
    assert_eq!(names(&prompts), ["greet", "second", "third"]);
}

#[test]
fn a_new_prompt_removes_nothing_of_the_user() {
    let library = Library::new();
    let prompts = library.path("prompts");
    let users = [".gbrain-new-ideas", ".gbrain-new-my-new", ".new-abc123", ".new-ideas"];
    for name in users {
        library.write(&format!("prompts/{name}/notes.md"), "mine");
        make_old(&prompts.join(name));
    }
    library.write("prompts/.gbrain-new-abc123", "a file, and no directory");
    make_old(&prompts.join(".gbrain-new-abc123"));
    library.eva(&["new", "first"], 0);
    let mut expected = vec![".gbrain-new-abc123", "first", "greet"];
    expected.extend(users);
    expected.sort();
    assert_eq!(names(&prompts), expected);
    assert!(users.iter().all(|name| library.read(&format!("prompts/{name}/notes.md")) == "mine"));
}

#[test]
fn the_next_publish_removes_files_of_a_killed_one() {
    let home = demo_home(Home::sqlite());
    let config = r#"{"eval":{"capture":true,"synthetic":true}}"#;
    home.write("config.json", config);
    home.ok(&["query", "charge floor"]);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("captured.ndjson"), home.ok(&["eval", "export"])).unwrap();
    fs::write(at(".gbrain-notes.tmp"), "the user's").unwrap();
    make_old(&at(".gbrain-notes.tmp"));
    let words = "bench publish --from captured.ndjson --why first --to one.ndjson".split(' ');
    let words: Vec<&str> = words.collect();
    let publish = || {
        let mut publish = home.command(&words);
        publish.current_dir(dir.path());
        publish
    };
    kill_at_first_write(&publish());
    // A killed process may leave a named, incomplete file.
    fs::write(at(".gbrain-k1lled.tmp"), "half of it").unwrap();
    make_old(&at(".gbrain-k1lled.tmp"));
    Ran::of(publish().output().unwrap()).exits(0);
    assert_eq!(names(dir.path()), [".gbrain-notes.tmp", "captured.ndjson", "one.ndjson"]);
}
