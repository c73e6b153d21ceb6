//! Background jobs: what is asked, how far it is, and what a worker may say of it.

use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use jiff::Timestamp;

use crate::types::WriteOutcome;

/// A job to queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What is to be done, as workers know it.
    pub kind: String,
    pub spec: String,
    pub created_by: String,
    /// How often it may be tried, at least once.
    pub max_attempts: u32,
    /// Queued once in its kind, until it is pruned: 1 to 512 bytes. None for one of many.
    pub key: Option<String>,
    /// Of a group one job runs at a time: 1 to 512 bytes. None if nothing is in its way.
    pub group: Option<String>,
}

/// A job without its long texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInfo {
    pub workspace: WorkspaceId,
    /// Its number in the workspace, from 1.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    pub state: JobState,
    /// How often it was claimed. Never goes back: together with the worker it names a lease.
    pub attempt: u32,
    /// How often it may be claimed. One more for every time that a worker gave it back.
    pub max_attempts: u32,
    /// When a queued job may be claimed.
    pub run_after: Timestamp,
    /// How much is done.
    pub done: u64,
    /// Of how much, if that is known.
    pub total: Option<u64>,
    /// What it is at, for people.
    pub note: String,
    /// What went wrong last (JSON).
    pub error: Option<String>,
    /// Who has it or had it last.
    pub worker: Option<String>,
    /// Until when the worker has it.
    pub lease_until: Option<Timestamp>,
    /// Whether somebody asked for its end.
    pub cancel_requested: bool,
    /// Who asked for it.
    pub created_by: String,
    pub created_at: Timestamp,
    /// When it was first claimed.
    pub started_at: Option<Timestamp>,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// What it is queued once under.
    pub key: Option<String>,
    /// What runs one at a time.
    pub group: Option<String>,
}

/// A whole job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// All but the long texts.
    pub info: JobInfo,
    /// What is to be done (JSON); empty when it is over.
    pub spec: String,
    /// Where to go on (as the worker wrote it); none when it is over.
    pub checkpoint: Option<String>,
    /// What came of it (JSON).
    pub result: Option<String>,
}

/// Which jobs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// In this state only.
    pub state: Option<JobState>,
    /// Of these kinds only; empty for all.
    pub kinds: Vec<String>,
    /// With a lower number than this.
    pub before: Option<i64>,
}

/// A worker that wants a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Its name, of one running worker only.
    pub worker: String,
    /// What it can do; empty for nothing.
    pub kinds: Vec<String>,
    /// Until when it has what it gets, unless it says more.
    pub lease_until: Timestamp,
    /// The workspace of its last job: among equals, those after it come first.
    pub last: Option<WorkspaceId>,
}

/// The right to speak of a running job, or of a message that is being sent. It holds until another
/// worker claims the job, not until a time: nobody is in the way of a worker that is late.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    pub worker: String,
    pub attempt: u32,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// Of how much, if that is known.
    pub total: Option<u64>,
    /// What it is at, for people.
    pub note: String,
}

/// What a worker hears when it tells that it is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Beat {
    Go,
    /// Somebody asked for the job's end.
    Cancel,
    /// The job is another's, or over.
    Lost,
}

/// A step of a job that goes together with writing or deleting pages; `T` is what became of one.
#[derive(Clone, Copy)]
pub struct JobStep<'a, T = WriteOutcome> {
    pub id: i64,
    pub lease: &'a Lease,
    /// Where to go on after these pages, made of what became of them.
    pub checkpoint: &'a (dyn Fn(&[T]) -> String + Sync),
    /// How much is done with them.
    pub done: u64,
    /// Of how much, if that is known.
    pub total: Option<u64>,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a result (JSON).
    Done(String),
    /// With an error (JSON).
    Failed(String),
    Cancelled,
}

/// Jobs that are not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    /// Waiting for a worker.
    pub queued: u64,
    pub running: u64,
}

impl Outcome {
    /// The state that it leaves a job in.
    pub fn state(&self) -> JobState {
        match self {
            Self::Done(_) => JobState::Done,
            Self::Failed(_) => JobState::Failed,
            Self::Cancelled => JobState::Cancelled,
        }
    }
}
