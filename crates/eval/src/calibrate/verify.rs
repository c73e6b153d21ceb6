//! Verifies a threshold by running the canonical queries with it before it is deployed.
//!
//! The local brain is queried with the threshold in its settings. A remote target has its own
//! threshold: if it reports one, it must be the verified one; otherwise only the scores of its
//! results can be checked, and the verification notes that.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gbrain_core::calibrate::{VerifyFailure, verify};
use gbrain_core::format::calibration::{ThresholdBody, Verification};
use gbrain_core::id::WorkspaceId;
use gbrain_core::ranking::{RERANK, RERANK_THRESHOLD};
use gbrain_core::search::{RERANK_THRESHOLD_OF, Settings};
use gbrain_core::suite::case::{RationaleRequirement, judge};
use gbrain_core::suite::query::{CanonicalQuery, QueryState};
use gbrain_core::suite::{Suite, SuiteKind};
use gbrain_core::target::{TargetAnswer, TargetResult};
use gbrain_store::{RerankThreshold, Store, ThresholdStatus};
use jiff::Timestamp;

use super::collect::is_key;
use super::{CalibrateError, threshold_body};
use crate::retriever::Retriever;
use crate::suite::{QueryAnswer, QueryBatch, stored, unverifiable};

/// Time limit of a verification: that of the suite of this kind.
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Thresholds that differ by less are equal.
const TOLERANCE: f64 = 1e-9;

/// Search settings with a threshold that is not deployed yet.
pub fn trial_settings(mut settings: Settings, threshold: &RerankThreshold) -> Option<Settings> {
    let name = format!("{RERANK_THRESHOLD_OF}{}", threshold.model);
    settings.set(&name, &threshold.threshold.to_string()).ok()?;
    Some(settings)
}

/// A verification of one threshold.
pub struct ThresholdTrial<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The target; the local brain has the threshold in its settings.
    pub target: &'a dyn Retriever,
    pub threshold: &'a RerankThreshold,
    /// Generation of the local corpus.
    pub generation: Option<i64>,
    pub stop: &'a AtomicBool,
    /// Progress callback: queries done and total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub clock: fn() -> Timestamp,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThresholdEffect {
    pub(super) leaked: u64,
    pub(super) filtered: u64,
    pub(super) is_bypassed: bool,
    /// Whether the reranker did not answer, so that nothing was verified.
    pub(super) is_unjudged: bool,
    pub(super) is_lost: bool,
    pub(super) note: Option<&'static str>,
}

impl ThresholdTrial<'_> {
    /// Runs every canonical query that has a key.
    pub fn run(&self) -> Result<Verification, CalibrateError> {
        let all = stored(self.store, self.workspace)?;
        let is_asked = |one: &&CanonicalQuery| {
            let has_key = !(one.expected.is_empty() && one.acceptable.is_empty());
            has_key && one.state == QueryState::Active
        };
        let queries: Vec<&CanonicalQuery> = all.iter().filter(is_asked).collect();
        let suite = Suite::new("calibrate", SuiteKind::RerankCalibration, Vec::new());
        let batch = QueryBatch {
            suite: &suite,
            target: self.target,
            until: Instant::now() + TIME_LIMIT,
            stop: self.stop,
            progress: self.progress,
            clock: self.clock,
        };
        let (asked, _) = batch.ask(&queries);
        let mut trial = self.blank(queries.len());
        // Queries that were not run count as errors.
        trial.errors = (queries.len() - asked.len()) as u64;
        for one in &asked {
            let case = judge(one.query, RationaleRequirement::No, &one.answer, &unverifiable);
            trial.hits += u64::from(case.is_hit(5));
            match &one.answer {
                Err(error) => {
                    trial.errors += 1;
                    note(&mut trial.notes, &format!("not answered: {}", error.kind));
                }
                Ok(answer) => self.add(&mut trial, one.query, answer),
            }
        }
        trial.failures = verify(&trial.verified());
        let is_judged = |one: &QueryAnswer<'_>| {
            let stages = one.answer.as_ref().ok().and_then(|answer| answer.stages.as_ref());
            stages.is_some_and(|stages| !stages.rerank.is_empty())
        };
        let is_unjudged = !asked.is_empty() && !asked.iter().any(is_judged);
        // If the reranker did not answer, report that instead.
        if self.target.info().is_local() && is_unjudged && trial.errors == 0 {
            if !trial.failures.contains(&VerifyFailure::Bypassed) {
                trial.failures.push(VerifyFailure::Bypassed);
            }
            note(&mut trial.notes, "the reranker judged nothing");
        }
        trial.passed = trial.failures.is_empty();
        Ok(trial)
    }

    fn blank(&self, n: usize) -> Verification {
        Verification {
            at: format!("{:.3}", (self.clock)()),
            target: self.target.info().name.clone(),
            passed: false,
            failures: Vec::new(),
            n: n as u64,
            hits: 0,
            lost: 0,
            leaked: 0,
            filtered: 0,
            bypassed: 0,
            errors: 0,
            generation: self.generation,
            notes: Vec::new(),
        }
    }

    fn add(&self, trial: &mut Verification, query: &CanonicalQuery, answer: &TargetAnswer) {
        let is_local = self.target.info().is_local();
        let threshold_effect = threshold_effect(query, answer, self.threshold.threshold, is_local);
        let ThresholdEffect { leaked, filtered, is_bypassed, is_unjudged, is_lost, note: word } =
            threshold_effect;
        trial.errors += u64::from(is_unjudged);
        trial.leaked += leaked;
        trial.filtered += filtered;
        trial.bypassed += u64::from(is_bypassed);
        trial.lost += u64::from(is_lost);
        word.iter().for_each(|word| note(&mut trial.notes, word));
    }
}

fn note(notes: &mut Vec<String>, word: &str) {
    if !notes.iter().any(|there| there == word) {
        notes.push(word.to_owned());
    }
}

pub(super) fn threshold_effect(
    query: &CanonicalQuery,
    answer: &TargetAnswer,
    min_score: f64,
    is_local: bool,
) -> ThresholdEffect {
    let judged = answer.stages.as_ref().map_or(&[][..], |stages| &stages.rerank);
    let of = |document: &str| judged.iter().find(|one| one.document == document)?.score;
    let is_shown = |document: &str| answer.results.iter().any(|one| one.document == document);
    let is_low = |score: &f64| *score < min_score - TOLERANCE;
    let low = judged.iter().filter(|one| one.score.as_ref().is_some_and(is_low));
    let mut threshold_effect = ThresholdEffect {
        filtered: low.clone().filter(|one| !is_shown(&one.document)).count() as u64,
        is_lost: low.clone().any(|one| is_key(query, &one.document)),
        ..ThresholdEffect::default()
    };
    let fell_back = |name: &str| answer.fallbacks.iter().any(|fallback| fallback.stage == name);
    let is_other =
        answer.threshold.is_some_and(|reported| (reported - min_score).abs() > TOLERANCE);
    if answer.threshold_applied == Some(false) || fell_back(RERANK_THRESHOLD) {
        return ThresholdEffect { is_bypassed: true, ..threshold_effect };
    }
    if fell_back(RERANK) {
        let note = Some("the reranker did not answer: verify again when it does");
        return ThresholdEffect { is_unjudged: true, note, ..threshold_effect };
    }
    if is_other {
        let note =
            Some("the target applies another threshold: set this one there, then verify again");
        return ThresholdEffect { is_bypassed: true, note, ..threshold_effect };
    }
    let has_no_report = !is_local && answer.threshold.is_none() && judged.is_empty();
    if has_no_report && !answer.results.iter().all(|one| one.score.is_some()) {
        let note = Some(
            "the target reports neither its threshold nor scores: it cannot be verified from here",
        );
        return ThresholdEffect { is_bypassed: true, note, ..threshold_effect };
    }
    if has_no_report {
        threshold_effect.note = Some(
            "the target reports no threshold: its result scores were compared with this one; verify again when it is set there",
        );
    }
    let score = |one: &TargetResult| of(&one.document).or(one.score.filter(|_| has_no_report));
    threshold_effect.leaked =
        answer.results.iter().filter_map(score).filter(|one| is_low(one)).count() as u64;
    threshold_effect
}

/// Stores a verification with its threshold. A failed measurement rejects a candidate, and a
/// passing one makes a rejected threshold a candidate again; a deployed threshold stays until
/// another is deployed.
pub fn record(
    store: &Store,
    workspace: &WorkspaceId,
    id: i64,
    trial: &Verification,
    now: Timestamp,
) -> Result<RerankThreshold, CalibrateError> {
    let with = |found: &RerankThreshold| {
        let body = ThresholdBody { verification: Some(trial.clone()), ..threshold_body(found) };
        super::json(&body)
    };
    let edited = store.edit_threshold(workspace, id, &with)?.ok_or(CalibrateError::NoSuch(id))?;
    let is_measured = trial.failures.iter().all(|one| one.is_measured());
    let stored_body = threshold_body(&edited);
    let is_refused = !stored_body.refusals.is_empty() && stored_body.forced.is_none();
    let next = match (edited.status, trial.passed) {
        (ThresholdStatus::Candidate, false) if is_measured => Some(ThresholdStatus::Rejected),
        (ThresholdStatus::Rejected, true) if !is_refused => Some(ThresholdStatus::Candidate),
        _ => None,
    };
    if let Some(next) = next {
        store.set_rerank_threshold_status(workspace, id, next, &[], now)?;
    }
    store.threshold(workspace, id)?.ok_or(CalibrateError::NoSuch(id))
}

#[cfg(test)]
mod tests {
    use gbrain_core::format::suite::QueryEntry;
    use gbrain_core::target::{RerankJudgement, StageIds};

    use gbrain_core::target::StageFallback;

    use super::*;

    /// A query with the key `a`.
    fn query() -> CanonicalQuery {
        let entry: QueryEntry =
            serde_json::from_str(r#"{"query": "q", "expected": ["a"]}"#).unwrap();
        entry.read().unwrap()
    }

    /// An answer with results and scores, and with reranker judgements.
    fn answer(results: &[(&str, Option<f64>)], judged: &[(&str, f64)]) -> TargetAnswer {
        let found = |(document, score): &(&str, Option<f64>)| TargetResult {
            document: (*document).to_owned(),
            score: *score,
            ..TargetResult::default()
        };
        let judgement = |(document, score): &(&str, f64)| RerankJudgement {
            document: (*document).to_owned(),
            score: Some(*score),
        };
        let stages =
            StageIds { rerank: judged.iter().map(judgement).collect(), ..StageIds::default() };
        TargetAnswer {
            results: results.iter().map(found).collect(),
            stages: (!judged.is_empty()).then_some(stages),
            ..TargetAnswer::default()
        }
    }

    #[track_caller]
    fn check(
        answer: &TargetAnswer,
        is_local: bool,
        expected: (u64, u64, bool, bool),
    ) -> ThresholdEffect {
        let found = threshold_effect(&query(), answer, 0.5, is_local);
        let counts = (found.leaked, found.filtered, found.is_bypassed, found.is_lost);
        assert_eq!(counts, expected, "{found:?}");
        found
    }

    #[test]
    fn verification_counts_leaked_and_lost_results() {
        let judged = [("a", 0.9), ("b", 0.5), ("c", 0.4999), ("d", 0.1)];
        let stored_body = [("a", None), ("b", None)];
        let good = TargetAnswer { threshold: Some(0.5), ..answer(&stored_body, &judged) };
        assert_eq!(check(&good, true, (0, 2, false, false)).note, None);
        let leaks = answer(&[("a", None), ("c", None), ("named", None)], &judged);
        check(&leaks, true, (1, 1, false, false));
        check(&answer(&[("b", None)], &[("a", 0.3), ("b", 0.9)]), true, (0, 1, false, true));
        check(&answer(&[("a", None)], &[]), true, (0, 0, false, false));
    }

    #[test]
    fn a_threshold_that_was_not_applied_is_bypassed() {
        let judged = [("a", 0.9), ("b", 0.1)];
        let all = answer(&[("a", None), ("b", None)], &judged);
        let fallback = TargetAnswer { threshold_applied: Some(false), ..all.clone() };
        check(&fallback, true, (0, 0, true, false));
        let fallbacks = |stage: &str| vec![StageFallback::unexplained(stage)];
        let failed = |stage| TargetAnswer { fallbacks: fallbacks(stage), ..all.clone() };
        let stale = check(&failed(RERANK_THRESHOLD), true, (0, 0, true, false));
        assert!(!stale.is_unjudged);
        let down = check(&failed(RERANK), true, (0, 0, false, false));
        assert!(down.is_unjudged, "a reranker that does not answer says nothing of a threshold");
        let low = TargetAnswer { threshold_applied: Some(false), ..failed(RERANK) };
        assert!(!check(&low, true, (0, 0, true, false)).is_unjudged, "all scored below it");
        let other = TargetAnswer { threshold: Some(0.3), ..all.clone() };
        assert!(
            check(&other, false, (0, 0, true, false)).note.unwrap().contains("another threshold")
        );
        let graph = TargetAnswer { fallbacks: fallbacks("graph"), ..all.clone() };
        check(&graph, true, (1, 0, false, false));
    }

    #[test]
    fn of_others_only_what_they_tell_is_known() {
        let scored = answer(&[("a", Some(0.9)), ("b", Some(0.2))], &[]);
        assert!(check(&scored, false, (1, 0, false, false)).note.is_some());
        check(&scored, true, (0, 0, false, false));
        let mute = answer(&[("a", None)], &[]);
        assert!(
            check(&mute, false, (0, 0, true, false)).note.unwrap().contains("cannot be verified")
        );
        let reported = TargetAnswer { threshold: Some(0.5), ..mute };
        assert_eq!(check(&reported, false, (0, 0, false, false)).note, None);
    }
}
