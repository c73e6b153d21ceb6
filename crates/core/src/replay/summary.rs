//! Summary of the rows of a replay. Every number comes with the number of rows behind it.

use std::collections::BTreeMap;

use crate::latency::{NotComparedReason, TimeRatio, compare_times};
use crate::stats::{Interval, bounded_mean, clopper_pearson, mean, percentile, weighted_mean};

use super::{ReplayedRow, RowComparison, RowOutcome};

/// Latencies of a replay. Rows without a captured latency are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencySummary {
    /// Rows with a captured latency.
    pub compared: usize,
    /// Mean of current minus captured.
    pub mean_delta_ms: Option<f64>,
    /// Current mean over captured mean.
    pub ratio: Option<f64>,
    /// Rows that take more than twice as long.
    pub over_twice: usize,
    /// p50, p95 and p99 of the captured latencies.
    pub captured_ms: Option<[f64; 3]>,
    /// p50, p95 and p99 of the replayed latencies.
    pub current_ms: Option<[f64; 3]>,
}

/// Times that were measured in the same way then and now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimingSummary {
    /// Current over captured, with its 95% interval; none if no row is compared.
    pub ratio: Option<TimeRatio>,
    /// Lines of the rows that are not compared, by reason.
    pub not_compared: BTreeMap<NotComparedReason, Vec<usize>>,
}

/// The summary of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySummary {
    /// Rows of the file.
    pub total: usize,
    /// Number of replayed and compared rows.
    pub replayed: usize,
    /// Number of skipped rows.
    pub skipped: usize,
    /// Skipped rows whose ranking can't be compared here: neither equal nor different.
    pub not_comparable: usize,
    /// Number of rows whose retrieval failed.
    pub errored: usize,
    /// Replayed rows where neither side found anything; in no mean.
    pub both_empty: usize,
    /// Rows that say less than their ranking depended on, or differ in ways that are known.
    pub confounded: usize,
    /// Number of rows whose ranking changed, order included.
    pub moved: usize,
    /// Rows in the means.
    pub measured: usize,
    pub mean_jaccard: Option<f64>,
    pub jaccard_interval: Option<Interval>,
    /// Mean set overlap, weighted by the number of captures per row.
    pub weighted_jaccard: Option<f64>,
    /// Share of rows whose first page is the same.
    pub top1_rate: Option<f64>,
    pub top1_interval: Option<Interval>,
    /// The same share, weighted by the number of captures per row.
    pub weighted_top1: Option<f64>,
    pub mean_rbo: Option<f64>,
    /// Mean Kendall's tau over rows that have one.
    pub mean_kendall: Option<f64>,
    /// Captures that the measured rows stand for.
    pub weight: u64,
    /// Wall-clock latencies, which reports show.
    pub latency: LatencySummary,
    /// Comparable times, which the gate checks.
    pub timing: TimingSummary,
}

/// Adds up the rows of a replay.
pub fn summarise(rows: &[ReplayedRow]) -> ReplaySummary {
    let compared: Vec<(&RowComparison, u64)> =
        rows.iter().filter_map(|row| Some((row.compared()?, row.weight))).collect();
    let measured: Vec<(&RowComparison, u64)> =
        compared.iter().copied().filter(|(row, _)| !row.is_both_empty()).collect();
    let jaccards: Vec<f64> = measured.iter().map(|(row, _)| row.jaccard).collect();
    let same: Vec<f64> =
        measured.iter().map(|(row, _)| if row.top1 == Some(true) { 1.0 } else { 0.0 }).collect();
    let rbos: Vec<f64> = measured.iter().map(|(row, _)| row.rbo).collect();
    let kendalls: Vec<f64> = measured.iter().filter_map(|(row, _)| row.kendall).collect();
    let weights: Vec<u64> = measured.iter().map(|(_, weight)| *weight).collect();
    let stable = measured.iter().filter(|(row, _)| row.top1 == Some(true)).count();
    ReplaySummary {
        total: rows.len(),
        replayed: compared.len(),
        skipped: count(rows, |outcome| matches!(outcome, RowOutcome::Skipped(_))),
        not_comparable: count(
            rows,
            |outcome| matches!(outcome, RowOutcome::Skipped(skip) if skip.is_not_comparable()),
        ),
        errored: count(rows, |outcome| matches!(outcome, RowOutcome::Errored(_))),
        both_empty: compared.len() - measured.len(),
        confounded: compared.iter().filter(|(row, _)| is_confounded(row)).count(),
        moved: compared.iter().filter(|(row, _)| row.is_moved()).count(),
        measured: measured.len(),
        mean_jaccard: mean(&jaccards),
        jaccard_interval: bounded_mean(&jaccards, Interval::UNIT, 0.95),
        weighted_jaccard: weighted(&jaccards, &weights),
        top1_rate: mean(&same),
        top1_interval: clopper_pearson(stable as u64, measured.len() as u64, 0.95),
        weighted_top1: weighted(&same, &weights),
        mean_rbo: mean(&rbos),
        mean_kendall: mean(&kendalls),
        weight: weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight)),
        latency: latency(&compared),
        timing: timing(rows),
    }
}

fn timing(rows: &[ReplayedRow]) -> TimingSummary {
    let mut not_compared: BTreeMap<NotComparedReason, Vec<usize>> = BTreeMap::new();
    for row in rows {
        if let Some(why) = row.compared().and_then(|compared| compared.timing.not_compared()) {
            not_compared.entry(why).or_default().push(row.line);
        }
    }
    let compared = rows.iter().filter_map(ReplayedRow::compared);
    let ratio = compare_times(compared.map(|compared| &compared.timing), 0.95);
    TimingSummary { ratio, not_compared }
}

fn is_confounded(row: &RowComparison) -> bool {
    row.caveats.iter().any(|caveat| caveat.is_confounding())
}

fn count(rows: &[ReplayedRow], is_it: fn(&RowOutcome) -> bool) -> usize {
    rows.iter().filter(|row| is_it(&row.outcome)).count()
}

fn weighted(values: &[f64], weights: &[u64]) -> Option<f64> {
    weighted_mean(values.iter().zip(weights).map(|(value, weight)| (*value, *weight as f64)))
}

fn latency(compared: &[(&RowComparison, u64)]) -> LatencySummary {
    let current: Vec<f64> = compared.iter().map(|(row, _)| row.current_ms).collect();
    let pairs: Vec<(f64, f64)> =
        compared.iter().filter_map(|(row, _)| Some((row.captured_ms?, row.current_ms))).collect();
    let captured: Vec<f64> = pairs.iter().map(|(captured, _)| *captured).collect();
    let now: Vec<f64> = pairs.iter().map(|(_, now)| *now).collect();
    let (before, after) = (mean(&captured), mean(&now));
    LatencySummary {
        compared: pairs.len(),
        mean_delta_ms: before.zip(after).map(|(before, after)| after - before),
        // Past all numbers it is still a number, and beyond every threshold.
        ratio: before.zip(after).map(|(before, after)| (after / before).min(f64::MAX)),
        over_twice: compared.iter().filter(|(row, _)| row.is_twice_as_slow()).count(),
        captured_ms: percentiles(captured),
        current_ms: percentiles(current),
    }
}

fn percentiles(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_unstable_by(f64::total_cmp);
    Some([percentile(&values, 0.5)?, percentile(&values, 0.95)?, percentile(&values, 0.99)?])
}
