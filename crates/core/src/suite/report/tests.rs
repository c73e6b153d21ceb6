use super::super::query::Difficulty;
use super::super::sample::tests::query;
use super::super::size::SampleShortage;
use super::super::{
    case::{self, RationaleRequirement},
    graph::EdgeCheck,
};
use super::*;
use crate::target::{TargetAnswer, TargetError, TargetErrorKind, TargetResult};

/// A sample of as many queries as its suite requires.
fn of(count: usize) -> (usize, SampleSize) {
    (count, SampleSize::exactly(count))
}

/// A sample of so many queries where so many more are required.
fn short(count: usize, missing: usize) -> (usize, SampleSize) {
    let shortage = SampleShortage { source: None, drawn: count, required: count + missing };
    let required = count + missing;
    (count, SampleSize { required, short: vec![shortage], ..SampleSize::exactly(count) })
}

/// A case that was not answered.
fn unanswered(number: usize, mode: RetrievalMode) -> CaseResult {
    let mut query = query(&format!("q{number:03}"), "slack", Difficulty::Easy);
    query.mode = Some(mode);
    let error = TargetError::new(TargetErrorKind::Unreachable, "refused");
    case::judge(&query, RationaleRequirement::No, &Err(error), &|_| EdgeCheck::Holds)
}

/// A case whose answer is at a rank; 0 is a miss.
fn at_rank(number: usize, rank: usize, mode: RetrievalMode, ms: f64) -> CaseResult {
    let id = format!("q{number:03}");
    let document = |at: usize| if at == rank { id.clone() } else { format!("x{at}") };
    let results =
        (1..=10).map(|at| TargetResult { document: document(at), ..TargetResult::default() });
    let answer = TargetAnswer {
        results: results.collect(),
        latency_ms: ms,
        mode: Some(mode),
        ..TargetAnswer::default()
    };
    case::judge(
        &query(&id, "slack", Difficulty::Easy),
        RationaleRequirement::No,
        &Ok(answer),
        &|_| EdgeCheck::Holds,
    )
}

fn run(ranks: &[usize]) -> SuiteReport {
    let cases: Vec<CaseResult> = ranks
        .iter()
        .enumerate()
        .map(|(at, rank)| at_rank(at, *rank, RetrievalMode::Hybrid, 10.0))
        .collect();
    let planned = cases.len();
    report(cases, of(planned), RunEnd::Whole, &SuiteThresholds::default(), None)
}

fn status(report: &SuiteReport, measure: SuiteMeasure) -> MeasureStatus {
    let is_it = |row: &&MeasureRow| row.segment == CaseSegment::All && row.measure == measure;
    report.rows.iter().find(is_it).unwrap().status
}

/// n = 25 of the playbook, through a whole report.
#[test]
fn boundaries_of_a_regression_suite() {
    let with_misses = |misses: usize| {
        let ranks: Vec<usize> = (0..25).map(|at| if at < misses { 0 } else { 1 }).collect();
        run(&ranks)
    };
    let check = |misses, five, ten, verdict| {
        let report = with_misses(misses);
        assert_eq!(status(&report, SuiteMeasure::RecallAt5), five, "{misses}");
        assert_eq!(status(&report, SuiteMeasure::RecallAt10), ten, "{misses}");
        assert_eq!(report.verdict, verdict, "{misses}");
    };
    check(0, MeasureStatus::Ok, MeasureStatus::Ok, Verdict::Pass);
    check(1, MeasureStatus::Ok, MeasureStatus::Warn, Verdict::Pass);
    check(2, MeasureStatus::Warn, MeasureStatus::Alert, Verdict::Fail);
    check(3, MeasureStatus::Alert, MeasureStatus::Alert, Verdict::Fail);
}

#[test]
fn ranks_six_to_ten_are_seen() {
    let report = run(&[7; 25]);
    assert_eq!(status(&report, SuiteMeasure::RecallAt5), MeasureStatus::Alert);
    assert_eq!(status(&report, SuiteMeasure::RecallAt10), MeasureStatus::Ok);
}

/// An alert for recall@5 lists the cases that lowered it.
#[test]
fn a_case_that_a_deciding_recall_misses_is_failing() {
    let failing = |report: &SuiteReport| {
        let failing = report.cases.iter().filter(|case| case.is_failing());
        failing.map(|case| (case.rank, case.missed.clone())).collect::<Vec<_>>()
    };
    let five = vec![SuiteMeasure::RecallAt5];
    let found = run(&[1, 5, 6, 10, 0]);
    let both = vec![SuiteMeasure::RecallAt5, SuiteMeasure::RecallAt10];
    assert_eq!(failing(&found), [(Some(6), five.clone()), (Some(10), five.clone()), (None, both)]);
    assert!(found.cases[2].flags.is_empty(), "it is not missing");
    // Without a recall threshold, no recall is reported.
    let mut lenient = SuiteThresholds::default();
    let none = MeasureBound::Share { target: Percent(0), alert: Percent(0) };
    lenient.all.get_mut(&SuiteMeasure::RecallAt5).unwrap().bound = none;
    let cases = vec![at_rank(0, 6, RetrievalMode::Hybrid, 10.0)];
    assert_eq!(failing(&report(cases, of(1), RunEnd::Whole, &lenient, None)), []);
}

/// The queries of a cancelled run are no sample, however bad their results.
#[test]
fn a_cancelled_run_does_not_fail() {
    let misses = || (0..24).map(|at| at_rank(at, 0, RetrievalMode::Hybrid, 10.0)).collect();
    let stopped = report(misses(), of(25), RunEnd::Cancelled, &SuiteThresholds::default(), None);
    assert_eq!(
        (stopped.verdict, &stopped.reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::Cancelled][..])
    );
    let late = report(misses(), of(25), RunEnd::OverTime, &SuiteThresholds::default(), None);
    assert_eq!(late.verdict, Verdict::Fail, "its own time is another matter");
    let mut failed = run(&[0; 25]);
    failed.add_inconclusive_reason(InconclusiveReason::Cancelled);
    assert_eq!(failed.verdict, Verdict::Inconclusive);
}

#[test]
fn a_mode_that_fails_alone_is_seen() {
    let mut cases: Vec<CaseResult> =
        (0..95).map(|at| at_rank(at, 1, RetrievalMode::Knowledge, 10.0)).collect();
    cases.extend((95..100).map(|at| at_rank(at, 0, RetrievalMode::Graph, 10.0)));
    let report = report(cases, of(100), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(status(&report, SuiteMeasure::RecallAt5), MeasureStatus::Ok, "95 of 100");
    assert_eq!(report.verdict, Verdict::Fail);
    let graph = CaseSegment::Mode(RetrievalMode::Graph);
    let is_it = |row: &&MeasureRow| row.segment == graph && row.measure == SuiteMeasure::RecallAt5;
    let row = report.rows.iter().find(is_it).unwrap();
    assert_eq!((row.status, row.decides, row.pages), (MeasureStatus::Alert, true, true));
}

#[test]
fn nothing_wrong_is_green() {
    let empty = report(Vec::new(), of(0), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(empty.verdict, Verdict::Inconclusive);
    assert_eq!(empty.reasons, [InconclusiveReason::NoQueries, InconclusiveReason::NothingMeasured]);
    let one = |n| (0..n).map(|at| at_rank(at, 1, RetrievalMode::Hybrid, 10.0)).collect();
    let cut = report(one(24), of(25), RunEnd::OverTime, &SuiteThresholds::default(), None);
    assert_eq!(
        (cut.verdict, &cut.reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::OverTime][..])
    );
    let short = report(one(24), of(25), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(short.verdict, Verdict::Inconclusive, "a case that vanished is not a pass");
    let mut with_error: Vec<CaseResult> = one(99);
    let error = TargetError::new(TargetErrorKind::Timeout, "late");
    let failed = query("q999", "slack", Difficulty::Easy);
    with_error
        .push(case::judge(&failed, RationaleRequirement::No, &Err(error), &|_| EdgeCheck::Holds));
    let found = report(with_error, of(100), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(
        (found.verdict, &found.reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::Errors][..])
    );
    assert_eq!(status(&found, SuiteMeasure::RecallAt5), MeasureStatus::Ok, "one of a hundred");
    let mut degraded: Vec<CaseResult> = one(25);
    degraded[3].fallbacks.push("rerank".to_owned());
    let found = report(degraded, of(25), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(found.verdict, Verdict::Inconclusive);
}

#[test]
fn a_fall_of_the_reranker_fails_the_run() {
    let cases = vec![at_rank(0, 1, RetrievalMode::Hybrid, 10.0)];
    let value = MeasureValue::Score { mean: Some(0.4), baseline: Some(0.5), n: 30 };
    let found = report(cases, of(1), RunEnd::Whole, &SuiteThresholds::default(), Some(value));
    assert_eq!(found.verdict, Verdict::Fail);
}

#[test]
fn doubt_takes_a_pass_away_and_no_failure() {
    let mut passed = run(&[1; 25]);
    passed.add_inconclusive_reason(InconclusiveReason::IndexBehind);
    passed.add_inconclusive_reason(InconclusiveReason::IndexBehind);
    assert_eq!(
        (passed.verdict, &passed.reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::IndexBehind][..])
    );
    let mut failed = run(&[0; 25]);
    failed.add_inconclusive_reason(InconclusiveReason::IndexBehind);
    assert_eq!(failed.verdict, Verdict::Fail);
    assert_eq!(SuiteReport::not_started(InconclusiveReason::Broken).verdict, Verdict::Inconclusive);
}

#[test]
fn scores_alone_are_something_to_measure() {
    let steady = MeasureValue::Score { mean: Some(0.5), baseline: Some(0.5), n: 30 };
    let found = report(Vec::new(), of(0), RunEnd::Whole, &SuiteThresholds::default(), Some(steady));
    assert_eq!((found.verdict, &found.reasons[..]), (Verdict::Pass, &[][..]));
    let none = MeasureValue::Score { mean: None, baseline: Some(0.5), n: 0 };
    let found = report(Vec::new(), of(0), RunEnd::Whole, &SuiteThresholds::default(), Some(none));
    assert_eq!(found.reasons, [InconclusiveReason::NoQueries, InconclusiveReason::NothingMeasured]);
}

#[test]
fn slow_answers_fail_the_run() {
    let cases: Vec<CaseResult> = (0..20)
        .map(|at| at_rank(at, 1, RetrievalMode::Hybrid, if at < 2 { 171.0 } else { 9.0 }))
        .collect();
    let found = report(cases, of(20), RunEnd::Whole, &SuiteThresholds::default(), None);
    assert_eq!(status(&found, SuiteMeasure::LatencyP95), MeasureStatus::Alert);
    assert_eq!(found.verdict, Verdict::Fail);
}

fn of_all(report: &SuiteReport, measure: SuiteMeasure) -> &MeasureRow {
    let is_it = |row: &&MeasureRow| row.segment == CaseSegment::All && row.measure == measure;
    report.rows.iter().find(is_it).unwrap()
}

#[test]
fn too_small_a_sample_gives_no_verdict() {
    let well = |n: usize| (0..n).map(|at| at_rank(at, 1, RetrievalMode::Hybrid, 10.0)).collect();
    for (asked, missing) in [(1, 24), (24, 1), (99, 1)] {
        let found = report(
            well(asked),
            short(asked, missing),
            RunEnd::Whole,
            &SuiteThresholds::default(),
            None,
        );
        assert_eq!(
            (found.verdict, &found.reasons[..]),
            (Verdict::Inconclusive, &[InconclusiveReason::SampleTooSmall][..]),
            "{asked} and {missing} more"
        );
    }
}

/// A breach that missing queries can't undo is a failure; otherwise it is none and pages no channel.
#[test]
fn a_small_sample_fails_only_where_nothing_could_save_it() {
    let check = |misses: usize, slow: usize, missing: usize, verdict| {
        let ms = |at: usize| if at < slow { 900.0 } else { 10.0 };
        let rank = |at: usize| if at < misses { 0 } else { 1 };
        let case = |at| at_rank(at, rank(at), RetrievalMode::Hybrid, ms(at));
        let cases: Vec<CaseResult> = (0..10).map(case).collect();
        let found =
            report(cases, short(10, missing), RunEnd::Whole, &SuiteThresholds::default(), None);
        assert_eq!(found.verdict, verdict, "{misses} {slow} {missing}");
        let decides =
            found.rows.iter().any(|row| row.decides && row.status == MeasureStatus::Alert);
        assert_eq!(decides, verdict == Verdict::Fail);
        assert!(found.reasons.contains(&InconclusiveReason::SampleTooSmall));
        assert!(!found.reasons.contains(&InconclusiveReason::NothingMeasured));
    };
    // 1 of 25 is 96 %, no alert of either recall; 2 of 25 are 92 %, past the alert of recall@10.
    check(1, 0, 15, Verdict::Inconclusive);
    check(2, 0, 15, Verdict::Fail);
    check(10, 0, 90, Verdict::Fail);
    check(0, 1, 15, Verdict::Inconclusive);
    check(0, 10, 15, Verdict::Fail);
}

#[test]
fn pairs_that_are_missing_may_score_anything() {
    let fell = MeasureValue::Score { mean: Some(0.4), baseline: Some(0.5), n: 3 };
    let found = report(
        Vec::new(),
        (0, short(3, 27).1),
        RunEnd::Whole,
        &SuiteThresholds::default(),
        Some(fell),
    );
    assert_eq!(
        (found.verdict, &found.reasons[..]),
        (Verdict::Inconclusive, &[InconclusiveReason::SampleTooSmall][..])
    );
}

#[test]
fn an_outage_is_distinguished_from_a_loss_of_recall() {
    let check = |down: usize, misses: usize, is_outage: bool, is_unmeasured: bool| {
        let rank = |at: usize| if at < down + misses { 0 } else { 1 };
        let case = |at| match at < down {
            true => unanswered(at, RetrievalMode::Hybrid),
            false => at_rank(at, rank(at), RetrievalMode::Hybrid, 10.0),
        };
        let found = report(
            (0..25).map(case).collect(),
            of(25),
            RunEnd::Whole,
            &SuiteThresholds::default(),
            None,
        );
        let row = of_all(&found, SuiteMeasure::RecallAt5);
        assert_eq!(row.status, MeasureStatus::Alert, "an error is a miss");
        assert_eq!(found.verdict, Verdict::Fail);
        assert_eq!((row.is_outage, row.is_unmeasured), (is_outage, is_unmeasured), "{down}");
        assert_eq!(row.unanswered, down as u64);
    };
    check(25, 0, true, true);
    check(10, 0, true, false);
    // Of the 20 that were answered two were missed, which is past the alert by itself.
    check(5, 2, false, false);
    check(0, 5, false, false);
}
