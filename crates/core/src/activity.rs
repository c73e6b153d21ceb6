//! What happened in a workspace by day: runs of suites, captures, charges and changes of pages, as
//! the store counts it and the API shows it.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::with_milliseconds;
use crate::gate::Verdict;
use crate::id::PageKey;
use crate::money::Usd;

/// The runs of a suite that were recorded on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteDay {
    /// The day, in UTC.
    #[schemars(with = "String", extend("format" = "date"))]
    pub day: Date,
    /// The worst verdict of the day.
    pub verdict: Verdict,
    /// The last run with that verdict.
    pub run: i64,
    /// Number of runs.
    pub runs: u64,
}

/// Captures of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CaptureDay {
    /// The day, in UTC.
    #[schemars(with = "String", extend("format" = "date"))]
    pub day: Date,
    /// Number of stored captures.
    pub stored: u64,
    /// Number of captures that could not be stored.
    pub failed: u64,
}

/// The cost of one model for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpendLine {
    pub model: String,
    pub purpose: String,
    pub calls: u64,
    /// Calls in progress and calls whose cost is unknown: they count at their maximum cost.
    pub unsettled: u64,
    /// The total of all calls in US dollars.
    #[serde(rename = "usd", serialize_with = "Usd::as_number")]
    #[schemars(with = "f64")]
    pub charged: Usd,
}

/// The charges of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpendDay {
    /// The day, in UTC.
    #[schemars(with = "String", extend("format" = "date"))]
    pub day: Date,
    pub calls: u64,
    /// The total in US dollars.
    #[serde(rename = "usd", serialize_with = "Usd::as_number")]
    #[schemars(with = "f64")]
    pub charged: Usd,
}

/// How a page was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Changed,
    Deleted,
}

/// A change of a page that everyone may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageChange {
    /// The page, as `source::slug`.
    pub page: PageKey,
    pub title: String,
    /// The version that the change made.
    pub version: u32,
    /// One of: added, changed, deleted.
    #[schemars(with = "String")]
    pub change: ChangeKind,
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub at: Timestamp,
}
