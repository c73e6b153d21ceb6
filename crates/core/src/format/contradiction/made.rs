//! Builds the wire form of a run from its report.

use crate::contradiction::docket::{PairSet, PairSetEntry};
use crate::contradiction::pair::{Statement, StatementLocation};
use crate::contradiction::rate::{CanaryCounts, CorrectedRate, HitCount, Informedness};
use crate::contradiction::report::{
    ContradictionFinding, PageWithFindings, QueryTally, Report, RunInfo,
};
use crate::contradiction::resolution::ResolutionSuggestion;
use crate::contradiction::verdict::{JudgeError, Judgement};
use crate::money::Usd;
use crate::stats::Interval;

use super::{
    CONTRADICTION_VERSION, ContradictionReport, WireCache, WireCalibration, WireCorrected,
    WireCost, WireErrors, WireFinding, WireHotPage, WireInformedness, WirePairRate, WireQuery,
    WireRate, WireStatement,
};

impl ContradictionReport {
    /// The wire form of a run, from its report and its docket.
    pub fn new(report: &Report, docket: &PairSet) -> Self {
        let Report {
            info,
            status,
            reasons,
            findings,
            queries,
            verdicts,
            errors,
            query_rate,
            pair_rate,
            canaries,
            informedness,
            corrected,
            cache,
            tiers,
            hot_pages,
        } = report;
        let RunInfo {
            run_id,
            judge_model,
            prompt_version,
            prompt_hash,
            truncation_policy,
            top_k,
            sampling,
            canary_seed,
            judge_cost,
            embedding_cost,
            duration_ms,
        } = info.clone();
        let findings: Vec<_> = findings.iter().map(|one| WireFinding::new(one, docket)).collect();
        Self {
            schema_version: CONTRADICTION_VERSION,
            run_status: *status,
            verdict: report.verdict(),
            inconclusive_reasons: reasons.clone(),
            run_id,
            judge_model,
            prompt_version,
            prompt_sha: prompt_hash,
            truncation_policy,
            top_k,
            sampling,
            queries_evaluated: queries.len(),
            queries_with_contradiction: query_rate.hits,
            queries_with_any_finding: report.queries_with_any_finding(),
            total_contradictions_flagged: findings.len(),
            verdict_breakdown: verdicts.iter().copied().collect(),
            calibration: WireCalibration::new(report),
            pair_rate: WirePairRate::new(
                *pair_rate,
                *corrected,
                canaries,
                *informedness,
                canary_seed,
            ),
            judge_errors: WireErrors::new(errors),
            cost_usd: WireCost::new(judge_cost, embedding_cost),
            cache: WireCache::new(*cache),
            duration_ms,
            source_tier_breakdown: *tiers,
            per_query: queries.iter().map(|query| WireQuery::new(query, &findings)).collect(),
            hot_pages: hot_pages.iter().map(WireHotPage::new).collect(),
            findings,
        }
    }
}

impl WireRate {
    fn new(counted: HitCount, interval: Option<Interval>) -> Option<Self> {
        let (point, at) = (counted.rate()?, interval?);
        Some(Self { point, lower: at.low, upper: at.high, n: counted.n })
    }
}

impl WireCalibration {
    fn new(report: &Report) -> Self {
        let HitCount { hits, n } = report.query_rate;
        Self {
            queries_total: n,
            queries_judged_clean: n - hits,
            queries_with_contradiction: hits,
            queries_not_judged: report.queries.len() as u64 - n,
            wilson_ci_95: WireRate::new(report.query_rate, report.query_rate.wilson()),
            small_sample_note: report.small_sample_note(),
        }
    }
}

impl WirePairRate {
    fn new(
        raw: HitCount,
        corrected: Option<CorrectedRate>,
        canaries: &CanaryCounts,
        informedness: Option<Informedness>,
        canary_seed: u64,
    ) -> Self {
        let CanaryCounts { caught, accused } = *canaries;
        let spared = HitCount { hits: accused.n - accused.hits, n: accused.n };
        Self {
            raw: WireRate::new(raw, raw.interval()),
            corrected: corrected.map(|CorrectedRate { estimate, shown, interval }| WireCorrected {
                estimate,
                corrected_rate: shown,
                interval: [interval.low, interval.high],
            }),
            sensitivity: WireRate::new(caught, caught.interval()),
            specificity: WireRate::new(spared, spared.interval()),
            informedness: informedness.map(|Informedness { value, interval }| WireInformedness {
                value,
                interval: [interval.low, interval.high],
            }),
            canary_seed,
        }
    }
}

impl WireErrors {
    fn new(errors: &[(JudgeError, usize)]) -> Self {
        let total = errors.iter().map(|(_, count)| count).sum();
        let note = match total {
            0 => "every call gave a judgement",
            _ => "queries with pairs that were not judged are in no rate",
        };
        Self { by_kind: errors.iter().copied().collect(), total, note: note.to_owned() }
    }
}

impl WireCost {
    fn new(judge: Usd, embedding: Usd) -> Self {
        let total = judge + embedding;
        Self { judge: judge.as_f64(), embedding: embedding.as_f64(), total: total.as_f64() }
    }
}

impl WireCache {
    fn new(cache: HitCount) -> Self {
        Self { hits: cache.hits, misses: cache.n - cache.hits, hit_rate: cache.rate() }
    }
}

impl WireFinding {
    fn new(finding: &ContradictionFinding, docket: &PairSet) -> Self {
        let ContradictionFinding { place, judgement, resolution } = finding;
        let PairSetEntry { pair, prompt, rule } = &docket.pairs()[*place];
        let Judgement { verdict, severity, axis, confidence, resolution: _, is_floored: _ } =
            judgement;
        let proposed =
            |part: fn(&ResolutionSuggestion) -> &String| resolution.as_ref().map(part).cloned();
        Self {
            pair_id: prompt.identity.short(),
            kind: pair.kind,
            a: WireStatement::new(&pair.a),
            b: WireStatement::new(&pair.b),
            combined_score: pair.combined_score,
            date_rule: *rule,
            is_truncated: prompt.is_truncated,
            verdict: *verdict,
            severity: *severity,
            axis: axis.clone(),
            confidence: *confidence,
            resolution_kind: resolution.as_ref().map(|resolution| resolution.kind),
            resolution_advice: proposed(|resolution| &resolution.advice),
            resolution_command: proposed(|resolution| &resolution.command),
        }
    }
}

impl WireStatement {
    fn new(statement: &Statement) -> Self {
        let Statement { key, place, text, holder, date, tier, trust } = statement;
        let (chunk_id, take_row_num) = match place {
            StatementLocation::Passage { ordinal: _, chunk_id } => (Some(chunk_id.clone()), None),
            StatementLocation::Take { row } => (None, Some(*row)),
        };
        Self {
            source_id: key.source.to_string(),
            slug: key.slug.to_string(),
            chunk_id,
            take_row_num,
            source_tier: *tier,
            source_trust: *trust,
            holder: holder.clone(),
            text: text.clone(),
            effective_date: date.map(|dated| dated.day.to_string()),
            effective_date_source: date.map(|dated| dated.from),
        }
    }
}

impl WireQuery {
    fn new(tally: &QueryTally, findings: &[WireFinding]) -> Self {
        let QueryTally {
            query,
            results,
            findings: places,
            skipped_by_date,
            cached,
            judged,
            unjudged,
            error,
        } = tally;
        Self {
            query: query.clone(),
            result_count: *results,
            contradictions: places.iter().map(|at| findings[*at].pair_id.clone()).collect(),
            pairs_skipped_by_date: *skipped_by_date,
            pairs_cache_hit: *cached,
            pairs_judged: *judged,
            pairs_unjudged: *unjudged,
            is_fully_judged: tally.is_whole(),
            error: error.clone(),
        }
    }
}

impl WireHotPage {
    fn new(page: &PageWithFindings) -> Self {
        let PageWithFindings { key, appearances, max_severity } = page;
        Self {
            source_id: key.source.to_string(),
            slug: key.slug.to_string(),
            appearances: *appearances,
            max_severity: *max_severity,
        }
    }
}
