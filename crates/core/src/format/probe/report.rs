//! Reports of the quality probe: one run, and the history.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PROBE_VERSION, ProbeEvent};
use crate::format::benchmark::{ByTypeSummary, WireRecall};
use crate::format::cross_modal::Summary;

/// One run: printed by `gbrain eval probe run --json` and stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// Version of this format.
    pub schema_version: u32,
    /// Id of the stored run; null if it is not stored.
    pub run_id: Option<String>,
    /// Outcome of the run, as in the audit file.
    pub event: ProbeEvent,
    /// Budget of the run in US dollars.
    pub max_usd: f64,
    /// Time of the next run; null if it is due now.
    pub next_run: Option<String>,
    /// The measurements; null if no question was asked.
    pub measured: Option<ProbeMeasured>,
}

/// Measurements of a run, with its models and costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeMeasured {
    /// Start of the run.
    pub started_at: String,
    /// Version of gbrain that ran the probe.
    pub software: String,
    /// Hash of the search settings.
    pub settings: String,
    /// Number of retrieved sessions that were read.
    pub k: usize,
    /// Models other than the panel's.
    pub models: ProbeModels,
    /// Cost of each model, including earlier attempts of an interrupted run.
    pub costs: Vec<ProbeCost>,
    /// Recall by question type.
    pub recall: ByTypeSummary,
    /// All questions with their answers.
    pub answers: Vec<ProbeAnswer>,
    /// Judgements of the panel.
    pub cross_modal: Summary,
}

/// Models other than the panel's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeModels {
    /// Model that answered the questions.
    pub answers: String,
    /// Embedding model; null without vectors.
    pub embedder: Option<String>,
    /// Query expansion model; null without expansion.
    pub expander: Option<String>,
    /// Reranking model; null without reranking.
    pub reranker: Option<String>,
}

/// Cost of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCost {
    /// Name of the model.
    pub model: String,
    /// Number of model calls.
    pub calls: u64,
    /// Cost in US dollars; the maximum for calls whose cost is unknown.
    pub usd: f64,
}

/// One question with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeAnswer {
    /// Id of the question.
    pub question_id: String,
    /// Type of the question.
    pub question_type: String,
    /// Answer of the model.
    pub hypothesis: String,
    /// Whether a relevant session was read; null if there is none.
    pub recall_hit: Option<bool>,
    /// Retrieval stages that were degraded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    /// Why the question failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Past runs: the output of `gbrain eval probe history --json` and `GET /v1/probe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeHistory {
    /// Version of this format.
    pub schema_version: u32,
    /// Number of days covered.
    pub days: u32,
    /// Whether the probe is enabled.
    pub enabled: bool,
    /// Time of the next run; null if it is due now.
    pub next_run: Option<String>,
    /// The runs, newest first.
    pub runs: Vec<ProbeRun>,
}

/// A past run in the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRun {
    /// Outcome of the run.
    pub event: ProbeEvent,
    /// Recall over all questions; null if no question was asked or only the audit file has the run.
    pub recall: Option<WireRecall>,
    /// Recall by question type.
    pub recall_by_type: BTreeMap<String, WireRecall>,
}

impl ProbeReport {
    /// A run without measurements.
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
