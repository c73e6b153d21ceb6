//! Run rows: one query's ranking as a line of JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of run rows.
pub const RUN_VERSION: u32 = 1;

/// A row of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    /// The version; rows without one are version 1.
    #[serde(default = "version")]
    pub schema_version: u32,
    /// The query.
    pub query_id: String,
    /// What was retrieved, best first.
    pub retrieved: Vec<Retrieved>,
}

/// A retrieved page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RetrievedPage")]
pub struct Retrieved {
    /// Its source; the default one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Its slug.
    pub slug: String,
    /// Its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

pub(super) fn version() -> u32 {
    RUN_VERSION
}
