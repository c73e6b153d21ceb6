//! Scores pairs with the reranker and computes a candidate threshold.
//!
//! Promises: one call scores all passages of a query; scores are cached until the calibration is
//! complete, so an interrupted one continues; an unscored pair prevents a threshold. The next
//! calibration scores everything again: cached scores would hide a drop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gbrain_core::calibrate::{
    Calibration, CalibrationPair, CalibrationRefusal, LabelCounts, MOST, PairLabel, ScoredLabel,
    calibrate,
};
use gbrain_core::format::calibration::{PreviousThreshold, ThresholdBody};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::Allowance;
use gbrain_store::{
    AnswerKind, ModelAnswer, NewThreshold, RerankScore, RerankThreshold, Store, StoreError,
    ThresholdStatus,
};
use jiff::{SignedDuration, Timestamp};

use super::{CalibrateError, deployed_threshold, newest, pairs_to_send};
use crate::spread::spread;
use crate::suite::Scorer;

/// Maximum number of passages per call.
const MAX_BATCH: usize = 64;
/// Failed calls after which no more are made.
const MAX_FAILURES: usize = 3;
/// How long scores of an interrupted calibration are cached.
const CACHE_TTL: SignedDuration = SignedDuration::from_hours(24);

/// Upper bound of the cost of scoring passages of a query, or why it is unknown.
pub type CostFn<'a> = dyn Fn(&str, &[&str]) -> Result<Usd, String> + Sync + 'a;

/// Scores pairs and stores the threshold.
pub struct PairScoring<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    pub scorer: Scorer<'a>,
    pub cost: &'a CostFn<'a>,
    /// Budget for the run; `None` if a cassette answers.
    pub allowance: Option<Allowance>,
    pub concurrency: usize,
    pub stop: &'a AtomicBool,
    /// Progress callback: pairs done and total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub clock: fn() -> Timestamp,
}

/// Why a call returned no scores.
enum ScoreError {
    Store(StoreError),
    Call(String),
}

impl From<StoreError> for ScoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PairScoring<'_> {
    /// Scores the pairs and stores the result: a candidate, or a rejected threshold with the
    /// reason. `force` is the reason to store a candidate anyway.
    pub fn run(&self, force: Option<&str>) -> Result<RerankThreshold, CalibrateError> {
        let pairs = self.pairs()?;
        let scores = self.scores(&pairs)?;
        let label = |id: i64| pairs.iter().find(|pair| pair.id == id).map(|pair| pair.label);
        let labelled =
            |(id, score): &(i64, f64)| Some(ScoredLabel { label: label(*id)?, score: *score });
        let scored: Vec<ScoredLabel> = scores.iter().filter_map(labelled).collect();
        let found = calibrate(&scored).ok_or(CalibrateError::NoPairs)?;
        self.store_threshold(&found, &pairs, &scores, force)
    }

    /// The newest pairs of each label.
    fn pairs(&self) -> Result<Vec<CalibrationPair>, CalibrateError> {
        let mut all = pairs_to_send(self.store, self.workspace, Some(PairLabel::Borderline), MOST)?;
        if all.is_empty() {
            return Err(CalibrateError::NoPairs);
        }
        for label in [PairLabel::Relevant, PairLabel::Irrelevant] {
            all.extend(pairs_to_send(self.store, self.workspace, Some(label), MOST)?);
        }
        Ok(all)
    }

    fn scores(&self, pairs: &[CalibrationPair]) -> Result<Vec<(i64, f64)>, CalibrateError> {
        // The last calibration of this model: its scores are not reused.
        let last = newest(self.store, self.workspace, self.scorer.model)?.map_or(0, |one| one.id);
        let calls = calls(pairs);
        self.check_budget(last, &calls)?;
        let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results = spread(calls.len(), self.concurrency, |at| {
            if self.stop.load(Ordering::Acquire) {
                return Err(ScoreError::Call("the run was interrupted".to_owned()));
            }
            if failed.load(Ordering::Acquire) >= MAX_FAILURES {
                return Err(ScoreError::Call("skipped after too many failed calls".to_owned()));
            }
            let results = self.call(last, &calls[at]);
            if results.is_err() {
                failed.fetch_add(1, Ordering::AcqRel);
            }
            let done = done.fetch_add(calls[at].len(), Ordering::Relaxed) + calls[at].len();
            (self.progress)(done, pairs.len());
            results
        });
        let mut scores = Vec::new();
        let mut why = None;
        for one in results {
            match one {
                Ok(results) => scores.extend(results),
                Err(ScoreError::Store(error)) => return Err(error.into()),
                Err(ScoreError::Call(error)) => {
                    why.get_or_insert(error);
                }
            }
        }
        match why {
            None => Ok(scores),
            Some(why) => {
                let (missing, of) = (pairs.len() - scores.len(), pairs.len());
                Err(CalibrateError::Unscored { missing, of, why })
            }
        }
    }

    /// Refuses to start if the budget does not cover the unscored pairs.
    fn check_budget(
        &self,
        last: i64,
        calls: &[Vec<&CalibrationPair>],
    ) -> Result<(), CalibrateError> {
        let Some(allowance) = self.allowance else { return Ok(()) };
        let (mut needs, mut open) = (Usd::ZERO, 0);
        for pairs in calls {
            let (_, cached_scores) = self.cached_scores(last, pairs)?;
            let unscored = pairs.iter().zip(cached_scores).filter(|(_, score)| score.is_none());
            let texts: Vec<&str> = unscored.map(|(pair, _)| pair.text.as_str()).collect();
            if let (Some(first), false) = (pairs.first(), texts.is_empty()) {
                // Missing prices are reported by the call itself.
                needs = needs + (self.cost)(&first.query, &texts).unwrap_or(Usd::ZERO);
                open += texts.len();
            }
        }
        match needs > allowance.left {
            true => Err(CalibrateError::Unaffordable { pairs: open, needs, allowance }),
            false => Ok(()),
        }
    }

    /// The cache keys of some pairs, and their cached scores from an interrupted run.
    fn cached_scores(
        &self,
        last: i64,
        pairs: &[&CalibrationPair],
    ) -> Result<(Vec<Hash>, Vec<Option<f64>>), StoreError> {
        let model = self.scorer.model;
        let key = |pair: &&CalibrationPair| {
            let parts = [
                model.as_bytes(),
                &last.to_le_bytes(),
                pair.query.as_bytes(),
                pair.text.as_bytes(),
            ];
            Hash::of_parts(&parts)
        };
        let keys: Vec<Hash> = pairs.iter().map(key).collect();
        let (kind, now) = (AnswerKind::RerankScore, (self.clock)());
        let cached = self.store.model_answers(self.workspace, kind, &keys, now)?;
        let cached_scores =
            cached.iter().map(|one| one.as_deref().and_then(|score| score.parse().ok()));
        let cached_scores = cached_scores.collect();
        Ok((keys, cached_scores))
    }

    /// The scores of some passages of one query.
    fn call(&self, last: i64, pairs: &[&CalibrationPair]) -> Result<Vec<(i64, f64)>, ScoreError> {
        let (kind, now) = (AnswerKind::RerankScore, (self.clock)());
        let (keys, cached_scores) = self.cached_scores(last, pairs)?;
        let open: Vec<usize> = (0..pairs.len()).filter(|at| cached_scores[*at].is_none()).collect();
        let mut scores = cached_scores;
        if let Some(first) = open.first() {
            let texts: Vec<&str> = open.iter().map(|at| pairs[*at].text.as_str()).collect();
            let new_scores =
                (self.scorer.score)(&pairs[*first].query, &texts).map_err(ScoreError::Call)?;
            if new_scores.len() != open.len() || !new_scores.iter().all(|score| score.is_finite()) {
                return Err(ScoreError::Call("the reranker did not score each passage".to_owned()));
            }
            let fresh = open.iter().zip(&new_scores);
            let answer = |(at, score): (&usize, &f64)| ModelAnswer {
                key: keys[*at],
                body: score.to_string(),
                pages: Some(vec![pairs[*at].document.clone()]),
            };
            let answers: Vec<ModelAnswer> = fresh.map(answer).collect();
            let until = now.saturating_add(CACHE_TTL).unwrap_or(Timestamp::MAX);
            self.store.store_model_answers(self.workspace, kind, &answers, now, until)?;
            open.iter().zip(new_scores).for_each(|(at, score)| scores[*at] = Some(score));
        }
        let ids = pairs.iter().map(|pair| pair.id);
        Ok(ids.zip(scores).filter_map(|(id, score)| Some((id, score?))).collect())
    }

    fn store_threshold(
        &self,
        found: &Calibration,
        pairs: &[CalibrationPair],
        scores: &[(i64, f64)],
        force: Option<&str>,
    ) -> Result<RerankThreshold, CalibrateError> {
        let counts = LabelCounts::of(pairs.iter().map(|pair| pair.label));
        let mut body = ThresholdBody::new(found, counts);
        let may_force =
            found.refusals.iter().all(|refusal| CalibrationRefusal::may_be_forced(*refusal));
        let is_refused = !found.refusals.is_empty();
        body.forced = force.filter(|_| is_refused && may_force).map(str::to_owned);
        let previous = deployed_threshold(self.store, self.workspace)?;
        body.previous = previous.map(|one| PreviousThreshold {
            id: one.id,
            model: one.model,
            threshold: one.threshold,
        });
        // Invalid scores may give non-finite values: they are refused, and the store accepts only
        // numbers.
        let number = |value: f64| if value.is_finite() { value } else { 0.0 };
        let new = NewThreshold {
            model: self.scorer.model.to_owned(),
            threshold: number(found.threshold),
            n: found.n as u64,
            mean: number(found.mean),
            sigma: number(found.sigma),
            body: super::json(&body),
            scores: scores
                .iter()
                .map(|(pair, score)| RerankScore { pair: *pair, score: *score })
                .collect(),
        };
        let now = (self.clock)();
        let id = self.store.add_threshold(self.workspace, &new, now)?;
        if is_refused && body.forced.is_none() {
            let rejected = ThresholdStatus::Rejected;
            self.store.set_rerank_threshold_status(self.workspace, id, rejected, &[], now)?;
        }
        self.store.threshold(self.workspace, id)?.ok_or(CalibrateError::NoSuch(id))
    }
}

/// Pairs grouped by query, in calls of limited size.
fn calls<'a>(pairs: &'a [CalibrationPair]) -> Vec<Vec<&'a CalibrationPair>> {
    let mut queries: Vec<(&str, Vec<&'a CalibrationPair>)> = Vec::new();
    for pair in pairs {
        match queries.iter_mut().find(|(query, _)| *query == pair.query) {
            Some((_, group)) => group.push(pair),
            None => queries.push((&pair.query, vec![pair])),
        }
    }
    let cut = |group: &Vec<&'a CalibrationPair>| -> Vec<Vec<&'a CalibrationPair>> {
        group.chunks(MAX_BATCH).map(<[_]>::to_vec).collect()
    };
    queries.iter().flat_map(|(_, group)| cut(group)).collect()
}
