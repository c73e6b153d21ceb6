//! Suites on the wire: their file, their queries, and what a run says.

mod file;
mod query;
mod report;

pub use file::{
    AlertsEntry, DebounceEntry, FileError, SampleEntry, SuiteEntry, SuiteFile, ThresholdEntry,
    ThresholdsEntry, TriggerEntry,
};
pub use query::{QUERY_VERSION, QueryEntry, QueryError, WireKey, WireSnippet};
pub use report::{SUITE_RUN_VERSION, SuiteRunBody, SuiteRunParts, WireCase, WireMeasure};
