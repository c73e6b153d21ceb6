//! Failed output is never a success: a full stdout, reports into devices, pipes and links.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Home, Ran, demo, demo_home};

/// Commands that print data, each in a home with the bundled brain.
const PRINTING: &[&[&str]] = &[
    &["list"],
    &["list", "--json"],
    &["stats"],
    &["get", "concepts/charge-floor"],
    &["history", "concepts/charge-floor"],
    &["links", "tickets/hrb-147"],
    &["search", "charge floor"],
    &["query", "charge floor"],
    &["query", "charge floor", "--json"],
    &["sources", "list"],
    &["workspaces", "list"],
    &["config", "list"],
    &["doctor"],
    &["reindex"],
    &["reindex", "--verify"],
    &["reembed", "--status"],
    &["suites", "list", "--json"],
    &["queries", "list", "--json"],
    &["alerts", "list", "--json"],
    &["events", "list", "--json"],
    &["incident", "list", "--json"],
    &["jobs", "list"],
    &["models"],
    &["spend"],
    &["targets"],
    &["tokens", "list"],
    &["eval", "export"],
    &["eval", "datasets"],
    &["delete", "concepts/two-lantern-rule"],
    &["restore", "concepts/two-lantern-rule"],
    &["completions", "bash"],
    &["init"],
    &["--help"],
    &["--version"],
    &["eval", "gate", "--help"],
];

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// Runs a command whose stdout takes nothing.
fn run_full(mut command: Command) -> Ran {
    command.stdin(Stdio::null()).stdout(full()).stderr(Stdio::piped());
    Ran::of(command.spawn().unwrap().wait_with_output().unwrap())
}

/// Runs a command whose reader is gone.
fn run_closed(mut command: Command) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_full_stdout_ends_every_command_with_2_and_a_closed_pipe_with_0() {
    let home = demo_home(Home::sqlite());
    // A query, so that there is something to export.
    home.write("config.json", r#"{"eval":{"capture":true}}"#);
    home.ok(&["query", "charge floor"]);
    for words in PRINTING {
        let wanted = home.run(words);
        assert_eq!(wanted.code, Some(0), "{words:?}: {}", wanted.stderr);
        assert_ne!(wanted.stdout, "", "{words:?} prints nothing");
        let ran = run_full(home.command(words));
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("No space left on device"), "{words:?}: {}", ran.stderr);
        let closed = run_closed(home.command(words));
        assert_eq!(closed.code, Some(0), "{words:?}: {}", closed.stderr);
    }
}

#[test]
fn a_red_gate_whose_report_is_lost_has_no_verdict() {
    let home = demo_home(Home::sqlite());
    let mut judged: Value =
        serde_json::from_str(&fs::read_to_string(demo("qrels.json")).unwrap()).unwrap();
    let wrong = json!({ "source_id": "journal", "slug": "chats/2026-05-13-offsite-planning" });
    for query in judged["queries"].as_array_mut().unwrap() {
        query["relevant"] = json!([wrong]);
        query["expected_top1"] = wrong.clone();
    }
    let qrels = home.path().join("wrong.json");
    fs::write(&qrels, judged.to_string()).unwrap();
    let words = ["eval", "gate", "--qrels", qrels.to_str().unwrap(), "--json"];
    assert_eq!(home.run(&words).code, Some(1));
    assert_eq!(run_full(home.command(&words)).code, Some(2));
}

#[test]
fn a_token_that_was_not_shown_is_revoked() {
    for home in Home::both() {
        home.ok(&["init"]);
        let words = ["tokens", "create", "--name", "ci"];
        for (ran, why) in [
            (run_full(home.command(&words)), "No space left on device"),
            (run_full(home.command(&[&words[..], &["--json"]].concat())), "No space left"),
            (run_closed(home.command(&words)), "Broken pipe"),
        ] {
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            assert!(ran.stderr.contains(why) && ran.stderr.contains("revoked"), "{}", ran.stderr);
        }
        let listed = home.json(&["tokens", "list"]);
        let tokens = listed["tokens"].as_array().unwrap();
        assert_eq!(tokens.len(), 3);
        assert!(tokens.iter().all(|token| token["state"] == "revoked"), "{tokens:?}");
        home.ok(&words);
        assert_eq!(home.json(&["tokens", "list"])["tokens"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn eva_and_kick_notice_a_full_stdout() {
    let root = tempfile::tempdir().unwrap();
    let program = |name: &str, words: &[&str]| {
        let path = match name {
            "eva" => env!("CARGO_BIN_EXE_eva"),
            _ => env!("CARGO_BIN_EXE_kick"),
        };
        let mut command = Command::new(path);
        command.args(words).current_dir(root.path()).env_remove("EVA_ROOT").stdin(Stdio::null());
        command
    };
    fs::create_dir(root.path().join("prompts")).unwrap();
    let made = program("eva", &["new", "greet"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let kicked = program("kick", &["greet", "--case", "basic"]).output().unwrap();
    assert!(kicked.status.success(), "{kicked:?}");
    for (name, words) in [
        ("eva", &["list"][..]),
        ("eva", &["list", "--json"]),
        ("eva", &["show", "greet"]),
        ("eva", &["log", "greet"]),
        ("eva", &["log", "greet", "--json"]),
        ("eva", &["stats"]),
        ("eva", &["--help"]),
        ("kick", &["greet", "--case", "basic"]),
        ("kick", &["greet", "--case", "basic", "--json"]),
        ("kick", &["--help"]),
    ] {
        let plain = Ran::of(program(name, words).output().unwrap());
        assert_eq!(plain.code, Some(0), "{name} {words:?}: {}", plain.stderr);
        let ran = run_full(program(name, words));
        assert_eq!(ran.code, Some(2), "{name} {words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("No space left"), "{name} {words:?}: {}", ran.stderr);
        let closed = run_closed(program(name, words));
        assert_eq!(closed.code, Some(0), "{name} {words:?}: {}", closed.stderr);
    }
}

/// Commands that write a file, which is added at their end, in a folder with judgements and results.
fn writing() -> Vec<Vec<String>> {
    let qrels = demo("qrels.json").to_str().unwrap().to_owned();
    let words = |text: &str| -> Vec<String> {
        text.split(' ').map(|word| word.replace("QRELS", &qrels)).collect()
    };
    [
        "eval gate --qrels QRELS --junit",
        "eval gate --qrels QRELS --markdown",
        "eval gate --qrels QRELS --html",
        "eval --qrels QRELS --run-output",
        "eval export --output",
        "eval score --qrels judged.qrels --run ours.run --output",
        "eval compare ours.run ours.run --qrels judged.qrels --markdown",
        "eval compare ours.run ours.run --qrels judged.qrels --html",
        "bench publish --from captured.ndjson --why first --to",
    ]
    .map(words)
    .to_vec()
}

fn reports() -> (Home, Vec<Vec<String>>) {
    let home = demo_home(Home::sqlite());
    home.write("config.json", r#"{"eval":{"capture":true,"synthetic":true}}"#);
    home.ok(&["query", "charge floor"]);
    let dir = home.path();
    fs::write(dir.join("judged.qrels"), "q1 0 a 1\n").unwrap();
    fs::write(dir.join("ours.run"), "q1 Q0 a 1 2.5 ours\n").unwrap();
    let captured = home.ok(&["eval", "export"]);
    fs::write(dir.join("captured.ndjson"), captured).unwrap();
    (home, writing())
}

fn run_with(home: &Home, words: &[String], path: &Path) -> Ran {
    let words: Vec<&str> =
        words.iter().map(String::as_str).chain([path.to_str().unwrap()]).collect();
    let mut command = home.command(&words);
    command.current_dir(home.path());
    Ran::of(command.output().unwrap())
}

#[test]
fn reports_go_into_devices_and_pipes_and_never_replace_them() {
    let (home, writing) = reports();
    let pipe = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for words in &writing {
        let healthy = home.path().join("report");
        let expected = run_with(&home, words, &healthy);
        assert!(healthy.is_file(), "{words:?}: {}", expected.stderr);
        fs::remove_file(&healthy).unwrap();
        let ran = run_with(&home, words, Path::new("/dev/full"));
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        // A baseline takes the place of nothing that is there.
        if words.contains(&"publish".to_owned()) {
            continue;
        }
        assert!(ran.stderr.contains("No space left"), "{words:?}: {}", ran.stderr);
        let ran = run_with(&home, words, Path::new("/dev/null"));
        assert_eq!(ran.code, expected.code, "{words:?}: {}", ran.stderr);
        for device in ["/dev/full", "/dev/null"] {
            let kind = fs::symlink_metadata(device).unwrap().file_type();
            assert!(kind.is_char_device(), "{words:?} replaced {device}");
        }
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        let ran = run_with(&home, words, &pipe);
        assert_eq!(ran.code, expected.code, "{words:?}: {}", ran.stderr);
        assert!(!reader.join().unwrap().is_empty(), "{words:?}");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{words:?}");
    }
}

#[test]
fn links_directories_and_closed_folders_are_refused_before_the_work() {
    let (home, writing) = reports();
    let dir = home.path();
    let (target, link, dangling) = (dir.join("target"), dir.join("link"), dir.join("dangling"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &link).unwrap();
    symlink(dir.join("nothing"), &dangling).unwrap();
    let folder = dir.join("folder");
    fs::create_dir(&folder).unwrap();
    for words in &writing {
        for path in [&link, &dangling, &folder, &target.join("below")] {
            let ran = run_with(&home, words, path);
            assert_eq!(ran.code, Some(2), "{words:?} {}: {}", path.display(), ran.stdout);
            assert_eq!(ran.stdout, "", "{words:?} {}", path.display());
        }
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink(), "{words:?}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious", "{words:?}");
        assert!(!dir.join("nothing").exists(), "{words:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{words:?}");
    }
}

#[test]
fn an_unfinished_report_leaves_the_old_one() {
    let (home, writing) = reports();
    let report = home.path().join("report");
    for words in writing.iter().filter(|words| !words.contains(&"publish".to_owned())) {
        fs::write(&report, "old").unwrap();
        fs::set_permissions(&report, fs::Permissions::from_mode(0o644)).unwrap();
        let ran = run_with(&home, words, &report);
        assert_ne!(fs::read_to_string(&report).unwrap(), "old", "{words:?}: {}", ran.stderr);
        let mode = fs::metadata(&report).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o644, "{words:?}");
    }
    let two = report.to_str().unwrap();
    let qrels = demo("qrels.json");
    let gate = ["eval", "gate", "--qrels", qrels.to_str().unwrap(), "--junit", two, "--html", two];
    home.run(&gate).exits(2).stderr_has("two flags");
}

#[test]
fn an_mcp_client_that_gets_no_answer_is_no_success() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let begin = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    let run = |stdout: Stdio| {
        let mut command = home.command(&["mcp"]);
        command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(format!("{begin}\n").as_bytes()).unwrap();
        drop(input);
        Ran::of(child.wait_with_output().unwrap())
    };
    run(Stdio::piped()).exits(0).stdout_has("protocolVersion");
    run(full().into()).exits(2);
}
