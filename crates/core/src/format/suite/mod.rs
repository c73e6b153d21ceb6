//! Suites on the wire: the suites file, canonical queries, and runs.

mod activity;
mod check;
mod edit;
mod file;
mod filter;
mod listing;
mod log;
mod part;
mod query;
mod query_file;
mod standing;

pub use activity::{
    MeasureTrend, MeasuredRun, SuiteDaysBody, SuiteDaysLine, SuiteJobLine, SuiteShown,
    SuiteTrendLine, SuiteTrendsBody, TrendPoint, trends,
};
pub use check::{Problem, SuiteFileProblems, check};
pub use edit::{SuiteEditError, with_suite};
pub use file::{
    DebounceEntry, FileError, SampleEntry, SuiteEntry, SuiteFile, ThresholdEntry, ThresholdsEntry,
    TriggerEntry,
};
pub use filter::FilterEntry;
pub use listing::{
    ChangedAlerts, EventBody, EventsBody, OpenAlert, RecordedSuiteRun, SUITE_PRUNE_VERSION,
    SuiteInfo, SuitePruneBody, SuiteRunLine, SuiteRunResultBody, SuiteRunsBody, SuitesBody,
};
pub use log::{CaseComment, RETRIEVAL_BODY_VERSION, RerankedId, RetrievalBody, Signal};
pub use query::{QUERY_VERSION, QueryEntry, QueryError, WireKey, WireSnippet};
pub use query_file::{QueryFileError, WorkspaceCheck, read_queries};
pub use standing::Drift;
