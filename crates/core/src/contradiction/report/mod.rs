//! A run, added up.
//!
//! Only queries whose pairs were all judged count in the query rate: a query that the money did not
//! reach is not a query without contradictions. Pairs are counted once, whatever the number of queries
//! that surfaced them. A run without a single judgement is a failure of the judge, and one whose judge
//! is hardly better than guessing says nothing: neither is ever "0 contradictions".

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
use super::docket::{Docket, Outcome};
use super::rate::{CanaryCounts, CorrectedRate, Counted, Informedness, SMALL_SAMPLE};
use super::resolution::Resolution;
use super::verdict::{Contradicts, JudgeError, Judgement, Severity};

use tally::{
    errors, findings, hot_pages, pair_rates, query_rate, reasons, status, tallies, tiers, verdicts,
};

/// Whether a run says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunStatus {
    Ok,
    /// It does not say enough; the reasons tell why.
    Inconclusive,
    /// The judge was asked and gave no judgement at all.
    JudgeFailed,
}

named! { RunStatus { Ok = "ok", Inconclusive = "inconclusive", JudgeFailed = "judge_failed" } }

/// Why a run is not `ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No query was asked.
    NoQueries,
    /// There was no pair to judge.
    NoPairs,
    SearchFailed,
    /// A pair was not judged because the judge failed.
    JudgeErrors,
    /// A pair was not judged because the money was spent.
    OverBudget,
    /// Recorded answers are those of another prompt, or lack a pair.
    StaleCassette,
    /// There is no key to ask the judge with.
    NoKey,
    /// A pair was not judged: the run was stopped.
    NotAsked,
    /// No planted pair of a kind was judged, so nobody knows what the judge is worth.
    NoCanaries,
    /// The judge is not told apart from one that guesses.
    WeakJudge,
    /// The judge catches too few planted contradictions to vouch that there are none.
    LowSensitivity,
}

named! {
    Reason {
        NoQueries = "no_queries",
        NoPairs = "no_pairs",
        SearchFailed = "search_failed",
        JudgeErrors = "judge_errors",
        OverBudget = "over_budget",
        StaleCassette = "stale_cassette",
        NoKey = "no_key",
        NotAsked = "not_asked",
        NoCanaries = "no_canaries",
        WeakJudge = "weak_judge",
        LowSensitivity = "low_sensitivity",
    }
}

/// What a run was made with.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInfo {
    pub run_id: String,
    /// Who judged: `provider:model`, or the offline judge's name.
    pub judge_model: String,
    /// The version of the prompt.
    pub prompt_version: String,
    /// The hash of the prompt.
    pub prompt_hash: String,
    /// How long statements were cut.
    pub truncation_policy: String,
    pub top_k: usize,
    /// How queries were chosen, in words.
    pub sampling: String,
    /// What the planted pairs were chosen by.
    pub canary_seed: u64,
    /// What the judge cost.
    pub judge_cost: Usd,
    /// What embedding the queries cost.
    pub embedding_cost: Usd,
    /// How long it took.
    pub duration_ms: u64,
}

/// A pair that is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its place on the docket.
    pub place: usize,
    /// What was said about it.
    pub judgement: Judgement,
    /// What could be done about it.
    pub resolution: Option<Resolution>,
}

/// A query, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTally {
    pub query: String,
    /// How many results it had.
    pub results: usize,
    /// Its findings, as places among the findings of the report.
    pub findings: Vec<usize>,
    /// Pairs that the date rule left out.
    pub skipped_by_date: usize,
    /// Pairs that were judged before.
    pub cached: usize,
    /// Pairs that were judged now.
    pub judged: usize,
    /// Pairs that were to be judged and were not.
    pub unjudged: usize,
    /// Why the search failed, if it did.
    pub error: Option<String>,
}

/// A page with findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotPage {
    pub key: PageKey,
    /// How many findings it is part of.
    pub appearances: usize,
    /// The worst of them.
    pub max_severity: Severity,
}

/// Pairs between tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContradictionTiers")]
pub struct TierTally {
    /// Both curated.
    pub curated_vs_curated: usize,
    /// One curated, one bulk.
    pub curated_vs_bulk: usize,
    /// Both bulk.
    pub bulk_vs_bulk: usize,
    /// Any other.
    pub other: usize,
}

/// A run, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What it was made with.
    pub info: RunInfo,
    /// Whether it says something.
    pub status: RunStatus,
    pub reasons: Vec<Reason>,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    pub queries: Vec<QueryTally>,
    /// Judgements by verdict, in the order of [`Contradicts::ALL`].
    pub verdicts: Vec<(Contradicts, usize)>,
    /// Failures by kind, planted pairs included, in the order of [`JudgeError::ALL`].
    pub errors: Vec<(JudgeError, usize)>,
    /// Fully judged queries, and those of them with a contradiction.
    pub query_rate: Counted,
    /// Judged pairs, and those of them that are contradictions.
    pub pair_rate: Counted,
    /// What the judge made of the planted pairs.
    pub canaries: CanaryCounts,
    /// What the judge is worth.
    pub informedness: Option<Informedness>,
    /// The pair rate without the judge's errors.
    pub corrected: Option<CorrectedRate>,
    /// Judgements that were remembered, and all of them; planted pairs not included.
    pub cache: Counted,
    /// Pairs between tiers, judged or not.
    pub tiers: TierTally,
    /// Pages with findings, the hottest first.
    pub hot_pages: Vec<HotPage>,
}

impl Report {
    /// Adds up a run. `outcomes` are those of the docket's pairs, in its order; a missing one was not
    /// asked.
    pub fn new(
        info: RunInfo,
        docket: &Docket,
        outcomes: &[Outcome],
        planted: &[(Canary, Outcome)],
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

    /// What the run says, as a verdict: contradictions by a judge that is worth something are a
    /// failure, and nothing that is not known is a pass.
    pub fn verdict(&self) -> Verdict {
        let is_blind = self
            .reasons
            .iter()
            .any(|reason| matches!(reason, Reason::NoCanaries | Reason::WeakJudge));
        match self.status {
            RunStatus::JudgeFailed => Verdict::Inconclusive,
            _ if is_blind => Verdict::Inconclusive,
            _ if self.pair_rate.hits > 0 => Verdict::Fail,
            RunStatus::Inconclusive => Verdict::Inconclusive,
            RunStatus::Ok => Verdict::Pass,
        }
    }

    /// Fully judged queries with any finding.
    pub fn queries_with_any_finding(&self) -> usize {
        self.queries.iter().filter(|query| query.is_whole() && !query.findings.is_empty()).count()
    }

    /// A remark on rates of few queries.
    pub fn small_sample_note(&self) -> Option<String> {
        let n = self.query_rate.n;
        let is_small = n < SMALL_SAMPLE;
        is_small.then(|| format!("n = {n} is below {SMALL_SAMPLE}: take the rate as an anecdote"))
    }
}

impl QueryTally {
    /// Whether all its pairs were judged.
    pub fn is_whole(&self) -> bool {
        self.unjudged == 0 && self.error.is_none()
    }
}
