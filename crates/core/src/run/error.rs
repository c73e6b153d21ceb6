//! Why a run could not be read.

use crate::reading::meter::ReadingMeterError;

/// Why a run could not be read. Every message names the place and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Bytes that are no text.
    #[error("byte {byte} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The first bad byte.
        byte: usize,
    },
    /// A line without the six fields.
    #[error("line {line} has {found} of 6 fields; expected `query Q0 document rank score tag`")]
    Fields {
        line: usize,
        /// How many there are.
        found: usize,
    },
    /// A score that orders nothing.
    #[error("line {line}: score `{score}` is not a finite number")]
    Score { line: usize, score: String },
    /// A document occurs twice for one query; trec_eval rejects it too.
    #[error("query `{query}` retrieves `{doc}` twice; keep its best rank")]
    DuplicateDocument { query: String, doc: String },
    /// Two rows for one query.
    #[error("query `{query}` has two rows; a run ranks a query once")]
    DuplicateQuery { query: String },
    /// A row of the wrong form.
    #[error("line {line} is not a run row: {reason}")]
    Row { line: usize, reason: String },
    #[error(transparent)]
    Interrupted(ReadingMeterError),
}
