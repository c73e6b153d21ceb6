//! The verdict in one line, with its reasons.

use crate::gate::{Breach, CheckStatus, GateCheck, GateParts, ThresholdSide, Verdict};

use super::number::{beside, count, interval, unit, value};

/// Maximum number of reasons in one line.
const REASONS: usize = 3;

/// The verdict in capitals.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// The reasons for the verdict, in one line.
pub(super) fn why(parts: &GateParts<'_>) -> String {
    let reasons = reasons(parts);
    if reasons.is_empty() {
        return passed(parts);
    }
    let shown = reasons.iter().take(REASONS).map(String::as_str).collect::<Vec<_>>().join("; ");
    match reasons.len().saturating_sub(REASONS) {
        0 => shown,
        left => format!("{shown}; and {left} more"),
    }
}

/// The breaches and undecided checks, one line each; empty for a pass.
pub(super) fn reasons(parts: &GateParts<'_>) -> Vec<String> {
    if parts.regression.is_none() && parts.correctness.is_none() {
        return vec!["nothing was gated".to_owned()];
    }
    let mut reasons: Vec<String> = breaches(parts).map(breach).collect();
    reasons.extend(checks(parts).filter_map(undecided));
    reasons
}

/// Lists every check with its own n: a single total would hide a check of one row.
fn passed(parts: &GateParts<'_>) -> String {
    let passed: Vec<String> = checks(parts)
        .filter(|check| check.status == CheckStatus::Pass)
        .map(|check| format!("{} n={}", check.metric, check.n))
        .collect();
    let left: Vec<&str> = checks(parts)
        .filter(|check| check.status == CheckStatus::NotCompared)
        .map(|check| check.metric)
        .collect();
    let passed = format!("{} passed ({})", count(passed.len(), "check"), passed.join(", "));
    if left.is_empty() { passed } else { format!("{passed}; not compared: {}", left.join(", ")) }
}

/// All checks, including latency.
pub(super) fn checks<'a>(parts: &'a GateParts<'_>) -> impl Iterator<Item = &'a GateCheck> {
    let regression = parts.regression.iter().map(|regression| regression.found);
    let regression = regression.flat_map(|found| found.checks.iter().chain([&found.latency]));
    regression.chain(parts.correctness.iter().flat_map(|correctness| &correctness.found.checks))
}

pub(super) fn breaches<'a>(parts: &'a GateParts<'_>) -> impl Iterator<Item = &'a Breach> {
    let regression = parts.regression.iter().flat_map(|regression| &regression.found.breaches);
    regression.chain(parts.correctness.iter().flat_map(|correctness| &correctness.found.breaches))
}

pub(super) fn warnings<'a>(parts: &'a GateParts<'_>) -> impl Iterator<Item = &'a String> {
    let regression = parts.regression.iter().flat_map(|regression| &regression.found.warnings);
    regression.chain(parts.correctness.iter().flat_map(|correctness| &correctness.found.warnings))
}

/// A breach in one line.
pub(super) fn breach(breach: &Breach) -> String {
    let unit = unit(breach.metric);
    let because =
        breach.reason.map_or(String::new(), |reason| format!(" ({})", reason.replace('_', " ")));
    match (breach.observed, breach.threshold) {
        (Some(observed), Some(limit)) if breach.reason.is_some() => {
            format!(
                "{} {}, at most {}{because}",
                breach.metric,
                value(unit, observed),
                value(unit, limit)
            )
        }
        (Some(observed), Some(limit)) => {
            let side = if observed > limit { "above" } else { "below" };
            let observed = beside(unit, observed, limit);
            format!("{} {observed} is {side} {}", breach.metric, value(unit, limit))
        }
        (_, _) => format!("{}{because}", breach.metric),
    }
}

/// A check that could not be decided, in one line.
pub(super) fn undecided(check: &GateCheck) -> Option<String> {
    let unit = unit(check.metric);
    match check.status {
        CheckStatus::NotMeasured => Some(format!("{} was not measured", check.metric)),
        CheckStatus::TooFewRows => check.too_few_rows(),
        CheckStatus::Inconclusive => {
            let observed = check.observed.unwrap_or(f64::NAN);
            let side = match check.bound {
                ThresholdSide::Floor => "below",
                ThresholdSide::Ceiling if observed <= check.threshold => "not above",
                ThresholdSide::Ceiling => "above",
            };
            Some(format!(
                "{} {} is {side} {}, but its interval {} includes it",
                check.metric,
                beside(unit, observed, check.threshold),
                value(unit, check.threshold),
                interval(unit, check.interval),
            ))
        }
        CheckStatus::Pass | CheckStatus::Fail | CheckStatus::NotCompared => None,
    }
}
