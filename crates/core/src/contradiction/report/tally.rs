//! The parts of a report, each counted from the docket and its outcomes.

use std::collections::BTreeMap;

use crate::contradiction::docket::{JudgingOutcome, Origin, PairSet, PairSetEntry, PairSetQuery};
use crate::contradiction::pair::CurationTier;
use crate::contradiction::rate::{HitCount, INFORMEDNESS_FLOOR, SENSITIVITY_FLOOR};
use crate::contradiction::resolution::ResolutionSuggestion;
use crate::contradiction::verdict::{JudgeError, Judgement, Severity, StatementRelation};
use crate::id::PageKey;

use super::{
    ContradictionFinding, CurationTierCounts, PageWithFindings, QueryTally, Report, RunStatus,
    RunStatusReason,
};

/// Maximum number of hot pages.
const HOT_PAGES: usize = 10;

fn judgement(outcomes: &[JudgingOutcome], place: usize) -> Option<(&Judgement, Origin)> {
    match outcomes.get(place) {
        Some(JudgingOutcome::Judged(judgement, origin)) => Some((judgement, *origin)),
        _ => None,
    }
}

pub(super) fn findings(
    pairs: &[PairSetEntry],
    outcomes: &[JudgingOutcome],
) -> Vec<ContradictionFinding> {
    let mut findings: Vec<ContradictionFinding> = Vec::new();
    for (place, PairSetEntry { pair, .. }) in pairs.iter().enumerate() {
        let Some((judgement, _)) = judgement(outcomes, place) else { continue };
        if judgement.verdict.is_finding() {
            let resolution = ResolutionSuggestion::of(pair, judgement);
            findings.push(ContradictionFinding { place, judgement: judgement.clone(), resolution });
        }
    }
    // A stable sort: ties keep the docket's order.
    findings.sort_by(|one, other| {
        let weight = |finding: &ContradictionFinding| {
            (finding.judgement.severity, finding.judgement.confidence)
        };
        let ((severity, sure), (other_severity, other_sure)) = (weight(one), weight(other));
        other_severity.cmp(&severity).then(other_sure.total_cmp(&sure))
    });
    findings
}

pub(super) fn tallies(
    docket: &PairSet,
    outcomes: &[JudgingOutcome],
    findings: &[ContradictionFinding],
) -> Vec<QueryTally> {
    let at: BTreeMap<usize, usize> =
        findings.iter().enumerate().map(|(at, finding)| (finding.place, at)).collect();
    let tally = |asked: &PairSetQuery| {
        let mut tally = QueryTally {
            query: asked.query.clone(),
            results: asked.results,
            findings: asked.pairs.iter().filter_map(|place| at.get(place).copied()).collect(),
            skipped_by_date: 0,
            cached: 0,
            judged: 0,
            unjudged: 0,
            error: asked.error.clone(),
        };
        for place in &asked.pairs {
            let is_kept = docket.pairs()[*place].rule.keeps();
            *match (is_kept, judgement(outcomes, *place)) {
                (false, _) => &mut tally.skipped_by_date,
                (true, Some((_, Origin::Cache))) => &mut tally.cached,
                (true, Some((_, Origin::Judge))) => &mut tally.judged,
                (true, None) => &mut tally.unjudged,
            } += 1;
        }
        tally
    };
    docket.asked().iter().map(tally).collect()
}

pub(super) fn query_rate(queries: &[QueryTally], findings: &[ContradictionFinding]) -> HitCount {
    let mut rate = HitCount::default();
    for query in queries.iter().filter(|query| query.is_whole()) {
        let verdicts = query.findings.iter().map(|at| findings[*at].judgement.verdict);
        rate.add(verdicts.into_iter().any(|verdict| verdict == StatementRelation::Contradiction));
    }
    rate
}

/// The contradictions among the judged pairs, and the cached ones among the judgements.
pub(super) fn pair_rates(outcomes: &[JudgingOutcome]) -> (HitCount, HitCount) {
    let (mut rate, mut cache) = (HitCount::default(), HitCount::default());
    for outcome in outcomes {
        if let JudgingOutcome::Judged(judgement, origin) = outcome {
            rate.add(judgement.verdict == StatementRelation::Contradiction);
            cache.add(*origin == Origin::Cache);
        }
    }
    (rate, cache)
}

pub(super) fn verdicts(outcomes: &[JudgingOutcome]) -> Vec<(StatementRelation, usize)> {
    let is = |outcome: &JudgingOutcome, verdict| matches!(outcome, JudgingOutcome::Judged(judgement, _) if judgement.verdict == verdict);
    let count = |verdict| outcomes.iter().filter(|outcome| is(outcome, verdict)).count();
    StatementRelation::ALL.iter().map(|verdict| (*verdict, count(*verdict))).collect()
}

pub(super) fn errors<'a>(
    outcomes: impl Iterator<Item = &'a JudgingOutcome> + Clone,
) -> Vec<(JudgeError, usize)> {
    let is = |outcome: &JudgingOutcome, kind| matches!(outcome, JudgingOutcome::Failed(error) if *error == kind);
    let count = |kind| outcomes.clone().filter(|outcome| is(outcome, kind)).count();
    JudgeError::ALL.iter().map(|kind| (*kind, count(*kind))).collect()
}

pub(super) fn tiers(pairs: &[PairSetEntry]) -> CurationTierCounts {
    let mut tally = CurationTierCounts::default();
    for PairSetEntry { pair, .. } in pairs {
        *match (pair.a.tier, pair.b.tier) {
            (CurationTier::Curated, CurationTier::Curated) => &mut tally.curated_vs_curated,
            (CurationTier::Curated, CurationTier::Bulk)
            | (CurationTier::Bulk, CurationTier::Curated) => &mut tally.curated_vs_bulk,
            (CurationTier::Bulk, CurationTier::Bulk) => &mut tally.bulk_vs_bulk,
            _ => &mut tally.other,
        } += 1;
    }
    tally
}

/// A finding within one page counts once for it.
pub(super) fn hot_pages(
    pairs: &[PairSetEntry],
    findings: &[ContradictionFinding],
) -> Vec<PageWithFindings> {
    let mut hot: BTreeMap<&PageKey, (usize, Severity)> = BTreeMap::new();
    for finding in findings {
        let pair = &pairs[finding.place].pair;
        let mut keys = vec![&pair.a.key, &pair.b.key];
        keys.dedup();
        for key in keys {
            let (appearances, worst) = hot.entry(key).or_insert((0, Severity::Info));
            *appearances += 1;
            *worst = (*worst).max(finding.judgement.severity);
        }
    }
    let mut hot: Vec<PageWithFindings> = hot
        .into_iter()
        .map(|(key, (appearances, max_severity))| PageWithFindings {
            key: key.clone(),
            appearances,
            max_severity,
        })
        .collect();
    hot.sort_by(|one, other| {
        let weight = |page: &PageWithFindings| (page.appearances, page.max_severity);
        weight(other).cmp(&weight(one)).then_with(|| one.key.cmp(&other.key))
    });
    hot.truncate(HOT_PAGES);
    hot
}

pub(super) fn reasons(
    report: &Report,
    docket: &PairSet,
    outcomes: &[JudgingOutcome],
) -> Vec<RunStatusReason> {
    let kept: Vec<usize> = docket.to_judge().collect();
    let outcome = |place: &usize| outcomes.get(*place).unwrap_or(&JudgingOutcome::NotAsked);
    let failed =
        |kind: JudgeError| report.errors.iter().any(|(error, count)| *error == kind && *count > 0);
    let others = JudgeError::ALL.iter().filter(|kind| {
        !matches!(kind, JudgeError::OverBudget | JudgeError::StaleCassette | JudgeError::NoKey)
    });
    let is_weak = report.informedness.is_some_and(|at| at.interval.low < INFORMEDNESS_FLOOR);
    let caught = report.canaries.caught.interval();
    // Sensitivity matters only if nothing was found.
    let is_insensitive =
        report.pair_rate.hits == 0 && caught.is_some_and(|at| at.low < SENSITIVITY_FLOOR);
    [
        (RunStatusReason::NoQueries, docket.asked().is_empty()),
        (RunStatusReason::NoPairs, kept.is_empty()),
        (RunStatusReason::SearchFailed, docket.asked().iter().any(|asked| asked.error.is_some())),
        (RunStatusReason::JudgeErrors, others.copied().any(failed)),
        (RunStatusReason::OverBudget, failed(JudgeError::OverBudget)),
        (RunStatusReason::StaleCassette, failed(JudgeError::StaleCassette)),
        (RunStatusReason::NoKey, failed(JudgeError::NoKey)),
        (
            RunStatusReason::NotAsked,
            kept.iter().any(|place| *outcome(place) == JudgingOutcome::NotAsked),
        ),
        (RunStatusReason::NoCanaries, report.informedness.is_none()),
        (RunStatusReason::WeakJudge, is_weak),
        (RunStatusReason::LowSensitivity, is_insensitive),
    ]
    .into_iter()
    .filter_map(|(reason, holds)| holds.then_some(reason))
    .collect()
}

pub(super) fn status(report: &Report) -> RunStatus {
    let errors: usize = report.errors.iter().map(|(_, count)| count).sum();
    match (report.pair_rate.n, errors, report.reasons.is_empty()) {
        (0, 1.., _) => RunStatus::JudgeFailed,
        (_, _, true) => RunStatus::Ok,
        _ => RunStatus::Inconclusive,
    }
}
