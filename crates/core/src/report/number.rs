//! Numbers as reports print them: a measure in its unit, and never so rounded that a breach looks
//! like a pass.

use crate::gate::{Bound, Check, Status};
use crate::stats::Interval;

/// What stands where there is no number.
pub(super) const NONE: &str = "-";

/// What a metric is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// From 0 to 1.
    Score,
    /// A share of rows, in percent.
    Rate,
    /// So many times as much.
    Ratio,
    Count,
}

/// The unit of a metric.
pub(super) fn unit(metric: &str) -> Unit {
    match metric {
        "latency_ratio" => Unit::Ratio,
        _ if metric.ends_with("_rate") => Unit::Rate,
        _ if metric.starts_with("rows_") || metric.starts_with("queries_") => Unit::Count,
        _ => Unit::Score,
    }
}

/// A value in its unit.
pub(super) fn value(unit: Unit, value: f64) -> String {
    with_digits(unit, value, digits(unit))
}

/// A value that may be missing.
pub(super) fn maybe(unit: Unit, number: Option<f64>) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| value(unit, number))
}

/// A value beside a limit, with as many digits as it takes to tell them apart.
pub(super) fn beside(unit: Unit, number: f64, limit: f64) -> String {
    let first = digits(unit);
    let enough = (first..first + 6).find(|digits| {
        number == limit || with_digits(unit, number, *digits) != with_digits(unit, limit, *digits)
    });
    with_digits(unit, number, enough.unwrap_or(first))
}

/// A difference, with its sign; of rates in percentage points.
pub(super) fn delta(unit: Unit, difference: f64) -> String {
    // What rounds to nothing has no sign.
    let difference =
        if value(unit, difference.abs()) == value(unit, 0.0) { 0.0 } else { difference };
    match unit {
        Unit::Score => format!("{difference:+.3}"),
        Unit::Rate => format!("{:+.1}pp", difference * 100.0),
        Unit::Ratio => format!("{difference:+.2}x"),
        Unit::Count => format!("{difference:+.0}"),
    }
}

/// An interval, from its low to its high end.
pub(super) fn interval(unit: Unit, interval: Option<Interval>) -> String {
    interval.map_or_else(
        || NONE.to_owned(),
        |Interval { low, high }| format!("{} to {}", value(unit, low), value(unit, high)),
    )
}

/// The interval of a mean over `n` values; one value has none, and that is said.
pub(super) fn interval_at(unit: Unit, found: Option<Interval>, n: usize) -> String {
    match found {
        None if n == 1 => "no interval at n = 1".to_owned(),
        found => interval(unit, found),
    }
}

fn interval_of(check: &Check) -> String {
    match check.bound {
        Bound::Floor => interval_at(unit(check.metric), check.interval, check.n),
        Bound::Ceiling => interval(unit(check.metric), check.interval),
    }
}

/// Milliseconds, whole from ten on.
pub(super) fn ms(ms: f64) -> String {
    if ms.abs() < 9.95 { format!("{ms:.1}ms") } else { format!("{ms:.0}ms") }
}

/// A count with its noun.
pub(super) fn count(n: usize, one: &str) -> String {
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
pub(super) fn cells(check: &Check) -> [String; 8] {
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

/// The heads of [`cells`], at a confidence.
pub(super) fn heads(confidence: Option<crate::gate::Confidence>) -> [String; 8] {
    let percent = confidence.map_or(95.0, |confidence| confidence.value() * 100.0);
    // 99.9 is 99.9 and 95 is 95.
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

/// What a value must not pass.
pub(super) fn threshold(check: &Check) -> String {
    let sign = match check.bound {
        Bound::Floor => '≥',
        Bound::Ceiling => '≤',
    };
    format!("{sign} {}", exact(unit(check.metric), check.threshold))
}

/// A threshold with the digits it was given.
fn exact(unit: Unit, threshold: f64) -> String {
    let first = digits(unit);
    let scale = if unit == Unit::Rate { 100.0 } else { 1.0 };
    let is_whole = |digits: &usize| {
        let text = format!("{:.*}", *digits, threshold * scale);
        text.parse::<f64>().is_ok_and(|value| (value - threshold * scale).abs() < 1e-9)
    };
    with_digits(unit, threshold, (first..first + 6).find(is_whole).unwrap_or(first))
}

/// A status in words; what is not green stands out.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Fail => "FAIL",
        Status::Inconclusive => "INCONCLUSIVE",
        Status::NotCompared => "not compared",
        Status::NotMeasured => "NOT MEASURED",
        Status::TooFewRows => "TOO FEW ROWS",
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
