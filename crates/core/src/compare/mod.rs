//! Comparing results: the same queries, measured twice or more.
//!
//! The first result is the reference; every other one is compared with it query by query. Promises:
//! queries that only one side has are counted, never dropped in silence; results that were not
//! measured against the same thing are refused unless that is forced; every difference comes with
//! its n, its interval and a p-value; those of the measures that decide are corrected for each other.
//!
//! Deliberately absent: reading files, which is the work of [`crate::format::result`].

mod comparable;
mod decision;
mod paired;

pub use comparable::{Incomparable, incomparable};
pub use paired::{
    ALPHA, Against, CompareError, CompareOptions, Comparison, Delta, Move, ROUNDS, Test, compare,
    compare_metered,
};

use crate::named;

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A replay of captures.
    Replay,
    Gate,
    /// Scores of a run.
    Scores,
    /// A run, measured against qrels.
    Run,
    /// Rows of a benchmark.
    Benchmark,
}

named! {
    Kind {
        Replay = "replay",
        Gate = "gate",
        Scores = "scores",
        Run = "run",
        Benchmark = "benchmark",
    }
}

/// What a measure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// How good, higher being better.
    Quality,
    /// Yes or no, yes being better.
    Binary,
    /// How long, lower being better. Never twice the same, so never a regression by itself.
    Timing,
}

named! { Role { Quality = "quality", Binary = "binary", Timing = "timing" } }

/// Something that was measured for every query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, cutoff included.
    pub measure: String,
    pub role: Role,
}

/// One query's values.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Names the query, the same in every result.
    pub key: String,
    /// What people call it.
    pub label: String,
    /// What it was measured against, such as the captured ranking; none when that is not told.
    pub against: Option<String>,
    /// Whether it was answered: a query that failed has no values, and that is told.
    pub is_answered: bool,
    /// One value per column; none where nothing was measured.
    pub values: Vec<Option<f64>>,
}

/// A result, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What it is called, such as its file.
    pub name: String,
    pub kind: Kind,
    /// What must be equal for a comparison to mean something, such as `k` or a dataset's hash.
    pub conditions: Vec<(String, String)>,
    /// What to know about it.
    pub notes: Vec<String>,
    pub columns: Vec<Column>,
    /// Every query, in the order of the file; keys are unique.
    pub rows: Vec<Row>,
}

#[cfg(test)]
mod tests;
