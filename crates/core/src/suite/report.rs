//! A run, added up: every measure over all cases and over each segment, its status, and the verdict.
//!
//! A run passes if nothing is past its alert, everything that was to be asked was asked, nothing failed
//! and something was measured. Rows over all cases and over each mode decide; those of a source or a
//! difficulty inform, and so do those of fewer than five cases, which say little. A run that somebody
//! stopped neither passes nor fails: what was asked of it by then is no sample.

use std::collections::BTreeMap;

use super::case::{CaseResult, DEPTH};
use super::graph::Faith;
use super::measure::{Measure, Value};
use super::snippet::Highlight;
use super::threshold::{Bound, Percent, Status, Thresholds};
use crate::gate::Verdict;
use crate::named;
use crate::request::RetrievalMode;

/// Fewer cases than this decide nothing for their segment.
pub const FEWEST: u64 = 5;

/// The cases that a row is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// All of them.
    All,
    /// Those asked or answered in a mode.
    Mode(RetrievalMode),
    /// Those about a source.
    Source(String),
    /// Those that are so hard.
    Difficulty(super::query::Difficulty),
}

impl Segment {
    /// What the row is of, in words: `all`, `mode:graph`, `source:slack`, `difficulty:hard`.
    pub fn name(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Mode(mode) => format!("mode:{mode}"),
            Self::Source(source) => format!("source:{source}"),
            Self::Difficulty(difficulty) => format!("difficulty:{difficulty}"),
        }
    }

    fn holds(&self, case: &CaseResult) -> bool {
        match self {
            Self::All => true,
            Self::Mode(mode) => case.mode == Some(*mode),
            Self::Source(source) => case.source.as_ref() == Some(source),
            Self::Difficulty(difficulty) => case.difficulty == *difficulty,
        }
    }
}

/// A measure of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Of which cases.
    pub segment: Segment,
    /// What.
    pub measure: Measure,
    /// How much.
    pub value: Value,
    /// What it is held against; none where it only informs.
    pub bound: Option<Bound>,
    /// How it stands.
    pub status: Status,
    /// Whether it can fail the run.
    pub decides: bool,
    /// Whether its alert wakes somebody.
    pub pages: bool,
}

/// Why a run does not say enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// There was nothing to ask.
    NoQueries,
    /// Questions were not answered.
    Errors,
    /// Stages of the target did not do their work.
    Degraded,
    /// There was no time left for all questions.
    OverTime,
    /// Somebody stopped it.
    Cancelled,
    /// A query has nothing that must be found.
    NoKeys,
    /// Nothing that decides was measured.
    NothingMeasured,
    /// The index did not hold what the run was to measure.
    IndexBehind,
    /// There is no calibration to hold scores against, or nobody to score.
    NoCalibration,
    /// Another model scores than the one that was calibrated.
    StaleCalibration,
    /// The suite or its target can't be used as it is written.
    Broken,
}

named! {
    Reason {
        NoQueries = "no_queries",
        Errors = "errors",
        Degraded = "degraded",
        OverTime = "over_time",
        Cancelled = "cancelled",
        NoKeys = "no_keys",
        NothingMeasured = "nothing_measured",
        IndexBehind = "index_behind",
        NoCalibration = "no_calibration",
        StaleCalibration = "stale_calibration",
        Broken = "broken",
    }
}

/// How a run ended before it was through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did not.
    Whole,
    /// Its time was over.
    OverTime,
    /// Somebody stopped it.
    Cancelled,
}

/// What a run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not say enough.
    pub reasons: Vec<Reason>,
    /// Every row, in order.
    pub rows: Vec<Row>,
    /// Every case that was asked.
    pub cases: Vec<CaseResult>,
    /// Queries that were to be asked.
    pub planned: usize,
}

impl Report {
    /// What is said of a run that could not even begin.
    pub fn unmade(reason: Reason) -> Self {
        let (verdict, reasons) = (Verdict::Inconclusive, vec![reason]);
        Self { verdict, reasons, rows: Vec::new(), cases: Vec::new(), planned: 0 }
    }

    /// Adds a reason for doubt: what passed is inconclusive, what failed stays so, unless somebody stopped it.
    pub fn doubt(&mut self, reason: Reason) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        if self.verdict == Verdict::Pass || reason == Reason::Cancelled {
            self.verdict = Verdict::Inconclusive;
        }
    }
}

/// Adds up what was asked. `relevance` is what the reranker says of borderline documents, if it was asked.
pub fn report(
    mut cases: Vec<CaseResult>,
    planned: usize,
    ended: Ended,
    thresholds: &Thresholds,
    relevance: Option<Value>,
) -> Report {
    let mut rows: Vec<Row> = Vec::new();
    for segment in segments(&cases) {
        let own: Vec<&CaseResult> = cases.iter().filter(|case| segment.holds(case)).collect();
        rows.extend(values(&own).into_iter().map(|(measure, value)| {
            row(segment.clone(), measure, value, own.len() as u64, thresholds)
        }));
    }
    if let Some(value) = relevance {
        let n = value.n();
        rows.push(row(Segment::All, Measure::RerankRelevance, value, n, thresholds));
    }
    for case in &mut cases {
        case.missed = missed(case, &rows);
    }
    let reasons = reasons(&cases, planned, ended, &rows);
    let is_alert = rows.iter().any(|row| row.decides && row.status == Status::Alert);
    let verdict = match (is_alert, reasons.is_empty()) {
        _ if reasons.contains(&Reason::Cancelled) => Verdict::Inconclusive,
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Inconclusive,
    };
    Report { verdict, reasons, rows, cases, planned }
}

/// The recalls that can fail the run and that a case misses, so that whoever is told of one finds its cases.
fn missed(case: &CaseResult, rows: &[Row]) -> Vec<Measure> {
    let is_missed = |(measure, k): &(Measure, usize)| {
        let can_fail = |row: &Row| {
            let has_alert = !matches!(row.bound, Some(Bound::Share { alert: Percent(0), .. }));
            row.measure == *measure && row.decides && has_alert && row.segment.holds(case)
        };
        case.expected > 0 && !case.is_hit(*k) && rows.iter().any(can_fail)
    };
    let recalls = [(Measure::RecallAt5, 5), (Measure::RecallAt10, DEPTH)];
    recalls.into_iter().filter(is_missed).map(|(measure, _)| measure).collect()
}

fn row(
    segment: Segment,
    measure: Measure,
    value: Value,
    cases: u64,
    thresholds: &Thresholds,
) -> Row {
    let mode = match segment {
        Segment::Mode(mode) => Some(mode),
        _ => None,
    };
    let threshold = thresholds.of(measure, mode);
    let decides = threshold.is_some()
        && match segment {
            Segment::All => true,
            Segment::Mode(_) => cases >= FEWEST,
            Segment::Source(_) | Segment::Difficulty(_) => false,
        };
    Row {
        segment,
        measure,
        value,
        bound: threshold.map(|one| one.bound),
        status: threshold.map_or(Status::NoData, |one| one.bound.status(&value)),
        decides,
        pages: threshold.is_some_and(|one| one.pages),
    }
}

fn segments(cases: &[CaseResult]) -> Vec<Segment> {
    let mut found: BTreeMap<Segment, ()> = BTreeMap::from([(Segment::All, ())]);
    for case in cases {
        found.extend(case.mode.map(|mode| (Segment::Mode(mode), ())));
        found.extend(case.source.clone().map(|source| (Segment::Source(source), ())));
        found.insert(Segment::Difficulty(case.difficulty), ());
    }
    found.into_keys().collect()
}

/// Every measure of some cases.
fn values(cases: &[&CaseResult]) -> Vec<(Measure, Value)> {
    let keyed: Vec<&&CaseResult> = cases.iter().filter(|case| case.expected > 0).collect();
    let share = |hits: usize, n: usize| Value::Share { hits: hits as u64, n: n as u64 };
    let hits = |k: usize| share(keyed.iter().filter(|case| case.is_hit(k)).count(), keyed.len());
    let found = |at: usize| Value::Share {
        hits: keyed.iter().map(|case| case.found[at]).sum(),
        n: keyed.iter().map(|case| case.expected).sum(),
    };
    let precise = |at: usize, k: u64| Value::Share {
        hits: keyed.iter().map(|case| case.relevant[at]).sum(),
        n: keyed.len() as u64 * k,
    };
    let stage =
        |at: usize| Value::p95(cases.iter().filter_map(|case| case.stages_ms[at]).collect());
    let truths = |of: &dyn Fn(&CaseResult) -> Option<bool>| {
        let known: Vec<bool> = cases.iter().filter_map(|case| of(case)).collect();
        share(known.iter().filter(|is_so| **is_so).count(), known.len())
    };
    vec![
        (Measure::RecallAt5, hits(5)),
        (Measure::RecallAt10, hits(10)),
        (Measure::SetRecallAt5, found(0)),
        (Measure::SetRecallAt10, found(1)),
        (Measure::PrecisionAt5, precise(0, 5)),
        (Measure::PrecisionAt10, precise(1, 10)),
        (Measure::LatencyP95, Value::p95(cases.iter().filter_map(|case| case.total_ms).collect())),
        (Measure::DenseP95, stage(0)),
        (Measure::RerankP95, stage(1)),
        (Measure::HydrationP95, stage(2)),
        (
            Measure::SnippetAccuracy,
            truths(&|case| case.highlight.map(|one| one == Highlight::Right)),
        ),
        (Measure::GraphAnswer, truths(&|case| case.graph_answer)),
        (Measure::RationalePresent, truths(&|case| case.rationale_present)),
        (Measure::RationaleFaithful, truths(&faithful)),
    ]
}

fn faithful(case: &CaseResult) -> Option<bool> {
    match case.faith? {
        Faith::Faithful => Some(true),
        Faith::Unfaithful => Some(false),
        Faith::Unverified => None,
    }
}

fn reasons(cases: &[CaseResult], planned: usize, ended: Ended, rows: &[Row]) -> Vec<Reason> {
    let measures_something = |row: &Row| row.decides && row.status != Status::NoData;
    // Pairs that a reranker scored are something to measure too.
    let is_scored =
        rows.iter().any(|row| row.measure == Measure::RerankRelevance && row.value.n() > 0);
    let has = [
        (Reason::NoQueries, planned == 0 && !is_scored),
        (Reason::Errors, cases.iter().any(|case| case.error.is_some())),
        (Reason::Degraded, cases.iter().any(|case| !case.fallbacks.is_empty())),
        (Reason::OverTime, ended == Ended::OverTime),
        (
            Reason::Cancelled,
            ended == Ended::Cancelled || (ended == Ended::Whole && cases.len() < planned),
        ),
        (
            Reason::NoKeys,
            cases.iter().any(|case| case.expected == 0 && case.graph_answer.is_none()),
        ),
        (Reason::NothingMeasured, !rows.iter().any(measures_something)),
    ];
    has.into_iter().filter(|(_, is_so)| *is_so).map(|(reason, _)| reason).collect()
}

#[cfg(test)]
mod tests {
    use super::super::query::Difficulty;
    use super::super::sample::tests::query;
    use super::super::{
        case::{self, AskedWhy},
        graph::Fact,
    };
    use super::*;
    use crate::target::{Found, TargetAnswer, TargetError, TargetErrorKind};

    /// A case whose answer is at a rank; 0 is a miss.
    fn at_rank(number: usize, rank: usize, mode: RetrievalMode, ms: f64) -> CaseResult {
        let id = format!("q{number:03}");
        let document = |at: usize| if at == rank { id.clone() } else { format!("x{at}") };
        let results = (1..=10).map(|at| Found { document: document(at), ..Found::default() });
        let answer = TargetAnswer {
            results: results.collect(),
            latency_ms: ms,
            mode: Some(mode),
            ..TargetAnswer::default()
        };
        case::judge(&query(&id, "slack", Difficulty::Easy), AskedWhy::No, &Ok(answer), &|_| {
            Fact::Holds
        })
    }

    fn run(ranks: &[usize]) -> Report {
        let cases: Vec<CaseResult> = ranks
            .iter()
            .enumerate()
            .map(|(at, rank)| at_rank(at, *rank, RetrievalMode::Hybrid, 10.0))
            .collect();
        let planned = cases.len();
        report(cases, planned, Ended::Whole, &Thresholds::default(), None)
    }

    fn status(report: &Report, measure: Measure) -> Status {
        let is_it = |row: &&Row| row.segment == Segment::All && row.measure == measure;
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
            assert_eq!(status(&report, Measure::RecallAt5), five, "{misses}");
            assert_eq!(status(&report, Measure::RecallAt10), ten, "{misses}");
            assert_eq!(report.verdict, verdict, "{misses}");
        };
        check(0, Status::Ok, Status::Ok, Verdict::Pass);
        check(1, Status::Ok, Status::Warn, Verdict::Pass);
        check(2, Status::Warn, Status::Alert, Verdict::Fail);
        check(3, Status::Alert, Status::Alert, Verdict::Fail);
    }

    #[test]
    fn ranks_six_to_ten_are_seen() {
        let report = run(&[7; 25]);
        assert_eq!(status(&report, Measure::RecallAt5), Status::Alert);
        assert_eq!(status(&report, Measure::RecallAt10), Status::Ok);
    }

    /// Whoever is woken by recall@5 finds the cases that it is about.
    #[test]
    fn a_case_that_a_deciding_recall_misses_is_failing() {
        let failing = |report: &Report| {
            let failing = report.cases.iter().filter(|case| case.is_failing());
            failing.map(|case| (case.rank, case.missed.clone())).collect::<Vec<_>>()
        };
        let five = vec![Measure::RecallAt5];
        let found = run(&[1, 5, 6, 10, 0]);
        let both = vec![Measure::RecallAt5, Measure::RecallAt10];
        assert_eq!(
            failing(&found),
            [(Some(6), five.clone()), (Some(10), five.clone()), (None, both)]
        );
        assert!(found.cases[2].flags.is_empty(), "it is not missing");
        // Where no recall can fail a run, nobody is told of one.
        let mut lenient = Thresholds::default();
        let none = Bound::Share { target: Percent(0), alert: Percent(0) };
        lenient.all.get_mut(&Measure::RecallAt5).unwrap().bound = none;
        let cases = vec![at_rank(0, 6, RetrievalMode::Hybrid, 10.0)];
        assert_eq!(failing(&report(cases, 1, Ended::Whole, &lenient, None)), []);
    }

    /// What was asked until somebody stopped it is no sample, however bad it looks.
    #[test]
    fn what_somebody_stopped_does_not_fail() {
        let misses = || (0..24).map(|at| at_rank(at, 0, RetrievalMode::Hybrid, 10.0)).collect();
        let stopped = report(misses(), 25, Ended::Cancelled, &Thresholds::default(), None);
        assert_eq!(
            (stopped.verdict, &stopped.reasons[..]),
            (Verdict::Inconclusive, &[Reason::Cancelled][..])
        );
        let late = report(misses(), 25, Ended::OverTime, &Thresholds::default(), None);
        assert_eq!(late.verdict, Verdict::Fail, "its own time is another matter");
        let mut failed = run(&[0; 25]);
        failed.doubt(Reason::Cancelled);
        assert_eq!(failed.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_mode_that_fails_alone_is_seen() {
        let mut cases: Vec<CaseResult> =
            (0..95).map(|at| at_rank(at, 1, RetrievalMode::Knowledge, 10.0)).collect();
        cases.extend((95..100).map(|at| at_rank(at, 0, RetrievalMode::Graph, 10.0)));
        let report = report(cases, 100, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(status(&report, Measure::RecallAt5), Status::Ok, "95 of 100");
        assert_eq!(report.verdict, Verdict::Fail);
        let graph = Segment::Mode(RetrievalMode::Graph);
        let is_it = |row: &&Row| row.segment == graph && row.measure == Measure::RecallAt5;
        let row = report.rows.iter().find(is_it).unwrap();
        assert_eq!((row.status, row.decides, row.pages), (Status::Alert, true, true));
    }

    #[test]
    fn nothing_wrong_is_green() {
        let empty = report(Vec::new(), 0, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(empty.verdict, Verdict::Inconclusive);
        assert_eq!(empty.reasons, [Reason::NoQueries, Reason::NothingMeasured]);
        let one = |n| (0..n).map(|at| at_rank(at, 1, RetrievalMode::Hybrid, 10.0)).collect();
        let cut = report(one(24), 25, Ended::OverTime, &Thresholds::default(), None);
        assert_eq!(
            (cut.verdict, &cut.reasons[..]),
            (Verdict::Inconclusive, &[Reason::OverTime][..])
        );
        let short = report(one(24), 25, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(short.verdict, Verdict::Inconclusive, "a case that vanished is not a pass");
        let mut with_error: Vec<CaseResult> = one(99);
        let error = TargetError::new(TargetErrorKind::Timeout, "late");
        let failed = query("q999", "slack", Difficulty::Easy);
        with_error.push(case::judge(&failed, AskedWhy::No, &Err(error), &|_| Fact::Holds));
        let found = report(with_error, 100, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(
            (found.verdict, &found.reasons[..]),
            (Verdict::Inconclusive, &[Reason::Errors][..])
        );
        assert_eq!(status(&found, Measure::RecallAt5), Status::Ok, "one of a hundred");
        let mut degraded: Vec<CaseResult> = one(25);
        degraded[3].fallbacks.push("rerank".to_owned());
        let found = report(degraded, 25, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(found.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_fall_of_the_reranker_fails_the_run() {
        let cases = vec![at_rank(0, 1, RetrievalMode::Hybrid, 10.0)];
        let value = Value::Score { mean: Some(0.4), baseline: Some(0.5), n: 30 };
        let found = report(cases, 1, Ended::Whole, &Thresholds::default(), Some(value));
        assert_eq!(found.verdict, Verdict::Fail);
    }

    #[test]
    fn doubt_takes_a_pass_away_and_no_failure() {
        let mut passed = run(&[1; 25]);
        passed.doubt(Reason::IndexBehind);
        passed.doubt(Reason::IndexBehind);
        assert_eq!(
            (passed.verdict, &passed.reasons[..]),
            (Verdict::Inconclusive, &[Reason::IndexBehind][..])
        );
        let mut failed = run(&[0; 25]);
        failed.doubt(Reason::IndexBehind);
        assert_eq!(failed.verdict, Verdict::Fail);
        assert_eq!(Report::unmade(Reason::Broken).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn scores_alone_are_something_to_measure() {
        let steady = Value::Score { mean: Some(0.5), baseline: Some(0.5), n: 30 };
        let found = report(Vec::new(), 0, Ended::Whole, &Thresholds::default(), Some(steady));
        assert_eq!((found.verdict, &found.reasons[..]), (Verdict::Pass, &[][..]));
        let none = Value::Score { mean: None, baseline: Some(0.5), n: 0 };
        let found = report(Vec::new(), 0, Ended::Whole, &Thresholds::default(), Some(none));
        assert_eq!(found.reasons, [Reason::NoQueries, Reason::NothingMeasured]);
    }

    #[test]
    fn slow_answers_fail_the_run() {
        let cases: Vec<CaseResult> = (0..20)
            .map(|at| at_rank(at, 1, RetrievalMode::Hybrid, if at < 2 { 171.0 } else { 9.0 }))
            .collect();
        let found = report(cases, 20, Ended::Whole, &Thresholds::default(), None);
        assert_eq!(status(&found, Measure::LatencyP95), Status::Alert);
        assert_eq!(found.verdict, Verdict::Fail);
    }
}
