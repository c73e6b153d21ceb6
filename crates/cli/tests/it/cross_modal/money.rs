//! Budgets that hold, and what is told of the money.

use gbrain_core::format::cross_modal::Summary;
use gbrain_testkit::providers::Fault;

use super::{court, judge, judge_rows, receipt, rows_of, summary, troubles};
use crate::models::Provided;
use crate::support::Home;

const PASS: &str = "a=9 b=9 c=9";

fn spent(court: &Provided) -> f64 {
    court.home.json(&["spend"])["usd"].as_f64().unwrap()
}

/// Calls of a summary that were not made for this reason.
fn not_made(summary: &Summary, why: &str) -> usize {
    let calls = summary.per_question.iter().flat_map(|row| &row.receipt.as_ref().unwrap().slots);
    calls.filter(|call| call.not_made.as_deref() == Some(why)).count()
}

#[test]
fn a_confirmed_run_stops_at_its_budget() {
    for home in Home::both() {
        let court = court(home, |_| Fault::None);
        let ran =
            judge_rows(&court, &rows_of(&[PASS; 10]), &["--max-usd", "0.04", "--yes"]).exits(2);
        let found = summary(&ran);
        assert_eq!(found.verdict.name(), "inconclusive");
        assert!(not_made(&found, "over_budget") > 0, "{}", ran.stdout);
        assert!(court.server.requests() < 30);
        let spent = spent(&court);
        assert!(spent <= 0.04 && spent > 0.0, "{spent}");
        assert!((spent - found.cost_usd).abs() < 1e-9, "{spent} {}", found.cost_usd);
    }
}

#[test]
fn one_output_has_a_budget_too() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let ran = judge(&court, PASS, &["--max-usd", "0.02", "--yes", "--cycles", "3"]).exits(2);
    let found = receipt(&ran);
    assert_eq!(found.aggregate.inconclusive_reason.unwrap().name(), "calls_not_made");
    assert!(troubles(&found).iter().all(|trouble| trouble == "over_budget"));
    assert!(spent(&court) <= 0.02);
    assert!((spent(&court) - found.judgement.cost_usd).abs() < 1e-9);
}

/// The printed maximum is the reserved amount: a run with that budget completes.
#[test]
fn a_run_that_was_let_begin_has_money_to_its_end() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let rows = rows_of(&[PASS; 6]);
    let first = judge_rows(&court, &rows, &[]);
    let estimate = summary(&first).est_cost_usd;
    let most = first.stderr.split("at most $").nth(1).unwrap();
    let most = most.split_whitespace().next().unwrap();
    assert!(estimate > 0.0 && estimate < most.parse().unwrap(), "{estimate} {most}");
    let ran = judge_rows(&court, &rows, &["--max-usd", most, "--concurrent", "6"]).exits(0);
    assert_eq!(summary(&ran).est_cost_usd, estimate);
}

/// Three cycles on ten rows fit the default budget with the models of the default panel; a run that does not
/// fit says what it needs.
#[test]
fn three_cycles_on_ten_rows_fit_the_default_budget() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let prices = court.home.path().join("prices.json");
    let panel = r#"{
        "openai:a": {"input_usd_per_million": 1.75, "output_usd_per_million": 14, "source": "a test", "date": "2026-01-01"},
        "anthropic:b": {"input_usd_per_million": 5, "output_usd_per_million": 25, "source": "a test", "date": "2026-01-01"},
        "google:c": {"input_usd_per_million": 0.3, "output_usd_per_million": 2.5, "source": "a test", "date": "2026-01-01"}
    }"#;
    std::fs::write(prices, panel).unwrap();
    court.home.ok(&["config", "set", "spend.max_usd_per_day", "50"]);
    let rows = rows_of(&[PASS; 10]);
    let ran = judge_rows(&court, &rows, &["--cycles", "3"]).exits(0);
    let estimate = summary(&ran).est_cost_usd;
    assert!((1.0..5.0).contains(&estimate), "{estimate}");
    judge_rows(&court, &rows, &["--cycles", "3", "--max-usd", "1"])
        .exits(2)
        .stderr_has("it would cost about");
}

#[test]
fn rows_that_are_settled_early_save_money() {
    let court = court(Home::sqlite(), |_| Fault::None);
    let ran = judge_rows(&court, &rows_of(&["a=2 b=9 c=9", PASS, "a=5 b=5 c=9"]), &[]).exits(1);
    let found = summary(&ran);
    assert_eq!(court.server.requests(), 7, "the third judge of two rows is not asked");
    assert_eq!(not_made(&found, "settled"), 2);
    assert!(found.saved_usd > 0.0 && found.saved_usd + found.cost_usd < found.est_cost_usd);
    let spent = spent(&court);
    assert!((spent - found.cost_usd).abs() < 1e-9, "{spent} {}", found.cost_usd);
}

/// A failure that was billed is in the cost of its row.
#[test]
fn failures_cost_what_they_cost() {
    for fault in [Fault::Cut, Fault::Empty, Fault::Garbage] {
        let court = court(Home::sqlite(), move |_| fault);
        let found = receipt(&judge(&court, PASS, &[]));
        assert_eq!(found.verdict.name(), "inconclusive", "{fault:?}");
        assert!(found.judgement.cost_usd > 0.0, "{fault:?}");
        assert!((spent(&court) - found.judgement.cost_usd).abs() < 1e-9, "{fault:?}");
    }
}
