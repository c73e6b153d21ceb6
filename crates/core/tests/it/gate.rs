//! Gates: what passes, what fails, what can't be said.

use gbrain_core::baseline::BaselineThresholds;
use gbrain_core::gate::{
    self, CheckStatus, ConfidenceLevel, Correctness, CorrectnessThresholds, JudgedResult,
    QueryResult, Regression, Verdict,
};
use gbrain_core::latency::{CpuTime, TimeComparison};
use gbrain_core::qrels::{JudgedPages, JudgedQuery, Judgement};
use gbrain_core::replay::{Caveat, ReplayedRow, RowComparison, RowOutcome, SkipReason};

use crate::replay::{compared, replayed};

fn row(captured: &[&str], current: &[&str], ms: (Option<f64>, f64)) -> ReplayedRow {
    replayed(RowOutcome::Compared(Box::new(compared(captured, current, ms))))
}

/// A row whose ranking is the same, with these times.
fn timed(timing: TimeComparison) -> ReplayedRow {
    let same = compared(&["a"], &["a"], (Some(1.0), 1.0));
    replayed(RowOutcome::Compared(Box::new(RowComparison { timing, ..same })))
}

/// A row that takes so many times the CPU time that was captured.
fn slower(ratio: f64) -> ReplayedRow {
    let time = |cpu_ms| CpuTime { cpu_ms, calibration_ms: 0.05, repeats: 5 };
    timed(TimeComparison::Cpu { captured: time(2.0), current: time(2.0 * ratio) })
}

/// A row of a remote target that takes so many times as long.
fn waiting(ratio: f64, is_machine_busy: bool) -> ReplayedRow {
    let (captured_ms, current_ms) = (20.0, 20.0 * ratio);
    timed(TimeComparison::Wall { captured_ms, current_ms, is_machine_busy })
}

/// The regression gate over rows that ask different questions.
fn regression(
    rows: &[ReplayedRow],
    thresholds: &BaselineThresholds,
    confidence: Option<ConfidenceLevel>,
) -> Regression {
    let number = |(at, row): (usize, &ReplayedRow)| ReplayedRow {
        query: format!("question {at}"),
        ..row.clone()
    };
    let rows: Vec<ReplayedRow> = rows.iter().enumerate().map(number).collect();
    gate::regression(&rows, thresholds, confidence)
}

/// The correctness gate over queries that ask different questions.
fn correctness(
    mut queries: Vec<JudgedResult>,
    k: usize,
    thresholds: &CorrectnessThresholds,
    confidence: Option<ConfidenceLevel>,
    pages: &JudgedPages,
) -> Correctness {
    for (at, judged) in queries.iter_mut().enumerate() {
        judged.query.text = Some(format!("question {at}"));
    }
    gate::correctness(queries, k, thresholds, confidence, pages)
}

fn gated(rows: &[ReplayedRow]) -> Regression {
    regression(rows, &BaselineThresholds::default(), None)
}

fn good() -> ReplayedRow {
    row(&["a", "b"], &["a", "b"], (Some(10.0), 10.0))
}

#[test]
fn an_unchanged_brain_passes() {
    let found = gated(&[(); 7].map(|()| good()));
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
    let ten = |row: ReplayedRow| vec![row; 10];
    breached(&ten(row(&["a", "b"], &["a", "c"], (None, 1.0))), "mean_jaccard");
    breached(&ten(row(&["a", "b"], &["b", "a"], (None, 1.0))), "top1_stability_rate");
    breached(&[slower(3.0), slower(3.0)], "latency_ratio");
    breached(&[good(), replayed(RowOutcome::Errored("no".into()))], "rows_errored");
    breached(&[good(), replayed(RowOutcome::Skipped(SkipReason::EmptyQuery))], "rows_skipped");
    let with = |caveat| {
        let mut row = compared(&["a"], &["a"], (None, 1.0));
        row.caveats.push(caveat);
        replayed(RowOutcome::Compared(Box::new(row)))
    };
    breached(&[with(Caveat::ReplayDegraded)], "rows_degraded");
    breached(&[with(Caveat::Unstable)], "rows_unstable");
}

#[test]
fn a_latency_that_is_not_a_number_fails() {
    let found = gated(&[slower(1.0), slower(f64::NAN)]);
    assert_eq!((found.verdict, found.latency.status), (Verdict::Fail, CheckStatus::Fail));
}

#[test]
fn latency_is_decided_by_the_whole_interval() {
    let check = |rows: &[ReplayedRow], expected: CheckStatus| {
        let found = gated(rows);
        assert_eq!(found.latency.status, expected, "{:?}", found.latency);
        assert_eq!(found.latency.n, rows.len());
        let verdict = match expected {
            CheckStatus::Fail => Verdict::Fail,
            CheckStatus::Inconclusive => Verdict::Inconclusive,
            _ => Verdict::Pass,
        };
        assert_eq!(found.verdict, verdict);
        found
    };
    let rows = |ratio: f64, n: usize| vec![slower(ratio); n];
    check(&rows(1.0, 7), CheckStatus::Pass);
    check(&rows(1.25, 8), CheckStatus::Pass);
    check(&rows(3.0, 8), CheckStatus::Fail);
    // One row shows no slowdown, whatever else so few rows can't show.
    assert_eq!(gated(&rows(1.0, 1)).latency.status, CheckStatus::Pass);
    assert_eq!(gated(&rows(3.0, 1)).latency.status, CheckStatus::Inconclusive);
    check(&rows(2.0, 100), CheckStatus::Inconclusive);
    // Noise so large that twice as long can neither be seen nor ruled out.
    let noisy: Vec<ReplayedRow> = [0.2, 6.0, 0.3, 5.0, 9.0, 0.4, 0.2, 7.0].map(slower).to_vec();
    let found = check(&noisy, CheckStatus::Inconclusive);
    assert!(found.breaches.is_empty());
}

#[test]
fn a_busy_machine_can_not_fail_a_remote_target() {
    let found = |busy| gated(&vec![waiting(3.0, busy); 8]);
    assert_eq!(found(false).latency.status, CheckStatus::Fail);
    let busy = found(true);
    assert_eq!(
        (busy.latency.status, busy.verdict),
        (CheckStatus::Inconclusive, Verdict::Inconclusive)
    );
    assert!(busy.warnings.iter().any(|warning| warning.contains("busy")), "{:?}", busy.warnings);
    assert_eq!(gated(&vec![waiting(1.0, true); 8]).verdict, Verdict::Pass);
}

#[test]
fn rows_without_a_comparable_time_are_listed_and_decide_nothing() {
    let none = || row(&["a"], &["a"], (Some(1.0), 500.0));
    let found = gated(&vec![none(); 8]);
    assert_eq!((found.verdict, found.latency.status), (Verdict::Pass, CheckStatus::NotCompared));
    assert_eq!((found.latency.n, found.latency.observed), (0, None));
    let listed = |found: &Regression| {
        let says = |warning: &&String| warning.starts_with("latency of");
        found.warnings.iter().find(says).cloned().unwrap()
    };
    assert!(listed(&found).starts_with("latency of 8 rows is not compared (no CPU time"));
    let found = gated(&[slower(3.0), slower(3.0), none()]);
    assert_eq!((found.latency.status, found.latency.n), (CheckStatus::Fail, 2));
    assert!(listed(&found).starts_with("latency of 1 row is not compared"));
}

#[test]
fn nothing_measured_is_not_a_pass() {
    assert_eq!(gated(&[]).verdict, Verdict::Inconclusive);
    let found = gated(&[row(&[], &[], (Some(1.0), 1.0))]);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!(found.checks[0].status, CheckStatus::NotMeasured);
}

#[test]
fn a_baseline_without_latencies_is_not_compared_on_them() {
    let found = gated(&[(); 7].map(|()| row(&["a"], &["a"], (Some(0.0), 100.0))));
    assert_eq!((found.verdict, found.latency.status), (Verdict::Pass, CheckStatus::NotCompared));
}

#[test]
fn with_confidence_a_breach_must_be_sure() {
    let confidence = Some(ConfidenceLevel::new(0.95).unwrap());
    let bad = row(&["a", "b"], &["c", "d"], (None, 1.0));
    let mut few = vec![good(); 7];
    few.extend([bad.clone(), bad.clone()]);
    let thresholds = BaselineThresholds::default();
    assert_eq!(regression(&few, &thresholds, None).verdict, Verdict::Fail);
    assert_eq!(regression(&few, &thresholds, confidence).verdict, Verdict::Inconclusive);
    let many: Vec<ReplayedRow> =
        (0..200).map(|n| if n % 2 == 0 { bad.clone() } else { good() }).collect();
    assert_eq!(regression(&many, &thresholds, confidence).verdict, Verdict::Fail);
    for bad in [f64::NAN, 0.0, 0.3, 1.0, 95.0] {
        assert!(ConfidenceLevel::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_floor_that_so_few_rows_cannot_resolve_is_not_decided() {
    let check = |top1: f64, n: usize, expected: Option<&str>| {
        let thresholds = BaselineThresholds { jaccard: 0.0, top1, ..BaselineThresholds::default() };
        for bad in [0, 1] {
            let rows: Vec<ReplayedRow> = (0..n)
                .map(|at| if at < bad { row(&["a"], &["b"], (None, 1.0)) } else { good() })
                .collect();
            let found = regression(&rows, &thresholds, None);
            let Some(needs) = expected else {
                assert_ne!(found.checks[1].status, CheckStatus::TooFewRows, "{top1} {n}");
                continue;
            };
            assert_eq!(found.verdict, Verdict::Inconclusive, "{top1} {n}");
            let why = found.checks[1].too_few_rows().unwrap();
            assert!(why.contains(needs), "{why}");
        }
    };
    check(0.99, 2, Some("needs 100"));
    check(0.99, 99, Some("needs 100"));
    check(0.99, 100, None);
    check(0.8, 4, Some("needs 5"));
    check(0.8, 5, None);
    check(0.9, 9, Some("needs 10"));
    check(0.9, 10, None);
    // The public baseline has 12 rows, and a floor of 1 can always be decided.
    check(0.85, 12, None);
    check(0.85, 6, Some("needs 7"));
    check(1.0, 1, None);
    check(0.0, 1, None);
}

#[test]
fn a_question_that_is_repeated_counts_once() {
    let thresholds = BaselineThresholds::default();
    let found = gate::regression(&[(); 10].map(|()| good()), &thresholds, None);
    assert_eq!((found.verdict, found.checks[0].n), (Verdict::Inconclusive, 10));
    let why = found.checks[0].too_few_rows().unwrap();
    assert!(why.contains("has 1 row") && why.contains("9 rows repeat"), "{why}");
    // The same question of another capture expects something else: it is another row.
    let mut rows = vec![good(); 3];
    rows.extend((0..6).map(|n| {
        let page = format!("page {n}");
        row(&[&page], &[&page], (None, 1.0))
    }));
    let found = gate::regression(&rows, &thresholds, None);
    assert_eq!((found.verdict, found.checks[0].distinct), (Verdict::Pass, Some(7)));

    let known = JudgedPages::Known { judged: 1, missing: Vec::new() };
    let thresholds = CorrectnessThresholds::default();
    let judged = |id: &str, text: &str| {
        let mut one = judged(id, &["w::a"], Some("w::a"), &["w::a"], 10);
        one.query.text = Some(text.to_owned());
        one
    };
    let repeated = (0..10).map(|n| judged(&format!("q{n}"), "who is at the helm? ")).collect();
    let found = gate::correctness(repeated, 10, &thresholds, None, &known);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert!(found.checks.iter().all(|check| (check.n, check.distinct) == (10, Some(1))));
    let different = (0..10).map(|n| judged("q", &format!("question {n}"))).collect();
    let found = gate::correctness(different, 10, &thresholds, None, &known);
    assert_eq!((found.verdict, found.checks[0].distinct), (Verdict::Pass, None));
}

#[test]
fn one_row_has_no_interval() {
    let rows = [row(&["a", "b"], &["a", "c"], (None, 1.0))];
    let thresholds = BaselineThresholds { jaccard: 1.0, top1: 1.0, latency_multiplier: 2.0 };
    let found = regression(&rows, &thresholds, None);
    assert_eq!((found.checks[0].n, found.checks[0].interval), (1, None));
    assert_eq!(found.verdict, Verdict::Fail);
    // One row is never sure.
    let confidence = Some(ConfidenceLevel::new(0.95).unwrap());
    let found = regression(&rows, &thresholds, confidence);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!(found.summary.jaccard_interval, None);
    let interval = found.checks[1].interval.unwrap();
    assert!(interval.low < interval.high, "{interval:?}");
}

fn judged(
    id: &str,
    relevant: &[&str],
    expected: Option<&str>,
    found: &[&str],
    k: usize,
) -> JudgedResult {
    let judgements = relevant.iter().map(|doc| Judgement { doc: (*doc).to_owned(), grade: 1.0 });
    let query = JudgedQuery {
        id: id.to_owned(),
        text: Some(id.to_owned()),
        judgements: judgements.collect(),
        expected_top1: expected.map(str::to_owned),
        ..JudgedQuery::default()
    };
    let pages = found.iter().map(|page| (*page).to_owned()).collect();
    JudgedResult::new(query, QueryResult::Ranked(pages), k)
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
    let known = JudgedPages::Known { judged: 1, missing: Vec::new() };
    let found = |queries| correctness(queries, 10, &thresholds, None, &known);
    let verdict = |queries| found(queries).verdict;
    let four = |judged: JudgedResult| vec![judged; 4];
    assert_eq!(verdict(four(good())), Verdict::Pass);
    assert_eq!(verdict(vec![good(); 3]), Verdict::Inconclusive, "0.7 needs 4 queries");
    assert_eq!(verdict(vec![]), Verdict::Inconclusive);
    let wrong = || judged("q", &["w::a"], None, &["w::b"], 10);
    assert_eq!(verdict(four(wrong())), Verdict::Fail);
    // A target that can't say which pages it has may name them in another way.
    let unknown = correctness(four(wrong()), 10, &thresholds, None, &JudgedPages::NotKnown);
    assert_eq!(unknown.verdict, Verdict::Inconclusive);
    assert_eq!(unknown.checks[0].status, CheckStatus::NotMeasured);
    assert!(unknown.warnings[0].contains("none of the judged pages was retrieved"));
    let one_found = vec![wrong(), wrong(), wrong(), good()];
    let found_one = correctness(one_found, 10, &thresholds, None, &JudgedPages::NotKnown);
    assert_eq!(found_one.verdict, Verdict::Fail);
    let failed = JudgedResult::new(good().query, QueryResult::Errored("no".into()), 10);
    let found = correctness(vec![good(), failed], 10, &thresholds, None, &known);
    assert_eq!((found.verdict, found.breaches[0].metric), (Verdict::Fail, "queries_errored"));
    let without = judged("q", &["w::a"], None, &["w::a"], 10);
    let found = correctness(four(without), 10, &thresholds, None, &known);
    assert_eq!((found.verdict, found.checks[2].status), (Verdict::Pass, CheckStatus::NotCompared));
}
