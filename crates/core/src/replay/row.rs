//! What one row of a replay gave.

use schemars::JsonSchema;
use serde::Serialize;

use crate::blame::Blame;
use crate::capture::CapturedRow;
use crate::latency::TimeComparison;
use crate::provenance::Differences;
use crate::request::Operation;

use super::{Caveat, Skip};

/// A page that was there and is gone, and where it fell out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LostPage")]
pub struct Lost {
    /// The page.
    pub page: String,
    /// The stage at which it fell out.
    pub stage: String,
    /// In one sentence.
    pub why: String,
}

/// A row that was asked and compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The pages that were captured, as they are compared.
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
    /// What it took when it was captured, where that is known and not zero.
    pub captured_ms: Option<f64>,
    /// What it took now, the best of its repeats.
    pub current_ms: f64,
    /// The times that a gate compares.
    pub timing: TimeComparison,
    /// What is not as it was.
    pub caveats: Vec<Caveat>,
    /// What differs between capture and replay.
    pub differences: Differences,
    /// What moved it, where that was asked.
    pub blame: Option<Blame>,
    /// Where the lost pages fell out, where that was asked.
    pub lost: Vec<Lost>,
}

impl Compared {
    /// Whether neither side found anything: equal, and no evidence of anything.
    pub(crate) fn is_both_empty(&self) -> bool {
        self.captured.is_empty() && self.current.is_empty()
    }

    /// Whether the ranking is not what it was, order included.
    pub fn is_moved(&self) -> bool {
        self.captured != self.current
    }

    /// Whether it now takes more than twice as long.
    pub fn is_over_twice(&self) -> bool {
        self.captured_ms.is_some_and(|captured| self.current_ms > 2.0 * captured)
    }
}

/// How a row ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was asked and compared.
    Compared(Box<Compared>),
    /// It was not asked.
    Skipped(Skip),
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
    /// How many captures it stands for.
    pub weight: u64,
    pub outcome: Outcome,
}

impl ReplayedRow {
    /// A row with how it ended.
    pub fn new(row: &CapturedRow, outcome: Outcome) -> Self {
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
    pub fn compared(&self) -> Option<&Compared> {
        match &self.outcome {
            Outcome::Compared(compared) => Some(compared),
            Outcome::Skipped(_) | Outcome::Errored(_) => None,
        }
    }
}
