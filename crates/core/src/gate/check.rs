//! One metric held against one threshold.

use crate::named;
use crate::stats::{
    Errors, Interval, Resampling, bootstrap_mean, deviation, smallest_mean_drop, smallest_rate_drop,
};

use super::{Breach, Verdict};

/// Which side of the threshold is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Below it is wrong.
    Floor,
    /// Above it is wrong.
    Ceiling,
}

named! { Bound { Floor = "floor", Ceiling = "ceiling" } }

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Within the threshold.
    Pass,
    /// Beyond it.
    Fail,
    /// Beyond it, but not as surely as was asked for.
    Inconclusive,
    /// Nothing to compare with, and that is no fault: no latency was captured, or no first page is
    /// expected.
    NotCompared,
    /// Nothing was measured where something had to be.
    NotMeasured,
}

named! {
    Status {
        Pass = "pass",
        Fail = "fail",
        Inconclusive = "inconclusive",
        NotCompared = "not_compared",
        NotMeasured = "not_measured",
    }
}

/// A metric with its threshold and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What was measured.
    pub metric: &'static str,
    /// What it is compared with: the value an unchanged brain has.
    pub baseline: Option<f64>,
    /// What it was; none when nothing was measured.
    pub observed: Option<f64>,
    /// What it must not pass.
    pub threshold: f64,
    /// Which side is wrong.
    pub bound: Bound,
    /// What it is counted over.
    pub n: usize,
    /// Its interval, at the confidence asked for or 95%.
    pub interval: Option<Interval>,
    /// The smallest drop that this many rows could have shown (alpha .05, power .8).
    pub smallest_drop: Option<f64>,
    /// How it came out.
    pub status: Status,
}

impl Check {
    /// Decides: beyond the threshold fails, unless a confidence was asked for that the interval
    /// does not give.
    pub(super) fn decide(mut self, must_be_sure: bool) -> Self {
        self.status = match self.observed {
            None => Status::NotMeasured,
            Some(value) if !self.is_beyond(value) => Status::Pass,
            Some(_) if must_be_sure && !self.is_surely_beyond() => Status::Inconclusive,
            Some(_) => Status::Fail,
        };
        self
    }

    // Written so that a value that is not a number is beyond every threshold.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "not a number is beyond")]
    fn is_beyond(&self, value: f64) -> bool {
        match self.bound {
            Bound::Floor => !(value >= self.threshold),
            Bound::Ceiling => !(value <= self.threshold),
        }
    }

    fn is_surely_beyond(&self) -> bool {
        self.interval.is_some_and(|interval| match self.bound {
            Bound::Floor => self.is_beyond(interval.high),
            Bound::Ceiling => self.is_beyond(interval.low),
        })
    }

    /// What the check adds to the verdict.
    pub fn verdict(&self) -> Verdict {
        match self.status {
            Status::Pass | Status::NotCompared => Verdict::Pass,
            Status::Fail => Verdict::Fail,
            Status::Inconclusive | Status::NotMeasured => Verdict::Inconclusive,
        }
    }

    /// The breach, if it is one.
    pub fn breach(&self) -> Option<Breach> {
        (self.status == Status::Fail).then(|| Breach {
            metric: self.metric,
            observed: self.observed,
            threshold: Some(self.threshold),
            reason: None,
            examples: Vec::new(),
        })
    }

    /// A threshold so close to perfect that one row decides, with the rows it would need.
    pub fn resolution_warning(&self) -> Option<String> {
        let room = 1.0 - self.threshold;
        if self.bound != Bound::Floor || self.n == 0 || room <= 0.0 {
            return None;
        }
        let step = 1.0 / self.n as f64;
        (step > room + 1e-12).then(|| {
            format!(
                "{} {}: with {} rows one row is {step:.3}, more than the {room:.3} that the \
                 threshold leaves; it would need {} rows",
                self.metric,
                self.threshold,
                self.n,
                (1.0 / room).ceil()
            )
        })
    }
}

/// The interval of a mean; the same values give the same interval.
pub(super) fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    bootstrap_mean(values, &Resampling { confidence, ..Resampling::default() })
}

/// What so many values could have shown of a drop of their mean.
pub(super) fn smallest_drop_of_mean(values: &[f64]) -> Option<f64> {
    smallest_mean_drop(deviation(values)?, values.len() as u64, &Errors::default())
}

/// What so many rows could have shown of a drop of a rate.
pub(super) fn smallest_drop_of_rate(rate: Option<f64>, n: usize) -> Option<f64> {
    smallest_rate_drop(rate?, n as u64, &Errors::default())
}
