//! Labels: what people said of a page as an answer to a query.

use gbrain_core::clock::with_milliseconds;
use gbrain_core::id::PageKey;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A label to keep. There is one for a query and a page: a later one takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel {
    /// What was asked: 51,200 bytes at most.
    pub query: String,
    /// The page that was judged. It need not be there any more.
    pub key: PageKey,
    /// How well it answers; above zero is relevant.
    pub grade: i64,
    pub note: Option<String>,
}

/// A judgement that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LabelBody")]
pub struct Label {
    // From 1. It stays when the label is replaced.
    /// Its number.
    pub id: i64,
    /// What was asked.
    pub query: String,
    /// The page, as `source::slug`.
    #[serde(rename = "page")]
    pub key: PageKey,
    /// How well it answers.
    pub grade: i64,
    /// Why.
    pub note: Option<String>,
    /// Who said so.
    pub labelled_by: String,
    /// When.
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}
