//! Jobs, stored documents and labels, as commands print them and the API gives them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::FaultBody;

/// A job without what it was given and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobBody {
    /// Its number in the workspace, from 1.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    /// queued, running, done, failed or cancelled.
    pub state: &'static str,
    /// How much is done.
    pub done: u64,
    /// Of how much, if that is known.
    pub total: Option<u64>,
    /// What it is at.
    pub note: String,
    /// How often it was tried.
    pub attempt: u32,
    /// How often it may be tried.
    pub max_attempts: u32,
    /// Whether somebody asked for its end.
    pub cancel_requested: bool,
    /// What went wrong last.
    pub error: Option<FaultBody>,
    /// Who has it or had it last; not told over a wire.
    pub worker: Option<String>,
    /// Who asked for it.
    pub created_by: String,
    /// When it was asked for.
    pub created_at: String,
    /// When it was first worked on.
    pub started_at: Option<String>,
    /// When anything of it last changed.
    pub updated_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
}

/// Jobs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobsBody {
    /// The jobs.
    pub jobs: Vec<JobBody>,
    /// Where the rest of the list begins: jobs with a lower number than this.
    pub next_before: Option<i64>,
}

/// A job that was queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueuedBody {
    /// Its number.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    /// queued.
    pub state: &'static str,
}

/// What became of a wish to cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CancelledBody {
    /// The job's number.
    pub id: i64,
    /// Its state: a running job ends soon.
    pub state: &'static str,
}

/// What became of something that was stored or removed by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentOutcomeBody {
    /// Its name.
    pub name: String,
    /// added, replaced or removed.
    pub outcome: &'static str,
}

/// Judgements that were stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QrelsStoredBody {
    /// Their name.
    pub name: String,
    /// added or replaced.
    pub outcome: &'static str,
    /// How many queries they judge.
    pub queries: usize,
    /// How many judgements they hold.
    pub judgements: usize,
}

/// A judgement of a page as an answer to a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLabelBody {
    /// What was asked.
    #[schemars(length(min = 1, max = 51_200), regex(pattern = r"\S"))]
    pub query: String,
    /// The page: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub page: String,
    /// How well it answers: 0 is not at all, 1 is relevant, more is better.
    #[schemars(range(min = 0, max = 10))]
    pub grade: i64,
    /// Why.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub note: Option<String>,
}

/// Judgements to keep: a later one of the same query and page takes the place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLabelsBody {
    /// The judgements.
    #[serde(deserialize_with = "super::body::objects")]
    #[schemars(length(min = 1, max = 1_000))]
    pub labels: Vec<NewLabelBody>,
}

/// The numbers of judgements that were kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabelledBody {
    /// Their numbers, in the order in which they were given.
    pub ids: Vec<i64>,
}

/// A judgement that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabelRemovedBody {
    /// Its number.
    pub id: i64,
    /// removed.
    pub outcome: &'static str,
}

/// Whether the server lives, or whether it can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthBody {
    /// ok or stopping.
    pub status: &'static str,
    /// The version of the program.
    pub version: String,
}

/// How captures and measurements of a workspace stand.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvalStatusBody {
    /// Whether requests are captured.
    pub capture: bool,
    /// Captures of callers over a wire.
    pub captures: u64,
    /// What went wrong while capturing in the last day.
    pub capture_failures_24h: u64,
    /// Stored baselines.
    pub baselines: usize,
    /// Stored judgements.
    pub qrels: usize,
    /// Labels, up to a thousand.
    pub labels: usize,
    /// The last runs, newest first.
    pub runs: Vec<JobBody>,
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs that are worked on.
    pub running: u64,
}
