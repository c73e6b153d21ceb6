use super::super::pair::tests::passage;
use super::super::pair::{CurationTier, Pair, PairKind};
use super::super::{Origin, canaries};
use super::*;

fn info() -> RunInfo {
    RunInfo {
        run_id: "run-1".into(),
        judge_model: "stub".into(),
        prompt_version: "1".into(),
        prompt_hash: "0011223344556677".into(),
        truncation_policy: "1500-chars".into(),
        top_k: 5,
        sampling: "all".into(),
        canary_seed: 7,
        judge_cost: Usd::cents(3),
        embedding_cost: Usd::ZERO,
        duration_ms: 1500,
    }
}

fn pair(a: &str, b: &str) -> Pair {
    Pair::new(PairKind::CrossPage, passage(a, 0, a), passage(b, 0, b), 1.0)
}

fn judged(verdict: StatementRelation, severity: Severity) -> JudgingOutcome {
    JudgingOutcome::Judged(Judgement::new(verdict, severity, "who is chair", 0.9), Origin::Judge)
}

/// A judge that is right about all of them.
fn right(of_each: usize) -> Vec<(Canary, JudgingOutcome)> {
    let right = |canary: Canary| {
        let verdict = if canary.is_contradiction {
            StatementRelation::Contradiction
        } else {
            StatementRelation::No
        };
        (canary, judged(verdict, Severity::Low))
    };
    canaries(1, of_each).into_iter().map(right).collect()
}

/// Two queries with two pairs each, one of which is both's.
fn docket() -> PairSet {
    let mut docket = PairSet::new();
    docket.add("one", 3, vec![pair("a", "b"), pair("a", "c")], 99);
    docket.add("two", 2, vec![pair("a", "c"), pair("c", "d")], 99);
    docket
}

pub(crate) fn found() -> (Report, PairSet) {
    let docket = docket();
    let outcomes = [
        judged(StatementRelation::No, Severity::Info),
        judged(StatementRelation::Contradiction, Severity::High),
        judged(StatementRelation::Evolution, Severity::Info),
    ];
    (Report::new(info(), &docket, &outcomes, &right(40)), docket)
}

pub(crate) fn judge_failed() -> (Report, PairSet) {
    let docket = docket();
    let outcomes = vec![JudgingOutcome::Failed(JudgeError::Timeout); 3];
    let planted: Vec<_> = canaries(1, 3)
        .into_iter()
        .map(|canary| (canary, JudgingOutcome::Failed(JudgeError::Timeout)))
        .collect();
    (Report::new(info(), &docket, &outcomes, &planted), docket)
}

#[test]
fn a_pair_counts_once_and_a_query_when_it_is_whole() {
    let (report, _) = found();
    assert_eq!((report.status, report.verdict()), (RunStatus::Ok, Verdict::Fail));
    assert_eq!((report.pair_rate.hits, report.pair_rate.n), (1, 3));
    assert_eq!((report.query_rate.hits, report.query_rate.n), (2, 2));
    assert_eq!(report.findings.len(), 2);
    assert_eq!(report.findings[0].judgement.severity, Severity::High);
    assert_eq!(report.queries[0].findings, [0]);
    assert_eq!(report.queries[1].findings, [0, 1]);
    let hot: Vec<_> = report.hot_pages.iter().map(|page| page.key.slug.as_str()).collect();
    assert_eq!(hot, ["c", "a", "d"]);
    assert_eq!((report.canaries.caught.hits, report.canaries.accused.hits), (40, 0));
    assert!(report.small_sample_note().unwrap().contains("n = 2"));
}

#[test]
fn unjudged_pairs_are_not_clean() {
    let clean = || judged(StatementRelation::No, Severity::Info);
    let outcomes = [clean(), clean(), JudgingOutcome::Failed(JudgeError::OverBudget)];
    let report = Report::new(info(), &docket(), &outcomes, &right(40));
    assert_eq!((report.query_rate.hits, report.query_rate.n), (0, 1));
    assert_eq!(report.reasons, [RunStatusReason::OverBudget]);
    assert_eq!((report.status, report.verdict()), (RunStatus::Inconclusive, Verdict::Inconclusive));
    let outcomes = [clean()];
    let report = Report::new(info(), &docket(), &outcomes, &right(40));
    assert_eq!((report.query_rate.n, report.reasons), (0, vec![RunStatusReason::NotAsked]));
}

#[test]
fn a_judge_that_fails_is_never_a_clean_brain() {
    let (report, _) = judge_failed();
    assert_eq!((report.status, report.verdict()), (RunStatus::JudgeFailed, Verdict::Inconclusive));
    let timeouts = report.errors.iter().find(|(kind, _)| *kind == JudgeError::Timeout);
    assert_eq!(timeouts, Some(&(JudgeError::Timeout, 9)));
    assert_eq!(report.corrected, None);
}

#[test]
fn a_judge_that_guesses_says_nothing() {
    let clean = vec![judged(StatementRelation::No, Severity::Info); 3];
    let silent: Vec<_> = canaries(1, 60)
        .into_iter()
        .map(|canary| (canary, judged(StatementRelation::No, Severity::Info)))
        .collect();
    let report = Report::new(info(), &docket(), &clean, &silent);
    assert_eq!(
        (report.reasons.clone(), report.verdict()),
        (vec![RunStatusReason::WeakJudge, RunStatusReason::LowSensitivity], Verdict::Inconclusive)
    );
    let report = Report::new(info(), &docket(), &clean, &[]);
    assert_eq!(
        (report.reasons.clone(), report.verdict()),
        (vec![RunStatusReason::NoCanaries], Verdict::Inconclusive)
    );
    let report = Report::new(info(), &docket(), &clean, &right(60));
    assert_eq!((report.status, report.verdict()), (RunStatus::Ok, Verdict::Pass));
}

#[test]
fn nothing_asked_is_no_pass() {
    let report = Report::new(info(), &PairSet::new(), &[], &right(40));
    assert_eq!(report.reasons, [RunStatusReason::NoQueries, RunStatusReason::NoPairs]);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let mut failed = docket();
    failed.add_failed("three", "no index");
    let clean = vec![judged(StatementRelation::No, Severity::Info); 3];
    let report = Report::new(info(), &failed, &clean, &right(40));
    assert_eq!((report.reasons, report.query_rate.n), (vec![RunStatusReason::SearchFailed], 2));
}

#[test]
fn tiers_are_of_both_sides() {
    let mut docket = PairSet::new();
    let with = |a, b| {
        let mut pair = pair("a", "b");
        (pair.a.tier, pair.b.tier) = (a, b);
        pair
    };
    let pairs = vec![
        with(CurationTier::Bulk, CurationTier::Curated),
        with(CurationTier::Curated, CurationTier::Curated),
        with(CurationTier::Bulk, CurationTier::Bulk),
        with(CurationTier::Other, CurationTier::Curated),
    ];
    docket.add("q", 2, pairs, 99);
    let tiers = Report::new(info(), &docket, &[], &[]).tiers;
    let expected =
        CurationTierCounts { curated_vs_curated: 1, curated_vs_bulk: 1, bulk_vs_bulk: 1, other: 1 };
    assert_eq!(tiers, expected);
}
