//! The parts of a report, each counted from the docket and its outcomes.

use std::collections::BTreeMap;

use crate::contradiction::docket::{Docket, DocketEntry, DocketQuery, JudgingOutcome, Origin};
use crate::contradiction::pair::Tier;
use crate::contradiction::rate::{HitCount, INFORMEDNESS_FLOOR, SENSITIVITY_FLOOR};
use crate::contradiction::resolution::Resolution;
use crate::contradiction::verdict::{Contradicts, JudgeError, Judgement, Severity};
use crate::id::PageKey;

use super::{ContradictionFinding, HotPage, QueryTally, Reason, Report, RunStatus, TierTally};

/// Maximum number of hot pages.
const HOT_PAGES: usize = 10;

fn judgement(outcomes: &[JudgingOutcome], place: usize) -> Option<(&Judgement, Origin)> {
    match outcomes.get(place) {
        Some(JudgingOutcome::Judged(judgement, origin)) => Some((judgement, *origin)),
        _ => None,
    }
}

pub(super) fn findings(
    pairs: &[DocketEntry],
    outcomes: &[JudgingOutcome],
) -> Vec<ContradictionFinding> {
    let mut findings: Vec<ContradictionFinding> = Vec::new();
    for (place, DocketEntry { pair, .. }) in pairs.iter().enumerate() {
        let Some((judgement, _)) = judgement(outcomes, place) else { continue };
        if judgement.verdict.is_finding() {
            let resolution = Resolution::of(pair, judgement);
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
    docket: &Docket,
    outcomes: &[JudgingOutcome],
    findings: &[ContradictionFinding],
) -> Vec<QueryTally> {
    let at: BTreeMap<usize, usize> =
        findings.iter().enumerate().map(|(at, finding)| (finding.place, at)).collect();
    let tally = |asked: &DocketQuery| {
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
        rate.add(verdicts.into_iter().any(|verdict| verdict == Contradicts::Contradiction));
    }
    rate
}

/// The contradictions among the judged pairs, and the cached ones among the judgements.
pub(super) fn pair_rates(outcomes: &[JudgingOutcome]) -> (HitCount, HitCount) {
    let (mut rate, mut cache) = (HitCount::default(), HitCount::default());
    for outcome in outcomes {
        if let JudgingOutcome::Judged(judgement, origin) = outcome {
            rate.add(judgement.verdict == Contradicts::Contradiction);
            cache.add(*origin == Origin::Cache);
        }
    }
    (rate, cache)
}

pub(super) fn verdicts(outcomes: &[JudgingOutcome]) -> Vec<(Contradicts, usize)> {
    let is = |outcome: &JudgingOutcome, verdict| matches!(outcome, JudgingOutcome::Judged(judgement, _) if judgement.verdict == verdict);
    let count = |verdict| outcomes.iter().filter(|outcome| is(outcome, verdict)).count();
    Contradicts::ALL.iter().map(|verdict| (*verdict, count(*verdict))).collect()
}

pub(super) fn errors<'a>(
    outcomes: impl Iterator<Item = &'a JudgingOutcome> + Clone,
) -> Vec<(JudgeError, usize)> {
    let is = |outcome: &JudgingOutcome, kind| matches!(outcome, JudgingOutcome::Failed(error) if *error == kind);
    let count = |kind| outcomes.clone().filter(|outcome| is(outcome, kind)).count();
    JudgeError::ALL.iter().map(|kind| (*kind, count(*kind))).collect()
}

pub(super) fn tiers(pairs: &[DocketEntry]) -> TierTally {
    let mut tally = TierTally::default();
    for DocketEntry { pair, .. } in pairs {
        *match (pair.a.tier, pair.b.tier) {
            (Tier::Curated, Tier::Curated) => &mut tally.curated_vs_curated,
            (Tier::Curated, Tier::Bulk) | (Tier::Bulk, Tier::Curated) => &mut tally.curated_vs_bulk,
            (Tier::Bulk, Tier::Bulk) => &mut tally.bulk_vs_bulk,
            _ => &mut tally.other,
        } += 1;
    }
    tally
}

/// A finding within one page counts once for it.
pub(super) fn hot_pages(pairs: &[DocketEntry], findings: &[ContradictionFinding]) -> Vec<HotPage> {
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
    let mut hot: Vec<HotPage> = hot
        .into_iter()
        .map(|(key, (appearances, max_severity))| HotPage {
            key: key.clone(),
            appearances,
            max_severity,
        })
        .collect();
    hot.sort_by(|one, other| {
        let weight = |page: &HotPage| (page.appearances, page.max_severity);
        weight(other).cmp(&weight(one)).then_with(|| one.key.cmp(&other.key))
    });
    hot.truncate(HOT_PAGES);
    hot
}

pub(super) fn reasons(
    report: &Report,
    docket: &Docket,
    outcomes: &[JudgingOutcome],
) -> Vec<Reason> {
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
        (Reason::NoQueries, docket.asked().is_empty()),
        (Reason::NoPairs, kept.is_empty()),
        (Reason::SearchFailed, docket.asked().iter().any(|asked| asked.error.is_some())),
        (Reason::JudgeErrors, others.copied().any(failed)),
        (Reason::OverBudget, failed(JudgeError::OverBudget)),
        (Reason::StaleCassette, failed(JudgeError::StaleCassette)),
        (Reason::NoKey, failed(JudgeError::NoKey)),
        (Reason::NotAsked, kept.iter().any(|place| *outcome(place) == JudgingOutcome::NotAsked)),
        (Reason::NoCanaries, report.informedness.is_none()),
        (Reason::WeakJudge, is_weak),
        (Reason::LowSensitivity, is_insensitive),
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
