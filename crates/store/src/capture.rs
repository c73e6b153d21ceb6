//! Which captures to read, and captures in figures.

use gbrain_core::capture::FailureReason;
use gbrain_core::request::Operation;
use jiff::Timestamp;

/// Which captures to read, count or prune. The default is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaptureFilter {
    /// Stored at this moment or later.
    pub since: Option<Timestamp>,
    /// Stored before this moment.
    pub until: Option<Timestamp>,
    /// Of this operation only.
    pub tool: Option<Operation>,
    /// Of callers over a wire only, or of local ones only.
    pub remote: Option<bool>,
    /// With a higher number than this.
    pub after_id: Option<i64>,
    /// At most this many, the newest.
    pub limit: Option<u64>,
}

/// The captures of a workspace in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureSummary {
    pub rows: u64,
    /// By operation, every one of them.
    pub tools: Vec<(Operation, u64)>,
    /// Of callers over a wire.
    pub remote: u64,
    pub local: u64,
    /// When the first was stored.
    pub oldest: Option<Timestamp>,
    /// When the last was stored.
    pub newest: Option<Timestamp>,
    /// Stored in the last 24 hours.
    pub last_day: u64,
    /// Dated in the future: stored by a process whose clock was ahead. They are among the rows.
    pub future: u64,
    /// Failures, all of them.
    pub failures: u64,
    /// Failures of the last 24 hours by reason, those that happened.
    pub failures_last_day: Vec<(FailureReason, u64)>,
}
