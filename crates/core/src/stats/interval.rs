//! Confidence intervals of a number.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// An interval, both ends included. Invariant: `low` is not above `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// An interval is written as its two ends.
impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.low, self.high].serialize(serializer)
    }
}

impl JsonSchema for Interval {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Interval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <[f64; 2]>::json_schema(generator)
    }
}

impl Interval {
    /// The range of shares and most retrieval measures.
    pub const UNIT: Self = Self { low: 0.0, high: 1.0 };

    /// Whether a value is inside.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}
