//! The table of checks, each plotted against its threshold.

use crate::gate::{CheckStatus, ConfidenceLevel, GateCheck, ThresholdSide};
use crate::report::number::{Unit, cells, heads, unit};

use super::plot::{dot, line, rect, svg};
use super::table;

/// The checks of one gate.
pub(super) fn checks(
    label: &str,
    checks: &[&GateCheck],
    confidence: Option<ConfidenceLevel>,
) -> String {
    let heads = heads(confidence);
    let [metric, baseline, current, delta, interval, threshold, status, n] =
        heads.each_ref().map(String::as_str);
    let head = [metric, status, baseline, current, delta, interval, "", threshold, n];
    let rows: Vec<Vec<String>> = checks.iter().map(|check| row(check)).collect();
    table(label, "checks", &head, &rows)
}

fn row(check: &GateCheck) -> Vec<String> {
    let [metric, baseline, current, delta, interval, threshold, status, n] = cells(check);
    let class = class(check.status);
    let tag = format!("<span class=\"tag {class}\">{status}</span>");
    vec![metric, tag, baseline, current, delta, interval, track(check), threshold, n]
}

/// The CSS class of a status.
fn class(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Pass => "pass",
        CheckStatus::Fail => "fail",
        CheckStatus::Inconclusive | CheckStatus::NotMeasured | CheckStatus::TooFewRows => {
            "inconclusive"
        }
        CheckStatus::NotCompared => "skipped",
    }
}

/// Plots the value, its interval and its baseline on a line; the failing side is shaded.
fn track(check: &GateCheck) -> String {
    let (width, middle) = (220.0, 13.0);
    let most = match unit(check.metric) {
        Unit::Score | Unit::Rate => 1.0,
        Unit::Ratio | Unit::Count => {
            let highest = check.observed.filter(|value| value.is_finite()).unwrap_or(0.0);
            highest.max(check.threshold).max(check.baseline.unwrap_or(0.0)) * 1.25
        }
    };
    let x = |value: f64| 6.0 + (width - 12.0) * (value / most).clamp(0.0, 1.0);
    let limit = x(check.threshold);
    let mut body = match check.bound {
        ThresholdSide::Floor => rect("zone", [x(0.0), 4.0, limit - x(0.0), 18.0]),
        ThresholdSide::Ceiling => rect("zone", [limit, 4.0, x(most) - limit, 18.0]),
    };
    body.push_str(&line("axis", [x(0.0), middle, x(most), middle]));
    body.push_str(&line("limit", [limit, 3.0, limit, 23.0]));
    if let Some(interval) = check.interval {
        let (low, high) = (x(interval.low), x(interval.high));
        body.push_str(&rect("spread", [low, middle - 4.0, (high - low).max(2.0), 8.0]));
    }
    body.extend(check.baseline.map(|baseline| dot("before", x(baseline), middle, 3.5)));
    let observed = check.observed.filter(|value| value.is_finite());
    body.extend(observed.map(|observed| dot("point", x(observed), middle, 4.5)));
    let words = format!("{} on a line from 0 to {most:.2}", check.metric);
    svg("track", width, 26.0, &words, &body)
}
