//! Suites on the wire: their file, their queries, and what a run says.

mod file;
mod log;
mod query;
mod report;
mod summary;

pub use file::{
    AlertsEntry, DebounceEntry, FileError, SampleEntry, SuiteEntry, SuiteFile, ThresholdEntry,
    ThresholdsEntry, TriggerEntry,
};
pub use log::{CaseComment, RETRIEVAL_BODY_VERSION, RerankedId, RetrievalBody, Signal};
pub use query::{QUERY_VERSION, QueryEntry, QueryError, WireKey, WireSnippet};
pub use report::{SUITE_RUN_VERSION, SuiteRunBody, SuiteRunParts, WireCase, WireFall, WireMeasure};
pub use summary::SuiteSummary;
