//! Gates: what passes, what fails, what can't be said.

use gbrain_core::baseline::Thresholds;
use gbrain_core::gate::{
    Confidence, CorrectnessThresholds, Judged, QueryResult, Regression, Status, Verdict,
    correctness, regression,
};
use gbrain_core::qrels::{JudgedQuery, Judgement};
use gbrain_core::replay::{Caveat, Outcome, ReplayedRow, Skip};

use crate::replay::{compared, replayed};

fn row(captured: &[&str], current: &[&str], ms: (Option<f64>, f64)) -> ReplayedRow {
    replayed(Outcome::Compared(Box::new(compared(captured, current, ms))))
}

fn gated(rows: &[ReplayedRow]) -> Regression {
    regression(rows, &Thresholds::default(), None)
}

fn good() -> ReplayedRow {
    row(&["a", "b"], &["a", "b"], (Some(10.0), 10.0))
}

#[test]
fn an_unchanged_brain_passes() {
    let found = gated(&[good(), good()]);
    assert_eq!(found.verdict, Verdict::Pass);
    assert_eq!(found.breaches, []);
}

#[test]
fn breaches_are_measured() {
    let breached = |rows: &[ReplayedRow], metric: &str| {
        let found = gated(rows);
        assert_eq!(found.verdict, Verdict::Fail, "{metric}");
        assert!(found.breaches.iter().any(|breach| breach.metric == metric), "{metric}");
    };
    breached(&[row(&["a", "b"], &["a", "c"], (None, 1.0))], "mean_jaccard");
    breached(&[row(&["a", "b"], &["b", "a"], (None, 1.0))], "top1_stability_rate");
    breached(&[row(&["a"], &["a"], (Some(1.0), 2.1))], "latency_ratio");
    breached(&[good(), replayed(Outcome::Errored("no".into()))], "rows_errored");
    breached(&[good(), replayed(Outcome::Skipped(Skip::EmptyQuery))], "rows_skipped");
    let with = |caveat| {
        let mut row = compared(&["a"], &["a"], (None, 1.0));
        row.caveats.push(caveat);
        replayed(Outcome::Compared(Box::new(row)))
    };
    breached(&[with(Caveat::ReplayDegraded)], "rows_degraded");
    breached(&[with(Caveat::Unstable)], "rows_unstable");
}

#[test]
fn a_latency_that_is_not_a_number_fails() {
    let found = gated(&[row(&["a"], &["a"], (Some(1.0), f64::NAN))]);
    assert_eq!((found.verdict, found.latency.status), (Verdict::Fail, Status::Fail));
}

#[test]
fn nothing_measured_is_not_a_pass() {
    assert_eq!(gated(&[]).verdict, Verdict::Inconclusive);
    let found = gated(&[row(&[], &[], (Some(1.0), 1.0))]);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!(found.checks[0].status, Status::NotMeasured);
}

#[test]
fn a_baseline_without_latencies_is_not_compared_on_them() {
    let found = gated(&[row(&["a"], &["a"], (Some(0.0), 100.0))]);
    assert_eq!((found.verdict, found.latency.status), (Verdict::Pass, Status::NotCompared));
}

#[test]
fn with_confidence_a_breach_must_be_sure() {
    let confidence = Some(Confidence::new(0.95).unwrap());
    let bad = row(&["a", "b"], &["c", "d"], (None, 1.0));
    let few = [good(), good(), good(), bad.clone()];
    let thresholds = Thresholds::default();
    assert_eq!(regression(&few, &thresholds, None).verdict, Verdict::Fail);
    assert_eq!(regression(&few, &thresholds, confidence).verdict, Verdict::Inconclusive);
    let many: Vec<ReplayedRow> =
        (0..200).map(|n| if n % 2 == 0 { bad.clone() } else { good() }).collect();
    assert_eq!(regression(&many, &thresholds, confidence).verdict, Verdict::Fail);
    for bad in [f64::NAN, 0.0, 0.3, 1.0, 95.0] {
        assert!(Confidence::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_threshold_finer_than_one_row_gets_a_warning_with_the_rows_it_needs() {
    let thresholds = Thresholds { top1: 0.99, ..Thresholds::default() };
    let found = regression(&[good(), good()], &thresholds, None);
    assert_eq!(found.verdict, Verdict::Pass);
    let warning = found.warnings.iter().find(|warning| warning.contains("top1")).unwrap();
    assert!(warning.contains("would need 100 rows"), "{warning}");
}

fn judged(id: &str, relevant: &[&str], expected: Option<&str>, found: &[&str], k: usize) -> Judged {
    let judgements = relevant.iter().map(|doc| Judgement { doc: (*doc).to_owned(), grade: 1.0 });
    let query = JudgedQuery {
        id: id.to_owned(),
        text: Some(id.to_owned()),
        judgements: judgements.collect(),
        expected_top1: expected.map(str::to_owned),
        ..JudgedQuery::default()
    };
    let pages = found.iter().map(|page| (*page).to_owned()).collect();
    Judged::new(query, QueryResult::Ranked(pages), k)
}

#[test]
fn correctness_counts_pages_with_their_source() {
    let one = judged("q", &["host::a", "team::a"], Some("host::a"), &["team::a", "x::b"], 10);
    assert_eq!((one.recall_at_k, one.first_relevant_hit), (Some(0.5), Some(true)));
    assert_eq!(one.expected_top1_hit, Some(false));
    assert_eq!(one.missing(), ["host::a"]);
    let cut = judged("q", &["host::a"], None, &["x::b", "host::a"], 1);
    assert_eq!((cut.recall_at_k, cut.expected_top1_hit), (Some(0.0), None));
}

#[test]
fn correctness_fails_closed() {
    let thresholds = CorrectnessThresholds::default();
    let good = || judged("q", &["w::a"], Some("w::a"), &["w::a"], 10);
    let verdict = |queries| correctness(queries, 10, &thresholds, None).verdict;
    assert_eq!(verdict(vec![good()]), Verdict::Pass);
    assert_eq!(verdict(vec![]), Verdict::Inconclusive);
    assert_eq!(verdict(vec![judged("q", &["w::a"], None, &["w::b"], 10)]), Verdict::Fail);
    let failed = Judged::new(good().query, QueryResult::Errored("no".into()), 10);
    let found = correctness(vec![good(), failed], 10, &thresholds, None);
    assert_eq!((found.verdict, found.breaches[0].metric), (Verdict::Fail, "queries_errored"));
    let without = judged("q", &["w::a"], None, &["w::a"], 10);
    let found = correctness(vec![without], 10, &thresholds, None);
    assert_eq!((found.verdict, found.checks[2].status), (Verdict::Pass, Status::NotCompared));
}
