//! One output: verdicts, cycles, receipts.

use std::io::Write as _;
use std::process::Stdio;

use gbrain_core::cross_modal::DimensionFailure;
use gbrain_core::format::cross_modal::Receipt;
use gbrain_core::format::schema::of_body;
use gbrain_testkit::providers::Fault;
use serde_json::Value;

use super::{SEATS, TASK, VERB, court, judge, receipt, troubles, words};
use crate::conforms::assert_conforms;
use crate::support::{Home, Ran};

/// The judges' scores, the cycles, the exit code, the verdict and the number of calls.
#[track_caller]
fn check(output: &str, cycles: &str, code: i32, verdict: &str, requests: u64) -> Receipt {
    let court = court(Home::sqlite(), |_| Fault::None);
    let ran = judge(&court, output, &["--cycles", cycles]);
    assert_eq!(ran.code, Some(code), "{output}: {}{}", ran.stdout, ran.stderr);
    let found = receipt(&ran);
    assert_eq!(
        (found.verdict.name(), found.aggregate.verdict.name()),
        (verdict, verdict),
        "{output}"
    );
    assert_eq!(court.server.requests(), requests, "{output}");
    found
}

fn reasons(receipt: &Receipt) -> Vec<DimensionFailure> {
    receipt.aggregate.dimensions[0].fail_reasons.clone()
}

#[test]
fn a_panel_passes_and_fails() {
    let pass = check("a=9 b=8 c=7", "1", 0, "pass", 3);
    assert_eq!(pass.aggregate.contributing_models, 3);
    assert_eq!(pass.judgement.saved_usd, 0.0);
    // 7 + 7 + 6 is below 21, with no score below 5.
    assert_eq!(reasons(&check("a=7 b=7 c=6", "1", 1, "fail", 3)), [DimensionFailure::MeanBelow7]);
    assert_eq!(reasons(&check("a=10 b=10 c=4", "1", 1, "fail", 3)), [DimensionFailure::MinBelow5]);
    check("a=7 b=7 c=7", "1", 0, "pass", 3);
    check("a=5 b=9 c=7", "1", 0, "pass", 3);
    check("a=9 b=9 c=?", "1", 0, "pass", 3);
}

#[test]
fn fewer_than_two_models_are_no_verdict() {
    let one = check("a=10 b=? c=?", "1", 2, "inconclusive", 3);
    assert_eq!(one.aggregate.inconclusive_reason.unwrap().name(), "too_few_models");
    assert_eq!(troubles(&one), ["parse_fail", "parse_fail"]);
    check("a=1 b=? c=?", "1", 2, "inconclusive", 3);
    // Two that give no vote settle it: the third can't make up for them.
    let none = check("a=? b=? c=9", "1", 2, "inconclusive", 2);
    assert_eq!(troubles(&none), ["parse_fail", "parse_fail", "settled"]);
}

#[test]
fn a_reply_that_is_no_vote_is_none_at_all() {
    for bad in ["11", "0", "7.5", "\"9\"", "9-11", "null"] {
        let found = check(&format!("a={bad} b=9 c=9"), "1", 0, "pass", 3);
        assert_eq!(found.aggregate.contributing_models, 2, "{bad}");
        assert_eq!(troubles(&found), ["parse_fail"], "{bad}");
        assert!(found.judgement.slots[0].cost_usd > 0.0, "what is no vote is paid for: {bad}");
    }
}

#[test]
fn cycles_are_pooled_and_never_the_best_of_them() {
    // One bad cycle undoes good ones, whichever it is.
    check("a=9,9,4 b=9 c=9", "3", 1, "fail", 9);
    check("a=9,4,9 b=9 c=9", "3", 1, "fail", 6);
    check("a=4,9,9 b=9 c=9", "3", 1, "fail", 2);
    let pooled = check("a=6,7,8 b=7 c=7", "3", 0, "pass", 9);
    assert_eq!(pooled.aggregate.dimensions[0].per_slot["A"], Some(7.0));
    assert_eq!((pooled.aggregate.votes, pooled.judgement.cycles), (9, 3));
    check("a=6,6,7 b=7 c=7", "3", 1, "fail", 9);
    // A cycle without a vote is counted, and gives the other votes no more weight.
    let missing = check("a=9,? b=9 c=9", "2", 0, "pass", 6);
    assert_eq!((missing.aggregate.votes, missing.aggregate.failed_calls), (5, 1));
}

#[test]
fn calls_that_cannot_change_the_verdict_are_skipped_and_the_cost_is_shown() {
    let settled = check("a=4 b=9 c=9", "3", 1, "fail", 2);
    assert_eq!(settled.aggregate.calls_not_made, 7);
    assert_eq!(troubles(&settled), ["settled"; 7]);
    assert!(settled.judgement.saved_usd > settled.judgement.cost_usd, "{settled:?}");
    let made = settled.est_cost_usd - settled.judgement.saved_usd;
    assert!(made >= settled.judgement.cost_usd, "what was made cost no more than its worst");
}

#[test]
fn judge_agreement_is_reported() {
    let agreed = check("a=9-7-9-7-9 b=9-7-9-7-9 c=9-7-9-7-9", "1", 0, "pass", 3);
    assert_eq!(agreed.aggregate.agreement.krippendorff_alpha, Some(1.0));
    let apart = check("a=9-7-9-7-9 b=7-9-7-9-7 c=8", "1", 0, "pass", 3);
    assert!(apart.aggregate.agreement.krippendorff_alpha.unwrap() < 0.0);
    let court = court(Home::sqlite(), |_| Fault::None);
    let file = court.home.write("output.md", "a=9-7-9-7-9 b=9-7-9-7-9 c=9-7-9-7-9");
    let text = court.run(&words(&[&VERB, &TASK, &["--output", &file], &SEATS])).stdout;
    assert!(text.contains("agreement (Krippendorff's alpha, interval): 1.000"), "{text}");
}

#[test]
fn the_stored_receipt_equals_the_printed_one() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let dir = court.home.path().join("skills/triage");
    std::fs::create_dir_all(&dir).unwrap();
    let skill = dir.join("SKILL.md");
    std::fs::write(&skill, "a=9 b=9 c=9").unwrap();
    let run = |more: &[&str]| -> Ran {
        let output = ["--output", skill.to_str().unwrap(), "--json"];
        court.run(&words(&[&VERB, &TASK, &output, &SEATS, more]))
    };
    let found = receipt(&run(&[]));
    assert_eq!((found.slug.as_str(), found.task.as_str()), ("triage", TASK[1]));
    let kept = format!("triage-{}.json", found.judgement.output_sha8);
    let kept = court.home.path().join("runs/cross-modal").join(kept);
    assert_eq!(found.receipt_path.as_deref(), kept.to_str());
    let written: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    assert_conforms(of_body::<Receipt>().as_value(), &written);
    assert_eq!(serde_json::from_value::<Receipt>(written).unwrap(), found);
    let own = court.home.file("deep/er");
    let named = receipt(&run(&["--slug", "My_1-a", "--receipt-dir", &own]));
    let expected = format!("{own}/My_1-a-{}.json", named.judgement.output_sha8);
    assert_eq!(named.receipt_path.as_deref(), Some(expected.as_str()));
    assert!(std::fs::exists(expected).unwrap());
    // Judged again after an edit: another file, so an old receipt is not taken for this text's.
    std::fs::write(&skill, "a=9 b=9 c=9 and more").unwrap();
    let edited = receipt(&run(&[]));
    assert_ne!(edited.receipt_path, found.receipt_path);
    assert_eq!(std::fs::read_dir(court.home.path().join("runs/cross-modal")).unwrap().count(), 2);
}

/// The receipt cannot be written: it is printed, and the run does not pass.
#[test]
fn a_judgement_that_cannot_be_stored_is_inconclusive() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let kept = receipt(&judge(&court, "a=9 b=9 c=9", &[])).receipt_path.unwrap();
    std::fs::remove_file(&kept).unwrap();
    std::fs::create_dir(&kept).unwrap();
    let ran = judge(&court, "a=9 b=9 c=9", &[]).exits(2).stderr_has("could not be stored");
    let found = receipt(&ran);
    assert_eq!((found.verdict.name(), found.receipt_path), ("pass", None));
}

#[test]
fn texts_come_from_files_and_stdin() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let brief = court.home.write("brief.md", "Say what a ferry costs.");
    let run = |task: &str, more: &[&str]| {
        let args = words(&[&VERB, &["--task", task, "--output", "-", "--json"], &SEATS, more]);
        let mut command = court.home.command(&args);
        let mut child = command
            .env("TEST_KEY", "k")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"a=9 b=9 c=9").unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap()).exits(0);
        receipt(&ran)
    };
    let found = run(&format!("@{brief}"), &[]);
    assert_eq!(found.task, "Say what a ferry costs.");
    assert_eq!(found.slug, found.judgement.output_sha8, "stdin has no name");
    assert_eq!(run("@@ada asks", &[]).task, "@ada asks");
    let compared = run("What?", &["--expected", "nine"]);
    assert_eq!(compared.expected.as_deref(), Some("nine"));
    assert_eq!(compared.judgement.dimensions, ["correctness", "directness"]);
    assert!(court.server.bodies().last().unwrap().contains("<expected_answer>\\nnine\\n"));
}

#[test]
fn dimensions_and_rubrics_are_chosen() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let dimensions = |more: &[&str]| {
        let found = receipt(&judge(&court, "a=9 b=9 c=9", more));
        let rubric = format!("{}-v{}", found.judgement.rubric.id, found.judgement.rubric.version);
        (rubric, found.judgement.dimensions.join(" "))
    };
    let all = "goal_achievement depth sourcing specificity usefulness";
    assert_eq!(dimensions(&[]), ("task-v1".to_owned(), all.to_owned()));
    let some = dimensions(&["--dimensions", "depth, tone"]);
    assert_eq!(some, ("custom-v1".to_owned(), "depth tone".to_owned()));
    let with_commas = dimensions(&["--dimensions", "tone: polite, and kind?; depth"]);
    assert_eq!(with_commas, ("custom-v1".to_owned(), "tone depth".to_owned()));
    let qa = dimensions(&["--rubric", "qa-v1", "--expected", "nine"]);
    assert_eq!(qa, ("qa-v1".to_owned(), "correctness directness".to_owned()));
}

#[test]
fn settings_name_the_panel_and_flags_are_stronger() {
    let court = court(Home::sqlite(), |_| Fault::None);
    for (slot, model) in [("a", "anthropic:b"), ("b", "openai:a"), ("c", "google:c")] {
        let key = format!("models.eval.cross_modal.slot_{slot}");
        court.home.ok(&["config", "set", &key, model]);
    }
    let file = court.home.write("output.md", "a=9 b=9 c=9");
    let models = |more: &[&str]| -> Vec<String> {
        let ran = court.run(&words(&[&VERB, &TASK, &["--output", &file, "--json"], more]));
        receipt(&ran).judgement.slots.iter().map(|call| call.model.clone()).collect()
    };
    assert_eq!(models(&[]), ["anthropic:b", "openai:a", "google:c"]);
    let flags = ["--slot-a-model", "google:c", "--slot-c-model", "anthropic:b"];
    assert_eq!(models(&flags), ["google:c", "openai:a", "anthropic:b"]);
}
