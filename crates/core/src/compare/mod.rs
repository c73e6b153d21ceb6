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

pub use comparable::{IncomparableReason, incomparable};
pub use paired::{
    ALPHA, CompareError, CompareOptions, Comparison, Delta, QueryMove, ROUNDS, ResultComparison,
    SignificanceTest, compare, compare_metered,
};

use crate::named;

named! {
    /// The kind of a result.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EvalResultKind {
        /// A replay of captures.
        Replay = "replay",
        Gate = "gate",
        /// Scores of a run.
        Scores = "scores",
        /// A run, measured against qrels.
        Run = "run",
        /// Rows of a benchmark.
        Benchmark = "benchmark",
    }
}

named! {
    /// The role of a measure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MeasureRole {
        /// A quality, higher being better.
        Quality = "quality",
        /// Yes or no, yes being better.
        Binary = "binary",
        /// A duration, lower being better. It never repeats exactly, so it is never a regression by
        /// itself.
        Timing = "timing",
    }
}

/// Something that was measured for every query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureColumn {
    /// Its name, cutoff included.
    pub measure: String,
    pub role: MeasureRole,
}

/// The values of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    /// Names the query, the same in every result.
    pub key: String,
    /// The name that reports show.
    pub label: String,
    /// The reference of the measurement, such as the captured ranking; none if unknown.
    pub against: Option<String>,
    /// Whether the query was answered: a failed query has no values, and reports count it.
    pub is_answered: bool,
    /// One value per column; none where nothing was measured.
    pub values: Vec<Option<f64>>,
}

/// A result as a table of values.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultTable {
    /// The name of the result, such as its file.
    pub name: String,
    pub kind: EvalResultKind,
    /// The conditions that must be equal for a meaningful comparison, such as `k` or a dataset's
    /// hash.
    pub conditions: Vec<(String, String)>,
    /// Remarks about the result.
    pub notes: Vec<String>,
    pub columns: Vec<MeasureColumn>,
    /// Every query, in the order of the file; keys are unique.
    pub rows: Vec<ResultRow>,
}

#[cfg(test)]
mod tests;
