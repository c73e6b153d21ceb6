//! Targets and alerts: what is good, what is worth a look, and what wakes somebody.
//!
//! Shares are held against percentages as whole numbers: 23 of 25 is 92 %, which is not below 92 %,
//! and no rounding of a quotient decides that. A target is met from its value on; an alert begins beyond
//! its value, strictly.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::measure::{Measure, Value};
use crate::named;
use crate::request::RetrievalMode;

/// How a measure stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// The target is met.
    Ok,
    /// The target is missed, and it is not past the alert.
    Warn,
    /// It is past the alert.
    Alert,
    /// Nothing was measured, or there is nothing to hold it against.
    NoData,
}

named! { Status { Ok = "ok", Warn = "warn", Alert = "alert", NoData = "no_data" } }

/// A share, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl FromStr for Percent {
    type Err = String;

    /// `95%`, `99.5%` or `0.95`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no share; write it as 95% or 0.95");
        let (digits, scale) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 2),
            None => (text.trim(), 4),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || whole.len() > 3
            || part.len() > scale
            || !is_number(whole)
            || !is_number(part)
        {
            return Err(wrong());
        }
        let padded = format!("{whole}{part:0<scale$}");
        let share = padded.parse().map_err(|_| wrong())?;
        if share > 10_000 { Err(wrong()) } else { Ok(Self(share)) }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match part {
            0 => write!(f, "{whole}%"),
            part if part % 10 == 0 => write!(f, "{whole}.{}%", part / 10),
            part => write!(f, "{whole}.{part:02}%"),
        }
    }
}

/// What a measure is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A share: at least the target, and below the alert it is one.
    Share {
        /// What it should reach.
        target: Percent,
        /// What it must not fall below.
        alert: Percent,
    },
    /// A time in milliseconds: at most the target, and above the alert it is one.
    Millis {
        /// What it should keep to.
        target: f64,
        /// What it must not exceed.
        alert: f64,
    },
    /// A score, against its own past: a fall of so much is an alert.
    Fall { alert: f64 },
}

/// Falls are compared with this tolerance: 0.80 - 0.75 is a hair less than 0.05.
const TOLERANCE: f64 = 1e-9;

impl Bound {
    /// How a value stands. A value of another kind, or none, is no data; what is no number is an alert.
    pub fn status(&self, value: &Value) -> Status {
        match (*self, *value) {
            (Self::Share { target, alert }, Value::Share { hits, n }) if n > 0 => {
                let reached = u128::from(hits) * 10_000;
                let of = |percent: Percent| u128::from(percent.0) * u128::from(n);
                status(reached >= of(target), reached < of(alert))
            }
            (Self::Millis { target, alert }, Value::Millis { p95: Some(p95), n }) if n > 0 => {
                status(p95 <= target, p95.is_nan() || p95 > alert)
            }
            (
                Self::Fall { alert },
                Value::Score { mean: Some(mean), baseline: Some(baseline), n },
            ) if n > 0 => {
                let fall = baseline - mean;
                let is_fall = fall.is_nan() || fall >= alert - TOLERANCE;
                status(!is_fall, is_fall)
            }
            _ => Status::NoData,
        }
    }
}

fn status(is_met: bool, is_alert: bool) -> Status {
    match (is_alert, is_met) {
        (true, _) => Status::Alert,
        (false, true) => Status::Ok,
        (false, false) => Status::Warn,
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// What it is held against.
    pub bound: Bound,
    /// Whether its alert wakes somebody.
    pub pages: bool,
}

/// What measures are held against: the table, and what is different for a mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    pub all: BTreeMap<Measure, Threshold>,
    pub by_mode: BTreeMap<RetrievalMode, BTreeMap<Measure, Threshold>>,
}

impl Default for Thresholds {
    fn default() -> Self {
        let share = |target: u32, alert: u32| Bound::Share {
            target: Percent(target * 100),
            alert: Percent(alert * 100),
        };
        let row = |bound| Threshold { bound, pages: false };
        let all = BTreeMap::from([
            (Measure::RecallAt5, Threshold { bound: share(95, 92), pages: true }),
            (Measure::RecallAt10, row(share(98, 96))),
            (Measure::RerankRelevance, row(Bound::Fall { alert: 0.05 })),
            (Measure::LatencyP95, row(Bound::Millis { target: 150.0, alert: 170.0 })),
            (Measure::SnippetAccuracy, row(share(90, 85))),
            (Measure::RationalePresent, row(share(100, 100))),
            (Measure::RationaleFaithful, row(share(95, 92))),
        ]);
        Self { all, by_mode: BTreeMap::new() }
    }
}

impl Thresholds {
    /// What a measure is held against in a mode, or over all.
    pub fn of(&self, measure: Measure, mode: Option<RetrievalMode>) -> Option<&Threshold> {
        let own = mode.and_then(|mode| self.by_mode.get(&mode)?.get(&measure));
        own.or_else(|| self.all.get(&measure))
    }

    /// These, with another's rows over them.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.all.extend(other.all.iter().map(|(measure, row)| (*measure, *row)));
        for (mode, rows) in &other.by_mode {
            self.by_mode.entry(*mode).or_default().extend(rows.iter().map(|(m, r)| (*m, *r)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(measure: Measure, value: Value) -> Status {
        Thresholds::default().of(measure, None).unwrap().bound.status(&value)
    }

    #[track_caller]
    fn check(measure: Measure, n: u64, expected: &[(u64, Status)]) {
        for (hits, status) in expected {
            assert_eq!(of(measure, Value::Share { hits: *hits, n }), *status, "{hits} of {n}");
        }
    }

    use Status::{Alert, NoData, Ok, Warn};

    /// The boundaries of the playbook's table.
    #[test]
    fn shares_at_their_boundaries() {
        check(Measure::RecallAt5, 25, &[(25, Ok), (24, Ok), (23, Warn), (22, Alert), (0, Alert)]);
        check(Measure::RecallAt10, 25, &[(25, Ok), (24, Warn), (23, Alert)]);
        check(Measure::RecallAt5, 100, &[(95, Ok), (94, Warn), (92, Warn), (91, Alert)]);
        check(Measure::RecallAt10, 100, &[(98, Ok), (97, Warn), (96, Warn), (95, Alert)]);
        check(Measure::RecallAt5, 20, &[(20, Ok), (19, Ok), (18, Alert)]);
        check(Measure::RecallAt10, 20, &[(20, Ok), (19, Alert)]);
        check(Measure::SnippetAccuracy, 100, &[(90, Ok), (89, Warn), (85, Warn), (84, Alert)]);
        check(Measure::SnippetAccuracy, 20, &[(18, Ok), (17, Warn), (16, Alert)]);
        check(Measure::SnippetAccuracy, 25, &[(23, Ok), (22, Warn), (21, Alert)]);
        check(Measure::RationaleFaithful, 20, &[(19, Ok), (18, Alert)]);
        check(Measure::RationalePresent, 20, &[(20, Ok), (19, Alert)]);
    }

    #[test]
    fn times_at_their_boundaries() {
        let check = |p95: f64, expected| {
            assert_eq!(of(Measure::LatencyP95, Value::Millis { p95: Some(p95), n: 25 }), expected);
        };
        check(150.0, Ok);
        check(150.000_1, Warn);
        check(170.0, Warn);
        check(170.000_1, Alert);
        check(f64::NAN, Alert);
        check(f64::INFINITY, Alert);
    }

    #[test]
    fn falls_are_absolute() {
        let check = |mean: f64, expected| {
            let value = Value::Score { mean: Some(mean), baseline: Some(0.8), n: 30 };
            assert_eq!(of(Measure::RerankRelevance, value), expected, "{mean}");
        };
        check(0.9, Ok);
        check(0.8, Ok);
        check(0.750_001, Ok);
        check(0.75, Alert);
        check(0.7, Alert);
        check(f64::NAN, Alert);
    }

    #[test]
    fn nothing_is_no_data() {
        assert_eq!(of(Measure::RecallAt5, Value::Share { hits: 0, n: 0 }), NoData);
        assert_eq!(of(Measure::LatencyP95, Value::Millis { p95: None, n: 0 }), NoData);
        let unknown = Value::Score { mean: Some(0.5), baseline: None, n: 30 };
        assert_eq!(of(Measure::RerankRelevance, unknown), NoData);
        assert_eq!(of(Measure::RecallAt5, Value::Millis { p95: Some(1.0), n: 1 }), NoData);
    }

    #[test]
    fn percentages_are_exact() {
        let check = |text: &str, expected: Option<&str>| {
            let read = text.parse::<Percent>().ok().map(|percent| percent.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("95%", Some("95%"));
        check("0.95", Some("95%"));
        check("99.5 %", Some("99.5%"));
        check("0.9525", Some("95.25%"));
        check("1", Some("100%"));
        check("100%", Some("100%"));
        check("0", Some("0%"));
        for wrong in ["", "95", "-1%", "101%", "1.01", "0.95251", "NaN", "1e-1", "%", ".5", "+5%"] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_mode_has_rows_of_its_own() {
        let slow = Threshold { bound: Bound::Millis { target: 800.0, alert: 850.0 }, pages: false };
        let graph = BTreeMap::from([(Measure::LatencyP95, slow)]);
        let own = Thresholds {
            all: BTreeMap::new(),
            by_mode: BTreeMap::from([(RetrievalMode::Graph, graph)]),
        };
        let both = Thresholds::default().and(&own);
        assert_eq!(both.of(Measure::LatencyP95, Some(RetrievalMode::Graph)), Some(&slow));
        let table = Thresholds::default();
        assert_eq!(both.of(Measure::LatencyP95, None), table.of(Measure::LatencyP95, None));
        assert!(
            both.of(Measure::RecallAt5, Some(RetrievalMode::Graph)).is_some_and(|row| row.pages)
        );
    }
}
