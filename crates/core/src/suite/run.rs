//! What a run of a suite says: printed, kept in the store, sent over HTTP.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::breach::{self, Outage, SuiteBreach};
use super::case::{CaseResult, Flag};
use super::graph::Faith;
use super::measure::{Measure, Value};
use super::query::Difficulty;
use super::report::{Reason, Report, Row};
use super::size::SampleSize;
use super::snippet::Highlight;
use super::threshold::{Bound, Status};
use super::trend::Trend;
use super::{Kind, Suite};
use crate::gate::Verdict;
use crate::request::RetrievalMode;
use crate::target::TargetErrorKind;

/// The version of [`SuiteRun`].
pub(crate) const SUITE_RUN_VERSION: u32 = 1;

/// Failing cases that figures name.
const NAMED_CASES: usize = 20;

/// Why a run takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTrigger<'a> {
    /// What names the run, once in its suite.
    pub key: &'a str,
    /// What started it: `manual`, `ci`, `cron:...`, `event:...`.
    pub trigger: &'a str,
}

/// A run of a suite, whole or in figures.
///
/// The store keeps both: the whole run until it is pruned, its figures for lists, trends and alerts. Figures have no
/// cases and no text of a query; they count the failing cases and name the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "A run of a suite.", transform = require_whole)]
pub struct SuiteRun {
    /// The version of this form.
    pub schema_version: u32,
    /// The suite.
    pub suite: String,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The workspace.
    pub workspace: String,
    /// Who was asked.
    pub target: String,
    /// Whether that is somebody else than the suite's own target: then it says nothing about the suite.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// What names the run.
    pub key: String,
    /// What started it.
    pub trigger: String,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub finished_at: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not say enough.
    pub inconclusive_reasons: Vec<Reason>,
    /// Queries that were to be asked.
    pub planned: usize,
    /// Queries that were asked.
    pub asked: usize,
    /// How large the sample is; null of a run that could not begin.
    #[serde(default)]
    pub sample: Option<SampleSize>,
    /// Queries without an answer, by why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<TargetErrorKind, usize>,
    /// How many cases fail; of figures only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub failing: Option<usize>,
    /// The first of them, by the ids of their queries; of figures only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub failing_cases: Option<Vec<String>>,
    /// The threshold of the reranker that was in force.
    pub rerank_threshold: Option<f64>,
    /// What else a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What fell week after week: a new calibration is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalibrate: Vec<Trend>,
    /// Every measure of every segment.
    pub measures: Vec<RunMeasure>,
    /// Cases that somebody should look at, then the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub cases: Option<Vec<RunCase>>,
}

/// A measure of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteMeasure")]
pub struct RunMeasure {
    /// Of which cases: `all`, `mode:graph`, `source:slack`, `difficulty:hard`.
    pub segment: String,
    /// What.
    pub measure: Measure,
    /// As one number; null of nothing, and where no query was answered.
    pub value: Option<f64>,
    /// So many, of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Of how many.
    pub n: u64,
    /// What it was, of a score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// What it should reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Beyond which it is an alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// How it stands.
    pub status: Status,
    /// Whether it can fail the run.
    pub decides: bool,
    /// Whether its alert wakes somebody.
    pub pages: bool,
    /// Queries that it counts as missed because they were not answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Whether only these put it past its alert: the target was out, and recall is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outage: bool,
}

/// What came of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteCase")]
pub struct RunCase {
    /// The query's id.
    pub query_id: String,
    /// Whether somebody should look at it.
    pub failing: bool,
    /// What is wrong with it.
    pub flags: Vec<Flag>,
    /// Recalls that can fail the run and that it misses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Measure>,
    /// The source that it is about.
    pub source: Option<String>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// How it was asked or answered.
    pub retrieval_mode: Option<RetrievalMode>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TargetErrorKind>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The rank of the first expected or acceptable result.
    pub rank: Option<usize>,
    /// What its highlight is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
    /// Whether a question about links was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_answer: Option<bool>,
    /// Whether an answer from links gives reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale_present: Option<bool>,
    /// Whether they are so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<Faith>,
    /// What is wrong with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rationale_problems: Vec<String>,
    /// How long it took, by stage and as a whole, in milliseconds.
    pub latency_ms: BTreeMap<String, f64>,
    /// Stages that did not do their work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// The results, best first.
    pub results: Vec<String>,
}

impl SuiteRun {
    /// The run that a report is of, from when it began to when it ended.
    pub fn new(
        suite: &Suite,
        workspace: &str,
        RunTrigger { key, trigger }: RunTrigger<'_>,
        (started, finished): (Timestamp, Timestamp),
        report: &Report,
    ) -> Self {
        let Report { verdict, reasons, rows, cases, planned, sample } = report;
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
            elsewhere: false,
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

    /// The run in figures: without its cases, and with the measures over all cases and every other that can fail it.
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

    /// The cases; none in figures.
    pub fn cases(&self) -> &[RunCase] {
        self.cases.as_deref().unwrap_or_default()
    }

    /// Cases that somebody should look at.
    pub fn failing(&self) -> impl Iterator<Item = &RunCase> {
        self.cases().iter().filter(|case| case.failing)
    }

    /// A measure over all cases, as one number.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        let is_it = |one: &&RunMeasure| one.segment == "all" && one.measure == measure;
        self.measures.iter().find(is_it)?.value
    }

    /// Whether it says how its suite is doing: it asked the suite's own target, and nobody stopped it.
    pub fn counts(&self) -> bool {
        !self.elsewhere && !self.inconclusive_reasons.contains(&Reason::Cancelled)
    }

    /// The breaches that people are told of: each cause once, without those of an outage.
    pub fn causes(&self) -> Vec<SuiteBreach<'_>> {
        breach::breaches(self)
    }

    /// The outage of the target that put measures past their alerts, if one did.
    pub fn outage(&self) -> Option<Outage> {
        breach::outage(self)
    }

    /// The measures that made it fail.
    pub fn breaches(&self) -> impl Iterator<Item = &RunMeasure> {
        self.measures.iter().filter(|one| one.decides && one.status == Status::Alert)
    }
}

/// A run that is shown as a run is whole.
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

impl From<&Row> for RunMeasure {
    fn from(row: &Row) -> Self {
        let Row {
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
            Some(Bound::Share { target, alert }) => {
                (Some(target.to_string()), Some(alert.to_string()))
            }
            Some(Bound::Millis { target, alert }) => {
                (Some(format!("{target} ms")), Some(format!("{alert} ms")))
            }
            Some(Bound::Fall { alert }) => (None, Some(format!("-{alert}"))),
            None => (None, None),
        };
        let (hits, baseline) = match *value {
            Value::Share { hits, .. } => (Some(hits), None),
            Value::Score { baseline, .. } => (None, baseline),
            Value::Millis { .. } => (None, None),
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
