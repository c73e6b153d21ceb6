//! The only outcome of a measurement: pass, fail or inconclusive.

use crate::named;

named! {
    /// The outcome of a gate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Verdict {
        /// Everything was measured and nothing is below its threshold.
        Pass = "pass",
        /// No decision is possible.
        Inconclusive = "inconclusive",
        /// Something is below its threshold.
        Fail = "fail",
    }
}

impl Verdict {
    /// The verdict on both: the worse.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Why a gate is not green.
#[derive(Debug, Clone, PartialEq)]
pub struct Breach {
    pub metric: &'static str,
    pub observed: Option<f64>,
    /// The value that was required.
    pub threshold: Option<f64>,
    /// Why, where the numbers alone do not tell.
    pub reason: Option<&'static str>,
    /// Messages of a few of the failing queries.
    pub examples: Vec<String>,
}

/// How certain a breach must be to fail a gate: from 0.5 up to 1, 1 excluded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceLevel(f64);

/// The number is not a confidence level.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("confidence is {0}; it takes a number between 0.5 and 1, such as 0.95")]
pub struct ConfidenceError(f64);

impl ConfidenceLevel {
    /// The level, if the number is one.
    pub fn new(value: f64) -> Result<Self, ConfidenceError> {
        if (0.5..1.0).contains(&value) { Ok(Self(value)) } else { Err(ConfidenceError(value)) }
    }

    pub fn value(self) -> f64 {
        self.0
    }
}
