//! Files of rows: what counts, in which order, and the verdict on all of them.

use gbrain_core::cross_modal::batch::RowVerdict;
use gbrain_core::format::cross_modal::Summary;
use gbrain_core::format::schema::of_body;
use gbrain_testkit::providers::Fault;
use serde_json::{Value, json};

use super::{court, judge_rows, rows_of, summary};
use crate::conforms::assert_conforms;
use crate::models::Provided;
use crate::support::{Home, args_of};

const PASS: &str = "a=9 b=9 c=9";
const FAIL: &str = "a=2 b=9 c=9";
const UNSURE: &str = "a=9 b=? c=?";
const UPSTREAM: &str =
    "{\"question_id\": \"up\", \"question\": \"x\", \"hypothesis\": \"\", \"error\": \"no key\"}\n";
const MALFORMED: &str = "{\"question_id\": \"bad\", \"question\": \"x\"}\n";
const BY_TYPE: &str = "{\"schema_version\": 1, \"kind\": \"by_type_summary\", \"recall_by_type\": {}, \
                       \"aggregate\": {\"hit\": 1, \"total\": 1, \"rate\": 1.0}}\n";

#[track_caller]
fn check(court: &Provided, rows: &str, verdict: &str, code: i32) -> Summary {
    let ran = judge_rows(court, rows, &[]);
    assert_eq!(ran.code, Some(code), "{rows}{}", ran.stderr);
    let found = summary(&ran);
    assert_eq!(found.verdict.name(), verdict, "{rows}");
    found
}

#[test]
fn error_before_fail_before_inconclusive_before_pass() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let rows = |outputs: &[&str], more: &str| format!("{}{more}", rows_of(outputs));
    check(&court, &rows(&[PASS, PASS], ""), "pass", 0);
    check(&court, &rows(&[PASS, PASS], BY_TYPE), "pass", 0);
    check(&court, &rows(&[PASS, UNSURE], ""), "inconclusive", 2);
    check(&court, &rows(&[PASS, UNSURE, FAIL], ""), "fail", 1);
    check(&court, &rows(&[FAIL, PASS], BY_TYPE), "fail", 1);
    check(&court, &rows(&[PASS], UPSTREAM), "error", 2);
    check(&court, &rows(&[PASS, FAIL], UPSTREAM), "error", 2);
    check(&court, &rows(&[FAIL, UNSURE], MALFORMED), "error", 2);
    check(&court, &rows(&[PASS], "not json\n"), "error", 2);
    let all =
        check(&court, &rows(&[PASS, FAIL, UNSURE], &[UPSTREAM, MALFORMED].concat()), "error", 2);
    let counts = [all.total, all.pass_count, all.fail_count, all.inconclusive_count];
    assert_eq!(counts, [5, 1, 1, 1]);
    assert_eq!([all.error_count, all.upstream_error_count, all.malformed_count], [0, 1, 1]);
}

/// If the spend ledger can't be written, no model is called and the row is an error.
#[test]
fn a_row_that_could_not_be_judged_is_an_error() {
    let court = court(Home::postgres(), |_| Fault::None);
    court.home.sql("ALTER TABLE charges RENAME TO elsewhere");
    let found = check(&court, &rows_of(&[PASS, PASS]), "error", 2);
    assert_eq!((found.error_count, found.per_question[0].verdict), (2, RowVerdict::Error));
    let error = found.per_question[0].error.as_deref().unwrap();
    assert!(error.contains("ledger"), "{error}");
    super::judge(&court, PASS, &[]).exits(2).stderr_has("ledger");
    assert_eq!(court.server.requests(), 0);
}

#[test]
fn a_limit_counts_rows_that_are_judged() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let rows = format!("{BY_TYPE}{}", rows_of(&[PASS; 12]));
    let found = check(&court, &rows, "pass", 0);
    assert_eq!((found.total, found.beyond_limit_count), (10, 2), "ten are judged unless told");
    let ran = judge_rows(&court, &rows, &["--limit", "3"]);
    assert_eq!((summary(&ran).total, summary(&ran).beyond_limit_count), (3, 9));
    let ran = judge_rows(&court, &format!("{rows}{MALFORMED}"), &["--limit", "3"]);
    assert_eq!(ran.code, Some(2), "what can't be judged counts, however far down");
}

#[test]
fn rows_keep_their_order_and_the_summary_stands_for_itself() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let outputs: Vec<String> =
        (0..9).map(|at| format!("a={} b=8 c=8 row {at}", 6 + at % 4)).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let out = court.home.file("made/for/it/summary.json");
    let ran =
        judge_rows(&court, &rows_of(&outputs), &["--concurrent", "5", "--output", &out]).exits(0);
    let found = summary(&ran);
    let ids: Vec<&str> = found.per_question.iter().map(|row| row.question_id.as_str()).collect();
    assert_eq!(ids, (0..9).map(|at| format!("q{at}")).collect::<Vec<_>>());
    for (at, row) in found.per_question.iter().enumerate() {
        let receipt = row.receipt.as_ref().unwrap();
        let vote = receipt.slots[0].parsed.as_ref().unwrap();
        assert_eq!(usize::from(vote.scores["correctness"]), 6 + at % 4, "{row:?}");
        assert_eq!(receipt.slots.len(), 3);
        assert!(!receipt.input_sha256.is_empty() && !receipt.prompt_sha256.is_empty());
    }
    assert_eq!((found.concurrent, found.cycles_per_question), (5, 1));
    assert!(found.agreement.krippendorff_alpha.is_some());
    assert!(found.cost_usd > 0.0 && found.cost_usd <= found.est_cost_usd);
    let written: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_conforms(of_body::<Summary>().as_value(), &written);
    assert_eq!(serde_json::from_value::<Summary>(written).unwrap(), found);
}

#[test]
fn an_unnamed_summary_is_stored_by_its_rows() {
    let court = court(Home::sqlite(), |_| Fault::None);
    check(&court, &rows_of(&[PASS]), "pass", 0);
    check(&court, &rows_of(&[PASS, PASS]), "pass", 0);
    let dir = court.home.path().join("runs/cross-modal");
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "two files of rows, no receipts beside: {names:?}");
    assert!(names.iter().all(|name| name.starts_with("cross-modal-batch-") && name.len() == 31));
}

#[test]
fn rows_are_compared_with_an_expected_answer_if_all_have_one() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let without =
        "{\"question_id\": \"w\", \"question\": \"x\", \"hypothesis\": \"a=9 b=9 c=9\"}\n";
    let rubric = |rows: &str, more: &[&str]| {
        let ran = judge_rows(&court, rows, more).exits(0);
        summary(&ran).rubric.id
    };
    assert_eq!(rubric(&rows_of(&[PASS]), &[]), "qa");
    assert_eq!(rubric(without, &[]), "task");
    let mixed = format!("{}{without}", rows_of(&[PASS]));
    judge_rows(&court, &mixed, &[]).exits(2).stderr_has("1 of 2").stderr_has("--rubric");
    assert_eq!(rubric(&mixed, &["--rubric", "task-v1"]), "task");
    assert_eq!(rubric(&mixed, &["--limit", "1"]), "qa", "what is beyond the limit does not matter");
}

/// Reads the rows that `gbrain eval longmemeval --by-type` writes.
#[test]
fn rows_of_our_own_benchmark_are_judged() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let dataset = crate::benchmark::dataset(4, str::to_owned).to_string();
    let dataset = court.home.write("lme.json", &dataset);
    let out = court.home.file("lme.jsonl");
    court.home.ok(&args_of(&format!(
        "eval longmemeval {dataset} --retrieval-only --by-type --output {out}"
    )));
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.contains("by_type_summary"));
    let rows = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        if row["kind"] != "by_type_summary" {
            row["hypothesis"] = json!(PASS);
        }
        format!("{row}\n")
    });
    let found = check(&court, &rows.collect::<String>(), "pass", 0);
    assert_eq!((found.total, found.pass_count, found.malformed_count), (4, 4, 0));
    assert_eq!(found.rubric.id, "qa");
}

#[test]
fn a_batch_in_a_terminal() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let rows = format!("{}{UPSTREAM}{MALFORMED}", rows_of(&[PASS, FAIL, UNSURE]));
    let file = court.home.write("run.jsonl", &rows);
    let ran =
        court.run(&super::words(&[&super::VERB, &["--batch", &file], &super::SEATS])).exits(2);
    let text = ran.stdout;
    for line in [
        "ERROR  5 rows, 1 passed, 1 failed, 1 inconclusive, 1 not answered, 1 malformed",
        "FAIL  q1  correctness mean_below_7 min_below_5",
        "INCONCLUSIVE  q2  too_few_models: parse_fail",
        "UPSTREAM_ERROR  up  no key",
        "MALFORMED  line 5  no text under `hypothesis`",
        "saved up to $",
        "rubric qa-v1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
