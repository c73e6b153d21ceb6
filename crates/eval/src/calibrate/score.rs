//! Pairs, scored offline: from the reranker's scores to a candidate.
//!
//! Promises: one call asks of all passages of a query; what was scored is kept until the calibration is
//! whole, so that one that broke off goes on where it was; a pair without a score makes no threshold. A
//! calibration that was finished asks anew next time: scores of before would hide that they fell.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gbrain_core::calibrate::{
    Calibration, CalibrationPair, Label, LabelCounts, MOST, Refusal, Scored, calibrate,
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

use super::{CalibrateError, in_force, newest, pairs_to_send};
use crate::spread::spread;
use crate::suite::Scorer;

/// The most passages in one call.
const TOGETHER: usize = 64;
/// Calls that may fail before nobody is asked any more.
const PATIENCE: usize = 3;
/// How long scores of a calibration that broke off are kept.
const KEEP: SignedDuration = SignedDuration::from_hours(24);

/// The most that scoring passages of a query may cost, or why that is not known.
pub type Cost<'a> = dyn Fn(&str, &[&str]) -> Result<Usd, String> + Sync + 'a;

/// What scores.
pub struct Scoring<'a> {
    /// Where pairs and thresholds are.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    pub scorer: Scorer<'a>,
    /// The most that scoring passages of a query may cost.
    pub cost: &'a Cost<'a>,
    /// What all of it may cost; none where a cassette answers for nothing.
    pub allowance: Option<Allowance>,
    /// Calls under way at once.
    pub concurrency: usize,
    /// Set when it is to stop.
    pub stop: &'a AtomicBool,
    /// Told how many pairs are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub clock: fn() -> Timestamp,
}

/// Why a call gave nothing.
enum Unheard {
    Store(StoreError),
    Said(String),
}

impl From<StoreError> for Unheard {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Scoring<'_> {
    /// Scores the pairs and keeps what they make: a candidate, or a rejected threshold with the reason.
    /// `force` is why it is to be a candidate all the same.
    pub fn run(&self, force: Option<&str>) -> Result<RerankThreshold, CalibrateError> {
        let pairs = self.pairs()?;
        let scores = self.scores(&pairs)?;
        let label = |id: i64| pairs.iter().find(|pair| pair.id == id).map(|pair| pair.label);
        let labelled =
            |(id, score): &(i64, f64)| Some(Scored { label: label(*id)?, score: *score });
        let scored: Vec<Scored> = scores.iter().filter_map(labelled).collect();
        let found = calibrate(&scored).ok_or(CalibrateError::NoPairs)?;
        self.keep(&found, &pairs, &scores, force)
    }

    /// The newest pairs of each label.
    fn pairs(&self) -> Result<Vec<CalibrationPair>, CalibrateError> {
        let mut all = pairs_to_send(self.store, self.workspace, Some(Label::Borderline), MOST)?;
        if all.is_empty() {
            return Err(CalibrateError::NoPairs);
        }
        for label in [Label::Relevant, Label::Irrelevant] {
            all.extend(pairs_to_send(self.store, self.workspace, Some(label), MOST)?);
        }
        Ok(all)
    }

    fn scores(&self, pairs: &[CalibrationPair]) -> Result<Vec<(i64, f64)>, CalibrateError> {
        // What the last calibration of this model was called: its scores are not this one's.
        let last = newest(self.store, self.workspace, self.scorer.model)?.map_or(0, |one| one.id);
        let calls = calls(pairs);
        self.afford(last, &calls)?;
        let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let heard = spread(calls.len(), self.concurrency, |at| {
            if self.stop.load(Ordering::Acquire) {
                return Err(Unheard::Said("it was interrupted".to_owned()));
            }
            if failed.load(Ordering::Acquire) >= PATIENCE {
                return Err(Unheard::Said("nobody was asked any more".to_owned()));
            }
            let heard = self.call(last, &calls[at]);
            if heard.is_err() {
                failed.fetch_add(1, Ordering::AcqRel);
            }
            let done = done.fetch_add(calls[at].len(), Ordering::Relaxed) + calls[at].len();
            (self.progress)(done, pairs.len());
            heard
        });
        let mut scores = Vec::new();
        let mut why = None;
        for one in heard {
            match one {
                Ok(heard) => scores.extend(heard),
                Err(Unheard::Store(error)) => return Err(error.into()),
                Err(Unheard::Said(said)) => {
                    why.get_or_insert(said);
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

    /// Refuses to begin what the budget can't hold: what was scored already costs nothing.
    fn afford(&self, last: i64, calls: &[Vec<&CalibrationPair>]) -> Result<(), CalibrateError> {
        let Some(allowance) = self.allowance else { return Ok(()) };
        let (mut needs, mut open) = (Usd::ZERO, 0);
        for pairs in calls {
            let (_, known) = self.known(last, pairs)?;
            let unscored = pairs.iter().zip(known).filter(|(_, score)| score.is_none());
            let texts: Vec<&str> = unscored.map(|(pair, _)| pair.text.as_str()).collect();
            if let (Some(first), false) = (pairs.first(), texts.is_empty()) {
                // What has no price is refused by whoever is asked.
                needs = needs + (self.cost)(&first.query, &texts).unwrap_or(Usd::ZERO);
                open += texts.len();
            }
        }
        match needs > allowance.left {
            true => Err(CalibrateError::Unaffordable { pairs: open, needs, allowance }),
            false => Ok(()),
        }
    }

    /// What names the scores of some pairs, and those that are known from a run that broke off.
    fn known(
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
        let kept = self.store.model_answers(self.workspace, kind, &keys, now)?;
        let known = kept.iter().map(|one| one.as_deref().and_then(|score| score.parse().ok()));
        let known = known.collect();
        Ok((keys, known))
    }

    /// The scores of some passages of one query.
    fn call(&self, last: i64, pairs: &[&CalibrationPair]) -> Result<Vec<(i64, f64)>, Unheard> {
        let (kind, now) = (AnswerKind::RerankScore, (self.clock)());
        let (keys, known) = self.known(last, pairs)?;
        let open: Vec<usize> = (0..pairs.len()).filter(|at| known[*at].is_none()).collect();
        let mut scores = known;
        if let Some(first) = open.first() {
            let texts: Vec<&str> = open.iter().map(|at| pairs[*at].text.as_str()).collect();
            let said = (self.scorer.score)(&pairs[*first].query, &texts).map_err(Unheard::Said)?;
            if said.len() != open.len() || !said.iter().all(|score| score.is_finite()) {
                return Err(Unheard::Said("the reranker did not score each passage".to_owned()));
            }
            let fresh = open.iter().zip(&said);
            let answer = |(at, score): (&usize, &f64)| ModelAnswer {
                key: keys[*at],
                body: score.to_string(),
                pages: Some(vec![pairs[*at].document.clone()]),
            };
            let answers: Vec<ModelAnswer> = fresh.map(answer).collect();
            let until = now.saturating_add(KEEP).unwrap_or(Timestamp::MAX);
            self.store.keep_model_answers(self.workspace, kind, &answers, now, until)?;
            open.iter().zip(said).for_each(|(at, score)| scores[*at] = Some(score));
        }
        let ids = pairs.iter().map(|pair| pair.id);
        Ok(ids.zip(scores).filter_map(|(id, score)| Some((id, score?))).collect())
    }

    fn keep(
        &self,
        found: &Calibration,
        pairs: &[CalibrationPair],
        scores: &[(i64, f64)],
        force: Option<&str>,
    ) -> Result<RerankThreshold, CalibrateError> {
        let counts = LabelCounts::of(pairs.iter().map(|pair| pair.label));
        let mut body = ThresholdBody::new(found, counts);
        let may = found.refusals.iter().all(|refusal| Refusal::may_be_forced(*refusal));
        let is_refused = !found.refusals.is_empty();
        body.forced = force.filter(|_| is_refused && may).map(str::to_owned);
        let previous = in_force(self.store, self.workspace)?;
        body.previous = previous.map(|one| PreviousThreshold {
            id: one.id,
            model: one.model,
            threshold: one.threshold,
        });
        // What is no score may add up to no number; it is refused for that, and the store takes none.
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
            self.store.set_threshold_status(self.workspace, id, rejected, &[], now)?;
        }
        self.store.threshold(self.workspace, id)?.ok_or(CalibrateError::NoSuch(id))
    }
}

/// Pairs by query, so many together.
fn calls<'a>(pairs: &'a [CalibrationPair]) -> Vec<Vec<&'a CalibrationPair>> {
    let mut queries: Vec<(&str, Vec<&'a CalibrationPair>)> = Vec::new();
    for pair in pairs {
        match queries.iter_mut().find(|(query, _)| *query == pair.query) {
            Some((_, of)) => of.push(pair),
            None => queries.push((&pair.query, vec![pair])),
        }
    }
    let cut = |of: &Vec<&'a CalibrationPair>| -> Vec<Vec<&'a CalibrationPair>> {
        of.chunks(TOGETHER).map(<[_]>::to_vec).collect()
    };
    queries.iter().flat_map(|(_, of)| cut(of)).collect()
}
