//! Labels: what people said of a page as an answer to a query.

use gbrain_core::id::PageKey;
use jiff::Timestamp;

/// A label to keep. There is one for a query and a page: a later one takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel {
    /// What was asked: 51,200 bytes at most.
    pub query: String,
    /// The page that was judged. It need not be there any more.
    pub key: PageKey,
    /// How well it answers; above zero is relevant.
    pub grade: i64,
    /// Why.
    pub note: Option<String>,
}

/// A label that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its number, from 1. It stays when the label is replaced.
    pub id: i64,
    /// What was asked.
    pub query: String,
    /// The page that was judged.
    pub key: PageKey,
    /// How well it answers.
    pub grade: i64,
    /// Why.
    pub note: Option<String>,
    /// Who said so.
    pub labelled_by: String,
    /// When.
    pub created_at: Timestamp,
}
