//! Bodies of jobs, stored documents and labels: the output of commands and of the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::FaultBody;

/// A job without its input and its output.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobBody {
    /// Number in the workspace, starting at 1.
    pub id: i64,
    pub kind: String,
    /// One of: queued, running, done, failed, cancelled.
    pub state: &'static str,
    /// Units of work done so far.
    pub done: u64,
    /// Units of work in total, if known.
    pub total: Option<u64>,
    /// The step in progress.
    pub note: String,
    pub attempt: u32,
    pub max_attempts: u32,
    pub cancel_requested: bool,
    /// The most recent error.
    pub error: Option<FaultBody>,
    /// The current or last worker; omitted from API responses.
    pub worker: Option<String>,
    pub created_by: String,
    pub created_at: String,
    /// When a worker first claimed it.
    pub started_at: Option<String>,
    pub updated_at: String,
    pub finished_at: Option<String>,
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobsBody {
    pub jobs: Vec<JobBody>,
    /// Cursor of the next page: jobs with a lower number than this.
    pub next_before: Option<i64>,
}

/// A job that was queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueuedBody {
    pub id: i64,
    pub kind: String,
    /// Always `queued` in this body.
    pub state: &'static str,
}

/// Outcome of a cancel request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CancelledBody {
    pub id: i64,
    /// State of the job; a running job stops soon.
    pub state: &'static str,
}

/// Outcome of storing or removing a named document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentOutcomeBody {
    pub name: String,
    /// One of: added, replaced, removed.
    pub outcome: &'static str,
}

/// A stored set of judgements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QrelsStoredBody {
    pub name: String,
    /// One of: added, replaced.
    pub outcome: &'static str,
    /// Number of judged queries.
    pub queries: usize,
    /// Number of judgements in it.
    pub judgements: usize,
}

/// A judgement of a page as an answer to a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLabelBody {
    #[schemars(length(min = 1, max = 51_200), regex(pattern = r"\S"))]
    pub query: String,
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
    /// Relevance grade: 0 is irrelevant, 1 is relevant, higher is better.
    #[schemars(range(min = 0, max = 10))]
    pub grade: i64,
    /// Free text, such as the reason.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub note: Option<String>,
    /// The text of the page that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_000))]
    pub span: Option<String>,
    /// Whether the page is barely relevant: a pair for the calibration of the reranker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borderline: bool,
}

/// Judgements to store. A later judgement of the same query and page replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLabelsBody {
    #[serde(deserialize_with = "super::body::objects")]
    #[schemars(length(min = 1, max = 1_000))]
    pub labels: Vec<NewLabelBody>,
}

/// Ids of the stored judgements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LabelledBody")]
pub struct StoredLabelsBody {
    /// In the order of the request.
    pub ids: Vec<i64>,
}

/// The judgement that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabelRemovedBody {
    pub id: i64,
    /// One of: removed; withdrawn, if the judgement of another reviewer stays.
    pub outcome: &'static str,
}

/// Liveness or readiness of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthBody {
    /// One of: ok, stopping.
    pub status: &'static str,
    pub version: String,
}

/// Capture and evaluation status of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvalStatusBody {
    /// Whether requests are captured.
    pub capture: bool,
    /// Number of captures from remote callers.
    pub captures: u64,
    /// Capture failures in the last 24 hours.
    pub capture_failures_24h: u64,
    /// Number of stored baselines.
    pub baselines: usize,
    /// Number of stored judgement sets.
    pub qrels: usize,
    /// Number of labels, counted up to 1,000.
    pub labels: usize,
    /// The most recent runs, newest first.
    pub runs: Vec<JobBody>,
    /// Number of queued jobs.
    pub queued: u64,
    /// Number of running jobs.
    pub running: u64,
}
