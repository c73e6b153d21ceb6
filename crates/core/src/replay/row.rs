//! The outcome of one row of a replay.

use schemars::JsonSchema;
use serde::Serialize;

use crate::blame::Blame;
use crate::capture::CapturedRow;
use crate::latency::TimeComparison;
use crate::provenance::FactorDifferences;
use crate::request::Operation;

use super::{Caveat, SkipReason};

/// A page that was there and is gone, and where it fell out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LostPage")]
pub struct LostPage {
    /// Name of the lost page.
    pub page: String,
    /// The stage at which it fell out.
    pub stage: String,
    /// The reason in one sentence.
    pub why: String,
}

/// A row that was replayed and compared.
#[derive(Debug, Clone, PartialEq)]
pub struct RowComparison {
    /// The captured pages, in the form that is compared.
    pub captured: Vec<String>,
    /// The pages that came back now.
    pub current: Vec<String>,
    pub jaccard: f64,
    /// Whether the first page is the same; none when neither side has one.
    pub top1: Option<bool>,
    /// Rank-biased overlap, p = 0.9.
    pub rbo: f64,
    /// Kendall's tau on the pages that both have; none below two.
    pub kendall: Option<f64>,
    /// The duration at capture, if it is known and not zero.
    pub captured_ms: Option<f64>,
    /// The duration now, the shortest of its repeats.
    pub current_ms: f64,
    /// The times that a gate compares.
    pub timing: TimeComparison,
    /// The differences between the request and the captured one.
    pub caveats: Vec<Caveat>,
    /// The factors that differ between capture and replay.
    pub differences: FactorDifferences,
    /// The cause of the move, if blame was requested.
    pub blame: Option<Blame>,
    /// The stages that dropped the lost pages, if requested.
    pub lost: Vec<LostPage>,
}

impl RowComparison {
    /// Whether neither side found anything: equal, and no evidence of anything.
    pub(crate) fn is_both_empty(&self) -> bool {
        self.captured.is_empty() && self.current.is_empty()
    }

    /// Whether the ranking changed, order included.
    pub fn is_moved(&self) -> bool {
        self.captured != self.current
    }

    /// Whether it now takes more than twice as long.
    pub fn is_twice_as_slow(&self) -> bool {
        self.captured_ms.is_some_and(|captured| self.current_ms > 2.0 * captured)
    }
}

/// How a row ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RowOutcome {
    /// The row was replayed and compared.
    Compared(Box<RowComparison>),
    /// The row was skipped.
    Skipped(SkipReason),
    Errored(String),
}

/// A row with how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedRow {
    /// Its line in the file, from 1.
    pub line: usize,
    pub id: Option<i64>,
    pub operation: Operation,
    pub query: String,
    /// Names the query without showing it.
    pub query_hash: String,
    /// Number of captures that the row represents.
    pub weight: u64,
    pub outcome: RowOutcome,
}

impl ReplayedRow {
    /// A row with how it ended.
    pub fn new(row: &CapturedRow, outcome: RowOutcome) -> Self {
        Self {
            line: row.line,
            id: row.id,
            operation: row.operation,
            query: row.query.clone(),
            query_hash: crate::baseline::query_hash(&row.query),
            weight: row.weight,
            outcome,
        }
    }

    /// The comparison, if there was one.
    pub fn compared(&self) -> Option<&RowComparison> {
        match &self.outcome {
            RowOutcome::Compared(compared) => Some(compared),
            RowOutcome::Skipped(_) | RowOutcome::Errored(_) => None,
        }
    }
}
