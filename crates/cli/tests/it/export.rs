//! Export: every row once, in order, streamed.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::capture::{capturing, exported};
use crate::support::Home;

fn asked(home: &Home) {
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats one"]);
    home.ok(&["search", "boats two"]);
    home.ok(&["query", "boats three"]);
}

fn queries(text: &str) -> Vec<String> {
    let query = |line: &str| {
        assert!(line.starts_with("{\"schema_version\":1,"), "{line}");
        serde_json::from_str::<Value>(line).unwrap()["query"].as_str().unwrap().to_owned()
    };
    text.lines().map(query).collect()
}

#[test]
fn rows_come_newest_first_and_by_filter() {
    for home in Home::both().map(capturing) {
        asked(&home);
        let export = |args: &[&str]| {
            let args: Vec<&str> = ["eval", "export", "-q"].iter().chain(args).copied().collect();
            queries(&home.ok(&args))
        };
        assert_eq!(export(&[]), ["boats three", "boats two", "boats one"]);
        assert_eq!(export(&["--tool", "search"]), ["boats two"]);
        assert_eq!(export(&["--limit", "1"]), ["boats three"]);
        assert_eq!(export(&["--after-id", "2"]), ["boats three"]);
        assert_eq!(export(&["--remote"]).len(), 0);
        assert_eq!(export(&["--local"]).len(), 3);
        assert_eq!(export(&["--since", "1h"]).len(), 3);
        assert_eq!(export(&["--until", "1h"]).len(), 0);
    }
}

#[test]
fn chained_windows_neither_repeat_nor_miss() {
    let home = capturing(Home::sqlite());
    asked(&home);
    let first = home.run(&["eval", "export"]);
    let end =
        first.stderr.split_once("stored before ").unwrap().1.lines().next().unwrap().to_owned();
    home.ok(&["query", "boats four"]);
    let second = home.ok(&["eval", "export", "-q", "--since", &end]);
    assert_eq!(queries(&first.stdout).len(), 3);
    assert_eq!(queries(&second), ["boats four"]);
}

#[test]
fn names_of_private_pages_stay_behind() {
    for home in Home::both().map(capturing) {
        for (slug, visibility, text) in [
            ("clients/jane.doe@example.com-merger", "private", "Jane signs the merger in May."),
            ("diary/may", "private", "Dreamt of the merger all night."),
            ("clients/john.roe@example.com-sale", "world", "John sells boats after a merger."),
            ("notes/merger", "world", "A merger joins two harbours."),
        ] {
            let page = format!("---\nvisibility: {visibility}\n---\n\n{text}\n");
            assert_eq!(home.put(slug, &page).code, Some(0));
        }
        home.ok(&["query", "merger"]);
        let text = home.ok(&["eval", "export"]);
        let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let slugs: Vec<&str> = row["retrieved"]
            .as_array()
            .unwrap()
            .iter()
            .map(|page| page["slug"].as_str().unwrap())
            .collect();
        assert_eq!(slugs.len(), 4, "{text}");
        let count = |slug: &str| slugs.iter().filter(|one| **one == slug).count();
        assert_eq!(count("[REDACTED]"), 2, "{text}");
        assert_eq!(count("clients/[REDACTED]-sale"), 1, "{text}");
        assert_eq!(count("notes/merger"), 1, "{text}");
        for secret in ["-merger", "diary", "jane", "john"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert_eq!(text.matches("\"key_hash\"").count(), 3, "{text}");
    }
}

#[test]
fn rows_beyond_the_limit_are_reported() {
    let home = capturing(Home::sqlite());
    asked(&home);
    let ran = home.run(&["eval", "export", "--limit", "2"]);
    assert!(ran.stderr.contains("left out 1 more"), "{}", ran.stderr);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let home = capturing(Home::sqlite());
    asked(&home);
    // Enough rows that the pipe is full long before the end.
    let db = rusqlite::Connection::open(home.path().join("brain.db")).unwrap();
    for _ in 0..10 {
        db.execute_batch(
            "INSERT INTO eval_candidates SELECT workspace_id, \
             id + (SELECT max(id) FROM eval_candidates), created_at, tool_name, query, \
             retrieved_slugs, retrieved_chunk_ids, source_ids, expand_enabled, detail, \
             detail_resolved, vector_enabled, expansion_applied, latency_ms, remote, job_id, \
             subagent_id, extra FROM eval_candidates",
        )
        .unwrap();
    }
    let mut child = home
        .command(&["eval", "export"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("rror"));
}

#[test]
fn a_run_of_what_was_retrieved_can_be_scored() {
    let home = capturing(Home::sqlite());
    asked(&home);
    let run = home.ok(&["eval", "export", "-q", "--format", "trec"]);
    assert_eq!(run.lines().count(), 3);
    assert!(run.starts_with("3 Q0 default::people/ada 1 1 gbrain\n"), "{run}");
    home.write("r.run", &run);
    home.write("q.txt", "1 0 default::people/ada 1\n");
    let path = |name: &str| home.file(name);
    let score = home.json(&["eval", "score", "--qrels", &path("q.txt"), "--run", &path("r.run")]);
    assert_eq!(score["summary"]["RR"], serde_json::json!(1.0));
}

#[test]
fn an_export_to_a_file_is_whole() {
    let home = capturing(Home::sqlite());
    asked(&home);
    let file = home.path().join("out.ndjson");
    let ran = home.run(&["eval", "export", "--output", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(queries(&std::fs::read_to_string(file).unwrap()).len(), exported(&home).len());
}

#[test]
fn an_empty_brain_exports_nothing() {
    let home = Home::sqlite();
    assert_eq!(home.ok(&["eval", "export", "-q"]), "");
    assert_eq!(home.run(&["eval", "export", "--since", "whenever"]).code, Some(2));
    assert_eq!(home.run(&["eval", "export", "--limit", "0"]).code, Some(2));
    assert_eq!(home.run(&["eval", "export", "--tool", "delete"]).code, Some(2));
}
