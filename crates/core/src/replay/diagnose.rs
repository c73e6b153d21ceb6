//! Interprets the numbers of a replay: the healthy ranges and the usual causes.

use std::collections::BTreeMap;

use crate::named;

use super::{ReplaySummary, ReplayedRow, RowOutcome, SkipReason};

named! {
    /// The relation of a number to its healthy range.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MetricHealth {
        Healthy = "healthy",
        /// Outside, and worth a look.
        Shifted = "shifted",
        Broken = "broken",
        NotMeasured = "not_measured",
    }
}

/// The three numbers that tell whether a change is safe to land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayHealth {
    /// At least 0.85 is healthy, below 0.7 is a major shift.
    pub jaccard: MetricHealth,
    /// At least 85% is healthy, below 70% the top of the funnel broke.
    pub top1: MetricHealth,
    /// Within 50 ms is healthy; any row over twice its captured latency is an alarm.
    pub latency: MetricHealth,
}

/// How the three numbers stand.
pub fn healths(summary: &ReplaySummary) -> ReplayHealth {
    let rate = |value: Option<f64>| match value {
        None => MetricHealth::NotMeasured,
        Some(value) if value >= 0.85 => MetricHealth::Healthy,
        Some(value) if value >= 0.7 => MetricHealth::Shifted,
        Some(_) => MetricHealth::Broken,
    };
    let latency = match summary.latency.mean_delta_ms {
        None => MetricHealth::NotMeasured,
        Some(delta) if delta.abs() <= 50.0 && summary.latency.over_twice == 0 => {
            MetricHealth::Healthy
        }
        Some(delta) if delta <= 50.0 => MetricHealth::Shifted,
        Some(_) => MetricHealth::Broken,
    };
    ReplayHealth { jaccard: rate(summary.mean_jaccard), top1: rate(summary.top1_rate), latency }
}

/// The causes that match the observed numbers.
pub fn diagnose(rows: &[ReplayedRow], summary: &ReplaySummary) -> Vec<String> {
    let healths = healths(summary);
    let mut causes = Vec::new();
    if healths.jaccard == MetricHealth::Broken
        && let Some(prefix) = common_directory(rows)
    {
        causes.push(format!(
            "the pages that were lost are nearly all below `{prefix}`: look at source weights and filters for it"
        ));
    }
    if healths.top1 == MetricHealth::Broken && healths.jaccard == MetricHealth::Healthy {
        causes.push(
            "the same pages in another order: look at the weights of fusion and at boosts"
                .to_owned(),
        );
    }
    if healths.latency == MetricHealth::Broken && healths.jaccard == MetricHealth::Healthy {
        causes.push(
            "the same pages, more slowly: look at the vector arm (embedding, depth of the scan) and at the machine"
                .to_owned(),
        );
    }
    if summary.errored > 0 {
        let n = summary.errored;
        causes.push(format!("{n} queries failed: their messages are in `results` of --json"));
    }
    let empty = |row: &&ReplayedRow| row.outcome == RowOutcome::Skipped(SkipReason::EmptyQuery);
    let empty = rows.iter().filter(empty).count();
    if empty > 0 {
        causes.push(format!("{empty} rows have an empty query: see who asks with nothing"));
    }
    causes.extend(not_comparable(rows));
    causes
}

/// Rows that can't be compared, by reason, with a remedy.
pub(crate) fn not_comparable(rows: &[ReplayedRow]) -> Vec<String> {
    let of = |skip: &SkipReason| {
        let is_it = |row: &&ReplayedRow| row.outcome == RowOutcome::Skipped(*skip);
        let n = rows.iter().filter(is_it).count();
        let remedy = skip.remedy().filter(|_| n > 0)?;
        Some(format!("{n} rows are not comparable ({skip}): {remedy}"))
    };
    SkipReason::ALL.iter().filter(|skip| skip.is_not_comparable()).filter_map(of).collect()
}

/// The directory that at least four of five lost pages are below.
fn common_directory(rows: &[ReplayedRow]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut total = 0;
    for compared in rows.iter().filter_map(ReplayedRow::compared) {
        for page in compared.captured.iter().filter(|page| !compared.current.contains(page)) {
            total += 1;
            if let Some((directory, _)) = page.rsplit_once('/') {
                *counts.entry(directory).or_default() += 1;
            }
        }
    }
    let (directory, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count * 5 >= total * 4 && count >= 3).then(|| format!("{directory}/"))
}
