//! Benchmark formats: published datasets, and our rows and results.

mod check;
mod locomo;
mod longmemeval;
mod result;
mod retrieval_log;
mod row;
mod shown;

pub use check::{
    FieldDifference, Integrity, field_differences, integrity, recomputed, result_differences,
};
pub use locomo::{Conversation, conversation};
pub use longmemeval::haystack;
pub use result::{
    BENCHMARK_VERSION, BenchmarkResult, ResultKind, WireGroup, WireMean, WireMeans, WireRunCommand,
};
pub use retrieval_log::log_line;
pub use row::{BenchmarkRow, ByTypeSummary, NumericValue, WireRecall};
pub use shown::{BenchmarkFigures, BenchmarksBody};

/// Why an entry of a dataset cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryError(pub String);
