//! Gates: compare measurements with thresholds and give a verdict.
//!
//! Gates fail closed. An error, a skipped row, a degraded stage or nothing measured is never a
//! pass; an undecidable check is inconclusive, which is not a pass either.

mod benchmark;
mod check;
mod correctness;
mod parts;
mod regression;
mod verdict;

pub use benchmark::{BenchmarkGate, FloorCheck, MeasureFloor, ONLY_REPRODUCING, benchmark};
pub use check::{CheckStatus, GateCheck, ThresholdSide, rows_needed};
pub use correctness::{Correctness, CorrectnessThresholds, JudgedResult, QueryResult, correctness};
pub use parts::{CorrectnessParts, GateParts, RegressionParts};
pub use regression::{Regression, regression};
pub use verdict::{Breach, ConfidenceError, ConfidenceLevel, Verdict};
