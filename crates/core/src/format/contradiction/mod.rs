//! A run of the contradiction probe on the wire: printed, stored, and read back by `trend` and
//! `review`.

mod made;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contradiction::date::DateRule;
use crate::contradiction::pair::{DateFrom, PairKind, Tier};
use crate::contradiction::report::{Reason, RunStatus, TierTally};
use crate::contradiction::verdict::{Contradicts, JudgeError, ResolutionKind, Severity};
use crate::gate::Verdict;
use crate::id::{PageKey, Slug, SourceId};
use crate::page::Page;
use crate::source::SourceTrust;

/// The version of [`ContradictionReport`].
pub(crate) const CONTRADICTION_VERSION: u32 = 1;

/// What `gbrain eval suspected-contradictions --json` prints and the store keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContradictionReport {
    /// The version of this form.
    pub schema_version: u32,
    /// Whether the run says something.
    pub run_status: RunStatus,
    /// What it says.
    pub verdict: Verdict,
    /// Why it does not say enough.
    pub inconclusive_reasons: Vec<Reason>,
    /// Its name.
    pub run_id: String,
    /// Who judged.
    pub judge_model: String,
    /// The version of the prompt.
    pub prompt_version: String,
    /// The hash of the prompt.
    pub prompt_sha: String,
    /// How long statements were cut.
    pub truncation_policy: String,
    /// Results per query.
    pub top_k: usize,
    /// How queries were chosen.
    pub sampling: String,
    /// Queries asked.
    pub queries_evaluated: usize,
    /// Fully judged queries with a contradiction.
    pub queries_with_contradiction: u64,
    /// Fully judged queries with any finding.
    pub queries_with_any_finding: usize,
    /// Findings of every verdict; a pair counts once.
    pub total_contradictions_flagged: usize,
    /// Judgements by verdict.
    pub verdict_breakdown: BTreeMap<Contradicts, usize>,
    /// The query rate.
    pub calibration: WireCalibration,
    /// The pair rate, raw and corrected, and what the judge is worth.
    pub pair_rate: WirePairRate,
    /// Judge calls without a judgement, by kind; planted pairs included.
    pub judge_errors: WireErrors,
    /// What it cost.
    pub cost_usd: WireCost,
    /// Judgements that were remembered.
    pub cache: WireCache,
    /// How long it took.
    pub duration_ms: u64,
    /// Pairs between tiers of sources.
    pub source_tier_breakdown: TierTally,
    /// What was found, the worst first; each pair once.
    pub findings: Vec<WireFinding>,
    /// Every query.
    pub per_query: Vec<WireQuery>,
    /// Pages with the most findings.
    pub hot_pages: Vec<WireHotPage>,
}

/// The query rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCalibration")]
pub struct WireCalibration {
    /// Queries whose pairs were all judged.
    pub queries_total: u64,
    /// Those without a contradiction.
    pub queries_judged_clean: u64,
    /// Those with one.
    pub queries_with_contradiction: u64,
    /// Queries that were asked and could not be judged whole.
    pub queries_not_judged: u64,
    /// The rate with its interval; none when no query was judged whole.
    pub wilson_ci_95: Option<WireRate>,
    /// A remark on rates of few queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_sample_note: Option<String>,
}

/// A rate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RateWithInterval")]
pub struct WireRate {
    /// The rate.
    pub point: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// Of how many.
    pub n: u64,
}

/// The pair rate and the judge's errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionPairRate")]
pub struct WirePairRate {
    /// Contradictions among judged pairs.
    pub raw: Option<WireRate>,
    /// Without the judge's errors.
    pub corrected: Option<WireCorrected>,
    /// Planted contradictions that the judge caught.
    pub sensitivity: Option<WireRate>,
    /// Planted consistent pairs that it left alone.
    pub specificity: Option<WireRate>,
    /// Sensitivity + specificity - 1.
    pub informedness: Option<WireInformedness>,
    /// What the planted pairs were chosen by.
    pub canary_seed: u64,
}

/// A corrected rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CorrectedPairRate")]
pub struct WireCorrected {
    /// The estimate, which may be below 0 or above 1: means over runs are right only without a clamp.
    pub estimate: f64,
    /// The estimate between 0 and 1.
    pub corrected_rate: f64,
    /// The 95 % interval.
    pub interval: [f64; 2],
}

/// What a judge is worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JudgeInformedness")]
pub struct WireInformedness {
    /// As measured.
    pub value: f64,
    /// The 95 % interval.
    pub interval: [f64; 2],
}

/// Failures by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JudgeErrorCounts")]
pub struct WireErrors {
    /// By kind.
    #[serde(flatten)]
    pub by_kind: BTreeMap<JudgeError, usize>,
    /// Together.
    pub total: usize,
    /// What they mean for the rates.
    pub note: String,
}

/// What a run cost, in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCost")]
pub struct WireCost {
    /// The judge.
    pub judge: f64,
    /// Embedding the queries.
    pub embedding: f64,
    /// Together.
    pub total: f64,
}

/// Remembered judgements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionCache")]
pub struct WireCache {
    /// Remembered.
    pub hits: u64,
    /// Asked for.
    pub misses: u64,
    /// The share of the remembered.
    pub hit_rate: Option<f64>,
}

/// A pair that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionFinding")]
pub struct WireFinding {
    /// What names the pair: the hash of what the judge saw.
    pub pair_id: String,
    /// Which statements they are.
    pub kind: PairKind,
    /// The one.
    pub a: WireMember,
    /// The other.
    pub b: WireMember,
    /// What both scored together.
    pub combined_score: f64,
    /// Why the pair was judged.
    pub date_rule: DateRule,
    /// Whether the judge saw only the beginning of a statement.
    pub is_truncated: bool,
    /// How they stand to each other.
    pub verdict: Contradicts,
    /// How much it matters.
    pub severity: Severity,
    /// What they disagree about.
    pub axis: String,
    /// How sure the judge is.
    pub confidence: f64,
    /// What could be done.
    pub resolution_kind: Option<ResolutionKind>,
    /// In one sentence.
    pub resolution_advice: Option<String>,
    /// What to paste into a shell.
    pub resolution_command: Option<String>,
}

/// A statement of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionMember")]
pub struct WireMember {
    /// The source of its page.
    pub source_id: String,
    /// The page in that source.
    pub slug: String,
    /// The passage.
    pub chunk_id: Option<String>,
    /// The take, from 1.
    pub take_row_num: Option<u32>,
    /// How much care its source is known for.
    pub source_tier: Tier,
    /// Whether its source is trusted.
    pub source_trust: SourceTrust,
    /// Who holds it.
    pub holder: Option<String>,
    /// What it says.
    pub text: String,
    /// When it held.
    pub effective_date: Option<String>,
    /// Who says so.
    pub effective_date_source: Option<DateFrom>,
}

/// A query of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionQuery")]
pub struct WireQuery {
    /// What was asked.
    pub query: String,
    /// How many results it had.
    pub result_count: usize,
    /// Its findings, by the ids of their pairs.
    pub contradictions: Vec<String>,
    /// Pairs that the date rule left out.
    pub pairs_skipped_by_date: usize,
    /// Pairs that were judged before.
    pub pairs_cache_hit: usize,
    /// Pairs that were judged now.
    pub pairs_judged: usize,
    /// Pairs that were to be judged and were not.
    pub pairs_unjudged: usize,
    /// Whether it counts in the rate.
    pub is_fully_judged: bool,
    /// Why the search failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A page with findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionHotPage")]
pub struct WireHotPage {
    /// The source of the page.
    pub source_id: String,
    /// The page in that source.
    pub slug: String,
    /// How many findings it is part of.
    pub appearances: usize,
    /// The worst of them.
    pub max_severity: Severity,
}

/// What `gbrain eval suspected-contradictions trend --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContradictionTrend {
    /// The version of this form.
    pub schema_version: u32,
    /// Of how many days.
    pub days: u32,
    /// The runs, the newest first.
    pub rows: Vec<ContradictionTrendRow>,
}

/// A run of the trend.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContradictionTrendRow {
    /// When it ran.
    pub ran_at: String,
    /// What it said.
    pub report_json: ContradictionReport,
}

/// The findings of the last run that still stand and that the reader may see.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundContradictions {
    /// The run; none if there was none lately.
    pub run_id: Option<String>,
    /// When it ran.
    pub ran_at: Option<String>,
    /// Who judged.
    pub judge_model: Option<String>,
    /// Whether the run says something.
    pub run_status: Option<RunStatus>,
    /// The findings that were asked for, the gravest first.
    pub contradictions: Vec<WireFinding>,
    /// How many there are of them, listed or not.
    pub total: usize,
    /// What to make of an answer that is not the whole picture.
    pub note: Option<String>,
}

impl ContradictionTrend {
    /// The runs of some days, each with when it ran.
    pub fn new(days: u32, runs: Vec<(String, ContradictionReport)>) -> Self {
        let row = |(ran_at, report_json)| ContradictionTrendRow { ran_at, report_json };
        Self {
            schema_version: CONTRADICTION_VERSION,
            days,
            rows: runs.into_iter().map(row).collect(),
        }
    }
}

impl WireMember {
    /// The page's whole name; none if it is no name.
    pub fn key(&self) -> Option<PageKey> {
        let source = SourceId::new(&self.source_id).ok()?;
        Some(PageKey::new(source, Slug::new(&self.slug).ok()?))
    }

    /// Whether a page still makes this statement, word for word.
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
