//! The only outcome of a measurement: pass, fail or inconclusive.

use crate::named;

/// What a gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything was measured and nothing is below its threshold.
    Pass,
    /// It can't be said.
    Inconclusive,
    /// Something is below its threshold.
    Fail,
}

named! { Verdict { Pass = "pass", Inconclusive = "inconclusive", Fail = "fail" } }

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
    /// What it had to be.
    pub threshold: Option<f64>,
    /// Why, where the numbers alone do not tell.
    pub reason: Option<&'static str>,
    /// What the failing queries said, a few of them.
    pub examples: Vec<String>,
}

/// How sure a breach must be to count, from 0 to 1, both excluded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence(f64);

/// Not a confidence.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("confidence is {0}; it takes a number between 0.5 and 1, such as 0.95")]
pub struct ConfidenceError(f64);

impl Confidence {
    /// A confidence, if it is one.
    pub fn new(value: f64) -> Result<Self, ConfidenceError> {
        if (0.5..1.0).contains(&value) { Ok(Self(value)) } else { Err(ConfidenceError(value)) }
    }

    /// Its value.
    pub fn value(self) -> f64 {
        self.0
    }
}
