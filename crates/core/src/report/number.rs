//! Formats numbers for reports: in their unit, and never rounded so that a breach looks like a
//! pass.

use crate::gate::{CheckStatus, GateCheck, ThresholdSide};
use crate::stats::Interval;

/// Placeholder for a missing number.
pub const NONE: &str = "-";

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// From 0 to 1.
    Score,
    /// A share of rows, in percent.
    Rate,
    /// A factor, such as 1.5x.
    Ratio,
    Count,
}

/// The unit of a metric.
pub fn unit(metric: &str) -> Unit {
    match metric {
        "latency_ratio" => Unit::Ratio,
        _ if metric.ends_with("_rate") => Unit::Rate,
        _ if metric.starts_with("rows_") || metric.starts_with("queries_") => Unit::Count,
        _ => Unit::Score,
    }
}

/// A value in its unit.
pub fn value(unit: Unit, value: f64) -> String {
    with_digits(unit, value, digits(unit))
}

/// A value that may be missing.
pub fn maybe(unit: Unit, number: Option<f64>) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| value(unit, number))
}

/// A value with enough digits to distinguish it from a limit.
pub fn beside(unit: Unit, number: f64, limit: f64) -> String {
    let first = digits(unit);
    let enough = (first..first + 6).find(|digits| {
        number == limit || with_digits(unit, number, *digits) != with_digits(unit, limit, *digits)
    });
    with_digits(unit, number, enough.unwrap_or(first))
}

/// A signed difference; rates in percentage points.
pub fn delta(unit: Unit, difference: f64) -> String {
    // A difference that rounds to zero has no sign.
    let difference =
        if value(unit, difference.abs()) == value(unit, 0.0) { 0.0 } else { difference };
    match unit {
        Unit::Score => format!("{difference:+.3}"),
        Unit::Rate => format!("{:+.1}pp", difference * 100.0),
        Unit::Ratio => format!("{difference:+.2}x"),
        Unit::Count => format!("{difference:+.0}"),
    }
}

pub fn interval(unit: Unit, interval: Option<Interval>) -> String {
    interval.map_or_else(
        || NONE.to_owned(),
        |Interval { low, high }| format!("{} to {}", value(unit, low), value(unit, high)),
    )
}

/// The interval of a mean over `n` values; states explicitly that one value has none.
pub(super) fn interval_at(unit: Unit, found: Option<Interval>, n: usize) -> String {
    match found {
        None if n == 1 => "no interval at n = 1".to_owned(),
        found => interval(unit, found),
    }
}

fn interval_of(check: &GateCheck) -> String {
    match check.bound {
        ThresholdSide::Floor => interval_at(unit(check.metric), check.interval, check.n),
        ThresholdSide::Ceiling => interval(unit(check.metric), check.interval),
    }
}

/// Milliseconds, without decimals from 10 on.
pub fn ms(ms: f64) -> String {
    if ms.abs() < 9.95 { format!("{ms:.1}ms") } else { format!("{ms:.0}ms") }
}

/// A count with its noun.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {}", plural(one)) }
}

fn plural(one: &str) -> String {
    match one.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if one.ends_with("ch") => format!("{one}es"),
        None => format!("{one}s"),
    }
}

fn digits(unit: Unit) -> usize {
    match unit {
        Unit::Score => 3,
        Unit::Rate => 1,
        Unit::Ratio => 2,
        Unit::Count => 0,
    }
}

fn with_digits(unit: Unit, value: f64, digits: usize) -> String {
    match unit {
        Unit::Score | Unit::Count => format!("{value:.digits$}"),
        Unit::Rate => format!("{:.digits$}%", value * 100.0),
        Unit::Ratio => format!("{value:.digits$}x"),
    }
}

/// The cells of a check: metric, baseline, current, delta, interval, threshold, status, n.
pub(super) fn cells(check: &GateCheck) -> [String; 8] {
    let unit = unit(check.metric);
    let observed = check.observed.filter(|value| value.is_finite());
    let change = observed.zip(check.baseline).map(|(now, before)| now - before);
    [
        check.metric.to_owned(),
        maybe(unit, check.baseline),
        observed.map_or(NONE.to_owned(), |observed| beside(unit, observed, check.threshold)),
        change.map_or(NONE.to_owned(), |change| delta(unit, change)),
        interval_of(check),
        threshold(check),
        status(check.status).to_owned(),
        check.n.to_string(),
    ]
}

/// Column heads for [`cells`].
pub(super) fn heads(confidence: Option<crate::gate::ConfidenceLevel>) -> [String; 8] {
    let percent = confidence.map_or(95.0, |confidence| confidence.value() * 100.0);
    // Avoids trailing digits: 99.9, 95.
    let percent = (percent * 100.0).round() / 100.0;
    [
        "METRIC",
        "BASELINE",
        "CURRENT",
        "DELTA",
        &format!("{percent}% CI"),
        "THRESHOLD",
        "STATUS",
        "n",
    ]
    .map(str::to_owned)
}

/// The threshold of a check.
pub(super) fn threshold(check: &GateCheck) -> String {
    limit(unit(check.metric), check.bound, check.threshold)
}

/// A threshold with the side on which a value must be.
pub fn limit(unit: Unit, bound: ThresholdSide, threshold: f64) -> String {
    let sign = match bound {
        ThresholdSide::Floor => '≥',
        ThresholdSide::Ceiling => '≤',
    };
    format!("{sign} {}", exact(unit, threshold))
}

/// A threshold with as many digits as configured.
fn exact(unit: Unit, threshold: f64) -> String {
    let first = digits(unit);
    let scale = if unit == Unit::Rate { 100.0 } else { 1.0 };
    let is_whole = |digits: &usize| {
        let text = format!("{:.*}", *digits, threshold * scale);
        text.parse::<f64>().is_ok_and(|value| (value - threshold * scale).abs() < 1e-9)
    };
    with_digits(unit, threshold, (first..first + 6).find(is_whole).unwrap_or(first))
}

/// A status in words, in capitals unless it is a pass.
pub fn status(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Pass => "pass",
        CheckStatus::Fail => "FAIL",
        CheckStatus::Inconclusive => "INCONCLUSIVE",
        CheckStatus::NotCompared => "not compared",
        CheckStatus::NotMeasured => "NOT MEASURED",
        CheckStatus::TooFewRows => "TOO FEW ROWS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breach_never_looks_like_a_pass() {
        assert_eq!(beside(Unit::Score, 0.8499, 0.85), "0.8499");
        assert_eq!(beside(Unit::Score, 0.85, 0.85), "0.850");
        assert_eq!(beside(Unit::Rate, 0.79996, 0.8), "79.996%");
        assert_eq!(beside(Unit::Score, 0.2, 0.85), "0.200");
    }

    #[test]
    fn in_their_units() {
        assert_eq!(delta(Unit::Rate, -0.085), "-8.5pp");
        assert_eq!(delta(Unit::Score, -0.0001), "+0.000");
        assert_eq!(value(Unit::Ratio, 1.124), "1.12x");
        assert_eq!((ms(3.12), ms(14.2)), ("3.1ms".to_owned(), "14ms".to_owned()));
        assert_eq!(
            (count(1, "query"), count(2, "breach")),
            ("1 query".into(), "2 breaches".into())
        );
    }
}
