//! Aggregates a run: measures over all cases and over each segment, their status, and the verdict.
//!
//! A run passes if no measure breaches its alert threshold, every planned query was answered, and
//! something was measured. Rows over all cases and over each mode decide. Rows of a source or a
//! difficulty, and rows of fewer than five cases, are informative only. A cancelled run neither
//! passes nor fails, because its queries are no sample. A run with fewer queries than its suite
//! requires is inconclusive, unless the missing queries could not change the outcome: then it
//! fails.
//!
//! An error counts as a miss. A measure that breaches only because of errors is reported as an
//! outage of the target, because its retrieval was not measured.

use std::collections::BTreeMap;

use super::case::{CaseResult, DEPTH};
use super::graph::Faithfulness;
use super::measure::{MeasureValue, SuiteMeasure};
use super::size::SampleSize;
use super::snippet::Highlight;
use super::threshold::{MeasureBound, MeasureStatus, Percent, SuiteThresholds};
use crate::gate::Verdict;
use crate::named;
use crate::request::RetrievalMode;

/// Segments with fewer cases than this never decide.
pub const FEWEST: u64 = 5;

/// The cases that a row covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseSegment {
    All,
    /// Cases asked or answered in a mode.
    Mode(RetrievalMode),
    /// Cases about a source.
    Source(String),
    /// Cases of a difficulty.
    Difficulty(super::query::Difficulty),
}

impl CaseSegment {
    /// The name of the segment: `all`, `mode:graph`, `source:slack`, `difficulty:hard`.
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
pub struct MeasureRow {
    pub segment: CaseSegment,
    pub measure: SuiteMeasure,
    pub value: MeasureValue,
    /// The threshold; none for informative measures.
    pub bound: Option<MeasureBound>,
    pub status: MeasureStatus,
    /// Whether the row can fail the run.
    pub decides: bool,
    /// Whether a breach pages.
    pub pages: bool,
    /// Unanswered cases that count as misses.
    pub unanswered: u64,
    /// Whether the row breaches only because of unanswered cases.
    pub is_outage: bool,
    /// Whether no case was answered.
    pub is_unmeasured: bool,
}

named! {
    /// Why a run is inconclusive.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum InconclusiveReason {
        /// No query was selected.
        NoQueries = "no_queries",
        /// Fewer queries or pairs than the suite requires.
        SampleTooSmall = "sample_too_small",
        /// Some queries were not answered.
        Errors = "errors",
        /// Some stages of the target fell back.
        Degraded = "degraded",
        /// The time limit was reached.
        OverTime = "over_time",
        Cancelled = "cancelled",
        /// A query has no answer key.
        NoKeys = "no_keys",
        /// No deciding measure has a value.
        NothingMeasured = "nothing_measured",
        /// The index did not contain the changes that the run should measure.
        IndexBehind = "index_behind",
        /// No calibration, or no reranker, is available.
        NoCalibration = "no_calibration",
        /// The calibration belongs to another reranker model.
        StaleCalibration = "stale_calibration",
        /// The suite or its target is misconfigured.
        Broken = "broken",
    }
}

/// How the execution of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    Whole,
    /// The time limit was reached.
    OverTime,
    Cancelled,
}

/// A run with the aggregates of its cases.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteReport {
    pub verdict: Verdict,
    pub reasons: Vec<InconclusiveReason>,
    pub rows: Vec<MeasureRow>,
    pub cases: Vec<CaseResult>,
    /// Number of planned queries.
    pub planned: usize,
    /// The sample size; none for a run that could not start.
    pub sample: Option<SampleSize>,
}

impl SuiteReport {
    /// The report of a run that could not start.
    pub fn not_started(reason: InconclusiveReason) -> Self {
        let (verdict, reasons) = (Verdict::Inconclusive, vec![reason]);
        Self { verdict, reasons, rows: Vec::new(), cases: Vec::new(), planned: 0, sample: None }
    }

    /// Adds a reason. A pass becomes inconclusive; a failure stays a failure unless the run was
    /// cancelled.
    pub fn add_inconclusive_reason(&mut self, reason: InconclusiveReason) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        if self.verdict == Verdict::Pass || reason == InconclusiveReason::Cancelled {
            self.verdict = Verdict::Inconclusive;
        }
    }
}

/// Aggregates the cases of a run. `relevance` is the reranker's mean score of borderline documents,
/// if it was measured.
pub fn report(
    mut cases: Vec<CaseResult>,
    (planned, sample): (usize, SampleSize),
    ended: RunEnd,
    thresholds: &SuiteThresholds,
    relevance: Option<MeasureValue>,
) -> SuiteReport {
    let missing = sample.missing();
    let mut rows: Vec<MeasureRow> = Vec::new();
    for segment in segments(&cases) {
        let own: Vec<&CaseResult> = cases.iter().filter(|case| segment.holds(case)).collect();
        rows.extend(segment_rows(&segment, &own, missing, thresholds));
    }
    if let Some(value) = relevance {
        let n = value.n();
        let row = row(CaseSegment::All, SuiteMeasure::RerankRelevance, value, n, thresholds);
        // Missing pairs could have any score.
        rows.push(MeasureRow { decides: row.decides && missing == 0, ..row });
    }
    for case in &mut cases {
        case.missed = missed(case, &rows);
    }
    let reasons = reasons(&cases, (planned, &sample), ended, &rows);
    let is_alert = rows.iter().any(|row| row.decides && row.status == MeasureStatus::Alert);
    let verdict = match (is_alert, reasons.is_empty()) {
        _ if reasons.contains(&InconclusiveReason::Cancelled) => Verdict::Inconclusive,
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Inconclusive,
    };
    SuiteReport { verdict, reasons, rows, cases, planned, sample: Some(sample) }
}

/// The measures of a segment. A breach does not decide if the missing queries could undo it.
fn segment_rows(
    segment: &CaseSegment,
    cases: &[&CaseResult],
    missing: usize,
    thresholds: &SuiteThresholds,
) -> Vec<MeasureRow> {
    let answered: Vec<&CaseResult> =
        cases.iter().copied().filter(|case| case.error.is_none()).collect();
    let of = |cases: &[&CaseResult], missing: usize| -> Vec<MeasureRow> {
        let count = cases.len() as u64;
        let measured = values(cases, missing).into_iter();
        measured.map(|(what, value)| row(segment.clone(), what, value, count, thresholds)).collect()
    };
    let (best, without_errors) = (of(cases, missing), of(&answered, 0));
    let rows = of(cases, 0).into_iter().zip(best.iter().zip(&without_errors));
    let shown_row = |(row, (best, without_errors)): (MeasureRow, (&MeasureRow, &MeasureRow))| {
        let counts = |case: &&&CaseResult| case.error.is_some() && counts_errors(row.measure, case);
        let unanswered = cases.iter().filter(counts).count() as u64;
        let is_alert = row.status == MeasureStatus::Alert;
        let may_recover = missing > 0 && is_alert && best.status != MeasureStatus::Alert;
        MeasureRow {
            decides: row.decides && !may_recover,
            is_outage: is_alert && unanswered > 0 && without_errors.status != MeasureStatus::Alert,
            is_unmeasured: unanswered > 0 && without_errors.value.n() == 0,
            unanswered,
            ..row
        }
    };
    rows.map(shown_row).collect()
}

/// Whether a measure counts an unanswered case as a miss.
fn counts_errors(measure: SuiteMeasure, case: &CaseResult) -> bool {
    match measure {
        SuiteMeasure::RecallAt5
        | SuiteMeasure::RecallAt10
        | SuiteMeasure::SetRecallAt5
        | SuiteMeasure::SetRecallAt10
        | SuiteMeasure::PrecisionAt5
        | SuiteMeasure::PrecisionAt10 => case.expected > 0,
        SuiteMeasure::GraphAnswer => case.graph_answer.is_some(),
        _ => false,
    }
}

/// Deciding recall measures that a case misses, so that an alert can list the failing cases.
fn missed(case: &CaseResult, rows: &[MeasureRow]) -> Vec<SuiteMeasure> {
    let is_missed = |(measure, k): &(SuiteMeasure, usize)| {
        let can_fail = |row: &MeasureRow| {
            let has_alert =
                !matches!(row.bound, Some(MeasureBound::Share { alert: Percent(0), .. }));
            row.measure == *measure && row.decides && has_alert && row.segment.holds(case)
        };
        case.expected > 0 && !case.is_hit(*k) && rows.iter().any(can_fail)
    };
    let recalls = [(SuiteMeasure::RecallAt5, 5), (SuiteMeasure::RecallAt10, DEPTH)];
    recalls.into_iter().filter(is_missed).map(|(measure, _)| measure).collect()
}

fn row(
    segment: CaseSegment,
    measure: SuiteMeasure,
    value: MeasureValue,
    cases: u64,
    thresholds: &SuiteThresholds,
) -> MeasureRow {
    let mode = match segment {
        CaseSegment::Mode(mode) => Some(mode),
        _ => None,
    };
    let threshold = thresholds.of(measure, mode);
    let decides = threshold.is_some()
        && match segment {
            CaseSegment::All => true,
            CaseSegment::Mode(_) => cases >= FEWEST,
            CaseSegment::Source(_) | CaseSegment::Difficulty(_) => false,
        };
    MeasureRow {
        segment,
        measure,
        value,
        bound: threshold.map(|one| one.bound),
        status: threshold.map_or(MeasureStatus::NoData, |one| one.bound.status(&value)),
        decides,
        pages: threshold.is_some_and(|one| one.pages),
        unanswered: 0,
        is_outage: false,
        is_unmeasured: false,
    }
}

fn segments(cases: &[CaseResult]) -> Vec<CaseSegment> {
    let mut found: BTreeMap<CaseSegment, ()> = BTreeMap::from([(CaseSegment::All, ())]);
    for case in cases {
        found.extend(case.mode.map(|mode| (CaseSegment::Mode(mode), ())));
        found.extend(case.source.clone().map(|source| (CaseSegment::Source(source), ())));
        found.insert(CaseSegment::Difficulty(case.difficulty), ());
    }
    found.into_keys().collect()
}

/// Every measure of some cases, as if `more` further cases had been answered at once and correctly.
fn values(cases: &[&CaseResult], more: usize) -> Vec<(SuiteMeasure, MeasureValue)> {
    let keyed: Vec<&&CaseResult> = cases.iter().filter(|case| case.expected > 0).collect();
    let share = |hits: u64, n: u64, of_each: u64| {
        let more = more as u64 * of_each;
        MeasureValue::Share { hits: hits + more, n: n + more }
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
        MeasureValue::p95(known.chain(std::iter::repeat_n(0.0, more)).collect())
    };
    let stage = |at: usize| times(&|case| case.stages_ms[at]);
    let truths = |of: &dyn Fn(&CaseResult) -> Option<bool>| {
        let known: Vec<bool> = cases.iter().filter_map(|case| of(case)).collect();
        share(known.iter().filter(|is_so| **is_so).count() as u64, known.len() as u64, 1)
    };
    vec![
        (SuiteMeasure::RecallAt5, hits(5)),
        (SuiteMeasure::RecallAt10, hits(10)),
        (SuiteMeasure::SetRecallAt5, found(0)),
        (SuiteMeasure::SetRecallAt10, found(1)),
        (SuiteMeasure::PrecisionAt5, precise(0, 5)),
        (SuiteMeasure::PrecisionAt10, precise(1, 10)),
        (SuiteMeasure::LatencyP95, times(&|case| case.total_ms)),
        (SuiteMeasure::DenseP95, stage(0)),
        (SuiteMeasure::RerankP95, stage(1)),
        (SuiteMeasure::HydrationP95, stage(2)),
        (
            SuiteMeasure::SnippetAccuracy,
            truths(&|case| case.highlight.map(|one| one == Highlight::Right)),
        ),
        (SuiteMeasure::GraphAnswer, truths(&|case| case.graph_answer)),
        (SuiteMeasure::RationalePresent, truths(&|case| case.rationale_present)),
        (SuiteMeasure::RationaleFaithful, truths(&faithful)),
    ]
}

fn faithful(case: &CaseResult) -> Option<bool> {
    match case.faith? {
        Faithfulness::Faithful => Some(true),
        Faithfulness::Unfaithful => Some(false),
        Faithfulness::Unverified => None,
    }
}

fn reasons(
    cases: &[CaseResult],
    (planned, sample): (usize, &SampleSize),
    ended: RunEnd,
    rows: &[MeasureRow],
) -> Vec<InconclusiveReason> {
    let missing = sample.missing();
    // A small sample was measured, although it decides nothing.
    let may_decide = |row: &MeasureRow| row.decides || (missing > 0 && row.bound.is_some());
    let measures_something =
        |row: &MeasureRow| may_decide(row) && row.status != MeasureStatus::NoData;
    // Scored pairs count as measured.
    let is_scored =
        rows.iter().any(|row| row.measure == SuiteMeasure::RerankRelevance && row.value.n() > 0);
    let has = [
        (InconclusiveReason::NoQueries, planned == 0 && !is_scored),
        (InconclusiveReason::SampleTooSmall, missing > 0),
        (InconclusiveReason::Errors, cases.iter().any(|case| case.error.is_some())),
        (InconclusiveReason::Degraded, cases.iter().any(|case| !case.fallbacks.is_empty())),
        (InconclusiveReason::OverTime, ended == RunEnd::OverTime),
        (
            InconclusiveReason::Cancelled,
            ended == RunEnd::Cancelled || (ended == RunEnd::Whole && cases.len() < planned),
        ),
        (
            InconclusiveReason::NoKeys,
            cases.iter().any(|case| case.expected == 0 && case.graph_answer.is_none()),
        ),
        (InconclusiveReason::NothingMeasured, !rows.iter().any(measures_something)),
    ];
    has.into_iter().filter(|(_, is_so)| *is_so).map(|(reason, _)| reason).collect()
}

#[cfg(test)]
mod tests;
