//! Why a target did not answer. Every kind has a name, for counters, reports and triage.

use crate::fault::{Fault, FaultKind};
use crate::named;

named! {
    /// The kind of a target error.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum TargetErrorKind {
        /// No answer in time.
        Timeout = "timeout",
        /// No connection, or one that broke; a command that can't be started, or ended.
        Unreachable = "unreachable",
        /// The target failed, with a status of 500 and more.
        Unavailable = "http_5xx",
        /// The target wants fewer questions, and went on wanting it.
        RateLimited = "rate_limited",
        /// The target does not accept who asks.
        Denied = "denied",
        /// The key that the settings name is not there.
        NoKey = "no_key",
        /// The target does not accept the question.
        BadRequest = "bad_request",
        /// The answer does not match the settings.
        Malformed = "malformed",
        /// The request was cancelled.
        Cancelled = "cancelled",
        /// The target does not support this question.
        Unsupported = "unsupported",
        /// A saved run has no answer to this.
        NotRecorded = "not_recorded",
    }
}

impl TargetErrorKind {
    /// Whether another attempt may help: 5xx, timeouts and 429, and nothing else.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::RateLimited)
    }

    /// Whether every further question would fail alike, so that a run should stop.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Denied | Self::NoKey | Self::Cancelled)
    }
}

/// Why a target did not answer. The message never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct TargetError {
    pub kind: TargetErrorKind,
    pub message: String,
}

impl TargetError {
    /// An error that the caller has already classified.
    pub fn new(kind: TargetErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An answer that does not match the settings.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(TargetErrorKind::Malformed, message)
    }
}

impl From<TargetError> for Fault {
    fn from(error: TargetError) -> Self {
        let hint = match error.kind {
            TargetErrorKind::NoKey => "set the variable that the target's settings name",
            TargetErrorKind::Unreachable => "is the address right, and does it run?",
            TargetErrorKind::Malformed => {
                "`gbrain targets check NAME` shows what came back and what was understood of it"
            }
            TargetErrorKind::Denied => "does the key belong to this target?",
            TargetErrorKind::Timeout => {
                "allow more with `timeout_seconds` in the target's settings"
            }
            TargetErrorKind::RateLimited => {
                "ask less often: `per_second` and `concurrency` in the target's settings"
            }
            _ => "",
        };
        let kind = match error.kind {
            TargetErrorKind::Timeout => FaultKind::Timeout,
            TargetErrorKind::Cancelled => FaultKind::Cancelled,
            TargetErrorKind::NoKey => FaultKind::Config,
            TargetErrorKind::Unsupported => FaultKind::Usage,
            _ => FaultKind::Target,
        };
        let fault = Self::new(kind, error.to_string());
        if hint.is_empty() { fault } else { fault.hint(hint) }
    }
}
