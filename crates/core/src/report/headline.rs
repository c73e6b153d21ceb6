//! The verdict in one line, and the reasons for it.

use crate::gate::{Bound, Breach, Check, GateParts, Status, Verdict};

use super::number::{beside, count, interval, unit, value};

/// Reasons that fit into one line.
const REASONS: usize = 3;

/// The verdict as a word that stands out.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// Why the verdict is what it is, in one line.
pub(super) fn why(parts: &GateParts<'_>) -> String {
    let reasons = reasons(parts);
    if reasons.is_empty() {
        return passed(parts);
    }
    let told = reasons.iter().take(REASONS).map(String::as_str).collect::<Vec<_>>().join("; ");
    match reasons.len().saturating_sub(REASONS) {
        0 => told,
        left => format!("{told}; and {left} more"),
    }
}

/// What is not green, one line each; nothing for a pass.
pub(super) fn reasons(parts: &GateParts<'_>) -> Vec<String> {
    if parts.regression.is_none() && parts.correctness.is_none() {
        return vec!["nothing was gated".to_owned()];
    }
    let mut reasons: Vec<String> = breaches(parts).map(breach).collect();
    reasons.extend(checks(parts).filter_map(undecided));
    reasons
}

/// Every check with its own n: one number over all would hide a check of one row.
fn passed(parts: &GateParts<'_>) -> String {
    let held: Vec<String> = checks(parts)
        .filter(|check| check.status == Status::Pass)
        .map(|check| format!("{} n={}", check.metric, check.n))
        .collect();
    let left: Vec<&str> = checks(parts)
        .filter(|check| check.status == Status::NotCompared)
        .map(|check| check.metric)
        .collect();
    let held = format!("{} held ({})", count(held.len(), "check"), held.join(", "));
    if left.is_empty() { held } else { format!("{held}; not compared: {}", left.join(", ")) }
}

/// Every check, latency among them.
pub(super) fn checks<'a>(parts: &'a GateParts<'_>) -> impl Iterator<Item = &'a Check> {
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
pub(super) fn undecided(check: &Check) -> Option<String> {
    let unit = unit(check.metric);
    match check.status {
        Status::NotMeasured => Some(format!("{} was not measured", check.metric)),
        Status::TooFewRows => check.too_few_rows(),
        Status::Inconclusive => {
            let observed = check.observed.unwrap_or(f64::NAN);
            let side = match check.bound {
                Bound::Floor => "below",
                Bound::Ceiling if observed <= check.threshold => "not above",
                Bound::Ceiling => "above",
            };
            Some(format!(
                "{} {} is {side} {}, but its interval {} reaches past it",
                check.metric,
                beside(unit, observed, check.threshold),
                value(unit, check.threshold),
                interval(unit, check.interval),
            ))
        }
        Status::Pass | Status::Fail | Status::NotCompared => None,
    }
}
