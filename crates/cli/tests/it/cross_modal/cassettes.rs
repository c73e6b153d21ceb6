//! Votes that were recorded: no key, no network, and never green by what is missing.

use gbrain_core::format::cross_modal::{Receipt, Summary};
use gbrain_testkit::providers::Fault;
use serde_json::{Value, json};

use super::{
    SEATS, TASK, VERB, court, judge, judge_rows, receipt, rows_of, seats_with, summary, troubles,
    words,
};
use crate::models::Provided;
use crate::support::{Home, Ran};

const PASS: &str = "a=9 b=9 c=9";

fn replay(home: &Home, output: &str, tape: &str, more: &[&str]) -> Ran {
    let file = home.write("output.md", output);
    let args = ["--output", &file, "--json", "--cassette", tape, "--replay-only"];
    home.run(&words(&[&VERB, &TASK, &args, &SEATS, more]))
}

/// The aggregate of the votes, without costs and paths.
fn timeless(mut receipt: Receipt) -> Receipt {
    receipt.timestamp = String::new();
    receipt.est_cost_usd = 0.0;
    receipt.judgement.cost_usd = 0.0;
    receipt.judgement.saved_usd = 0.0;
    receipt.judgement.slots.iter_mut().for_each(|call| call.cost_usd = 0.0);
    receipt
}

#[test]
fn a_recorded_panel_needs_no_key_and_no_network() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let tape = court.home.file("tape.ndjson");
    let check = |output: &str, cycles: &str, code: i32| {
        let more = ["--cassette", &tape, "--cycles", cycles];
        let recorded = judge(&court, output, &more);
        assert_eq!(recorded.code, Some(code), "{output}: {}", recorded.stderr);
        let replayed = replay(&court.home, output, &tape, &["--cycles", cycles]);
        assert_eq!(replayed.code, Some(code), "{output}: {}", replayed.stderr);
        let found = receipt(&replayed);
        assert_eq!((found.est_cost_usd, found.judgement.cost_usd), (0.0, 0.0));
        assert_eq!(timeless(found), timeless(receipt(&recorded)), "{output}");
    };
    check("a=9,8,7 b=9 c=9", "3", 0);
    check("a=9,4 b=9 c=9", "3", 1);
    check("a=4 b=9 c=9", "1", 1);
    check("a=9 b=? c=?", "1", 2);
    let asked = court.server.requests();
    // Recorded calls are not repeated, even with a key.
    assert_eq!(judge(&court, "a=4 b=9 c=9", &["--cassette", &tape, "--cycles", "1"]).code, Some(1));
    let Provided { home, server } = court;
    assert_eq!(server.requests(), asked);
    drop(server);
    assert_eq!(replay(&home, "a=9,8,7 b=9 c=9", &tape, &["--cycles", "3"]).code, Some(0));
    let spent = home.json(&["spend"]);
    assert_eq!(spent["lines"].as_array().unwrap().len(), 3, "one line a model, none for replays");
}

#[test]
fn a_stale_cassette_is_never_green() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let tape = court.home.file("tape.ndjson");
    assert_eq!(judge(&court, PASS, &["--cassette", &tape]).code, Some(0));
    let check = |tape: &str, more: &[&str], why: &str| {
        let ran = replay(&court.home, PASS, tape, more);
        assert_eq!(ran.code, Some(2), "{why}: {}", ran.stdout);
        let found = receipt(&ran);
        assert_eq!(found.verdict.name(), "inconclusive");
        assert!(troubles(&found).iter().any(|trouble| trouble == why), "{why}: {}", ran.stdout);
    };
    // Another limit, other dimensions: another prompt for the same input.
    check(&tape, &["--max-tokens", "1000"], "stale_cassette");
    check(&tape, &["--dimensions", "depth"], "stale_cassette");
    check(&tape, &["--cycles", "2"], "not_recorded");
    let file = court.home.file("output.md");
    let args = ["--output", &file, "--json", "--cassette", &tape, "--replay-only"];
    let other = seats_with("c", "google:d");
    let ran = court.home.run(&words(&[&VERB, &TASK, &args, &other]));
    assert_eq!((ran.code, troubles(&receipt(&ran))), (Some(2), vec!["not_recorded".to_owned()]));
    let text = std::fs::read_to_string(&tape).unwrap();
    // Two votes of three are a quorum if a model failed, but not if it was not called.
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("google:c")).collect();
    let cut = court.home.write("cut.ndjson", format!("{}\n", kept.join("\n")));
    check(&cut, &[], "not_recorded");
    let edited: String = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["model"] == "google:c" {
                line["prompt_sha256"] = json!("0".repeat(64));
            }
            format!("{line}\n")
        })
        .collect();
    let edited = court.home.write("edited.ndjson", &edited);
    check(&edited, &[], "stale_cassette");
    replay(&court.home, PASS, &court.home.file("none"), &[])
        .exits(2)
        .stderr_has("none")
        .stderr_has("--cassette");
}

#[test]
fn rows_replay_whole() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let tape = court.home.file("tape.ndjson");
    let rows = rows_of(&[PASS, "a=2 b=9 c=9", "a=9 b=? c=?"]);
    let recorded = summary(&judge_rows(&court, &rows, &["--cassette", &tape]));
    let file = court.home.file("run.jsonl");
    let args = ["--batch", &file, "--json", "--cassette", &tape, "--replay-only"];
    let ran = court.home.run(&words(&[&VERB, &args, &SEATS])).exits(1);
    let verdicts = |summary: &Summary| -> Vec<&str> {
        summary.per_question.iter().map(|row| row.verdict.name()).collect()
    };
    let replayed = summary(&ran);
    assert_eq!(verdicts(&replayed), ["pass", "fail", "inconclusive"]);
    assert_eq!(verdicts(&replayed), verdicts(&recorded));
    assert_eq!(replayed.agreement, recorded.agreement);
}

/// Set to make the committed cassette again, after a change of the prompt or of a rubric:
/// `GBRAIN_RECORD=1 cargo nextest run -p gbrain-cli -E 'test(cross_modal)'`.
const RECORD: &str = "GBRAIN_RECORD";

/// The run of this project's own CI: a panel from a file in the repository, no key, no server.
#[test]
fn the_committed_cassette_judges() {
    let tape = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cross-modal.cassette.ndjson");
    let rows = rows_of(&[
        "At nine. a=9 b=8-9 c=9",
        "At ten. a=2-9 b=3-9 c=2-9",
        "I do not know. a=3 b=? c=4",
    ]);
    if std::env::var_os(RECORD).is_some() {
        let _ = std::fs::remove_file(tape);
        let court = court(Home::sqlite(), |_| Fault::None);
        assert_eq!(judge_rows(&court, &rows, &["--cassette", tape]).code, Some(1));
    }
    let home = Home::sqlite();
    let file = home.write("run.jsonl", &rows);
    let args = ["--batch", &file, "--json", "--cassette", tape, "--replay-only"];
    let ran = home.run(&words(&[&VERB, &args, &SEATS]));
    assert_eq!(ran.code, Some(1), "record it again with {RECORD}=1: {}{}", ran.stdout, ran.stderr);
    let found = summary(&ran);
    assert_eq!((found.pass_count, found.fail_count, found.total), (1, 2, 3));
    assert_eq!((found.cost_usd, found.est_cost_usd), (0.0, 0.0));
    assert_eq!(home.json(&["spend"])["lines"], json!([]));
}
