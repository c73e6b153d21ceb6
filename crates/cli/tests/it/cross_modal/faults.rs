//! Whatever keeps judges from judging: each with its name, none green, none a fail.

use std::process::{Command, Stdio};
use std::time::Duration;

use gbrain_testkit::providers::Fault;
use serde_json::json;

use super::{SEATS, VERB, court, judge, judge_rows, receipt, rows_of, summary, troubles, words};
use crate::support::{Home, Ran, wait_until};

const PASS: &str = "a=9 b=9 c=9";

#[test]
fn a_panel_that_never_answers_is_no_verdict() {
    for (fault, kind) in [
        (Fault::Status(500, None), "http_5xx"),
        (Fault::Status(429, Some(0)), "rate_limited"),
        (Fault::Status(401, None), "denied"),
        (Fault::Status(400, None), "bad_request"),
        (Fault::Garbage, "parse_fail"),
        (Fault::Cut, "parse_fail"),
        (Fault::Hang(Duration::from_secs(4)), "timeout"),
    ] {
        let court = court(Home::sqlite(), move |_| fault);
        let ran = judge(&court, PASS, &[]);
        assert_eq!(ran.code, Some(2), "{kind}: {}", ran.stderr);
        let found = receipt(&ran);
        assert_eq!((found.verdict.name(), found.aggregate.votes), ("inconclusive", 0), "{kind}");
        assert_eq!(troubles(&found)[..2], [kind, kind]);
        let batch = judge_rows(&court, &rows_of(&[PASS]), &[]);
        assert_eq!((batch.code, summary(&batch).inconclusive_count), (Some(2), 1), "{kind}");
    }
}

#[test]
fn a_retried_call_that_succeeds_passes() {
    let court = court(Home::sqlite(), |number| match number {
        1 => Fault::Status(429, Some(0)),
        2 => Fault::Status(503, None),
        _ => Fault::None,
    });
    let ran = judge(&court, PASS, &[]).exits(0);
    assert_eq!(receipt(&ran).aggregate.votes, 3);
    assert_eq!(court.server.requests(), 5);
}

#[test]
fn one_judge_that_is_away_leaves_a_quorum() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let url = court.server.url();
    let provider =
        |path: &str| json!({ "base_url": format!("{url}{path}"), "key_env": "TEST_KEY" });
    // The port of the third is closed.
    let away = json!({ "base_url": "http://127.0.0.1:1/v1beta", "key_env": "TEST_KEY" });
    let providers =
        json!({ "openai": provider("/v1"), "anthropic": provider("/v1"), "google": away });
    court.configure(
        json!({ "llm": { "providers": providers, "timeout_seconds": 2, "attempts": 1 } }),
    );
    for (output, code) in [(PASS, 0), ("a=9 b=6 c=9", 0), ("a=7 b=6 c=9", 1), ("a=9 b=? c=9", 2)] {
        let ran = judge(&court, output, &[]);
        assert_eq!(ran.code, Some(code), "{output}: {}", ran.stderr);
        assert!(troubles(&receipt(&ran)).contains(&"unreachable".to_owned()), "{}", ran.stdout);
    }
}

#[test]
fn an_interrupt_ends_a_batch_with_what_was_done() {
    // The first row is judged; then the server is unreachable.
    let court = court(Home::sqlite(), |number| match number {
        1..=3 => Fault::None,
        _ => Fault::Hang(Duration::from_secs(30)),
    });
    let file = court.home.write("run.jsonl", rows_of(&[PASS; 5]));
    let args = words(&[&VERB, &["--batch", &file, "--concurrent", "1", "--json"], &SEATS]);
    let mut command = court.home.command(&args);
    let piped = command.env("TEST_KEY", "k").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = piped.spawn().unwrap();
    wait_until("the second row is asked", || court.server.requests() >= 5);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let ran = Ran::of(child.wait_with_output().unwrap()).exits(2);
    let found = summary(&ran);
    assert_eq!((found.total, found.pass_count, found.inconclusive_count), (5, 1, 4));
    for row in &found.per_question[1..] {
        let calls = &row.receipt.as_ref().unwrap().slots;
        assert!(calls.iter().all(|call| call.not_made.as_deref() == Some("cancelled")), "{row:?}");
    }
    assert_eq!(court.server.requests(), 5, "nobody is asked after the interrupt");
}
