//! A capture as one line of an export, for schemas.
//!
//! [`crate::capture::write_line`] writes lines by splicing stored text without parsing it; nothing
//! constructs these structs. A test checks that the two agree.

use schemars::JsonSchema;
use serde::Serialize;

use crate::request::{Detail, Operation};

use super::capture::ReproductionFields;

/// A capture: one observed request with its ranking, scrubbed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureRow<'a> {
    /// Version of this format: 1.
    pub schema_version: u32,
    /// Number in the workspace; later rows have higher numbers.
    pub id: i64,
    pub tool_name: Operation,
    /// The query text, scrubbed unless scrubbing is off.
    pub query: String,
    /// Distinct slugs in ranking order.
    pub retrieved_slugs: Vec<String>,
    /// One number per passage, in ranking order.
    pub retrieved_chunk_ids: Vec<u64>,
    /// Distinct sources in ranking order.
    pub source_ids: Vec<String>,
    /// Whether expansion was requested; null for `search`, which has none.
    pub expand_enabled: Option<bool>,
    /// The requested detail level.
    pub detail: Option<Detail>,
    /// The detail that was used.
    pub detail_resolved: Option<Detail>,
    /// Whether vectors were searched.
    pub vector_enabled: bool,
    /// Whether expansion produced variants.
    pub expansion_applied: bool,
    /// Latency of the answer in milliseconds.
    pub latency_ms: f64,
    /// Whether the caller was remote.
    pub remote: bool,
    pub job_id: Option<i64>,
    pub subagent_id: Option<i64>,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// The fields that make the row reproducible; rows of other gbrains may lack them.
    #[serde(flatten)]
    pub extra: Option<ReproductionFields<'a>>,
}
