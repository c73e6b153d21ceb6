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
    /// The text of the page that answers.
    pub span: Option<String>,
    /// Whether the page is barely relevant: a pair for the calibration of a reranker.
    pub borderline: bool,
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
    /// The reviewer who chose the grade where reviewers disagreed; null if none did since the last
    /// judgement.
    pub settled_by: Option<String>,
}

/// The judgement of one reviewer. The label has the grade that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LabelReview")]
pub struct LabelReview {
    /// The number of the label.
    #[serde(skip)]
    pub label: i64,
    /// The name of the reviewer.
    pub reviewer: String,
    /// The reviewer's grade.
    pub grade: i64,
    /// Whether the reviewer called the page barely relevant.
    pub borderline: bool,
    /// The text that answers, as the reviewer marked it.
    pub span: Option<String>,
    /// When the reviewer judged.
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// What remains of a label after a reviewer withdrew a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// The reviewer had not judged that page.
    NotFound,
    /// The label stays, with the judgement of another reviewer.
    Kept,
    /// It was the only judgement: the label is gone.
    Removed,
}
