//! Background jobs: specification, progress, and the lease of a worker.

use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use jiff::Timestamp;

use crate::types::WriteOutcome;

/// A job to queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The kind of work, which selects the worker's handler.
    pub kind: String,
    pub spec: String,
    pub created_by: String,
    /// Maximum number of attempts, at least 1.
    pub max_attempts: u32,
    /// Deduplication key: 1 to 512 bytes. A kind and key are queued once, until the job is pruned.
    /// `None` for no deduplication.
    pub key: Option<String>,
    /// Concurrency group: 1 to 512 bytes. One job of a group runs at a time. `None` for no
    /// restriction.
    pub group: Option<String>,
}

/// A job without its long texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInfo {
    pub workspace: WorkspaceId,
    /// Number in the workspace, from 1.
    pub id: i64,
    /// The kind of work.
    pub kind: String,
    pub state: JobState,
    /// Number of claims. Never decreases: together with the worker it identifies a lease.
    pub attempt: u32,
    /// Maximum number of claims. Increases each time a worker releases the job.
    pub max_attempts: u32,
    /// When a queued job may be claimed.
    pub run_after: Timestamp,
    /// Units of work finished.
    pub done: u64,
    /// Units of work in total, if known.
    pub total: Option<u64>,
    /// Progress message for people.
    pub note: String,
    /// The last error (JSON).
    pub error: Option<String>,
    /// The current or last worker.
    pub worker: Option<String>,
    /// When the worker's lease ends.
    pub lease_until: Option<Timestamp>,
    pub cancel_requested: bool,
    pub created_by: String,
    pub created_at: Timestamp,
    /// When it was first claimed.
    pub started_at: Option<Timestamp>,
    /// When any column last changed.
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// The deduplication key: a kind and key are queued once.
    pub key: Option<String>,
    /// The concurrency group, of which one job runs at a time.
    pub group: Option<String>,
}

/// A job with its long texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub info: JobInfo,
    /// The work to do (JSON); empty when the job has ended.
    pub spec: String,
    /// Where to resume, in the worker's own format; none when the job has ended.
    pub checkpoint: Option<String>,
    /// The result of the job, as JSON; none until it has ended.
    pub result: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    pub state: Option<JobState>,
    /// Only these kinds; empty for all.
    pub kinds: Vec<String>,
    /// Only numbers below this.
    pub before: Option<i64>,
}

/// A request of a worker for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobClaim {
    /// A name that is unique among running workers.
    pub worker: String,
    /// The kinds it can run; empty for none.
    pub kinds: Vec<String>,
    /// When the lease ends unless it is renewed.
    pub lease_until: Timestamp,
    /// The workspace of its last job: among equal workspaces, the next by name is preferred.
    pub last: Option<WorkspaceId>,
}

/// The right to update a running job, or a message that is being sent. It holds until another
/// worker claims the job, not until a time: a late worker may continue if the job was not claimed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    pub worker: String,
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobProgress {
    /// Units of work finished.
    pub done: u64,
    /// Units of work in total, if known.
    pub total: Option<u64>,
    /// Progress message for people.
    pub note: String,
}

/// The reply to a worker's heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeartbeatReply {
    Continue,
    /// The job's cancellation was requested.
    Cancel,
    /// The job was claimed by another worker, or has ended.
    Lost,
}

/// A step of a job that commits together with written or deleted pages; `T` is the outcome of one
/// page.
#[derive(Clone, Copy)]
pub struct JobStep<'a, T = WriteOutcome> {
    pub id: i64,
    pub lease: &'a Lease,
    /// Computes the new checkpoint from the outcomes of the pages.
    pub checkpoint: &'a (dyn Fn(&[T]) -> String + Sync),
    /// Units of work finished after this step.
    pub done: u64,
    /// Units of work in total, if known.
    pub total: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// With a result (JSON).
    Done(String),
    /// With an error (JSON).
    Failed(String),
    Cancelled,
}

/// Numbers of jobs that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    pub queued: u64,
    pub running: u64,
}

impl JobOutcome {
    /// The final state of the job.
    pub fn state(&self) -> JobState {
        match self {
            Self::Done(_) => JobState::Done,
            Self::Failed(_) => JobState::Failed,
            Self::Cancelled => JobState::Cancelled,
        }
    }
}
