//! Captures that are lost, however they are lost: each leaves a failure, and `doctor` says so with a remedy that works.

use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};

use gbrain_core::capture::{CaptureFields, StoredCapture};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{CaptureFilter, Store};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::capture::{capturing, configure, exported};
use crate::support::{Home, Ran, find};

/// Holds the database, so that no capture can be stored. Readers do not wait.
enum Holder {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::Client>),
}

impl Holder {
    fn new(home: &Home, is_sqlite: bool) -> Self {
        if is_sqlite {
            let db = rusqlite::Connection::open(home.path().join("brain.db")).unwrap();
            db.execute_batch("BEGIN IMMEDIATE").unwrap();
            return Self::Sqlite(db);
        }
        let mut client = postgres::Client::connect(home.url(), postgres::NoTls).unwrap();
        client.batch_execute("BEGIN; SELECT * FROM eval_clock FOR UPDATE").unwrap();
        Self::Postgres(Box::new(client))
    }

    fn release(self) {
        match self {
            Self::Sqlite(db) => db.execute_batch("ROLLBACK").unwrap(),
            Self::Postgres(mut client) => client.batch_execute("ROLLBACK").unwrap(),
        }
    }
}

/// Homes of both engines with a page and a capture.
fn homes() -> [(Home, bool); 2] {
    let [sqlite, postgres] = Home::both().map(capturing).map(|home| {
        home.put("people/ada", "Ada paints boats.");
        home.ok(&["query", "boats"]);
        home
    });
    [(sqlite, true), (postgres, false)]
}

#[track_caller]
fn check(home: &Home, args: &[&str], name: &str) -> Value {
    let args: Vec<&str> = ["doctor", "--json"].iter().chain(args).copied().collect();
    let report = home.run(&args).json();
    find(&report["checks"], "name", name).clone()
}

/// Runs the command that `doctor` prints for a check in a shell.
#[track_caller]
fn paste_remedy(home: &Home, args: &[&str], name: &str) -> Ran {
    let args: Vec<&str> = ["doctor"].iter().chain(args).copied().collect();
    let text = home.run(&args).stdout;
    let mut lines = text.lines().skip_while(|line| !line.contains(&format!("{name}: ")));
    let remedy = lines.nth(1).unwrap().trim().strip_prefix("-> ").unwrap().to_owned();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_gbrain")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &remedy]).env("PATH", path).stdin(Stdio::null());
    for (key, value) in home.command(&[]).get_envs() {
        match value {
            Some(value) => shell.env(key, value),
            None => shell.env_remove(key),
        };
    }
    Ran::of(shell.output().unwrap())
}

/// A failure of the last query, told without its text, and cleared without a capture.
#[track_caller]
fn assert_told_and_cleared(home: &Home, reason: &str, failures: u64) {
    let found = check(home, &[], "eval_capture");
    assert_eq!(found["status"], "warn", "{found}");
    assert_eq!(found["details"]["failures_last_24h"], json!({ reason: failures }), "{found}");
    assert!(!found.to_string().contains("sailcloth"), "{found}");
    paste_remedy(home, &[], "eval_capture").exits(0);
    let found = check(home, &[], "eval_capture");
    assert_eq!(found["status"], "ok", "{found}");
    assert_eq!(exported(home).len(), 1, "the capture is still there");
}

#[test]
fn a_locked_database_leaves_a_failure() {
    for (home, is_sqlite) in homes() {
        let holder = Holder::new(&home, is_sqlite);
        home.run(&["query", "sailcloth"]).exits(0).stderr_has("1 capture was not stored in time");
        let found = check(&home, &[], "eval_capture");
        assert_eq!(found["status"], "warn", "while it is locked: {found}");
        assert_eq!(found["details"]["waiting_in_files"], json!(1));
        holder.release();
        assert_told_and_cleared(&home, "db_down", 1);
    }
}

#[test]
fn the_next_process_stores_the_failure() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    let holder = Holder::new(&home, true);
    home.ok(&["query", "sailcloth"]);
    holder.release();
    home.ok(&["query", "boats"]);
    let store = home.store();
    let stored = store.capture_failures(&WorkspaceId::default(), None, 9).unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].reason.name(), "db_down");
    let found = check(&home, &[], "eval_capture");
    assert_eq!(found["details"]["waiting_in_files"], json!(0), "{found}");
    assert_eq!(found["details"]["failures_last_24h"], json!({ "db_down": 1 }));
}

/// Kills a process that has answered and could not store its capture yet.
#[test]
fn a_process_that_is_killed_leaves_a_failure() {
    for (home, is_sqlite) in homes() {
        let holder = Holder::new(&home, is_sqlite);
        let mut child =
            home.command(&["query", "sailcloth", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "answered");
        child.kill().unwrap();
        child.wait().unwrap();
        holder.release();
        let found = check(&home, &[], "eval_capture");
        let lost = found["details"]["failures_last_24h"].as_object().unwrap().clone();
        let reason = lost.keys().next().unwrap();
        // Killed before or after it had asked the database.
        assert!(["db_down", "other"].contains(&reason.as_str()), "{found}");
        assert_told_and_cleared(&home, reason, 1);
    }
}

/// Speaks to `gbrain mcp` over its pipes.
fn speak(child: &mut Child, messages: &[Value]) {
    let stdin = child.stdin.as_mut().unwrap();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
    }
    stdin.flush().unwrap();
}

/// Several captures wait in one process; then its client goes.
#[test]
fn a_server_that_ends_while_the_database_is_locked_leaves_failures() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    let holder = Holder::new(&home, true);
    let mut child = home.spawn(&["mcp"]);
    let client = json!({ "name": "test", "version": "1" });
    let begin =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    speak(
        &mut child,
        &[
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ],
    );
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    answers.next().unwrap().unwrap();
    for id in 1..=3 {
        let params = json!({ "name": "query", "arguments": { "query": "sailcloth" } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        speak(&mut child, &[call]);
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.contains("\"result\""), "{answer}");
    }
    drop(child.stdin.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(ran.stderr.contains("3 captures were not stored in time"), "{}", ran.stderr);
    holder.release();
    let found = check(&home, &[], "eval_capture");
    let lost = found["details"]["failures_last_24h"].as_object().unwrap();
    assert_eq!(lost.values().filter_map(Value::as_u64).sum::<u64>(), 3, "{found}");
    paste_remedy(&home, &[], "eval_capture").exits(0);
    assert_eq!(check(&home, &[], "eval_capture")["status"], "ok");
    assert_eq!(exported(&home).len(), 1);
}

#[test]
fn failures_are_cleared_on_their_own_in_the_workspace_that_was_named() {
    for home in Home::both() {
        configure(&home, &json!({ "capture": true }));
        home.ok(&["workspaces", "add", "team"]);
        let long = "å".repeat(25_601);
        for workspace in ["default", "team"] {
            home.ok(&["--workspace", workspace, "query", "boats"]);
            home.ok(&["--workspace", workspace, "query", &long]);
        }
        let counted = home.json(&["eval", "prune", "--failures", "--dry-run"]);
        assert_eq!((&counted["rows"], &counted["failures"]), (&json!(0), &json!(1)));
        assert_eq!(
            home.json(&["eval", "prune", "--failures", "--older-than", "1d"])["failures"],
            0
        );
        let of_team = ["--workspace", "team"];
        paste_remedy(&home, &of_team, "eval_capture").exits(0);
        assert_eq!(check(&home, &of_team, "eval_capture")["status"], "ok");
        assert_eq!(check(&home, &[], "eval_capture")["status"], "warn", "the other is left alone");
        assert_eq!(exported(&home).len(), 1);
        let of_team = home.ok(&["--workspace", "team", "eval", "export", "--quiet"]);
        assert_eq!(of_team.lines().count(), 1);
        home.run(&["eval", "prune", "--failures", "--tool", "query"]).exits(2);
    }
}

#[test]
fn a_capture_from_the_future_hides_no_other_and_is_named() {
    for (home, _) in homes() {
        let year = SignedDuration::from_hours(24 * 365);
        let (store, ws) = (home.store(), WorkspaceId::default());
        let future = Timestamp::now().checked_add(year).unwrap();
        store.add_captures(&ws, &[any_capture(&store, &ws)], future).unwrap();
        home.ok(&["query", "paint"]);
        let ran = home.run(&["eval", "export"]);
        assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("1 row is dated in the future"), "{}", ran.stderr);
        let found = check(&home, &[], "capture_clock");
        assert_eq!(
            (&found["status"], &found["details"]["future_rows"]),
            (&json!("warn"), &json!(1))
        );
        paste_remedy(&home, &[], "capture_clock").exits(0);
        assert_eq!(check(&home, &[], "capture_clock")["status"], "ok");
        assert_eq!(exported(&home).len(), 3);
        store.add_captures(&ws, &[any_capture(&store, &ws)], future).unwrap();
        assert_eq!(home.json(&["eval", "prune", "--older-than", "0d"])["rows"], 4, "everything");
    }
}

fn any_capture(store: &Store, ws: &WorkspaceId) -> CaptureFields {
    let mut captured = None;
    let mut keep = |row: StoredCapture| {
        captured = Some(row.fields);
        Ok(ControlFlow::Break(()))
    };
    store.captures(ws, &CaptureFilter::default(), &mut keep).unwrap();
    captured.unwrap()
}

#[test]
fn a_window_that_ends_before_it_begins_is_refused() {
    let home = capturing(Home::sqlite());
    home.run(&["eval", "export", "--since", "1d", "--until", "2d"])
        .exits(2)
        .stderr_has("the window is empty");
    home.run(&["eval", "export", "--since", "2999-01-01"])
        .exits(0)
        .stderr_has("--since is in the future");
}
