//! All that a run of the probe found, and past runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PROBE_VERSION, ProbeEvent};
use crate::format::benchmark::{ByTypeSummary, WireRecall};
use crate::format::cross_modal::Summary;

/// One run: what `gbrain eval probe run --json` prints and the store keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The version.
    pub schema_version: u32,
    /// Its name in the store; null if it is not kept.
    pub run_id: Option<String>,
    /// What came of it, as in the audit.
    pub event: ProbeEvent,
    /// What it was allowed to cost.
    pub max_usd: f64,
    /// When the next is due; null if now.
    pub next_run: Option<String>,
    /// What was measured; null if nothing was asked.
    pub measured: Option<ProbeMeasured>,
}

/// What was measured, with what, for how much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeMeasured {
    /// When the run began.
    pub started_at: String,
    /// The version of this program.
    pub software: String,
    /// Names the numbers of the pipeline.
    pub settings: String,
    /// How many sessions of a ranking were read.
    pub k: usize,
    /// Who took part beside the panel.
    pub models: ProbeModels,
    /// What each model is charged at, earlier attempts of a run that was cut off included.
    pub costs: Vec<ProbeCost>,
    /// Recall by type of question.
    pub recall: ByTypeSummary,
    /// Every question with what was answered.
    pub answers: Vec<ProbeAnswer>,
    /// What the panel said.
    pub cross_modal: Summary,
}

/// Who took part beside the panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeModels {
    /// Who answered.
    pub answers: String,
    /// Who embedded; null without vectors.
    pub embedder: Option<String>,
    /// Who put questions in other words; null if nobody did.
    pub expander: Option<String>,
    /// Who put candidates in order; null if nobody did.
    pub reranker: Option<String>,
}

/// What one model is charged at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCost {
    /// Which.
    pub model: String,
    /// How many calls.
    pub calls: u64,
    /// What they cost; the worst of those of which nobody knows.
    pub usd: f64,
}

/// One question with what was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeAnswer {
    /// The question.
    pub question_id: String,
    /// Its kind.
    pub question_type: String,
    /// What was answered.
    pub hypothesis: String,
    /// Whether a right session was read; null if there is none.
    pub recall_hit: Option<bool>,
    /// Stages of retrieval that could not do their work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Past runs: what `gbrain eval probe history --json` and `GET /v1/probe` give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeHistory {
    /// The version.
    pub schema_version: u32,
    /// Of how many days.
    pub days: u32,
    /// Whether the probe is on.
    pub enabled: bool,
    /// When the next is due; null if now.
    pub next_run: Option<String>,
    /// The runs, newest first.
    pub runs: Vec<ProbeRun>,
}

/// A past run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRun {
    /// What came of it.
    pub event: ProbeEvent,
    /// Recall in all; null if nothing was asked, or only the audit file knows of the run.
    pub recall: Option<WireRecall>,
    /// Recall by type of question.
    pub recall_by_type: BTreeMap<String, WireRecall>,
}

impl ProbeReport {
    /// A run of which there is nothing to tell but its event.
    pub fn bare(event: ProbeEvent, max_usd: f64) -> Self {
        Self {
            schema_version: PROBE_VERSION,
            run_id: None,
            event,
            max_usd,
            next_run: None,
            measured: None,
        }
    }
}

impl From<ProbeReport> for ProbeRun {
    fn from(report: ProbeReport) -> Self {
        let ProbeReport { event, measured, schema_version: _, run_id: _, max_usd: _, next_run: _ } =
            report;
        let recall = measured.map(|measured| measured.recall);
        Self {
            event,
            recall: recall.as_ref().map(|recall| recall.aggregate),
            recall_by_type: recall.map(|recall| recall.recall_by_type).unwrap_or_default(),
        }
    }
}

impl From<ProbeEvent> for ProbeRun {
    fn from(event: ProbeEvent) -> Self {
        Self { event, recall: None, recall_by_type: BTreeMap::new() }
    }
}
