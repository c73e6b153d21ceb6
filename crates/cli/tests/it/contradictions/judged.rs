//! With a model, and with what it said before.

use gbrain_testkit::providers::Fault;
use serde_json::{Value, json};

use super::{about_the_berth, obedient, with_disagreement};
use crate::models::Provided;
use crate::support::Home;

const JUDGE: [&str; 2] = ["--judge", "anthropic:m"];
/// Planted pairs, and the one pair of the brain.
const CALLS: u64 = 80 + 1;

fn judged(args: &[&'static str]) -> Vec<&'static str> {
    about_the_berth(&[&JUDGE[..], args].concat())
}

#[test]
fn a_pair_is_judged_once_and_remembered_until_what_the_judge_sees_changes() {
    for home in Home::both() {
        let provided = Provided::new(home, obedient(), |_| Fault::None);
        with_disagreement(&provided.home);
        let run = |args: &[&'static str]| provided.run(&judged(args));
        let first = run(&["--query", "is the berth open?"]).exits(1);
        let found = first.json();
        assert_eq!(found["judge_model"], "anthropic:m");
        assert_eq!(found["findings"].as_array().unwrap().len(), 1, "one pair, two queries");
        assert_eq!(found["queries_with_contradiction"], 2);
        let calls = provided.server.requests();
        assert!(found["cost_usd"]["judge"].as_f64().unwrap() > 0.0);
        let again = run(&["--query", "is the berth open?"]);
        assert_eq!(again.json()["findings"], found["findings"]);
        assert_eq!(provided.server.requests(), calls, "everything is remembered");
        assert_eq!(again.json()["cost_usd"]["total"], 0.0);
        assert_eq!(again.json()["cache"]["hit_rate"], 1.0);
        // Another day of the same statement is another question.
        provided.home.put(
            "notes/log",
            "---\ndate: 2024-05-02\n---\nThe north berth of the harbour is closed.",
        );
        run(&[]);
        assert!(provided.server.requests() > calls, "a date that the judge sees is asked anew");
        let calls = provided.server.requests();
        run(&["--refresh-cache"]);
        assert!(provided.server.requests() >= calls + CALLS);
        let calls = provided.server.requests();
        run(&["--no-cache"]);
        assert!(provided.server.requests() >= calls + CALLS);
        let spent = provided.home.json(&["spend"]);
        assert_eq!(spent["lines"][0]["purpose"], "contradictions");
        assert_eq!(spent["lines"][0]["calls"], provided.server.requests());
    }
}

#[test]
fn a_setting_names_the_judge_and_a_flag_sends_it_home() {
    let provided = Provided::new(Home::sqlite(), obedient(), |_| Fault::None);
    with_disagreement(&provided.home);
    provided.home.ok(&["config", "set", "models.judge", "openai:m"]);
    let by_setting = provided.run(&about_the_berth(&[]));
    assert_eq!(by_setting.json()["judge_model"], "openai:m");
    let calls = provided.server.requests();
    let offline = provided.run(&about_the_berth(&["--judge", "offline"]));
    assert_eq!(offline.json()["judge_model"], "offline:rules-2");
    assert_eq!(provided.server.requests(), calls);
}

#[test]
fn private_pages_stay_at_home() {
    let provided = Provided::new(Home::sqlite(), obedient(), |_| Fault::None);
    with_disagreement(&provided.home);
    let private = "---\nvisibility: private\n---\nThe north berth of the harbour is zanzibarish.";
    provided.home.put("notes/ghost", private);
    let seen = || provided.server.bodies().iter().any(|body| body.contains("zanzibarish"));
    let ran = provided.run(&judged(&[]));
    assert!(!seen() && !ran.stdout.contains("zanzibarish"));
    provided.run(&judged(&["--include-private"]));
    assert!(seen(), "its owner may ask for it");
}

#[test]
fn a_recorded_judge_needs_no_key_and_no_network() {
    let provided = Provided::new(Home::sqlite(), obedient(), |_| Fault::None);
    with_disagreement(&provided.home);
    let tape = provided.home.file("tape.ndjson");
    let with_tape = |more: &[&'static str]| -> Vec<String> {
        let args = judged(more);
        args.into_iter().chain(["--cassette", &tape]).map(str::to_owned).collect()
    };
    let words = |args: &[String]| -> Vec<String> { args.to_vec() };
    let run = |args: Vec<String>| {
        provided.run(&words(&args).iter().map(String::as_str).collect::<Vec<_>>())
    };
    let recorded = run(with_tape(&[])).exits(1);
    let calls = provided.server.requests();
    let replay = |more: &[&'static str]| {
        let args = with_tape(&[&["--replay-only"], more].concat());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        provided.home.run(&args)
    };
    let replayed = replay(&[]).exits(1);
    assert_eq!(replayed.json()["findings"], recorded.json()["findings"]);
    assert_eq!(provided.server.requests(), calls);
    let cut = replay(&["--max-pair-chars", "51"]);
    assert_eq!(cut.code, Some(2), "the judge would see something else");
    let reasons = cut.json()["inconclusive_reasons"].clone();
    assert!(reasons.as_array().unwrap().contains(&json!("stale_cassette")), "{reasons}");
    // An edited prompt: the same inputs under another hash.
    let text = std::fs::read_to_string(&tape).unwrap();
    let edited: String = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["prompt_sha256"].is_string() {
                line["prompt_sha256"] = json!("0".repeat(64));
            }
            format!("{line}\n")
        })
        .collect();
    assert_ne!(edited, text);
    std::fs::write(&tape, edited).unwrap();
    let stale = replay(&[]).exits(2);
    assert_eq!(stale.json()["run_status"], "judge_failed");
    assert!(stale.stderr.contains("stale_cassette"), "{}", stale.stderr);
}

/// Set to make the committed cassette again, after a change of the prompt or of the planted pairs.
const RECORD: &str = "GBRAIN_RECORD";

/// The run of this project's own CI: a judge from a file in the repository, no key, no server.
#[test]
fn the_committed_cassette_judges() {
    let tape =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/contradictions.cassette.ndjson");
    let args = about_the_berth(&["--judge", "anthropic:m", "--cassette", tape]);
    if std::env::var_os(RECORD).is_some() {
        let _ = std::fs::remove_file(tape);
        let provided = Provided::new(Home::sqlite(), obedient(), |_| Fault::None);
        with_disagreement(&provided.home);
        assert_eq!(provided.run(&args).code, Some(1));
    }
    let home = Home::sqlite();
    with_disagreement(&home);
    let ran = home.run(&[&args[..], &["--replay-only"]].concat());
    assert_eq!(ran.code, Some(1), "record it again with {RECORD}=1: {}", ran.stderr);
    let found = ran.json();
    assert_eq!((&found["run_status"], &found["verdict"]), (&json!("ok"), &json!("fail")));
    assert_eq!(found["pair_rate"]["sensitivity"]["point"], 1.0);
    assert_eq!(found["pair_rate"]["specificity"]["point"], 1.0);
    assert_eq!(found["cost_usd"]["total"], 0.0);
    assert_eq!(home.json(&["spend"])["lines"], json!([]));
}
