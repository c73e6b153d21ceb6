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
    /// Text of the query.
    pub query_id: String,
    /// The retrieved pages, best first.
    pub retrieved: Vec<RetrievedPage>,
}

/// A retrieved page with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RetrievedPage")]
pub struct RetrievedPage {
    /// Its source; the default one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Slug of the page.
    pub slug: String,
    /// Score of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

pub(super) fn version() -> u32 {
    RUN_VERSION
}
