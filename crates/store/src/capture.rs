//! Filters and summaries of captures.

use gbrain_core::capture::FailureReason;
use gbrain_core::request::Operation;
use jiff::Timestamp;

/// The place of a capture in the list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturePosition {
    pub at: Timestamp,
    pub id: i64,
}

/// Selects captures to read, count or prune. The default is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaptureFilter {
    /// Stored at this time or later.
    pub since: Option<Timestamp>,
    /// Stored before this time.
    pub until: Option<Timestamp>,
    /// Only of this operation.
    pub tool: Option<Operation>,
    /// Only of remote callers, or only of local ones.
    pub remote: Option<bool>,
    /// Only numbers above this.
    pub after_id: Option<i64>,
    /// Only this number.
    pub id: Option<i64>,
    /// Only those that come after this one, newest first.
    pub older_than: Option<CapturePosition>,
    /// At most this many, the newest.
    pub limit: Option<u64>,
}

/// Counts of the captures of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureSummary {
    pub rows: u64,
    /// By operation, including those without captures.
    pub tools: Vec<(Operation, u64)>,
    /// The number of captures of remote callers.
    pub remote: u64,
    pub local: u64,
    /// When the first was stored.
    pub oldest: Option<Timestamp>,
    /// When the last was stored.
    pub newest: Option<Timestamp>,
    /// Stored in the last 24 hours.
    pub last_day: u64,
    /// Dated in the future, because of a process whose clock was ahead. Included in `rows`.
    pub future: u64,
    /// The number of all stored capture failures.
    pub failures: u64,
    /// Failures of the last 24 hours by reason, without zero counts.
    pub failures_last_day: Vec<(FailureReason, u64)>,
}
