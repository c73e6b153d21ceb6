//! Gates: measurements held against thresholds, and the verdict.
//!
//! Gates fail closed. An error, a skipped row, a degraded stage or nothing measured is never a
//! pass; what can't be decided is inconclusive, which is not a pass either.

mod benchmark;
mod check;
mod correctness;
mod parts;
mod regression;
mod verdict;

pub use benchmark::{BenchmarkGate, Floor, FloorCheck, ONLY_REPRODUCING, benchmark};
pub use check::{Bound, Check, Status, rows_needed};
pub use correctness::{Correctness, CorrectnessThresholds, Judged, QueryResult, correctness};
pub use parts::{CorrectnessParts, GateParts, RegressionParts};
pub use regression::{Regression, regression};
pub use verdict::{Breach, Confidence, ConfidenceError, Verdict};
