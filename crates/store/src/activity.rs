//! What happened in a workspace by day: runs of suites, captures, charges and changes of pages.

use gbrain_core::gate::Verdict;
use gbrain_core::id::PageKey;
use gbrain_core::money::Usd;
use jiff::Timestamp;

/// The runs of a suite that were recorded on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteDay {
    pub suite: String,
    /// Days since 1970-01-01, in UTC.
    pub day: i64,
    pub runs: u64,
    /// The worst verdict of the day.
    pub verdict: Verdict,
    /// The last run with that verdict.
    pub run: i64,
}

/// Captures of remote requests, and captures that failed, on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureDay {
    /// Days since 1970-01-01, in UTC.
    pub day: i64,
    pub stored: u64,
    pub failed: u64,
}

/// The charges of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendDay {
    /// Days since 1970-01-01, in UTC.
    pub day: i64,
    pub calls: u64,
    pub charged: Usd,
}

/// A change of a page that everyone may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageChange {
    pub page: PageKey,
    pub title: String,
    /// The version that the change made.
    pub version: u32,
    pub is_delete: bool,
    pub at: Timestamp,
}
