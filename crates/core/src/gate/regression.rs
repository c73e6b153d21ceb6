//! The regression gate: compares a replayed baseline with its thresholds.

use std::collections::BTreeSet;

use crate::baseline::BaselineThresholds;
use crate::latency::{NotComparedReason, TimeRatio, compare_times};
use crate::replay::{
    Caveat, ReplaySummary, ReplayedRow, RowComparison, RowOutcome, not_comparable, summarise,
};
use crate::stats::clopper_pearson;

use super::check::{mean_interval, smallest_drop};
use super::{Breach, CheckStatus, ConfidenceLevel, GateCheck, ThresholdSide, Verdict};

/// Maximum number of failing queries that a breach quotes.
const EXAMPLES: usize = 5;

/// Maximum number of row lines that a warning names.
const LINES: usize = 10;

/// The result of the regression gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    pub verdict: Verdict,
    /// Overlap and first pages; the same rows give the same checks.
    pub checks: Vec<GateCheck>,
    /// Latency, which is never twice the same: by CPU time, or of a remote target by the wall clock.
    pub latency: GateCheck,
    /// Why it is not green.
    pub breaches: Vec<Breach>,
    /// Warnings beside the verdict.
    pub warnings: Vec<String>,
    /// Summary of the replayed rows.
    pub summary: ReplaySummary,
}

/// Holds a replay against thresholds.
pub fn regression(
    rows: &[ReplayedRow],
    thresholds: &BaselineThresholds,
    confidence: Option<ConfidenceLevel>,
) -> Regression {
    let summary = summarise(rows);
    let checks = overlap_checks(rows, &summary, thresholds, confidence);
    let times = times(rows, confidence);
    let latency = latency_check(times.as_ref(), thresholds);
    let mut breaches = row_breaches(rows);
    breaches.extend(checks.iter().chain([&latency]).filter_map(GateCheck::breach));
    let verdict = checks.iter().chain([&latency]).map(GateCheck::verdict);
    let verdict = verdict.fold(Verdict::Pass, Verdict::and);
    let verdict = if breaches.is_empty() { verdict } else { Verdict::Fail };
    // Nothing was measured of such rows: they are no breach, and no pass either.
    let unknown = uncompared(rows);
    let verdict = if unknown.is_some() { verdict.and(Verdict::Inconclusive) } else { verdict };
    breaches.extend(unknown);
    let mut warnings = warnings(rows, &summary);
    if latency.status == CheckStatus::Inconclusive
        && times.is_some_and(|times| times.is_machine_busy)
    {
        warnings.push(
            "this machine was busy while the target was timed: latency can't fail the gate; run it \
             again on an idle machine"
                .to_owned(),
        );
    }
    Regression { verdict, checks, latency, breaches, warnings, summary }
}

fn overlap_checks(
    rows: &[ReplayedRow],
    summary: &ReplaySummary,
    thresholds: &BaselineThresholds,
    confidence: Option<ConfidenceLevel>,
) -> Vec<GateCheck> {
    let level = confidence.map_or(0.95, ConfidenceLevel::value);
    let measured = rows.iter().filter_map(ReplayedRow::compared).filter(|r| !r.is_both_empty());
    let jaccards: Vec<f64> = measured.clone().map(|row| row.jaccard).collect();
    let stable = measured.filter(|row| row.top1 == Some(true)).count();
    let n = summary.measured;
    let distinct = distinct_questions(rows);
    // The value of an unchanged brain.
    let unchanged = vec![1.0; n];
    let jaccard = GateCheck {
        metric: "mean_jaccard",
        baseline: Some(1.0),
        observed: summary.mean_jaccard,
        threshold: thresholds.jaccard,
        bound: ThresholdSide::Floor,
        n,
        distinct: (distinct != n).then_some(distinct),
        interval: mean_interval(&jaccards, level),
        smallest_drop: smallest_drop(&unchanged, thresholds.jaccard, confidence),
        status: CheckStatus::NotMeasured,
    };
    let top1 = GateCheck {
        metric: "top1_stability_rate",
        baseline: Some(1.0),
        observed: summary.top1_rate,
        threshold: thresholds.top1,
        bound: ThresholdSide::Floor,
        n,
        distinct: (distinct != n).then_some(distinct),
        interval: clopper_pearson(stable as u64, n as u64, level),
        smallest_drop: smallest_drop(&unchanged, thresholds.top1, confidence),
        status: CheckStatus::NotMeasured,
    };
    [jaccard, top1].map(|check| check.decide(confidence.is_some())).to_vec()
}

/// Rows that ask the same and expect the same are one question, however often a file repeats them.
fn distinct_questions(rows: &[ReplayedRow]) -> usize {
    let measured = rows.iter().filter_map(|row| Some((row, row.compared()?)));
    let measured = measured.filter(|(_, compared)| !compared.is_both_empty());
    let key = |(row, compared): (&ReplayedRow, &RowComparison)| {
        (row.operation.name(), row.query.trim().to_owned(), compared.captured.clone())
    };
    measured.map(key).collect::<BTreeSet<_>>().len()
}

fn times(rows: &[ReplayedRow], confidence: Option<ConfidenceLevel>) -> Option<TimeRatio> {
    let compared = rows.iter().filter_map(ReplayedRow::compared);
    let level = confidence.map_or(0.95, ConfidenceLevel::value);
    compare_times(compared.map(|compared| &compared.timing), level)
}

fn latency_check(times: Option<&TimeRatio>, thresholds: &BaselineThresholds) -> GateCheck {
    let threshold = thresholds.latency_multiplier;
    GateCheck {
        metric: "latency_ratio",
        baseline: Some(1.0),
        observed: times.map(|times| times.ratio),
        threshold,
        bound: ThresholdSide::Ceiling,
        n: times.map_or(0, |times| times.n),
        distinct: None,
        interval: times.and_then(|times| times.interval),
        smallest_drop: None,
        status: times.map_or(CheckStatus::NotCompared, |times| latency_status(times, threshold)),
    }
}

/// Fails when the whole interval is above the threshold, passes when none of it is, and is
/// inconclusive otherwise. Something that is not a number fails.
fn latency_status(times: &TimeRatio, threshold: f64) -> CheckStatus {
    match times.interval {
        None => CheckStatus::Fail,
        Some(interval) if interval.high <= threshold => CheckStatus::Pass,
        // Delays of a busy machine are not caused by the target.
        Some(interval) if interval.low > threshold && !times.is_machine_busy => CheckStatus::Fail,
        Some(_) => CheckStatus::Inconclusive,
    }
}

/// Rows without a usable result, which fail the gate independently of the means.
fn row_breaches(rows: &[ReplayedRow]) -> Vec<Breach> {
    let errored = |row: &ReplayedRow| match &row.outcome {
        RowOutcome::Errored(message) => Some(format!("line {}: {message}", row.line)),
        RowOutcome::Compared(_) | RowOutcome::Skipped(_) => None,
    };
    let skipped = |row: &ReplayedRow| match &row.outcome {
        RowOutcome::Skipped(skip) if !skip.is_not_comparable() => {
            Some(format!("line {}: {skip}", row.line))
        }
        RowOutcome::Compared(_) | RowOutcome::Errored(_) | RowOutcome::Skipped(_) => None,
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

/// Rows whose ranking can't be compared.
fn uncompared(rows: &[ReplayedRow]) -> Option<Breach> {
    let example = |row: &ReplayedRow| match &row.outcome {
        RowOutcome::Skipped(skip) if skip.is_not_comparable() => {
            Some(format!("line {}: {skip}", row.line))
        }
        RowOutcome::Compared(_) | RowOutcome::Errored(_) | RowOutcome::Skipped(_) => None,
    };
    breach(rows, "rows_not_comparable", "their_rankings_can_not_be_compared_here", example)
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

fn warnings(rows: &[ReplayedRow], summary: &ReplaySummary) -> Vec<String> {
    let mut warnings = Vec::new();
    if summary.both_empty > 0 {
        warnings
            .push(format!("{} rows found nothing then and now; in no mean", summary.both_empty));
    }
    for (why, lines) in &summary.timing.not_compared {
        warnings.push(latency_warning(*why, lines));
    }
    warnings.extend(not_comparable(rows));
    for caveat in Caveat::ALL {
        let has = |row: &&ReplayedRow| row.compared().is_some_and(|r| r.caveats.contains(caveat));
        let n = rows.iter().filter(has).count();
        if n > 0 {
            warnings.push(format!("{n} rows: {}", caveat.name()));
        }
    }
    warnings
}

/// Rows whose latency is not compared, by their lines.
fn latency_warning(why: NotComparedReason, lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(LINES).map(ToString::to_string).collect();
    let more = match lines.len().saturating_sub(LINES) {
        0 => String::new(),
        left => format!(" and {left} more"),
    };
    let rows = if lines.len() == 1 { "1 row".to_owned() } else { format!("{} rows", lines.len()) };
    format!("latency of {rows} is not compared ({}): line {}{more}", why.reason(), shown.join(", "))
}
