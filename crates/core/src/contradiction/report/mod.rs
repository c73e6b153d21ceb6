//! Aggregates a run into a report.
//!
//! Only fully judged queries count in the query rate: a query that the budget did not cover is not
//! a query without contradictions. Pairs are counted once, however many queries surface them. A run
//! without any judgement means that the judge failed, and a judge hardly better than guessing makes
//! a run inconclusive: neither is ever reported as "0 contradictions".

mod tally;
#[cfg(test)]
pub(crate) mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Verdict;
use crate::id::PageKey;
use crate::money::Usd;
use crate::named;

use super::canary::{Canary, counts};
use super::docket::{JudgingOutcome, PairSet};
use super::rate::{CanaryCounts, CorrectedRate, HitCount, Informedness, SMALL_SAMPLE};
use super::resolution::ResolutionSuggestion;
use super::verdict::{JudgeError, Judgement, Severity, StatementRelation};

use tally::{
    errors, findings, hot_pages, pair_rates, query_rate, reasons, status, tallies, tiers, verdicts,
};

named! {
    /// The status of a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RunStatus {
        Ok = "ok",
        /// Inconclusive for the listed reasons.
        Inconclusive = "inconclusive",
        /// The judge was called and gave no judgement at all.
        JudgeFailed = "judge_failed",
    }
}

named! {
    /// Why a run is not `ok`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RunStatusReason {
        /// The run has no queries.
        NoQueries = "no_queries",
        /// The run has no pairs to judge.
        NoPairs = "no_pairs",
        SearchFailed = "search_failed",
        /// A pair was not judged because the judge failed.
        JudgeErrors = "judge_errors",
        /// A pair was not judged because the budget was exhausted.
        OverBudget = "over_budget",
        /// The cassette was recorded with another prompt, or lacks a pair.
        StaleCassette = "stale_cassette",
        /// No API key is configured for the judge.
        NoKey = "no_key",
        /// A pair was not judged because the run was stopped.
        NotAsked = "not_asked",
        /// No planted pair of one kind was judged, so the judge's quality is unknown.
        NoCanaries = "no_canaries",
        /// The judge is not measurably better than guessing.
        WeakJudge = "weak_judge",
        /// The judge catches too few planted contradictions for "no contradictions" to count.
        LowSensitivity = "low_sensitivity",
    }
}

/// The configuration and cost of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInfo {
    pub run_id: String,
    /// `provider:model`, or the name of the offline judge.
    pub judge_model: String,
    pub prompt_version: String,
    pub prompt_hash: String,
    /// The maximum length of statements in prompts.
    pub truncation_policy: String,
    pub top_k: usize,
    /// How queries were selected, in words.
    pub sampling: String,
    /// The seed of the planted pairs.
    pub canary_seed: u64,
    pub judge_cost: Usd,
    pub embedding_cost: Usd,
    pub duration_ms: u64,
}

/// A pair that is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct ContradictionFinding {
    /// Index of the pair in the docket.
    pub place: usize,
    pub judgement: Judgement,
    pub resolution: Option<ResolutionSuggestion>,
}

/// Counts of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTally {
    pub query: String,
    pub results: usize,
    /// Indexes into the findings of the report.
    pub findings: Vec<usize>,
    /// Pairs that the date rule excluded.
    pub skipped_by_date: usize,
    /// Pairs with a cached judgement.
    pub cached: usize,
    /// Pairs judged in this run.
    pub judged: usize,
    /// Pairs that should have been judged but were not.
    pub unjudged: usize,
    /// The error, if the search failed.
    pub error: Option<String>,
}

/// A page with findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageWithFindings {
    pub key: PageKey,
    /// Number of findings that involve the page.
    pub appearances: usize,
    /// The highest severity of its findings.
    pub max_severity: Severity,
}

/// Number of pairs by the tiers of their sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionTiers")]
pub struct CurationTierCounts {
    /// Pairs of two curated sources.
    pub curated_vs_curated: usize,
    /// Pairs of a curated and a bulk source.
    pub curated_vs_bulk: usize,
    /// Pairs of two bulk sources.
    pub bulk_vs_bulk: usize,
    pub other: usize,
}

/// The aggregated results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub info: RunInfo,
    pub status: RunStatus,
    pub reasons: Vec<RunStatusReason>,
    /// Findings, most severe first.
    pub findings: Vec<ContradictionFinding>,
    pub queries: Vec<QueryTally>,
    /// Judgements by verdict, in the order of [`StatementRelation::ALL`].
    pub verdicts: Vec<(StatementRelation, usize)>,
    /// Failures by kind, planted pairs included, in the order of [`JudgeError::ALL`].
    pub errors: Vec<(JudgeError, usize)>,
    /// Fully judged queries, and those of them with a contradiction.
    pub query_rate: HitCount,
    /// Judged pairs, and those of them that are contradictions.
    pub pair_rate: HitCount,
    /// The judge's results on the planted pairs.
    pub canaries: CanaryCounts,
    pub informedness: Option<Informedness>,
    /// The pair rate corrected for the judge's errors.
    pub corrected: Option<CorrectedRate>,
    /// Cached judgements among all judgements; planted pairs are not included.
    pub cache: HitCount,
    /// All pairs by tiers, judged or not.
    pub tiers: CurationTierCounts,
    /// Pages with findings, most findings first.
    pub hot_pages: Vec<PageWithFindings>,
}

impl Report {
    /// Aggregates a run. `outcomes` are in the order of the docket's pairs; a missing outcome means
    /// that the judge was not called.
    pub fn new(
        info: RunInfo,
        docket: &PairSet,
        outcomes: &[JudgingOutcome],
        planted: &[(Canary, JudgingOutcome)],
    ) -> Self {
        let pairs = docket.pairs();
        let findings = findings(pairs, outcomes);
        let canaries = counts(planted.iter().map(|(canary, outcome)| (canary, outcome)));
        let queries: Vec<_> = tallies(docket, outcomes, &findings);
        let query_rate = query_rate(&queries, &findings);
        let (pair_rate, cache) = pair_rates(outcomes);
        let planted_outcomes = planted.iter().map(|(_, outcome)| outcome);
        let mut report = Self {
            info,
            status: RunStatus::Ok,
            reasons: Vec::new(),
            verdicts: verdicts(outcomes),
            errors: errors(outcomes.iter().chain(planted_outcomes)),
            query_rate,
            pair_rate,
            canaries,
            informedness: canaries.informedness(),
            corrected: canaries.correct(pair_rate),
            cache,
            tiers: tiers(pairs),
            hot_pages: hot_pages(pairs, &findings),
            findings,
            queries,
        };
        report.reasons = reasons(&report, docket, outcomes);
        report.status = status(&report);
        report
    }

    /// The verdict of the run. Contradictions found by an adequate judge are a failure; unknown
    /// results never pass.
    pub fn verdict(&self) -> Verdict {
        let is_judge_unreliable = self.reasons.iter().any(|reason| {
            matches!(reason, RunStatusReason::NoCanaries | RunStatusReason::WeakJudge)
        });
        match self.status {
            RunStatus::JudgeFailed => Verdict::Inconclusive,
            _ if is_judge_unreliable => Verdict::Inconclusive,
            _ if self.pair_rate.hits > 0 => Verdict::Fail,
            RunStatus::Inconclusive => Verdict::Inconclusive,
            RunStatus::Ok => Verdict::Pass,
        }
    }

    /// Fully judged queries with any finding.
    pub fn queries_with_any_finding(&self) -> usize {
        self.queries.iter().filter(|query| query.is_whole() && !query.findings.is_empty()).count()
    }

    /// A warning about rates over few queries.
    pub fn small_sample_note(&self) -> Option<String> {
        let n = self.query_rate.n;
        let is_small = n < SMALL_SAMPLE;
        is_small.then(|| format!("n = {n} is below {SMALL_SAMPLE}: the rate is unreliable"))
    }
}

impl QueryTally {
    /// Whether all pairs were judged.
    pub fn is_whole(&self) -> bool {
        self.unjudged == 0 && self.error.is_none()
    }
}
