//! Commands that answer lines with lines, and what they may do instead.

use std::path::Path;
use std::time::{Duration, Instant};

use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_eval::retriever::Retriever;
use serde_json::{Map, Value, json};

use super::conformance::conforms;
use super::{patience, target, world};

/// The program that answers, with the file of what it answers; gone with the directory.
pub(super) fn program(kind: &str, fault: &str) -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("world.json");
    let answers: Map<String, Value> = world()
        .iter()
        .map(|expected| {
            let found = expected.documents.iter().zip(&expected.scores).zip(&expected.snippets);
            let results = found.map(|((document, score), snippet)| {
                json!({ "document": document, "score": score, "snippet": snippet })
            });
            (expected.question.text.clone(), results.collect())
        })
        .collect();
    std::fs::write(&file, Value::Object(answers).to_string()).unwrap();
    let python = std::env::var("GBRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/target/answers.py");
    let words = [python.as_str(), script.to_str().unwrap(), kind, file.to_str().unwrap(), fault];
    (dir, words.map(str::to_owned).to_vec())
}

fn command(fault: &str, more: Value) -> (tempfile::TempDir, Box<dyn Retriever>) {
    let (dir, words) = program("command", fault);
    let mut settings = json!({ "kind": "command", "command": words, "timeout_seconds": 30 });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        settings[key] = value;
    }
    (dir, target(settings))
}

fn question() -> Question {
    Question::new("who owns the berths?", 5)
}

#[test]
fn a_command_conforms() {
    for fault in ["none", "noise"] {
        let (_dir, ask) = command(fault, json!({}));
        conforms(ask.as_ref(), &world());
    }
}

#[test]
fn answers_may_come_in_any_order() {
    let (_dir, ask) = command("backwards", json!({}));
    std::thread::scope(|scope| {
        let texts = ["who owns the berths?", "null"];
        let asking = texts.map(|text| {
            let ask = &ask;
            scope.spawn(move || ask.retrieve(&Question::new(text, 5)).unwrap())
        });
        for (text, asked) in texts.iter().zip(asking) {
            assert_eq!(asked.join().unwrap().documents(), super::documents(text));
        }
    });
}

#[test]
fn every_failure_has_its_kind() {
    let check = |fault: &str, kind: TargetErrorKind, words: &str| {
        let timeout = patience(kind, 2.0);
        let (_dir, ask) = command(fault, json!({ "timeout_seconds": timeout, "attempts": 1 }));
        let error = ask.retrieve(&question()).unwrap_err();
        assert_eq!(error.kind, kind, "{fault}: {error}");
        assert!(error.message.contains(words), "{fault}: {error}");
    };
    check("hang", TargetErrorKind::Timeout, "no answer");
    check("slow", TargetErrorKind::Timeout, "no answer");
    check("wrong_id", TargetErrorKind::Timeout, "no answer");
    check("garbage", TargetErrorKind::Malformed, "a line is not JSON");
    check("wrong_shape", TargetErrorKind::Malformed, "no results");
    check("null_ids", TargetErrorKind::Malformed, "result 1");
    check("huge", TargetErrorKind::Malformed, "longer than what is read");
    check("die", TargetErrorKind::Unreachable, "it is broken");
    check("error", TargetErrorKind::BadRequest, "no such index");
    let ask = target(json!({ "kind": "command", "command": ["/nowhere/program"] }));
    let error = ask.retrieve(&question()).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Unreachable, "{error}");
}

#[test]
fn errors_the_program_calls_temporary_are_retried() {
    let (_dir, ask) = command("passing", json!({ "attempts": 2 }));
    assert_eq!(ask.retrieve(&question()).unwrap().attempts, 2);
}

#[test]
fn one_that_died_is_started_again() {
    let (_dir, ask) = command("die_once", json!({}));
    assert_eq!(ask.retrieve(&question()).unwrap_err().kind, TargetErrorKind::Unreachable);
    assert_eq!(ask.retrieve(&question()).unwrap().results.len(), 5);
}

#[test]
fn a_hanging_program_is_killed_at_its_timeout() {
    let (_dir, ask) = command("hang", json!({ "timeout_seconds": 1, "attempts": 1 }));
    for _ in 0..2 {
        let started = Instant::now();
        assert_eq!(ask.retrieve(&question()).unwrap_err().kind, TargetErrorKind::Timeout);
        assert!(started.elapsed() >= Duration::from_millis(900), "{:?}", started.elapsed());
    }
}

#[test]
fn the_program_ends_with_its_parent() {
    let (dir, ask) = command("orphan", json!({}));
    ask.retrieve(&question()).unwrap();
    let pid = std::fs::read_to_string(dir.path().join("world.json.pid")).unwrap();
    let process = format!("/proc/{pid}");
    assert!(Path::new(&process).exists());
    drop(ask);
    assert!(!Path::new(&process).exists(), "process {pid} is still there");
}
