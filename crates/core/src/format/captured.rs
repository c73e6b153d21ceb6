//! A capture as one line of an export, for schemas.
//!
//! Lines are written by [`crate::capture::write_line`], which splices what the store holds without
//! parsing it; nothing makes these structs. A test holds the two to each other.

use schemars::JsonSchema;
use serde::Serialize;

use crate::request::{Detail, Operation};

use super::capture::Extra;

/// A capture: one observed request with its ranking, scrubbed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureRow<'a> {
    /// The version: 1.
    pub schema_version: u32,
    /// Its number in the workspace; later rows have higher ones.
    pub id: i64,
    /// The operation.
    pub tool_name: Operation,
    /// What was asked, scrubbed unless the owner turned that off.
    pub query: String,
    /// Distinct slugs in the order of the ranking.
    pub retrieved_slugs: Vec<String>,
    /// One number per passage in the order of the ranking.
    pub retrieved_chunk_ids: Vec<u64>,
    /// Distinct sources in the order of the ranking.
    pub source_ids: Vec<String>,
    /// Whether expansion was asked for; null for `search`, which has none.
    pub expand_enabled: Option<bool>,
    /// The detail that was asked for.
    pub detail: Option<Detail>,
    /// The detail it was answered in.
    pub detail_resolved: Option<Detail>,
    /// Whether vectors were searched.
    pub vector_enabled: bool,
    /// Whether expansion gave variants.
    pub expansion_applied: bool,
    /// How long the answer took, in milliseconds.
    pub latency_ms: f64,
    /// Whether the caller came over a wire.
    pub remote: bool,
    /// The job that asked.
    pub job_id: Option<i64>,
    /// The subagent that asked.
    pub subagent_id: Option<i64>,
    /// When it was stored.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// What makes it reproducible; rows of other gbrains may lack it.
    #[serde(flatten)]
    pub extra: Option<Extra<'a>>,
}
