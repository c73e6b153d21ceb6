//! Qrels as JSON: the gate's entries and the older ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Segment;

/// Judgements as the gate reads them.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QrelsFile {
    /// The version: 1.
    #[schemars(extend("const" = 1))]
    pub schema_version: u32,
    /// The queries.
    #[schemars(length(min = 1))]
    pub queries: Vec<GateEntry>,
    /// Remarks.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A page by its whole name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JudgedPage")]
pub struct PageRef {
    /// Its source; there is no default.
    #[schemars(length(min = 1))]
    pub source_id: String,
    /// Its slug.
    pub slug: String,
}

/// A query and what answers it: `relevant`, or in older files `relevant_slugs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "QrelsEntry")]
pub struct GateEntry {
    /// Its id, unique among the queries; its place if missing.
    pub query_id: Option<String>,
    /// What is asked.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub query: String,
    /// The pages that answer it.
    pub relevant: Option<Vec<PageRef>>,
    /// The page that must come first.
    pub expected_top1: Option<PageRef>,
    /// Slugs of pages of the default source that answer it.
    pub relevant_slugs: Option<Vec<String>>,
    /// The slug that must come first.
    pub first_relevant_slug: Option<String>,
    /// Grades by page, where answers are not equally good.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub grades: Option<Map<String, Value>>,
    /// The axis of its vector under the deterministic embedder.
    pub embedding_dim: Option<u64>,
    /// What it may be grouped by.
    #[serde(flatten)]
    pub segment: Segment,
    /// Remarks.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entry of the older list, without its grades, which are read apart, and without remarks.
#[derive(Debug, Deserialize)]
pub(crate) struct LegacyEntry {
    pub(crate) id: Option<String>,
    pub(crate) query: String,
    pub(crate) relevant: Vec<String>,
}

/// A line of BEIR's `queries.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct BeirQuery {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    pub(crate) text: String,
}

/// A line of BEIR's `corpus.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct BeirDocument {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) text: String,
}
