//! Qrels as JSON: the gate's entries and the older ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::QuerySegment;

/// Judgements as the gate reads them.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QrelsFile {
    /// The version of the format, 1.
    #[schemars(extend("const" = 1))]
    pub schema_version: u32,
    /// The judged queries of the file.
    #[schemars(length(min = 1))]
    pub queries: Vec<QrelsQueryEntry>,
    /// Free remarks, which are ignored.
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
    /// Slug of the judged page.
    pub slug: String,
}

/// A query with its answers: `relevant`, or in older files `relevant_slugs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "QrelsEntry")]
pub struct QrelsQueryEntry {
    /// Its id, unique among the queries; its place if missing.
    pub query_id: Option<String>,
    /// Text of the query.
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
    /// The groups that the query belongs to.
    #[serde(flatten)]
    pub segment: QuerySegment,
    /// Free remarks, which are ignored.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entry of the older list, without its grades, which are read apart, and without remarks.
#[derive(Debug, Deserialize)]
pub(crate) struct LegacyQrelsEntry {
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
