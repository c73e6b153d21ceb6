//! JSON output of a gate: the keys of the specification and additional ones.
//!
//! The same inputs give the same bytes, except for the object `timing`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::baseline::{BaselineIntegrity, BaselineThresholds};
use crate::gate::{
    Breach, CheckStatus, ConfidenceLevel, Correctness, CorrectnessParts, CorrectnessThresholds,
    GateCheck, GateParts, JudgedResult, QueryResult, Regression, RegressionParts, Verdict,
};
use crate::provenance::RankingFactor;
use crate::replay::{LatencySummary, ReplaySummary, ReplayedRow};
use crate::report::tally::{FactorCounts, changed};

use super::replay::{Latencies, WirePercentiles, WireRow, WireTimes};

/// The version of [`GateReport`].
pub(crate) const GATE_VERSION: u32 = 1;

/// The output of `gbrain eval gate --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GateReport<'a> {
    schema_version: u32,
    verdict: Verdict,
    confidence: Option<f64>,
    provenance: Option<BTreeMap<&'static str, String>>,
    regression_gate: WireRegression<'a>,
    correctness_gate: WireCorrectness<'a>,
    timing: WireTiming<'a>,
}

/// The regression gate: whether rankings are unchanged.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "RegressionGate")]
struct WireRegression<'a> {
    ran: bool,
    #[serde(flatten)]
    result: Option<WireRegressionResult<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WireRegressionResult<'a> {
    verdict: Verdict,
    baseline_path: &'a str,
    baseline: WireBaseline<'a>,
    summary: WireRegressionSummary,
    thresholds: BaselineThresholds,
    latency_skipped: bool,
    checks: &'a [GateCheck],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breaches: Vec<WireBreach<'a>>,
    warnings: &'a [String],
    changed: BTreeMap<RankingFactor, FactorCounts>,
    results: Vec<WireRow<'a>>,
}

/// The baseline that was gated on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GatedBaseline")]
struct WireBaseline<'a> {
    label: &'a str,
    published_at: &'a str,
    source_hash: &'a str,
    rows_hash: Option<&'a str>,
    tamper_evident: bool,
    integrity: BaselineIntegrity,
    row_count: usize,
}

/// The measurements of the regression gate, over all rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RegressionSummary")]
struct WireRegressionSummary {
    rows_total: usize,
    rows_replayed: usize,
    rows_skipped: usize,
    rows_errored: usize,
    rows_not_comparable: usize,
    rows_measured: usize,
    rows_both_empty: usize,
    rows_confounded: usize,
    rows_moved: usize,
    mean_jaccard: Option<f64>,
    top1_stability_rate: Option<f64>,
    mean_rbo: Option<f64>,
    mean_kendall_tau: Option<f64>,
    weighted_mean_jaccard: Option<f64>,
    weighted_top1_stability_rate: Option<f64>,
}

/// The correctness gate: whether rankings match the judgements.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "CorrectnessGate")]
struct WireCorrectness<'a> {
    ran: bool,
    #[serde(flatten)]
    result: Option<WireCorrectnessResult<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WireCorrectnessResult<'a> {
    verdict: Verdict,
    qrels_path: &'a str,
    pipeline: &'static str,
    summary: WireCorrectnessSummary,
    thresholds: CorrectnessThresholds,
    checks: &'a [GateCheck],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breaches: Vec<WireBreach<'a>>,
    warnings: &'a [String],
    results: Vec<WireQuery<'a>>,
}

/// The measurements of the correctness gate, over all queries.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CorrectnessSummary")]
struct WireCorrectnessSummary {
    k: usize,
    queries_total: usize,
    queries_run: usize,
    queries_errored: usize,
    mean_recall_at_k: Option<f64>,
    first_relevant_hit_rate: Option<f64>,
    expected_top1_hit_rate: Option<f64>,
    expected_top1_denominator: usize,
}

/// Why a gate did not pass.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Breach")]
struct WireBreach<'a> {
    metric: &'static str,
    observed: Option<f64>,
    threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_tail: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    examples: &'a [String],
}

/// The result of one judged query.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GatedQuery")]
struct WireQuery<'a> {
    query_id: &'a str,
    query: &'a str,
    relevant: &'a [String],
    expected_top1: Option<&'a str>,
    retrieved: &'a [String],
    missing: Vec<&'a str>,
    recall_at_k: Option<f64>,
    first_relevant_hit: Option<bool>,
    expected_top1_hit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

/// All values that differ between two runs of the same gate.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GateTiming")]
struct WireTiming<'a> {
    elapsed_ms: f64,
    latency: Option<&'a GateCheck>,
    rows_compared: Option<usize>,
    mean_latency_delta_ms: Option<f64>,
    rows_over_2x_latency: Option<usize>,
    captured_ms: Option<WirePercentiles>,
    current_ms: Option<WirePercentiles>,
    /// The times that decide `latency`: measured in the same way in both runs.
    like_with_like: Option<WireTimes>,
    /// The latencies of the compared rows, in the order of the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<WireRowTime>,
}

/// The latencies of one row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GatedRowTime")]
struct WireRowTime {
    line: usize,
    captured_latency_ms: Option<f64>,
    current_latency_ms: f64,
}

impl<'a> GateReport<'a> {
    pub fn new(parts: &'a GateParts<'a>) -> Self {
        let regression = parts.regression.as_ref().map(WireRegressionResult::new);
        let correctness = parts.correctness.as_ref().map(WireCorrectnessResult::new);
        Self {
            schema_version: GATE_VERSION,
            verdict: parts.verdict,
            confidence: parts.confidence.map(ConfidenceLevel::value),
            provenance: parts
                .provenance
                .map(|provenance| provenance.summary().into_iter().collect()),
            regression_gate: WireRegression { ran: regression.is_some(), result: regression },
            correctness_gate: WireCorrectness { ran: correctness.is_some(), result: correctness },
            timing: WireTiming::new(parts),
        }
    }
}

impl<'a> WireRegressionResult<'a> {
    fn new(parts: &'a RegressionParts<'a>) -> Self {
        let RegressionParts { path, metadata, integrity, thresholds, found, rows } = parts;
        let Regression { verdict, checks, latency, breaches, warnings, summary } = found;
        Self {
            verdict: *verdict,
            baseline_path: path,
            baseline: WireBaseline {
                label: &metadata.label,
                published_at: &metadata.published_at,
                source_hash: &metadata.source_hash,
                rows_hash: metadata.rows_hash.as_deref(),
                tamper_evident: *integrity != BaselineIntegrity::NotTamperEvident,
                integrity: *integrity,
                row_count: metadata.row_count,
            },
            summary: WireRegressionSummary::new(summary),
            thresholds: *thresholds,
            latency_skipped: latency.status == CheckStatus::NotCompared,
            checks,
            breaches: breaches.iter().map(WireBreach::new).collect(),
            warnings,
            changed: changed(rows),
            results: rows.iter().map(|row| WireRow::new(row, Latencies::Left)).collect(),
        }
    }
}

impl WireRegressionSummary {
    fn new(summary: &ReplaySummary) -> Self {
        Self {
            rows_total: summary.total,
            rows_replayed: summary.replayed,
            rows_skipped: summary.skipped,
            rows_errored: summary.errored,
            rows_not_comparable: summary.not_comparable,
            rows_measured: summary.measured,
            rows_both_empty: summary.both_empty,
            rows_confounded: summary.confounded,
            rows_moved: summary.moved,
            mean_jaccard: summary.mean_jaccard,
            top1_stability_rate: summary.top1_rate,
            mean_rbo: summary.mean_rbo,
            mean_kendall_tau: summary.mean_kendall,
            weighted_mean_jaccard: summary.weighted_jaccard,
            weighted_top1_stability_rate: summary.weighted_top1,
        }
    }
}

impl<'a> WireCorrectnessResult<'a> {
    fn new(parts: &'a CorrectnessParts<'a>) -> Self {
        let CorrectnessParts { path, thresholds, pipeline, found } = parts;
        let Correctness { verdict, k, checks, breaches, warnings, queries } = found;
        let observed = |metric: &str| {
            checks.iter().find(|check| check.metric == metric).and_then(|check| check.observed)
        };
        let errored =
            queries.iter().filter(|q| matches!(q.result, QueryResult::Errored(_))).count();
        Self {
            verdict: *verdict,
            qrels_path: path,
            pipeline,
            summary: WireCorrectnessSummary {
                k: *k,
                queries_total: queries.len(),
                queries_run: queries.len() - errored,
                queries_errored: errored,
                mean_recall_at_k: observed("mean_recall_at_k"),
                first_relevant_hit_rate: observed("first_relevant_hit_rate"),
                expected_top1_hit_rate: observed("expected_top1_hit_rate"),
                expected_top1_denominator: queries
                    .iter()
                    .filter(|judged| judged.expected_top1_hit.is_some())
                    .count(),
            },
            thresholds: *thresholds,
            checks,
            breaches: breaches.iter().map(WireBreach::new).collect(),
            warnings,
            results: queries.iter().map(WireQuery::new).collect(),
        }
    }
}

impl<'a> WireBreach<'a> {
    fn new(breach: &'a Breach) -> Self {
        let Breach { metric, observed, threshold, reason, examples } = breach;
        Self {
            metric,
            // Latency varies between runs, so its value is in `timing`.
            observed: observed.filter(|_| *metric != "latency_ratio"),
            threshold: *threshold,
            reason: *reason,
            error_tail: examples.first().cloned().filter(|_| reason.is_some()),
            examples,
        }
    }
}

impl<'a> WireQuery<'a> {
    fn new(judged: &'a JudgedResult) -> Self {
        let JudgedResult {
            query,
            relevant,
            result,
            recall_at_k,
            first_relevant_hit,
            expected_top1_hit,
        } = judged;
        let (retrieved, error_message): (&[String], _) = match result {
            QueryResult::Ranked(pages) => (pages, None),
            QueryResult::Errored(message) => (&[], Some(message.as_str())),
        };
        Self {
            query_id: &query.id,
            query: query.text.as_deref().unwrap_or_default(),
            relevant,
            expected_top1: query.expected_top1.as_deref(),
            retrieved,
            missing: judged.missing(),
            recall_at_k: *recall_at_k,
            first_relevant_hit: *first_relevant_hit,
            expected_top1_hit: *expected_top1_hit,
            error_message,
        }
    }
}

impl<'a> WireTiming<'a> {
    fn new(parts: &'a GateParts<'a>) -> Self {
        let found = parts.regression.as_ref().map(|regression| regression.found);
        let latency: Option<&LatencySummary> = found.map(|found| &found.summary.latency);
        let rows = parts.regression.as_ref().map_or(&[][..], |regression| regression.rows);
        Self {
            elapsed_ms: parts.elapsed_ms,
            latency: found.map(|found| &found.latency),
            rows_compared: latency.map(|latency| latency.compared),
            mean_latency_delta_ms: latency.and_then(|latency| latency.mean_delta_ms),
            rows_over_2x_latency: latency.map(|latency| latency.over_twice),
            captured_ms: latency.and_then(|l| l.captured_ms).map(WirePercentiles::new),
            current_ms: latency.and_then(|l| l.current_ms).map(WirePercentiles::new),
            like_with_like: found.map(|found| WireTimes::new(&found.summary.timing)),
            rows: rows.iter().filter_map(WireRowTime::new).collect(),
        }
    }
}

impl WireRowTime {
    fn new(row: &ReplayedRow) -> Option<Self> {
        let compared = row.compared()?;
        Some(Self {
            line: row.line,
            captured_latency_ms: compared.captured_ms,
            current_latency_ms: compared.current_ms,
        })
    }
}
