//! A run of a suite in figures: what lists, trends and alerts need of it. No text of anybody.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::is_false;
use super::{SampleBody, SuiteRunBody, WireFall, WireMeasure};
use crate::gate::Verdict;
use crate::suite::Kind;
use crate::suite::measure::Measure;
use crate::suite::report::Reason;
use crate::suite::threshold::Status;
use crate::target::TargetErrorKind;

/// As many failing cases are named.
const NAMED_CASES: usize = 20;

/// A run in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteSummary {
    /// The version of the form, which is that of a run.
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
    /// Whether that is somebody else than the suite's own target.
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
    pub sample: Option<SampleBody>,
    /// Queries without an answer, by why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<TargetErrorKind, usize>,
    /// Cases that somebody should look at.
    pub failing: usize,
    /// The first of them, by the ids of their queries.
    pub failing_cases: Vec<String>,
    /// The threshold of the reranker that was in force.
    pub rerank_threshold: Option<f64>,
    /// What else a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What fell week after week: a new calibration is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalibrate: Vec<WireFall>,
    /// The measures over all cases, and every other that can fail a run.
    pub measures: Vec<WireMeasure>,
}

impl From<&SuiteRunBody> for SuiteSummary {
    fn from(run: &SuiteRunBody) -> Self {
        let failing = || run.cases.iter().filter(|case| case.failing);
        let is_told = |one: &&WireMeasure| one.decides || one.segment == "all";
        let SuiteRunBody {
            schema_version,
            suite,
            kind,
            workspace,
            target,
            elsewhere,
            owners,
            key,
            trigger,
            started_at,
            finished_at: _,
            duration_ms,
            verdict,
            inconclusive_reasons,
            planned,
            asked,
            sample,
            errors,
            rerank_threshold,
            notes,
            recalibrate,
            measures,
            cases: _,
        } = run.clone();
        Self {
            schema_version,
            suite,
            kind,
            workspace,
            target,
            elsewhere,
            owners,
            key,
            trigger,
            started_at,
            duration_ms,
            verdict,
            inconclusive_reasons,
            planned,
            asked,
            sample,
            errors,
            failing: failing().count(),
            failing_cases: failing().take(NAMED_CASES).map(|case| case.query_id.clone()).collect(),
            rerank_threshold,
            notes,
            recalibrate,
            measures: measures.iter().filter(is_told).cloned().collect(),
        }
    }
}

impl SuiteSummary {
    /// A measure over all cases, as one number.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        let is_it = |one: &&WireMeasure| one.segment == "all" && one.measure == measure;
        self.measures.iter().find(is_it)?.value
    }

    /// Whether it says how its suite is doing: it asked the suite's own target, and nobody stopped it.
    pub fn counts(&self) -> bool {
        !self.elsewhere && !self.inconclusive_reasons.contains(&Reason::Cancelled)
    }

    /// The run, as far as its figures tell: without its cases.
    pub fn as_run(&self, finished_at: String) -> SuiteRunBody {
        let Self {
            schema_version,
            suite,
            kind,
            workspace,
            target,
            elsewhere,
            owners,
            key,
            trigger,
            started_at,
            duration_ms,
            verdict,
            inconclusive_reasons,
            planned,
            asked,
            sample,
            errors,
            failing: _,
            failing_cases: _,
            rerank_threshold,
            notes,
            recalibrate,
            measures,
        } = self.clone();
        SuiteRunBody {
            schema_version,
            suite,
            kind,
            workspace,
            target,
            elsewhere,
            owners,
            key,
            trigger,
            started_at,
            finished_at,
            duration_ms,
            verdict,
            inconclusive_reasons,
            planned,
            asked,
            sample,
            errors,
            rerank_threshold,
            notes,
            recalibrate,
            measures,
            cases: Vec::new(),
        }
    }

    /// The measures that made it fail.
    pub fn breaches(&self) -> impl Iterator<Item = &WireMeasure> {
        self.measures.iter().filter(|one| one.decides && one.status == Status::Alert)
    }
}
