//! Labels: judgements by people of how well a page answers a query.

use gbrain_core::clock::with_milliseconds;
use gbrain_core::id::PageKey;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A label to store. There is one per query and page: a later one replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel {
    /// At most 51,200 bytes.
    pub query: String,
    /// The judged page, which may have been deleted since.
    pub key: PageKey,
    /// How well the page answers the query; above zero is relevant.
    pub grade: i64,
    pub note: Option<String>,
}

/// A stored judgement of a page as an answer to a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LabelBody")]
pub struct StoredLabel {
    // Numbers start at 1. A number does not change when the label is replaced.
    /// The number of the label.
    pub id: i64,
    /// The text of the judged query, scrubbed like a capture.
    pub query: String,
    /// The judged page, as `source::slug`.
    #[serde(rename = "page")]
    pub key: PageKey,
    /// How well the page answers the query; above zero is relevant.
    pub grade: i64,
    /// The reason for the grade.
    pub note: Option<String>,
    /// The author of the label.
    pub labelled_by: String,
    /// When the label was stored.
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}
