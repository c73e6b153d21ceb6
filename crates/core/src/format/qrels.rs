//! Qrels as JSON: the gate's entries and the older ones.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A page by its whole name.
#[derive(Debug, Deserialize)]
pub(crate) struct PageRef {
    pub(crate) source_id: Option<String>,
    pub(crate) slug: String,
}

/// An entry of the gate's file.
#[derive(Debug, Deserialize)]
pub(crate) struct GateEntry {
    pub(crate) query_id: Option<String>,
    pub(crate) query: String,
    pub(crate) relevant: Option<Vec<PageRef>>,
    pub(crate) expected_top1: Option<PageRef>,
    pub(crate) relevant_slugs: Option<Vec<String>>,
    pub(crate) first_relevant_slug: Option<String>,
    pub(crate) grades: Option<Map<String, Value>>,
    pub(crate) embedding_dim: Option<u64>,
    #[serde(flatten)]
    pub(crate) segment: SegmentKeys,
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// What a query may be grouped by.
#[derive(Debug, Deserialize)]
pub(crate) struct SegmentKeys {
    pub(crate) label: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) intent: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
}

/// An entry of the older list.
#[derive(Debug, Deserialize)]
pub(crate) struct LegacyEntry {
    pub(crate) id: Option<String>,
    pub(crate) query: String,
    pub(crate) relevant: Vec<String>,
    pub(crate) grades: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// A line of BEIR's `queries.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct BeirQuery {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    pub(crate) text: String,
}

/// A line of BEIR's `corpus.jsonl`, of which only the id is read.
#[derive(Debug, Deserialize)]
pub(crate) struct BeirDocument {
    #[serde(rename = "_id")]
    pub(crate) id: String,
}
