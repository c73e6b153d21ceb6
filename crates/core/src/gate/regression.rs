//! The regression gate: a replayed baseline held against its thresholds.

use crate::baseline::Thresholds;
use crate::replay::{Caveat, Outcome, ReplayedRow, Summary, summarise};
use crate::stats::wilson;

use super::check::{mean_interval, smallest_drop_of_mean, smallest_drop_of_rate};
use super::{Bound, Breach, Check, Confidence, Status, Verdict};

/// How many failing queries a breach quotes.
const EXAMPLES: usize = 5;

/// What the regression gate found.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The verdict.
    pub verdict: Verdict,
    /// Overlap and first pages; the same rows give the same checks.
    pub checks: Vec<Check>,
    /// Latency, which is never twice the same.
    pub latency: Check,
    /// Why it is not green.
    pub breaches: Vec<Breach>,
    /// What to know beside the verdict.
    pub warnings: Vec<String>,
    /// What the rows add up to.
    pub summary: Summary,
}

/// Holds a replay against thresholds.
pub fn regression(
    rows: &[ReplayedRow],
    thresholds: &Thresholds,
    confidence: Option<Confidence>,
) -> Regression {
    let summary = summarise(rows);
    let checks = overlap_checks(rows, &summary, thresholds, confidence);
    let latency = latency_check(&summary, thresholds);
    let mut breaches = row_breaches(rows);
    breaches.extend(checks.iter().chain([&latency]).filter_map(Check::breach));
    let verdict = checks.iter().chain([&latency]).map(Check::verdict);
    let verdict = verdict.fold(Verdict::Pass, Verdict::and);
    let verdict = if breaches.is_empty() { verdict } else { Verdict::Fail };
    let warnings = warnings(rows, &checks, &summary);
    Regression { verdict, checks, latency, breaches, warnings, summary }
}

fn overlap_checks(
    rows: &[ReplayedRow],
    summary: &Summary,
    thresholds: &Thresholds,
    confidence: Option<Confidence>,
) -> Vec<Check> {
    let level = confidence.map_or(0.95, Confidence::value);
    let measured = rows.iter().filter_map(ReplayedRow::compared).filter(|r| !r.is_both_empty());
    let jaccards: Vec<f64> = measured.clone().map(|row| row.jaccard).collect();
    let stable = measured.filter(|row| row.top1 == Some(true)).count();
    let n = summary.measured;
    let jaccard = Check {
        metric: "mean_jaccard",
        baseline: Some(1.0),
        observed: summary.mean_jaccard,
        threshold: thresholds.jaccard,
        bound: Bound::Floor,
        n,
        interval: mean_interval(&jaccards, level),
        smallest_drop: smallest_drop_of_mean(&jaccards),
        status: Status::NotMeasured,
    };
    let top1 = Check {
        metric: "top1_stability_rate",
        baseline: Some(1.0),
        observed: summary.top1_rate,
        threshold: thresholds.top1,
        bound: Bound::Floor,
        n,
        interval: wilson(stable as u64, n as u64, level),
        smallest_drop: smallest_drop_of_rate(summary.top1_rate, n),
        status: Status::NotMeasured,
    };
    [jaccard, top1].map(|check| check.decide(confidence.is_some())).to_vec()
}

fn latency_check(summary: &Summary, thresholds: &Thresholds) -> Check {
    let check = Check {
        metric: "latency_ratio",
        baseline: Some(1.0),
        observed: summary.latency.ratio,
        threshold: thresholds.latency_multiplier,
        bound: Bound::Ceiling,
        n: summary.latency.compared,
        interval: None,
        smallest_drop: None,
        status: Status::NotCompared,
    };
    // A baseline without latencies can't be slower than itself.
    if summary.latency.compared == 0 { check } else { check.decide(false) }
}

/// Rows that did not give what a row must give, whatever the means say.
fn row_breaches(rows: &[ReplayedRow]) -> Vec<Breach> {
    let errored = |row: &ReplayedRow| match &row.outcome {
        Outcome::Errored(message) => Some(format!("line {}: {message}", row.line)),
        Outcome::Compared(_) | Outcome::Skipped(_) => None,
    };
    let skipped = |row: &ReplayedRow| match &row.outcome {
        Outcome::Skipped(skip) => Some(format!("line {}: {skip}", row.line)),
        Outcome::Compared(_) | Outcome::Errored(_) => None,
    };
    let with = |caveat: Caveat| {
        move |row: &ReplayedRow| {
            let has = row.compared().is_some_and(|row| row.caveats.contains(&caveat));
            has.then(|| format!("line {}", row.line))
        }
    };
    [
        breach(rows, "rows_errored", "one_or_more_rows_failed", errored),
        breach(rows, "rows_skipped", "one_or_more_rows_were_not_asked", skipped),
        breach(
            rows,
            "rows_degraded",
            "a_stage_could_not_do_its_work",
            with(Caveat::ReplayDegraded),
        ),
        breach(rows, "rows_unstable", "the_same_request_gave_two_rankings", with(Caveat::Unstable)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn breach(
    rows: &[ReplayedRow],
    metric: &'static str,
    reason: &'static str,
    example: impl Fn(&ReplayedRow) -> Option<String>,
) -> Option<Breach> {
    let examples: Vec<String> = rows.iter().filter_map(example).collect();
    (!examples.is_empty()).then(|| Breach {
        metric,
        observed: Some(examples.len() as f64),
        threshold: Some(0.0),
        reason: Some(reason),
        examples: examples.into_iter().take(EXAMPLES).collect(),
    })
}

fn warnings(rows: &[ReplayedRow], checks: &[Check], summary: &Summary) -> Vec<String> {
    let mut warnings: Vec<String> = checks.iter().filter_map(Check::resolution_warning).collect();
    if summary.both_empty > 0 {
        warnings
            .push(format!("{} rows found nothing then and now; in no mean", summary.both_empty));
    }
    if summary.latency.compared < summary.replayed {
        let without = summary.replayed - summary.latency.compared;
        warnings.push(format!("{without} rows have no captured latency; not compared"));
    }
    for caveat in Caveat::ALL {
        let has = |row: &&ReplayedRow| row.compared().is_some_and(|r| r.caveats.contains(caveat));
        let n = rows.iter().filter(has).count();
        if n > 0 {
            warnings.push(format!("{n} rows: {}", caveat.name()));
        }
    }
    warnings
}
