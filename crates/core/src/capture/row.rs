//! The rows of captures and of failed captures.

use jiff::Timestamp;

use crate::named;
use crate::request::{Detail, Operation};

/// The version of a row of an export.
pub(crate) const CAPTURE_VERSION: u64 = 1;

/// The longest query a store takes, in bytes of UTF-8.
pub(crate) const QUERY_MAX_BYTES: usize = 51_200;

/// The stored fields of one observed request, beside its number and its time.
///
/// Lists and `extra` are JSON text: they are written once, when the row is made, and go into an
/// export as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureFields {
    pub tool_name: Operation,
    /// The query, scrubbed unless the owner turned that off.
    pub query: String,
    /// Distinct slugs in the order of the ranking, as a JSON list.
    pub retrieved_slugs: String,
    /// One number per passage in the order of the ranking, as a JSON list.
    pub retrieved_chunk_ids: String,
    /// Distinct sources in the order of the ranking, as a JSON list.
    pub source_ids: String,
    /// Whether expansion was requested; none for `search`, which has none.
    pub expand_enabled: Option<bool>,
    /// The level of detail requested.
    pub detail: Option<Detail>,
    /// The detail that was answered in.
    pub detail_resolved: Option<Detail>,
    /// Whether vectors were searched.
    pub vector_enabled: bool,
    /// Whether expansion gave variants.
    pub expansion_applied: bool,
    /// How long the answer took, in milliseconds.
    pub latency_ms: f64,
    /// Whether the caller came over a wire.
    pub remote: bool,
    /// Number of the calling job.
    pub job_id: Option<i64>,
    /// Number of the calling subagent.
    pub subagent_id: Option<i64>,
    /// Everything else that the ranking depended on, as a JSON object.
    pub extra: String,
}

/// A capture as it came back from a store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCapture {
    /// Its number in the workspace: later rows have higher ones.
    pub id: i64,
    /// When it was stored.
    pub created_at: Timestamp,
    pub fields: CaptureFields,
}

named! {
    /// Why a request was not captured. The names are stable.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum FailureReason {
        /// The database could not be reached, or was too busy for too long.
        DbDown = "db_down",
        /// Row-level security refused the row.
        RlsReject = "rls_reject",
        /// The row broke a constraint, such as the length of the query.
        CheckViolation = "check_violation",
        /// The scrubber failed; nothing unscrubbed was stored.
        ScrubberException = "scrubber_exception",
        /// Anything else, a full queue among it.
        Other = "other",
    }
}

/// A request that was not captured. It never holds the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFailure {
    /// Names the event, so that storing it twice keeps it once.
    pub event_id: String,
    pub at: Timestamp,
    /// Why, as a stable word.
    pub reason: FailureReason,
    /// The error message without the query.
    pub detail: String,
}
