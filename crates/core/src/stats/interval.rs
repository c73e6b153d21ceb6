//! Where a number may lie.

/// An interval, both ends included. Invariant: `low` is not above `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Where shares and most measures of retrieval lie.
    pub const UNIT: Self = Self { low: 0.0, high: 1.0 };

    /// Whether a value is inside.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}
