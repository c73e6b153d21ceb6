//! Suites: their specs, the events that trigger them, and their runs.

use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::Generation;
use jiff::Timestamp;

use crate::job::NewJob;

/// A suite with its spec and whether its triggers fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSuite {
    /// 1 to 200 bytes.
    pub name: String,
    /// Its checks and triggers (JSON).
    pub spec: String,
    /// SHA-256 of the spec.
    pub hash: Hash,
    /// Whether its triggers fire. A new suite is disabled.
    pub enabled: bool,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When its spec or `enabled` last changed.
    pub updated_at: Timestamp,
}

/// The position up to which a trigger of a suite has been processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteCursor {
    pub suite: String,
    /// The name of the trigger in the suite's spec: 1 to 200 bytes.
    pub trigger: String,
    /// A time in milliseconds, a generation of the feed or the number of an event.
    pub at: i64,
}

/// A compare-and-set of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorMove {
    /// The expected position; `None` if there was no cursor.
    pub from: Option<i64>,
    pub to: i64,
}

/// How to handle a due run when a run of the suite is already waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BacklogPolicy {
    /// Queue this one too.
    Add,
    /// Do not queue it: a run that has not started covers this one.
    Coalesce,
}

/// A due run of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDueRun {
    pub suite: String,
    /// The trigger: 1 to 200 bytes.
    pub trigger: String,
    /// The move of the trigger's cursor; `None` for a run on request. A run with a cursor comes
    /// from the scheduler: it is queued only while the suite is enabled.
    pub cursor: Option<CursorMove>,
    pub backlog: BacklogPolicy,
    /// The job. Its key includes the suite and identifies one due run, which is queued once and
    /// recorded once. Its group limits concurrency.
    pub job: NewJob,
}

/// An event that suites may be triggered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The kind of event, such as `knowledge.persisted`: 1 to 100 bytes.
    pub kind: String,
    /// The document concerned; empty if none. At most 1,024 bytes.
    pub document: String,
    /// The document's version; empty if it has none. At most 200 bytes.
    pub version: String,
    /// Further details (JSON). No page text; a purge replaces the keys of its page in it.
    pub body: String,
}

/// The result of storing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventReceipt {
    /// The number of the event when it was first stored.
    pub seq: i64,
    /// False if it was stored before.
    pub is_new: bool,
}

/// An event with its number, by which triggers follow events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteEvent {
    /// Number from 1. Numbers increase in the order in which events become visible.
    pub seq: i64,
    pub kind: String,
    /// The document concerned; empty if none.
    pub document: String,
    /// The document's version; empty if it has none.
    pub version: String,
    /// Further details, as JSON without page text.
    pub body: String,
    /// When it was stored.
    pub at: Timestamp,
}

/// The kinds of corpus changes that a trigger watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchedChanges {
    /// Every change of a page.
    Pages,
    /// Changes of a page's links: type, direction, target or time. Purges are included, because the
    /// page may have had links.
    Links,
}

/// The time span of corpus changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeSpan {
    /// The time of the first change.
    pub first: Timestamp,
    /// The time of the last change.
    pub last: Timestamp,
    /// The generation of the last change.
    pub up_to: Generation,
}

/// A run of a suite to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuiteRun {
    pub suite: String,
    /// The key of the due run, recorded once per suite; `None` for a run on request.
    pub key: Option<String>,
    pub trigger: String,
    pub started_at: Timestamp,
    pub verdict: Verdict,
    /// Its figures (JSON). No page text; a purge replaces the keys of its page in it.
    pub summary: String,
    /// Its cases (JSON). It names pages by whole keys: a purge replaces those of its page.
    pub report: String,
}

/// A recorded run without its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteRunInfo {
    /// Number from 1. Numbers increase in the order in which runs become visible.
    pub id: i64,
    pub suite: String,
    /// The key of the due run.
    pub key: Option<String>,
    pub trigger: String,
    /// The job that ran it, if any.
    pub job: Option<i64>,
    /// The attempt of the job; 0 without a job.
    pub attempt: u32,
    pub started_at: Timestamp,
    /// When it was recorded.
    pub finished_at: Timestamp,
    pub verdict: Verdict,
    pub summary: String,
}

/// A recorded run with its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSuiteRun {
    pub info: SuiteRunInfo,
    /// Its cases (JSON); `None` if retention has removed them.
    pub report: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuiteRunFilter {
    pub suite: Option<String>,
    pub verdict: Option<Verdict>,
    /// Recorded at this time or later.
    pub since: Option<Timestamp>,
    /// Recorded before this time.
    pub until: Option<Timestamp>,
    /// Only numbers below this.
    pub before: Option<i64>,
}

/// The prefix of the triggers whose cursor follows stored events.
pub const EVENT_TRIGGER_PREFIX: &str = "told:";

/// The parts of old runs to prune.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunParts {
    /// Their reports and retrieval logs. Summaries stay.
    Reports,
    All,
}

/// Numbers of rows of suite history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SuiteHistory {
    pub runs: u64,
    /// Retrieval logs of the runs.
    pub logs: u64,
    /// The number of stored events.
    pub events: u64,
}
