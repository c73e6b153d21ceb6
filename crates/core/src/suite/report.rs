//! A run, added up: every measure over all cases and over each segment, its status, and the verdict.
//!
//! A run passes if nothing is past its alert, everything that was to be asked was asked, nothing failed
//! and something was measured. Rows over all cases and over each mode decide; those of a source or a
//! difficulty inform, and so do those of fewer than five cases, which say little. A run that somebody
//! stopped neither passes nor fails: what was asked of it by then is no sample. A run of fewer queries than
//! its suite requires is inconclusive, unless the missing ones could not undo what it shows: then it fails.
//!
//! An error counts as a miss. A measure that only errors put past its alert is told as an outage of the
//! target, because nothing was measured of its retrieval.

use std::collections::BTreeMap;

use super::case::{CaseResult, DEPTH};
use super::graph::Faith;
use super::measure::{Measure, Value};
use super::size::SampleSize;
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
    pub segment: Segment,
    pub measure: Measure,
    pub value: Value,
    /// What it is held against; none where it only informs.
    pub bound: Option<Bound>,
    pub status: Status,
    /// Whether it can fail the run.
    pub decides: bool,
    /// Whether its alert wakes somebody.
    pub pages: bool,
    /// Cases that it counts as missed because they were not answered.
    pub unanswered: u64,
    /// Whether only these put it past its alert.
    pub is_outage: bool,
    /// Whether none of its cases was answered.
    pub is_unmeasured: bool,
}

/// Why a run does not say enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// There was nothing to ask.
    NoQueries,
    /// There were fewer queries, or pairs, than the suite requires.
    SampleTooSmall,
    /// Questions were not answered.
    Errors,
    /// Stages of the target did not do their work.
    Degraded,
    /// There was no time left for all questions.
    OverTime,
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
        SampleTooSmall = "sample_too_small",
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
    Whole,
    /// Its time was over.
    OverTime,
    Cancelled,
}

/// What a run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub verdict: Verdict,
    /// Why it does not say enough.
    pub reasons: Vec<Reason>,
    /// Every row, in order.
    pub rows: Vec<Row>,
    /// Every case that was asked.
    pub cases: Vec<CaseResult>,
    /// Queries that were to be asked.
    pub planned: usize,
    /// How large the sample is; none of a run that could not even begin.
    pub sample: Option<SampleSize>,
}

impl Report {
    /// What is said of a run that could not even begin.
    pub fn unmade(reason: Reason) -> Self {
        let (verdict, reasons) = (Verdict::Inconclusive, vec![reason]);
        Self { verdict, reasons, rows: Vec::new(), cases: Vec::new(), planned: 0, sample: None }
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
    (planned, sample): (usize, SampleSize),
    ended: Ended,
    thresholds: &Thresholds,
    relevance: Option<Value>,
) -> Report {
    let missing = sample.missing();
    let mut rows: Vec<Row> = Vec::new();
    for segment in segments(&cases) {
        let own: Vec<&CaseResult> = cases.iter().filter(|case| segment.holds(case)).collect();
        rows.extend(segment_rows(&segment, &own, missing, thresholds));
    }
    if let Some(value) = relevance {
        let n = value.n();
        let row = row(Segment::All, Measure::RerankRelevance, value, n, thresholds);
        // Pairs that are missing may score anything.
        rows.push(Row { decides: row.decides && missing == 0, ..row });
    }
    for case in &mut cases {
        case.missed = missed(case, &rows);
    }
    let reasons = reasons(&cases, (planned, &sample), ended, &rows);
    let is_alert = rows.iter().any(|row| row.decides && row.status == Status::Alert);
    let verdict = match (is_alert, reasons.is_empty()) {
        _ if reasons.contains(&Reason::Cancelled) => Verdict::Inconclusive,
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Inconclusive,
    };
    Report { verdict, reasons, rows, cases, planned, sample: Some(sample) }
}

/// The measures of a segment. One that is past its alert decides nothing if the queries that are missing
/// could bring it back.
fn segment_rows(
    segment: &Segment,
    cases: &[&CaseResult],
    missing: usize,
    thresholds: &Thresholds,
) -> Vec<Row> {
    let answered: Vec<&CaseResult> =
        cases.iter().copied().filter(|case| case.error.is_none()).collect();
    let of = |cases: &[&CaseResult], missing: usize| -> Vec<Row> {
        let count = cases.len() as u64;
        let measured = values(cases, missing).into_iter();
        measured.map(|(what, value)| row(segment.clone(), what, value, count, thresholds)).collect()
    };
    let (best, without_errors) = (of(cases, missing), of(&answered, 0));
    let rows = of(cases, 0).into_iter().zip(best.iter().zip(&without_errors));
    let told = |(row, (best, without_errors)): (Row, (&Row, &Row))| {
        let counts = |case: &&&CaseResult| case.error.is_some() && counts_errors(row.measure, case);
        let unanswered = cases.iter().filter(counts).count() as u64;
        let is_alert = row.status == Status::Alert;
        let may_recover = missing > 0 && is_alert && best.status != Status::Alert;
        Row {
            decides: row.decides && !may_recover,
            is_outage: is_alert && unanswered > 0 && without_errors.status != Status::Alert,
            is_unmeasured: unanswered > 0 && without_errors.value.n() == 0,
            unanswered,
            ..row
        }
    };
    rows.map(told).collect()
}

/// Whether a measure counts a case as missed that was not answered.
fn counts_errors(measure: Measure, case: &CaseResult) -> bool {
    match measure {
        Measure::RecallAt5
        | Measure::RecallAt10
        | Measure::SetRecallAt5
        | Measure::SetRecallAt10
        | Measure::PrecisionAt5
        | Measure::PrecisionAt10 => case.expected > 0,
        Measure::GraphAnswer => case.graph_answer.is_some(),
        _ => false,
    }
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
        unanswered: 0,
        is_outage: false,
        is_unmeasured: false,
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

/// Every measure of some cases, as if so many more had been answered at once and without a fault.
fn values(cases: &[&CaseResult], more: usize) -> Vec<(Measure, Value)> {
    let keyed: Vec<&&CaseResult> = cases.iter().filter(|case| case.expected > 0).collect();
    let share = |hits: u64, n: u64, of_each: u64| {
        let more = more as u64 * of_each;
        Value::Share { hits: hits + more, n: n + more }
    };
    let keyed_count = keyed.len() as u64;
    let hits =
        |k: usize| share(keyed.iter().filter(|case| case.is_hit(k)).count() as u64, keyed_count, 1);
    let found = |at: usize| {
        let found = keyed.iter().map(|case| case.found[at]).sum();
        share(found, keyed.iter().map(|case| case.expected).sum(), 1)
    };
    let precise = |at: usize, k: u64| {
        share(keyed.iter().map(|case| case.relevant[at]).sum(), keyed_count * k, k)
    };
    let times = |of: &dyn Fn(&CaseResult) -> Option<f64>| {
        let known = cases.iter().filter_map(|case| of(case));
        Value::p95(known.chain(std::iter::repeat_n(0.0, more)).collect())
    };
    let stage = |at: usize| times(&|case| case.stages_ms[at]);
    let truths = |of: &dyn Fn(&CaseResult) -> Option<bool>| {
        let known: Vec<bool> = cases.iter().filter_map(|case| of(case)).collect();
        share(known.iter().filter(|is_so| **is_so).count() as u64, known.len() as u64, 1)
    };
    vec![
        (Measure::RecallAt5, hits(5)),
        (Measure::RecallAt10, hits(10)),
        (Measure::SetRecallAt5, found(0)),
        (Measure::SetRecallAt10, found(1)),
        (Measure::PrecisionAt5, precise(0, 5)),
        (Measure::PrecisionAt10, precise(1, 10)),
        (Measure::LatencyP95, times(&|case| case.total_ms)),
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

fn reasons(
    cases: &[CaseResult],
    (planned, sample): (usize, &SampleSize),
    ended: Ended,
    rows: &[Row],
) -> Vec<Reason> {
    let missing = sample.missing();
    // What a small sample shows was measured, though it decides nothing.
    let may_decide = |row: &Row| row.decides || (missing > 0 && row.bound.is_some());
    let measures_something = |row: &Row| may_decide(row) && row.status != Status::NoData;
    // Pairs that a reranker scored are something to measure too.
    let is_scored =
        rows.iter().any(|row| row.measure == Measure::RerankRelevance && row.value.n() > 0);
    let has = [
        (Reason::NoQueries, planned == 0 && !is_scored),
        (Reason::SampleTooSmall, missing > 0),
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
mod tests;
