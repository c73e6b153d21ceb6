//! Targets and alert thresholds.
//!
//! Shares are compared with percentages as integers: 23 of 25 is 92 %, which is not below 92 %. A
//! value that equals the target meets it; a value that equals the alert threshold does not breach
//! it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::measure::{MeasureValue, SuiteMeasure};
use crate::named;
use crate::request::RetrievalMode;

named! {
    /// The status of a measure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MeasureStatus {
        /// The target is met.
        Ok = "ok",
        /// The target is missed, but the alert threshold is not breached.
        Warn = "warn",
        /// The alert threshold is breached.
        Alert = "alert",
        /// Nothing was measured, or the measure has no threshold.
        NoData = "no_data",
    }
}

/// A proportion in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl FromStr for Percent {
    type Err = String;

    /// Parses `95%`, `99.5%` or `0.95`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid share {text:?}: write 95% or 0.95");
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

/// The target and the alert threshold of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasureBound {
    /// A share: the target is a minimum; below the alert value is a breach.
    Share { target: Percent, alert: Percent },
    /// A latency in milliseconds: the target is a maximum; above the alert value is a breach.
    Millis { target: f64, alert: f64 },
    /// A score relative to its baseline: a drop of this size is a breach.
    Fall { alert: f64 },
}

/// Tolerance for comparing drops: in floating point, 0.80 - 0.75 is slightly less than 0.05.
const TOLERANCE: f64 = 1e-9;

impl MeasureBound {
    /// The status of a value. A missing value, or one of another unit, is no data; NaN is an alert.
    pub fn status(&self, value: &MeasureValue) -> MeasureStatus {
        match (*self, *value) {
            (Self::Share { target, alert }, MeasureValue::Share { hits, n }) if n > 0 => {
                let reached = u128::from(hits) * 10_000;
                let of = |percent: Percent| u128::from(percent.0) * u128::from(n);
                status(reached >= of(target), reached < of(alert))
            }
            (Self::Millis { target, alert }, MeasureValue::Millis { p95: Some(p95), n })
                if n > 0 =>
            {
                status(p95 <= target, p95.is_nan() || p95 > alert)
            }
            (
                Self::Fall { alert },
                MeasureValue::Score { mean: Some(mean), baseline: Some(baseline), n },
            ) if n > 0 => {
                let fall = baseline - mean;
                let is_fall = fall.is_nan() || fall >= alert - TOLERANCE;
                status(!is_fall, is_fall)
            }
            _ => MeasureStatus::NoData,
        }
    }
}

fn status(is_met: bool, is_alert: bool) -> MeasureStatus {
    match (is_alert, is_met) {
        (true, _) => MeasureStatus::Alert,
        (false, true) => MeasureStatus::Ok,
        (false, false) => MeasureStatus::Warn,
    }
}

/// The threshold of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    pub bound: MeasureBound,
    /// Whether a breach pages.
    pub pages: bool,
}

/// The thresholds of all measures, with overrides by mode.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteThresholds {
    pub all: BTreeMap<SuiteMeasure, Threshold>,
    pub by_mode: BTreeMap<RetrievalMode, BTreeMap<SuiteMeasure, Threshold>>,
}

impl Default for SuiteThresholds {
    fn default() -> Self {
        let share = |target: u32, alert: u32| MeasureBound::Share {
            target: Percent(target * 100),
            alert: Percent(alert * 100),
        };
        let row = |bound| Threshold { bound, pages: false };
        let all = BTreeMap::from([
            (SuiteMeasure::RecallAt5, Threshold { bound: share(95, 92), pages: true }),
            (SuiteMeasure::RecallAt10, row(share(98, 96))),
            (SuiteMeasure::RerankRelevance, row(MeasureBound::Fall { alert: 0.05 })),
            (SuiteMeasure::LatencyP95, row(MeasureBound::Millis { target: 150.0, alert: 170.0 })),
            (SuiteMeasure::SnippetAccuracy, row(share(90, 85))),
            (SuiteMeasure::RationalePresent, row(share(100, 100))),
            (SuiteMeasure::RationaleFaithful, row(share(95, 92))),
        ]);
        Self { all, by_mode: BTreeMap::new() }
    }
}

impl SuiteThresholds {
    /// The threshold of a measure in a mode, or over all cases.
    pub fn of(&self, measure: SuiteMeasure, mode: Option<RetrievalMode>) -> Option<&Threshold> {
        let own = mode.and_then(|mode| self.by_mode.get(&mode)?.get(&measure));
        own.or_else(|| self.all.get(&measure))
    }

    /// Overrides these thresholds with another's.
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

    fn of(measure: SuiteMeasure, value: MeasureValue) -> MeasureStatus {
        SuiteThresholds::default().of(measure, None).unwrap().bound.status(&value)
    }

    #[track_caller]
    fn check(measure: SuiteMeasure, n: u64, expected: &[(u64, MeasureStatus)]) {
        for (hits, status) in expected {
            assert_eq!(
                of(measure, MeasureValue::Share { hits: *hits, n }),
                *status,
                "{hits} of {n}"
            );
        }
    }

    use MeasureStatus::{Alert, NoData, Ok, Warn};

    /// The boundaries of the playbook's table.
    #[test]
    fn shares_at_their_boundaries() {
        check(
            SuiteMeasure::RecallAt5,
            25,
            &[(25, Ok), (24, Ok), (23, Warn), (22, Alert), (0, Alert)],
        );
        check(SuiteMeasure::RecallAt10, 25, &[(25, Ok), (24, Warn), (23, Alert)]);
        check(SuiteMeasure::RecallAt5, 100, &[(95, Ok), (94, Warn), (92, Warn), (91, Alert)]);
        check(SuiteMeasure::RecallAt10, 100, &[(98, Ok), (97, Warn), (96, Warn), (95, Alert)]);
        check(SuiteMeasure::RecallAt5, 20, &[(20, Ok), (19, Ok), (18, Alert)]);
        check(SuiteMeasure::RecallAt10, 20, &[(20, Ok), (19, Alert)]);
        check(SuiteMeasure::SnippetAccuracy, 100, &[(90, Ok), (89, Warn), (85, Warn), (84, Alert)]);
        check(SuiteMeasure::SnippetAccuracy, 20, &[(18, Ok), (17, Warn), (16, Alert)]);
        check(SuiteMeasure::SnippetAccuracy, 25, &[(23, Ok), (22, Warn), (21, Alert)]);
        check(SuiteMeasure::RationaleFaithful, 20, &[(19, Ok), (18, Alert)]);
        check(SuiteMeasure::RationalePresent, 20, &[(20, Ok), (19, Alert)]);
    }

    #[test]
    fn times_at_their_boundaries() {
        let check = |p95: f64, expected| {
            assert_eq!(
                of(SuiteMeasure::LatencyP95, MeasureValue::Millis { p95: Some(p95), n: 25 }),
                expected
            );
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
            let value = MeasureValue::Score { mean: Some(mean), baseline: Some(0.8), n: 30 };
            assert_eq!(of(SuiteMeasure::RerankRelevance, value), expected, "{mean}");
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
        assert_eq!(of(SuiteMeasure::RecallAt5, MeasureValue::Share { hits: 0, n: 0 }), NoData);
        assert_eq!(of(SuiteMeasure::LatencyP95, MeasureValue::Millis { p95: None, n: 0 }), NoData);
        let unknown = MeasureValue::Score { mean: Some(0.5), baseline: None, n: 30 };
        assert_eq!(of(SuiteMeasure::RerankRelevance, unknown), NoData);
        assert_eq!(
            of(SuiteMeasure::RecallAt5, MeasureValue::Millis { p95: Some(1.0), n: 1 }),
            NoData
        );
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
        let slow =
            Threshold { bound: MeasureBound::Millis { target: 800.0, alert: 850.0 }, pages: false };
        let graph = BTreeMap::from([(SuiteMeasure::LatencyP95, slow)]);
        let own = SuiteThresholds {
            all: BTreeMap::new(),
            by_mode: BTreeMap::from([(RetrievalMode::Graph, graph)]),
        };
        let both = SuiteThresholds::default().and(&own);
        assert_eq!(both.of(SuiteMeasure::LatencyP95, Some(RetrievalMode::Graph)), Some(&slow));
        let table = SuiteThresholds::default();
        assert_eq!(
            both.of(SuiteMeasure::LatencyP95, None),
            table.of(SuiteMeasure::LatencyP95, None)
        );
        assert!(
            both.of(SuiteMeasure::RecallAt5, Some(RetrievalMode::Graph))
                .is_some_and(|row| row.pages)
        );
    }
}
