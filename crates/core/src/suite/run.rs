//! The report of a suite run, as it is printed, stored and returned over HTTP.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::breach::{self, SuiteBreach, TargetOutage};
use super::case::{CaseDefect, CaseResult};
use super::graph::Faithfulness;
use super::measure::{MeasureValue, SuiteMeasure};
use super::query::Difficulty;
use super::report::{InconclusiveReason, MeasureRow, SuiteReport};
use super::size::SampleSize;
use super::snippet::Highlight;
use super::threshold::{MeasureBound, MeasureStatus};
use super::trend::DecliningMeasure;
use super::{Suite, SuiteKind};
use crate::gate::Verdict;
use crate::request::RetrievalMode;
use crate::target::TargetErrorKind;

/// Schema version of [`SuiteRun`].
pub(crate) const SUITE_RUN_VERSION: u32 = 1;

/// Maximum number of failing cases that a summary lists.
const NAMED_CASES: usize = 20;

/// The event that started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTrigger<'a> {
    /// Idempotency key, unique within the suite.
    pub key: &'a str,
    /// The trigger: `manual`, `ci`, `cron:...`, `event:...`.
    pub trigger: &'a str,
}

/// A suite run, complete or as a summary.
///
/// The store keeps both: the complete run until it is pruned, and the summary for lists, trends and
/// alerts. A summary has no cases and no query text; it counts the failing cases and lists the
/// first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "A run of a suite.", transform = require_whole)]
pub struct SuiteRun {
    /// Schema version of this document.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// Kind of the suite.
    #[serde(rename = "type")]
    pub kind: SuiteKind,
    /// Workspace of the run.
    pub workspace: String,
    /// Name of the target that was queried.
    pub target: String,
    /// Whether the run queried another target than the suite's own. Such a run says nothing about
    /// the suite.
    #[serde(default, alias = "elsewhere", skip_serializing_if = "is_false")]
    pub ad_hoc: bool,
    /// Owners of the suite.
    pub owners: Vec<String>,
    /// Idempotency key of the run.
    pub key: String,
    /// Trigger that started the run.
    pub trigger: String,
    /// Start time of the run.
    pub started_at: String,
    /// End time of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub finished_at: Option<String>,
    /// Duration of the run in milliseconds.
    pub duration_ms: i64,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Reasons why the run is inconclusive.
    pub inconclusive_reasons: Vec<InconclusiveReason>,
    /// Number of planned queries.
    pub planned: usize,
    /// Number of queries sent.
    pub asked: usize,
    /// Sample size; null for a run that could not start.
    #[serde(default)]
    pub sample: Option<SampleSize>,
    /// Number of unanswered queries by error kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<TargetErrorKind, usize>,
    /// Number of failing cases; only in a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub failing: Option<usize>,
    /// Query ids of the first failing cases; only in a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub failing_cases: Option<Vec<String>>,
    /// Reranker threshold in effect during the run.
    pub rerank_threshold: Option<f64>,
    /// Further remarks about the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Measures that fell for several weeks in a row; recalibrate the reranker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalibrate: Vec<DecliningMeasure>,
    /// Every measure of every segment.
    pub measures: Vec<RunMeasure>,
    /// Cases of the run, failing cases first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub cases: Option<Vec<RunCase>>,
}

/// A measure of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteMeasure")]
pub struct RunMeasure {
    /// Segment of cases: `all`, `mode:graph`, `source:slack`, `difficulty:hard`.
    pub segment: String,
    /// Name of the measure.
    pub measure: SuiteMeasure,
    /// Value as one number; null for an empty sample and if no query was answered.
    pub value: Option<f64>,
    /// Number of hits, for a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Number of cases in the sample.
    pub n: u64,
    /// Baseline, for a score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// Target value of the measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Alert threshold of the measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// Status against the target and the alert threshold.
    pub status: MeasureStatus,
    /// Whether the measure can fail the run.
    pub decides: bool,
    /// Whether a breach pages.
    pub pages: bool,
    /// Unanswered queries that count as misses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Whether the measure breaches only because of unanswered queries: the target was down, and
    /// recall is unknown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outage: bool,
}

/// The result of one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteCase")]
pub struct RunCase {
    /// Id of the query.
    pub query_id: String,
    /// Whether the case needs attention.
    pub failing: bool,
    /// Defects of the case.
    pub flags: Vec<CaseDefect>,
    /// Deciding recall measures that the case misses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<SuiteMeasure>,
    /// Source that the query is about.
    pub source: Option<String>,
    /// Difficulty of the query.
    pub difficulty: Difficulty,
    /// Requested mode, or the mode that the target reports.
    pub retrieval_mode: Option<RetrievalMode>,
    /// Kind of error, if the target did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TargetErrorKind>,
    /// Error message, if the target did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Rank of the first expected or acceptable result, from 1.
    pub rank: Option<usize>,
    /// Assessment of the highlight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
    /// Whether a graph question was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_answer: Option<bool>,
    /// Whether a graph answer has a rationale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale_present: Option<bool>,
    /// Whether the rationale is faithful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<Faithfulness>,
    /// Problems of the rationale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rationale_problems: Vec<String>,
    /// Latency by stage and in total, in milliseconds.
    pub latency_ms: BTreeMap<String, f64>,
    /// Stages that fell back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Result ids, best first.
    pub results: Vec<String>,
}

impl SuiteRun {
    /// The run of a report, with its start and end time.
    pub fn new(
        suite: &Suite,
        workspace: &str,
        RunTrigger { key, trigger }: RunTrigger<'_>,
        (started, finished): (Timestamp, Timestamp),
        report: &SuiteReport,
    ) -> Self {
        let SuiteReport { verdict, reasons, rows, cases, planned, sample } = report;
        let mut errors = BTreeMap::new();
        for kind in cases.iter().filter_map(|case| case.error) {
            *errors.entry(kind).or_default() += 1;
        }
        let mut cases: Vec<RunCase> = cases.iter().map(RunCase::from).collect();
        cases.sort_by_key(|case| !case.failing);
        Self {
            schema_version: SUITE_RUN_VERSION,
            suite: suite.name.clone(),
            kind: suite.kind,
            workspace: workspace.to_owned(),
            target: suite.target.clone(),
            ad_hoc: false,
            owners: suite.owners.clone(),
            key: key.to_owned(),
            trigger: trigger.to_owned(),
            started_at: format!("{started:.3}"),
            finished_at: Some(format!("{finished:.3}")),
            duration_ms: i64::try_from(finished.duration_since(started).as_millis())
                .unwrap_or(i64::MAX),
            verdict: *verdict,
            inconclusive_reasons: reasons.clone(),
            planned: *planned,
            asked: cases.len(),
            sample: sample.clone(),
            errors,
            failing: None,
            failing_cases: None,
            rerank_threshold: None,
            notes: Vec::new(),
            recalibrate: Vec::new(),
            measures: rows.iter().map(RunMeasure::from).collect(),
            cases: Some(cases),
        }
    }

    /// The summary of the run: no cases, and only the measures over all cases and those that can
    /// fail the run.
    #[must_use]
    pub fn figures(&self) -> Self {
        let failing: Vec<String> = self.failing().map(|case| case.query_id.clone()).collect();
        let is_kept = |one: &&RunMeasure| one.decides || one.segment == "all";
        Self {
            finished_at: None,
            failing: Some(failing.len()),
            failing_cases: Some(failing.into_iter().take(NAMED_CASES).collect()),
            measures: self.measures.iter().filter(is_kept).cloned().collect(),
            cases: None,
            ..self.clone()
        }
    }

    /// The cases; empty in a summary.
    pub fn cases(&self) -> &[RunCase] {
        self.cases.as_deref().unwrap_or_default()
    }

    /// Cases that need attention.
    pub fn failing(&self) -> impl Iterator<Item = &RunCase> {
        self.cases().iter().filter(|case| case.failing)
    }

    /// The value of a measure over all cases.
    pub fn value(&self, measure: SuiteMeasure) -> Option<f64> {
        let is_it = |one: &&RunMeasure| one.segment == "all" && one.measure == measure;
        self.measures.iter().find(is_it)?.value
    }

    /// Whether the run reflects the state of the suite: it queried the suite's own target and was
    /// not cancelled.
    pub fn counts(&self) -> bool {
        !self.ad_hoc && !self.inconclusive_reasons.contains(&InconclusiveReason::Cancelled)
    }

    /// The breaches by cause, without those of an outage.
    pub fn causes(&self) -> Vec<SuiteBreach<'_>> {
        breach::breaches(self)
    }

    /// The outage that made measures breach, if there is one.
    pub fn outage(&self) -> Option<TargetOutage> {
        breach::outage(self)
    }

    /// The measures that failed the run.
    pub fn breaches(&self) -> impl Iterator<Item = &RunMeasure> {
        self.measures.iter().filter(|one| one.decides && one.status == MeasureStatus::Alert)
    }
}

/// A complete run has the fields that a summary omits.
fn require_whole(schema: &mut Schema) {
    if let Some(required) = schema.get_mut("required").and_then(|one| one.as_array_mut()) {
        let at = required.iter().position(|key| key == "duration_ms").unwrap_or_default();
        required.insert(at, "finished_at".into());
        required.push("cases".into());
    }
}

pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<&MeasureRow> for RunMeasure {
    fn from(row: &MeasureRow) -> Self {
        let MeasureRow {
            segment,
            measure,
            value,
            bound,
            status,
            decides,
            pages,
            unanswered,
            is_outage,
            is_unmeasured,
        } = row;
        let (target, alert) = match bound {
            Some(MeasureBound::Share { target, alert }) => {
                (Some(target.to_string()), Some(alert.to_string()))
            }
            Some(MeasureBound::Millis { target, alert }) => {
                (Some(format!("{target} ms")), Some(format!("{alert} ms")))
            }
            Some(MeasureBound::Fall { alert }) => (None, Some(format!("-{alert}"))),
            None => (None, None),
        };
        let (hits, baseline) = match *value {
            MeasureValue::Share { hits, .. } => (Some(hits), None),
            MeasureValue::Score { baseline, .. } => (None, baseline),
            MeasureValue::Millis { .. } => (None, None),
        };
        Self {
            segment: segment.name(),
            measure: *measure,
            value: value.number().filter(|number| number.is_finite() && !is_unmeasured),
            hits,
            n: value.n(),
            baseline,
            target,
            alert,
            status: *status,
            decides: *decides,
            pages: *pages,
            unanswered: *unanswered,
            outage: *is_outage,
        }
    }
}

impl From<&CaseResult> for RunCase {
    fn from(case: &CaseResult) -> Self {
        let failing = case.is_failing();
        let CaseResult {
            id,
            source,
            difficulty,
            mode,
            error,
            message,
            rank,
            found: _,
            expected: _,
            relevant: _,
            highlight,
            graph_answer,
            rationale_present,
            faith,
            problems,
            total_ms,
            stages_ms,
            fallbacks,
            flags,
            missed,
            results,
        } = case.clone();
        let names = ["dense", "rerank", "hydration", "total"];
        let times = names.into_iter().zip(stages_ms.into_iter().chain([total_ms]));
        let latency_ms =
            times.filter_map(|(name, ms)| Some((name.to_owned(), ms.filter(|ms| ms.is_finite())?)));
        Self {
            query_id: id,
            failing,
            flags,
            missed,
            source,
            difficulty,
            retrieval_mode: mode,
            error,
            error_message: message,
            rank,
            highlight,
            graph_answer,
            rationale_present,
            rationale: faith,
            rationale_problems: problems,
            latency_ms: latency_ms.collect(),
            fallbacks,
            results,
        }
    }
}
