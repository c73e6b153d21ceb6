//! Compares one metric with one threshold.

use schemars::JsonSchema;
use serde::Serialize;

use crate::named;
use crate::stats::{Interval, bounded_mean, mean, smallest_drop_below, smallest_drop_surely_below};

use super::{Breach, ConfidenceLevel, Verdict};

named! {
    /// The side of a threshold that fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ThresholdSide {
        /// Below it is wrong.
        Floor = "floor",
        /// Above it is wrong.
        Ceiling = "ceiling",
    }
}

named! {
    /// The status of a check.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CheckStatus {
        Pass = "pass",
        Fail = "fail",
        /// Beyond the threshold, but not with the requested confidence.
        Inconclusive = "inconclusive",
        /// Nothing to compare with, and that is no fault: no latency was captured, or no first page is
        /// expected.
        NotCompared = "not_compared",
        /// Nothing was measured where something had to be.
        NotMeasured = "not_measured",
        /// One row weighs more than the margin of the threshold: too few rows to decide.
        TooFewRows = "too_few_rows",
    }
}

/// A metric with its threshold and how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "GateCheck")]
pub struct GateCheck {
    /// Name of the measured metric.
    pub metric: &'static str,
    /// Status of the check.
    pub status: CheckStatus,
    /// The reference value: that of an unchanged brain.
    pub baseline: Option<f64>,
    /// The measured value; none when nothing was measured.
    pub observed: Option<f64>,
    /// The limit that the value must not pass.
    pub threshold: f64,
    /// The side of the threshold that fails.
    pub bound: ThresholdSide,
    /// The number of observations behind the value.
    pub n: usize,
    /// Different questions among these, where some are repeated: a repeated one adds nothing that a floor could
    /// rest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<usize>,
    /// Confidence interval of the value, at the requested confidence or 95%.
    pub interval: Option<Interval>,
    /// The smallest drop, from the baseline or else from what was observed, with which this check fails in 8
    /// of 10 cases if rows lose their whole value; none where that cannot be told.
    #[serde(rename = "smallest_detectable_drop")]
    pub smallest_drop: Option<f64>,
}

impl GateCheck {
    /// A mean of shares against a floor.
    pub fn mean_floor(
        metric: &'static str,
        values: &[f64],
        floor: f64,
        confidence: Option<ConfidenceLevel>,
    ) -> Self {
        Self::floor_of_means(metric, values, None, floor, confidence).decide(confidence.is_some())
    }

    /// The same, undecided; `distinct` is the number of different questions.
    pub(super) fn floor_of_means(
        metric: &'static str,
        values: &[f64],
        distinct: Option<usize>,
        floor: f64,
        confidence: Option<ConfidenceLevel>,
    ) -> Self {
        let level = confidence.map_or(0.95, ConfidenceLevel::value);
        Self {
            metric,
            baseline: None,
            observed: mean(values),
            threshold: floor,
            bound: ThresholdSide::Floor,
            n: values.len(),
            distinct: distinct.filter(|distinct| *distinct != values.len()),
            interval: mean_interval(values, level),
            smallest_drop: smallest_drop(values, floor, confidence),
            status: CheckStatus::NotMeasured,
        }
    }

    /// Decides: beyond the threshold fails, unless a confidence was asked for that the interval
    /// does not give. A floor that this many rows can't resolve is not decided at all.
    pub(super) fn decide(mut self, must_be_sure: bool) -> Self {
        self.status = match self.observed {
            None => CheckStatus::NotMeasured,
            Some(_) if self.rows_needed().is_some() => CheckStatus::TooFewRows,
            Some(value) if !self.is_beyond(value) => CheckStatus::Pass,
            Some(_) if must_be_sure && !self.is_surely_beyond() => CheckStatus::Inconclusive,
            Some(_) => CheckStatus::Fail,
        };
        self
    }

    // Written so that a value that is not a number is beyond every threshold.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "not a number is beyond")]
    fn is_beyond(&self, value: f64) -> bool {
        match self.bound {
            ThresholdSide::Floor => !(value >= self.threshold),
            ThresholdSide::Ceiling => !(value <= self.threshold),
        }
    }

    fn is_surely_beyond(&self) -> bool {
        self.interval.is_some_and(|interval| match self.bound {
            ThresholdSide::Floor => self.is_beyond(interval.high),
            ThresholdSide::Ceiling => self.is_beyond(interval.low),
        })
    }

    /// The contribution of the check to the verdict.
    pub fn verdict(&self) -> Verdict {
        match self.status {
            CheckStatus::Pass | CheckStatus::NotCompared => Verdict::Pass,
            CheckStatus::Fail => Verdict::Fail,
            CheckStatus::Inconclusive | CheckStatus::NotMeasured | CheckStatus::TooFewRows => {
                Verdict::Inconclusive
            }
        }
    }

    /// The breach, if it is one.
    pub fn breach(&self) -> Option<Breach> {
        (self.status == CheckStatus::Fail).then(|| Breach {
            metric: self.metric,
            observed: self.observed,
            threshold: Some(self.threshold),
            reason: None,
            examples: Vec::new(),
        })
    }

    fn distinct(&self) -> usize {
        self.distinct.unwrap_or(self.n)
    }

    /// Number of rows that the threshold needs, if there are fewer.
    pub fn rows_needed(&self) -> Option<u64> {
        match self.bound {
            ThresholdSide::Floor => rows_needed(self.threshold, self.distinct()),
            ThresholdSide::Ceiling => None,
        }
    }

    /// Why too few rows decide nothing, with the rows that it would need.
    pub fn too_few_rows(&self) -> Option<String> {
        let needed = self.rows_needed().filter(|_| self.status == CheckStatus::TooFewRows)?;
        let distinct = self.distinct();
        let text = too_few_rows(self.metric, self.threshold, distinct, needed);
        let repeated = self.n - distinct.min(self.n);
        Some(match repeated {
            0 => text,
            _ => format!("{text} ({} repeat another's question)", count(repeated)),
        })
    }
}

/// How many rows a floor below 1 needs, if `n` are too few: one row must not weigh more than the
/// distance from the floor to 1.
pub fn rows_needed(floor: f64, n: usize) -> Option<u64> {
    let room = 1.0 - floor;
    let is_too_few = n > 0 && room > 0.0 && 1.0 / n as f64 > room + 1e-12;
    // A value that differs from a whole number only by rounding counts as one.
    is_too_few.then(|| (1.0 / room - 1e-9).ceil() as u64)
}

/// Why a floor can't be checked with `n` rows.
pub(super) fn too_few_rows(metric: &str, floor: f64, n: usize, needed: u64) -> String {
    let (rows, step, room) = (count(n), 1.0 / n as f64, 1.0 - floor);
    format!(
        "{metric} has {rows}, and a floor of {floor} needs {needed}: one row is worth {step:.3}, \
         more than the {room:.3} between the floor and 1"
    )
}

fn count(n: usize) -> String {
    if n == 1 { "1 row".to_owned() } else { format!("{n} rows") }
}

/// The interval of a mean of shares; none of fewer than two.
pub(super) fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    bounded_mean(values, Interval::UNIT, confidence)
}

/// The smallest drop of the mean of `values` with which a check fails by the rule of [`GateCheck::decide`].
pub(super) fn smallest_drop(
    values: &[f64],
    threshold: f64,
    confidence: Option<ConfidenceLevel>,
) -> Option<f64> {
    match confidence {
        None => smallest_drop_below(values, threshold),
        Some(level) => smallest_drop_surely_below(values, threshold, level.value()),
    }
}
