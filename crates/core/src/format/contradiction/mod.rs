//! A run of the contradiction probe on the wire: printed, stored, and read back by `trend` and
//! `review`.

mod made;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contradiction::date::DateRule;
use crate::contradiction::pair::{CurationTier, PairKind, StatementDateOrigin};
use crate::contradiction::report::{CurationTierCounts, RunStatus, RunStatusReason};
use crate::contradiction::verdict::{JudgeError, ResolutionKind, Severity, StatementRelation};
use crate::gate::Verdict;
use crate::id::{PageKey, Slug, SourceId};
use crate::page::Page;
use crate::source::SourceTrust;

/// The version of [`ContradictionReport`].
pub(crate) const CONTRADICTION_VERSION: u32 = 1;

/// A run of the contradiction probe: printed by `gbrain eval suspected-contradictions --json` and
/// stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContradictionReport {
    /// Version of this format.
    pub schema_version: u32,
    /// Whether the run is conclusive.
    pub run_status: RunStatus,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Reasons why the run is inconclusive.
    pub inconclusive_reasons: Vec<RunStatusReason>,
    /// Id of the run.
    pub run_id: String,
    /// Model that judged the pairs.
    pub judge_model: String,
    /// Version of the prompt.
    pub prompt_version: String,
    /// Hash of the prompt.
    pub prompt_sha: String,
    /// How long statements were truncated.
    pub truncation_policy: String,
    /// Number of results per query.
    pub top_k: usize,
    /// How queries were sampled.
    pub sampling: String,
    /// Number of queries run.
    pub queries_evaluated: usize,
    /// Fully judged queries with a contradiction.
    pub queries_with_contradiction: u64,
    /// Fully judged queries with any finding.
    pub queries_with_any_finding: usize,
    /// Findings of all verdicts; a pair counts once.
    pub total_contradictions_flagged: usize,
    /// Number of judgements by verdict.
    pub verdict_breakdown: BTreeMap<StatementRelation, usize>,
    /// Rate of queries with a contradiction.
    pub calibration: WireCalibration,
    /// Rate of contradicting pairs, raw and corrected, with the judge's accuracy.
    pub pair_rate: WirePairRate,
    /// Judge calls without a judgement by kind, including calls for planted pairs.
    pub judge_errors: WireErrors,
    /// Cost in US dollars.
    pub cost_usd: WireCost,
    /// Use of the judgement cache.
    pub cache: WireCache,
    /// Duration of the run in milliseconds.
    pub duration_ms: u64,
    /// Number of pairs by source tiers.
    pub source_tier_breakdown: CurationTierCounts,
    /// Findings, most severe first; each pair once.
    pub findings: Vec<WireFinding>,
    /// One entry per query.
    pub per_query: Vec<WireQuery>,
    /// Pages with the most findings.
    pub hot_pages: Vec<WireHotPage>,
}

/// Rate of queries with a contradiction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCalibration")]
pub struct WireCalibration {
    /// Queries whose pairs were all judged.
    pub queries_total: u64,
    /// Judged queries without a contradiction.
    pub queries_judged_clean: u64,
    /// Judged queries with a contradiction.
    pub queries_with_contradiction: u64,
    /// Queries with pairs that could not be judged.
    pub queries_not_judged: u64,
    /// The rate with its interval; null if no query was fully judged.
    pub wilson_ci_95: Option<WireRate>,
    /// Warning about a small sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_sample_note: Option<String>,
}

/// A rate with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RateWithInterval")]
pub struct WireRate {
    /// Point estimate of the rate.
    pub point: f64,
    /// Lower bound of the interval.
    pub lower: f64,
    /// Upper bound of the interval.
    pub upper: f64,
    /// Size of the sample.
    pub n: u64,
}

/// Rate of contradicting pairs, and the accuracy of the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionPairRate")]
pub struct WirePairRate {
    /// Share of contradictions among the judged pairs.
    pub raw: Option<WireRate>,
    /// The rate corrected for the judge's errors.
    pub corrected: Option<WireCorrected>,
    /// Share of planted contradictions that the judge detected.
    pub sensitivity: Option<WireRate>,
    /// Share of planted consistent pairs that the judge did not flag.
    pub specificity: Option<WireRate>,
    /// Sensitivity + specificity - 1.
    pub informedness: Option<WireInformedness>,
    /// Random seed of the planted pairs.
    pub canary_seed: u64,
}

/// A rate corrected for the judge's errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CorrectedPairRate")]
pub struct WireCorrected {
    /// The unclamped estimate, which may be below 0 or above 1: averages over runs are unbiased only
    /// without clamping.
    pub estimate: f64,
    /// The estimate clamped to 0..1.
    pub corrected_rate: f64,
    /// The 95% confidence interval.
    pub interval: [f64; 2],
}

/// Informedness of a judge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JudgeInformedness")]
pub struct WireInformedness {
    /// Sensitivity + specificity - 1.
    pub value: f64,
    /// The 95% confidence interval.
    pub interval: [f64; 2],
}

/// Failed judge calls by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JudgeErrorCounts")]
pub struct WireErrors {
    /// Number of failed calls by kind.
    #[serde(flatten)]
    pub by_kind: BTreeMap<JudgeError, usize>,
    /// Number of failed calls.
    pub total: usize,
    /// Effect on the rates.
    pub note: String,
}

/// Cost of a run in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCost")]
pub struct WireCost {
    /// Cost of the judge calls.
    pub judge: f64,
    /// Cost of embedding the queries.
    pub embedding: f64,
    /// Sum of judge and embedding cost.
    pub total: f64,
}

/// Use of the judgement cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCache")]
pub struct WireCache {
    /// Judgements from the cache.
    pub hits: u64,
    /// Judgements from the judge.
    pub misses: u64,
    /// Share of judgements from the cache.
    pub hit_rate: Option<f64>,
}

/// A pair of statements that was flagged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionFinding")]
pub struct WireFinding {
    /// Id of the pair: the hash of the judge's input.
    pub pair_id: String,
    /// Kinds of the two statements.
    pub kind: PairKind,
    /// The first of the two statements.
    pub a: WireStatement,
    /// The second of the two statements.
    pub b: WireStatement,
    /// Sum of the retrieval scores of both statements.
    pub combined_score: f64,
    /// Date rule that selected the pair.
    pub date_rule: DateRule,
    /// Whether the judge's input was truncated.
    pub is_truncated: bool,
    /// Relation of the two statements.
    pub verdict: StatementRelation,
    /// Severity of the contradiction.
    pub severity: Severity,
    /// The subject of the disagreement.
    pub axis: String,
    /// Confidence of the judge.
    pub confidence: f64,
    /// Kind of the proposed resolution.
    pub resolution_kind: Option<ResolutionKind>,
    /// The proposed resolution in one sentence.
    pub resolution_advice: Option<String>,
    /// Shell command that starts the resolution.
    pub resolution_command: Option<String>,
}

/// A statement of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionMember")]
pub struct WireStatement {
    /// Source of the page.
    pub source_id: String,
    /// Slug of the page.
    pub slug: String,
    /// Id of the passage; null for a take.
    pub chunk_id: Option<String>,
    /// Number of the take, from 1; null for a passage.
    pub take_row_num: Option<u32>,
    /// Curation tier of the source.
    pub source_tier: CurationTier,
    /// Whether the source is trusted.
    pub source_trust: SourceTrust,
    /// Person or team that holds the claim.
    pub holder: Option<String>,
    /// Text of the statement.
    pub text: String,
    /// Date from which it holds.
    pub effective_date: Option<String>,
    /// Origin of the date.
    pub effective_date_source: Option<StatementDateOrigin>,
}

/// A query of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionQuery")]
pub struct WireQuery {
    /// Text of the query.
    pub query: String,
    /// Number of results of the query.
    pub result_count: usize,
    /// Pair ids of its findings.
    pub contradictions: Vec<String>,
    /// Pairs excluded by the date rule.
    pub pairs_skipped_by_date: usize,
    /// Pairs judged in an earlier run.
    pub pairs_cache_hit: usize,
    /// Pairs judged in this run.
    pub pairs_judged: usize,
    /// Pairs that could not be judged.
    pub pairs_unjudged: usize,
    /// Whether all pairs were judged; only such queries count in the rate.
    pub is_fully_judged: bool,
    /// Why the search failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A page with findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionHotPage")]
pub struct WireHotPage {
    /// Source of the page.
    pub source_id: String,
    /// Slug of the page.
    pub slug: String,
    /// Number of findings that include the page.
    pub appearances: usize,
    /// Highest severity among them.
    pub max_severity: Severity,
}

/// Output of `gbrain eval suspected-contradictions trend --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContradictionTrend {
    /// Version of this format.
    pub schema_version: u32,
    /// Number of days covered.
    pub days: u32,
    /// The runs, newest first.
    pub rows: Vec<ContradictionTrendRow>,
}

/// A run in the trend.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContradictionTrendRow {
    /// Time of the run.
    pub ran_at: String,
    /// Report of the run.
    pub report_json: ContradictionReport,
}

/// Findings of the latest run that still apply and that the caller may see.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundContradictions {
    /// Id of the run; null without a recent run.
    pub run_id: Option<String>,
    /// Time of the run.
    pub ran_at: Option<String>,
    /// Model that judged the pairs.
    pub judge_model: Option<String>,
    /// Whether the run is conclusive.
    pub run_status: Option<RunStatus>,
    /// The requested findings, most severe first.
    pub contradictions: Vec<WireFinding>,
    /// Number of findings, including those not listed.
    pub total: usize,
    /// Explains an incomplete answer.
    pub note: Option<String>,
}

impl ContradictionTrend {
    /// The trend of runs, each with its time.
    pub fn new(days: u32, runs: Vec<(String, ContradictionReport)>) -> Self {
        let row = |(ran_at, report_json)| ContradictionTrendRow { ran_at, report_json };
        Self {
            schema_version: CONTRADICTION_VERSION,
            days,
            rows: runs.into_iter().map(row).collect(),
        }
    }
}

impl WireStatement {
    /// The key of the page; none if the names are invalid.
    pub fn key(&self) -> Option<PageKey> {
        let source = SourceId::new(&self.source_id).ok()?;
        Some(PageKey::new(source, Slug::new(&self.slug).ok()?))
    }

    /// Whether a page still contains this statement verbatim.
    pub fn stands_in(&self, page: &Page) -> bool {
        match (&self.chunk_id, self.take_row_num) {
            (Some(id), _) => page.chunks.iter().any(|chunk| chunk.id(&page.key) == *id),
            (None, Some(row)) => {
                let take = row.checked_sub(1).and_then(|at| page.takes.get(at as usize));
                take.is_some_and(|take| take.active && take.claim == self.text)
            }
            (None, None) => false,
        }
    }
}
