//! Refusals before the first call, with the remedy.

use gbrain_testkit::providers::Fault;

use super::{SEATS, TASK, VERB, court, judge, judge_rows, rows_of, seats_with, words};
use crate::models::Provided;
use crate::support::{Home, Ran};

const PASS: &str = "a=9 b=9 c=9";

/// Refused with all of these words on stderr, in JSON too, without a model call.
#[track_caller]
fn refused(court: &Provided, ran: &Ran, says: &[&str]) {
    assert_eq!(ran.code, Some(2), "{says:?}: {}{}", ran.stdout, ran.stderr);
    for words in says {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let body = ran.json();
    assert!(body["error"]["message"].is_string(), "{body}");
    assert_eq!(court.server.requests(), 0);
}

#[test]
fn conflicting_flags_are_refused() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let (file, rows) =
        (court.home.write("o.md", PASS), court.home.write("r.jsonl", rows_of(&[PASS])));
    let run = |args: &[&str]| court.run(&words(&[&VERB, args, &["--json"], &SEATS]));
    let single = [&TASK[..], &["--output", &file]].concat();
    let check = |args: &[&str], says: &[&str]| refused(&court, &run(args), says);
    check(&words(&[&single, &["--batch", &rows]]), &["--task", "--batch"]);
    check(&TASK, &["--output"]);
    check(&["--output", &file], &["--task TEXT", "--batch FILE"]);
    check(&[], &["--task TEXT", "--batch FILE"]);
    check(&words(&[&single, &["--limit", "3"]]), &["--limit", "--task"]);
    check(&words(&[&single, &["--concurrent", "3"]]), &["--concurrent", "--task"]);
    check(&["--batch", &rows, "--slug", "x"], &["--slug", "--batch"]);
    check(&["--batch", &rows, "--expected", "x"], &["--expected", "--batch"]);
    check(&["--batch", &rows, "--output", "-"], &["--json"]);
    check(&["--batch", &rows, "--limit", "0"], &["--limit", "0"]);
    check(&["--batch", &rows, "--limit", "2.5"], &["--limit", "2.5"]);
    check(&["--batch", &rows, "--concurrent", "0"], &["--concurrent"]);
    for cycles in ["0", "4", "one"] {
        check(&words(&[&single, &["--cycles", cycles]]), &["--cycles", cycles]);
    }
    for usd in ["-1", "NaN", "five"] {
        check(&words(&[&single, &[&format!("--max-usd={usd}")]]), &["--max-usd", usd]);
    }
    for slug in ["../x", "a.b", ""] {
        check(&words(&[&single, &[&format!("--slug={slug}")]]), &["slug", "letters"]);
    }
    check(&words(&[&single, &["--dimensions", "dept"]]), &["did you mean `depth`"]);
    check(&words(&[&single, &["--rubric", "other"]]), &["task-v1", "qa-v1"]);
    check(&words(&[&single, &["--rubric", "qa-v1"]]), &["expected answer", "--rubric task-v1"]);
    check(&words(&[&single, &["--replay-only"]]), &["--cassette"]);
    check(&["--task", "@-", "--output", "-"], &["stdin can be read once"]);
}

#[test]
fn files_that_hold_nothing_to_judge() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let missing = court.home.file("missing");
    let run = |args: &[&str]| court.run(&words(&[&VERB, args, &["--json"], &SEATS]));
    let check = |args: &[&str], says: &[&str]| refused(&court, &run(args), says);
    check(&words(&[&TASK, &["--output", &missing]]), &["missing", "is the path right?"]);
    check(&["--batch", &missing], &["missing", "is the path right?"]);
    let (file, task) = (court.home.write("o.md", PASS), format!("@{missing}"));
    check(&["--task", &task, "--output", &file], &["missing", "@@"]);
    check(&["--task", " ", "--output", &file], &["--task is empty"]);
    let blank = court.home.write("blank", " \n\n");
    check(&words(&[&TASK, &["--output", &blank]]), &["blank is empty"]);
    check(&["--batch", &blank], &["blank is empty"]);
    court.home.write("blob", [0xff, 0xfe, 0x00]);
    let blob = court.home.file("blob");
    check(&words(&[&TASK, &["--output", &blob]]), &["not UTF-8"]);
    let summary_only = court.home.write("s.jsonl", "{\"kind\": \"by_type_summary\"}\n");
    check(&["--batch", &summary_only], &["no row to judge", "longmemeval"]);
    let bad = court.home.write("bad.jsonl", "{\"question\": \"x\"}\n{\"error\": \"no key\"}\n");
    check(
        &["--batch", &bad],
        &["1 malformed, 1 not answered", "line 1: no text under `hypothesis`", "no key"],
    );
    // A receipt that could not be kept is not paid for.
    let args = [&TASK[..], &["--output", &file, "--receipt-dir", &blank]].concat();
    check(&args, &["blank"]);
}

#[test]
fn a_panel_that_can_not_be_asked_says_so_before_anything_is_spent() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let file = court.home.write("o.md", PASS);
    let keyless = court.home.run(&words(&[&VERB, &TASK, &["--output", &file, "--json"], &SEATS]));
    refused(&court, &keyless, &["slot A", "openai:a", "TEST_KEY", "--slot-a-model"]);
    let check = |slot: &str, model: &str, says: &[&str]| {
        let seats = seats_with(slot, model);
        let ran = court.run(&words(&[&VERB, &TASK, &["--output", &file, "--json"], &seats]));
        refused(&court, &ran, says);
    };
    check("c", "google:other", &["slot C", "google:other", "no_price", "prices.json"]);
    check("b", "nobody:b", &["slot B", "nobody", "--slot-b-model"]);
    check("b", "gpt", &["slot B", "provider:model"]);
    check("b", "openai:a", &["openai:a", "has two seats", "different models"]);
    assert_eq!(court.home.json(&["spend"])["lines"], serde_json::json!([]));
}

#[test]
fn a_run_that_could_exceed_the_budget_does_not_start() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let single = judge(&court, PASS, &["--max-usd", "0.001"]);
    refused(&court, &single, &["$0.001 is allowed", "--yes", "--max-usd"]);
    let long = "x".repeat(4_000_000);
    refused(&court, &judge(&court, &long, &["--max-usd", "1"]), &["--yes"]);
    let rows = rows_of(&[PASS; 10]);
    refused(&court, &judge_rows(&court, &rows, &["--budget-usd", "0.05"]), &["--yes"]);
    let cycles = judge_rows(&court, &rows, &["--cycles", "3", "--max-usd", "0.2"]);
    refused(&court, &cycles, &["--yes"]);
    assert_eq!(court.home.json(&["spend"])["lines"], serde_json::json!([]));
    judge_rows(&court, &rows, &["--max-usd", "0.5"]).exits(0);
}
