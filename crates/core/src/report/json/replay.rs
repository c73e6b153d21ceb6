//! JSON output of a replay: the keys of the specification and additional ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::BaselineIntegrity;
use crate::blame::Blame;
use crate::latency::{Clock, NotComparedReason, TimeRatio};
use crate::provenance::{FactorDifferences, RankingFactor};
use crate::replay::{
    Caveat, LatencySummary, LostPage, MetricHealth, ReplayHealth, ReplaySummary, ReplayedRow,
    RowComparison, RowOutcome, SkipReason, TimingSummary, diagnose, healths,
};
use crate::report::tally::{FactorCounts, changed, worst_rows};
use crate::request::Operation;
use crate::stats::Interval;

/// The version of [`ReplayReport`].
pub(crate) const REPLAY_VERSION: u32 = 1;

/// The output of `gbrain eval replay --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplayReport<'a> {
    schema_version: u32,
    summary: WireSummary,
    health: WireHealth,
    diagnosis: Vec<String>,
    /// Number of changed rows by factor.
    changed: BTreeMap<RankingFactor, FactorCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, usize>>")]
    blame: Option<serde_json::Map<String, serde_json::Value>>,
    errors: Vec<WireError<'a>>,
    top_regressions: Vec<WireRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<WireRow<'a>>>,
    /// Warnings about the captures, such as that edits of a baseline cannot be detected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The summary of a replay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplaySummary")]
pub(super) struct WireSummary {
    rows_total: usize,
    rows_replayed: usize,
    rows_skipped: usize,
    rows_errored: usize,
    rows_not_comparable: usize,
    mean_jaccard: Option<f64>,
    top1_stability_rate: Option<f64>,
    mean_latency_delta_ms: Option<f64>,
    rows_over_2x_latency: usize,
    rows_measured: usize,
    rows_both_empty: usize,
    rows_confounded: usize,
    rows_moved: usize,
    mean_jaccard_interval: Option<Interval>,
    top1_stability_interval: Option<Interval>,
    mean_rbo: Option<f64>,
    mean_kendall_tau: Option<f64>,
    weight: u64,
    weighted_mean_jaccard: Option<f64>,
    weighted_top1_stability_rate: Option<f64>,
    latency: WireLatency,
}

/// Latencies of the captures and of the replay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayLatency")]
struct WireLatency {
    rows_compared: usize,
    ratio: Option<f64>,
    captured_ms: Option<WirePercentiles>,
    current_ms: Option<WirePercentiles>,
    /// The times that a gate compares: measured in the same way in both runs.
    like_with_like: WireTimes,
}

/// Times that were measured in the same way in both runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComparedTimes")]
pub(super) struct WireTimes {
    /// `cpu`, or `wall` for a remote target; null if no row is compared.
    clock: Option<Clock>,
    /// Current over captured, the geometric mean over rows.
    ratio: Option<f64>,
    interval: Option<Interval>,
    rows_compared: usize,
    /// Number of rows that are not compared, by reason.
    rows_not_compared: BTreeMap<NotComparedReason, usize>,
}

impl WireTimes {
    pub(super) fn new(timing: &TimingSummary) -> Self {
        let TimingSummary { ratio, not_compared } = timing;
        Self {
            clock: ratio.map(|TimeRatio { clock, .. }| clock),
            ratio: ratio.map(|found| found.ratio),
            interval: ratio.and_then(|found| found.interval),
            rows_compared: ratio.map_or(0, |found| found.n),
            rows_not_compared: not_compared.iter().map(|(why, rows)| (*why, rows.len())).collect(),
        }
    }
}

/// Latency percentiles in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Percentiles")]
pub(super) struct WirePercentiles {
    p50: f64,
    p95: f64,
    p99: f64,
}

/// The health of the three main metrics.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayHealth")]
struct WireHealth {
    mean_jaccard: MetricHealth,
    top1_stability_rate: MetricHealth,
    latency: MetricHealth,
}

/// A row whose retrieval failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayError")]
struct WireError<'a> {
    id: Option<i64>,
    line: usize,
    query: &'a str,
    error_message: &'a str,
}

/// One row of the replay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayedRow")]
pub(super) struct WireRow<'a> {
    id: Option<i64>,
    line: usize,
    tool_name: Operation,
    query: &'a str,
    query_hash: &'a str,
    weight: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skip_reason: Option<SkipReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errored: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(flatten)]
    compared: Option<WireCompared<'a>>,
    #[serde(flatten)]
    latency: Option<WireRowLatency>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WireCompared<'a> {
    jaccard: f64,
    #[serde(rename = "top1Match")]
    top1_match: Option<bool>,
    rbo: f64,
    kendall_tau: Option<f64>,
    captured_slugs: &'a [String],
    current_slugs: &'a [String],
    caveats: &'a [Caveat],
    changed: FactorDifferences,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<Blame>,
    #[serde(skip_serializing_if = "<[LostPage]>::is_empty")]
    lost: &'a [LostPage],
}

#[derive(Debug, Serialize, JsonSchema)]
struct WireRowLatency {
    captured_latency_ms: Option<f64>,
    current_latency_ms: f64,
    latency_delta_ms: Option<f64>,
    /// Ratio of current to captured time, measured in the same way in both runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_not_compared: Option<NotComparedReason>,
}

/// Whether rows contain latencies. The rows of a gate do not, so that they are reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Latencies {
    Shown,
    Left,
}

impl<'a> ReplayReport<'a> {
    /// The report of a replay with its `worst` worst rows and, if verbose, all rows.
    pub fn new(
        rows: &'a [ReplayedRow],
        summary: &ReplaySummary,
        worst: usize,
        is_verbose: bool,
    ) -> Self {
        let has_blame = rows.iter().filter_map(ReplayedRow::compared).any(|c| c.blame.is_some());
        let ReplayHealth { jaccard, top1, latency } = healths(summary);
        Self {
            schema_version: REPLAY_VERSION,
            summary: WireSummary::new(summary),
            health: WireHealth { mean_jaccard: jaccard, top1_stability_rate: top1, latency },
            diagnosis: diagnose(rows, summary),
            changed: changed(rows),
            blame: has_blame.then(|| blame_counts(rows)),
            errors: rows.iter().filter_map(WireError::new).collect(),
            top_regressions: worst_rows(rows, worst)
                .into_iter()
                .map(|row| WireRow::new(row, Latencies::Shown))
                .collect(),
            results: is_verbose
                .then(|| rows.iter().map(|row| WireRow::new(row, Latencies::Shown)).collect()),
            warnings: Vec::new(),
        }
    }

    /// Adds a warning if the integrity of the replayed baseline could not be checked.
    #[must_use]
    pub fn of_baseline(self, integrity: Option<BaselineIntegrity>) -> Self {
        let warning = integrity.and_then(BaselineIntegrity::warning).map(str::to_owned);
        Self { warnings: warning.into_iter().collect(), ..self }
    }
}

fn blame_counts(rows: &[ReplayedRow]) -> serde_json::Map<String, serde_json::Value> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for blame in rows.iter().filter_map(|row| row.compared()?.blame) {
        *counts.entry(blame.name()).or_default() += 1;
    }
    counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

impl WireSummary {
    pub(super) fn new(summary: &ReplaySummary) -> Self {
        let ReplaySummary {
            total,
            replayed,
            skipped,
            not_comparable,
            errored,
            both_empty,
            confounded,
            moved,
            measured,
            mean_jaccard,
            jaccard_interval,
            weighted_jaccard,
            top1_rate,
            top1_interval,
            weighted_top1,
            mean_rbo,
            mean_kendall,
            weight,
            latency,
            timing,
        } = summary;
        let LatencySummary { compared, mean_delta_ms, ratio, over_twice, captured_ms, current_ms } =
            latency;
        Self {
            rows_total: *total,
            rows_replayed: *replayed,
            rows_skipped: *skipped,
            rows_errored: *errored,
            rows_not_comparable: *not_comparable,
            mean_jaccard: *mean_jaccard,
            top1_stability_rate: *top1_rate,
            mean_latency_delta_ms: *mean_delta_ms,
            rows_over_2x_latency: *over_twice,
            rows_measured: *measured,
            rows_both_empty: *both_empty,
            rows_confounded: *confounded,
            rows_moved: *moved,
            mean_jaccard_interval: *jaccard_interval,
            top1_stability_interval: *top1_interval,
            mean_rbo: *mean_rbo,
            mean_kendall_tau: *mean_kendall,
            weight: *weight,
            weighted_mean_jaccard: *weighted_jaccard,
            weighted_top1_stability_rate: *weighted_top1,
            latency: WireLatency {
                rows_compared: *compared,
                ratio: *ratio,
                captured_ms: captured_ms.map(WirePercentiles::new),
                current_ms: current_ms.map(WirePercentiles::new),
                like_with_like: WireTimes::new(timing),
            },
        }
    }
}

impl WirePercentiles {
    pub(super) fn new([p50, p95, p99]: [f64; 3]) -> Self {
        Self { p50, p95, p99 }
    }
}

impl<'a> WireError<'a> {
    fn new(row: &'a ReplayedRow) -> Option<Self> {
        match &row.outcome {
            RowOutcome::Errored(message) => {
                Some(Self { id: row.id, line: row.line, query: &row.query, error_message: message })
            }
            RowOutcome::Compared(_) | RowOutcome::Skipped(_) => None,
        }
    }
}

impl<'a> WireRow<'a> {
    pub(super) fn new(row: &'a ReplayedRow, latencies: Latencies) -> Self {
        let ReplayedRow { line, id, operation, query, query_hash, weight, outcome } = row;
        let mut wire = Self {
            id: *id,
            line: *line,
            tool_name: *operation,
            query,
            query_hash,
            weight: *weight,
            skipped: None,
            skip_reason: None,
            errored: None,
            error_message: None,
            compared: None,
            latency: None,
        };
        match outcome {
            RowOutcome::Skipped(skip) => {
                (wire.skipped, wire.skip_reason) = (Some(true), Some(*skip));
            }
            RowOutcome::Errored(message) => {
                (wire.errored, wire.error_message) = (Some(true), Some(message.as_str()));
            }
            RowOutcome::Compared(compared) => {
                wire.latency = (latencies == Latencies::Shown).then(|| WireRowLatency {
                    captured_latency_ms: compared.captured_ms,
                    current_latency_ms: compared.current_ms,
                    latency_delta_ms: compared.captured_ms.map(|ms| compared.current_ms - ms),
                    latency_ratio: compared.timing.ratio(),
                    latency_not_compared: compared.timing.not_compared(),
                });
                wire.compared = Some(WireCompared::new(compared));
            }
        }
        wire
    }
}

impl<'a> WireCompared<'a> {
    fn new(compared: &'a RowComparison) -> Self {
        let RowComparison {
            captured,
            current,
            jaccard,
            top1,
            rbo,
            kendall,
            captured_ms: _,
            current_ms: _,
            timing: _,
            caveats,
            differences,
            blame,
            lost,
        } = compared;
        Self {
            jaccard: *jaccard,
            top1_match: *top1,
            rbo: *rbo,
            kendall_tau: *kendall,
            captured_slugs: captured,
            current_slugs: current,
            caveats,
            changed: *differences,
            blame: *blame,
            lost,
        }
    }
}
