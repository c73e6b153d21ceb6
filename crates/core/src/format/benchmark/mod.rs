//! Benchmarks on the wire: the datasets as they are published, and our rows and results.

mod check;
mod locomo;
mod longmemeval;
mod result;
mod retrieval_log;
mod row;

pub use check::{
    FieldDifference, Integrity, field_differences, integrity, recomputed, result_differences,
};
pub use locomo::{Conversation, conversation};
pub use longmemeval::haystack;
pub use result::{
    BENCHMARK_VERSION, Result, ResultKind, WireAsk, WireFigured, WireGroup, WireMean,
};
pub use retrieval_log::log_line;
pub use row::{ByTypeSummary, Row, Score, WireRecall};

/// Why an entry of a dataset can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryError(pub String);
