//! Suites: what is to be measured when, what has happened that they wait for, and what their runs gave.

use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::Generation;
use jiff::Timestamp;

use crate::job::NewJob;

/// A suite that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Its name: 1 to 200 bytes.
    pub name: String,
    /// What it measures (JSON).
    pub spec: String,
    /// SHA-256 of the spec.
    pub hash: Hash,
    /// Whether its triggers fire. A new one is off.
    pub enabled: bool,
    /// When it was first kept.
    pub created_at: Timestamp,
    /// When its spec or its switch last changed.
    pub updated_at: Timestamp,
}

/// How far a trigger of a suite has been fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteCursor {
    pub suite: String,
    /// The trigger, as the suite's spec names it: 1 to 200 bytes.
    pub trigger: String,
    /// A time in milliseconds, a generation of the feed or the number of an event.
    pub at: i64,
}

/// A move of a cursor, which happens only if the cursor is where the mover saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    /// Where it was seen; none if there was no cursor.
    pub from: Option<i64>,
    pub to: i64,
}

/// What to do when a run of the suite waits already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backlog {
    /// Queue this one too.
    Add,
    /// Leave it at that: a run that has not begun will see whatever this one would.
    Coalesce,
}

/// A run of a suite that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub suite: String,
    /// What fires: 1 to 200 bytes.
    pub trigger: String,
    /// The move of the trigger's cursor that goes with it; none for a run that somebody asks for. A
    /// run with a cursor is the scheduler's: it happens only while the suite is on.
    pub cursor: Option<Advance>,
    /// What to do when a run of the job's group waits already.
    pub backlog: Backlog,
    /// The run. Its key names the suite too, and stands for one due run: it is queued once and
    /// recorded once. Its group is what runs one at a time.
    pub job: NewJob,
}

/// Something that happened which suites may wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened, such as `knowledge.persisted`: 1 to 100 bytes.
    pub kind: String,
    /// To which document; empty if to none. 1,024 bytes at most.
    pub document: String,
    /// In which version; empty if it has none. 200 bytes at most.
    pub version: String,
    /// What else was told (JSON). No text of pages; a purge replaces the keys of its page in it.
    pub body: String,
}

/// Whether an event is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventReceipt {
    /// The number of the event, the first time that it was told.
    pub seq: i64,
    /// Whether this was the first time.
    pub is_new: bool,
}

/// An event that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteEvent {
    /// Its number, from 1. Numbers rise in the order in which events become visible.
    pub seq: i64,
    pub kind: String,
    /// To which document; empty if to none.
    pub document: String,
    /// In which version; empty if it has none.
    pub version: String,
    /// What else was told (JSON).
    pub body: String,
    /// When it was told.
    pub at: Timestamp,
}

/// Which changes of the corpus are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stirring {
    /// Every change of a page.
    Pages,
    /// Those that leave other links than there were: type, direction, target or time. What was purged may
    /// have had some.
    Links,
}

/// Changes of the corpus, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stirred {
    /// When the first of them happened.
    pub first: Timestamp,
    /// When the last of them happened.
    pub last: Timestamp,
    /// The last of them.
    pub up_to: Generation,
}

/// A run of a suite to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuiteRun {
    pub suite: String,
    /// The due run that it is, recorded once in its suite; none for one of many.
    pub key: Option<String>,
    pub trigger: String,
    pub started_at: Timestamp,
    /// What came of it.
    pub verdict: Verdict,
    /// Its figures (JSON). No text of pages; a purge replaces the keys of its page in it.
    pub summary: String,
    /// Its cases (JSON). It names pages by whole keys: a purge replaces those of its page.
    pub report: String,
}

/// A recorded run without its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteRunInfo {
    /// Its number, from 1. Numbers rise in the order in which runs become visible.
    pub id: i64,
    pub suite: String,
    /// The due run that it is.
    pub key: Option<String>,
    pub trigger: String,
    /// The job that it was, if it was one.
    pub job: Option<i64>,
    /// By which claim of the job; 0 without a job.
    pub attempt: u32,
    pub started_at: Timestamp,
    /// When it was recorded.
    pub finished_at: Timestamp,
    /// What came of it.
    pub verdict: Verdict,
    pub summary: String,
}

/// A whole recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSuiteRun {
    /// All but the report.
    pub info: SuiteRunInfo,
    /// Its cases (JSON); none if it was kept long enough.
    pub report: Option<String>,
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuiteRunFilter {
    /// Of this suite only.
    pub suite: Option<String>,
    /// With this verdict only.
    pub verdict: Option<Verdict>,
    /// Recorded at this moment or later.
    pub since: Option<Timestamp>,
    /// Recorded before this moment.
    pub until: Option<Timestamp>,
    /// With a lower number than this.
    pub before: Option<i64>,
}

/// What the cursor of a trigger begins with that follows events that were told.
pub const TOLD: &str = "told:";

/// What of old runs is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunParts {
    /// Their reports, with what was asked. Figures stay.
    Reports,
    All,
}

/// What suites left behind, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SuiteHistory {
    pub runs: u64,
    /// Logs of what they asked.
    pub logs: u64,
    /// Events that they were told of.
    pub events: u64,
}
