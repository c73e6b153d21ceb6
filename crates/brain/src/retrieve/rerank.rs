//! The rerank hook: reorders the best candidates with the caller's model, between boosts and
//! duplicates.
//!
//! Promises: named pages stay first and are never dropped; candidates beyond the depth keep their
//! order behind the rest; a reranker that fails, or returns the wrong number of scores or
//! non-finite ones, changes nothing and the answer names it as degraded. With a threshold, pages
//! that score lower or were not scored are dropped. If all score lower, nothing is dropped, the
//! reranked order stays, and the answer says so: an empty answer must be distinguishable from one
//! that the reranker emptied. A threshold calibrated for another model drops nothing, and the
//! answer says that too: scores of different models are not comparable.
//!
//! Deliberately absent: a timeout. A closure cannot be stopped from outside; the hook returns
//! [`HookError::Timeout`] when its own time is up.

use gbrain_core::hook::HookError;
use gbrain_core::ranking::{ALL_BELOW, DegradedStage, RERANK, RERANK_THRESHOLD, STALE, TraceStep};
use gbrain_core::search::MinScore;
use gbrain_core::search::candidate::{Candidate, RankTier};

use crate::BrainError;

use super::RetrievalRun;
use super::arms::ArmResults;

/// A passage to score.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankPassage {
    pub title: String,
    pub text: String,
}

/// Scores passages against a query, higher is better: one score per passage, in the same order.
pub type Rerank<'a> = dyn Fn(&str, &[RerankPassage]) -> Result<Vec<f64>, HookError> + 'a;

/// A reranker and its name.
#[derive(Clone, Copy)]
pub struct Reranker<'a> {
    /// Model name: the same name gives the same scores.
    pub id: &'a str,
    pub judge: &'a Rerank<'a>,
}

impl RetrievalRun<'_> {
    /// Reorders the first candidates by the caller's reranker, if there is one.
    pub(super) fn rerank(
        &self,
        candidates: &mut [Candidate],
        found: &mut ArmResults,
    ) -> Result<(), BrainError> {
        let Some(reranker) = self.options.rerank.filter(|_| self.plan.fused) else { return Ok(()) };
        let named = candidates.iter().take_while(|c| c.tier != RankTier::Found).count();
        let depth = self.request.settings.rerank_depth as usize;
        let end = candidates.len().min(named + depth);
        let passages = self.passages(&candidates[named..end], found)?;
        if passages.is_empty() {
            return Ok(());
        }
        match scores(reranker, &self.request.query, &passages) {
            Ok(scores) => {
                reorder(&mut candidates[named..end], &scores, named, reranker.id);
                found.rerank_model = Some(reranker.id.to_owned());
                self.apply_threshold(&scores, named, reranker.id, found);
            }
            Err(error) => {
                found.degraded.push(DegradedStage { stage: RERANK, reason: error.name() });
            }
        }
        Ok(())
    }

    /// Sets how many candidates pass the threshold, if it drops some.
    fn apply_threshold(&self, scores: &[f64], named: usize, model: &str, found: &mut ArmResults) {
        let min_score = match self.request.settings.min_score_for(model) {
            MinScore::None => return,
            MinScore::Score(min_score) => min_score,
            MinScore::OtherModel => {
                found.degraded.push(DegradedStage { stage: RERANK_THRESHOLD, reason: STALE });
                return;
            }
        };
        match scores.iter().filter(|score| **score >= min_score).count() {
            0 => found.degraded.push(DegradedStage { stage: RERANK, reason: ALL_BELOW }),
            passing => found.above_threshold = Some(named + passing),
        }
    }

    fn passages(
        &self,
        candidates: &[Candidate],
        found: &ArmResults,
    ) -> Result<Vec<RerankPassage>, BrainError> {
        let trust = self.request.filter.trust;
        let mut passages = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let text = match found.passages(candidate.page).first() {
                Some(hit) => self.view.read(hit)?.text,
                None => {
                    self.view.passage(candidate.page, 0, trust)?.map(|p| p.text).unwrap_or_default()
                }
            };
            passages.push(RerankPassage { title: candidate.title.clone(), text });
        }
        Ok(passages)
    }
}

fn scores(
    Reranker { id: _, judge }: Reranker<'_>,
    query: &str,
    passages: &[RerankPassage],
) -> Result<Vec<f64>, HookError> {
    let scores = judge(query, passages)?;
    let are_numbers = scores.len() == passages.len() && scores.iter().all(|s| s.is_finite());
    if are_numbers { Ok(scores) } else { Err(HookError::BadScores) }
}

/// Sorts by score; equal scores keep their order.
fn reorder(candidates: &mut [Candidate], scores: &[f64], before: usize, id: &str) {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let sorted: Vec<Candidate> = order.iter().map(|at| candidates[*at].clone()).collect();
    for (at, (mut candidate, from)) in sorted.into_iter().zip(order).enumerate() {
        candidate.trace.push(TraceStep {
            stage: RERANK,
            rank: Some(before + at + 1),
            score: Some(scores[from]),
            note: format!("from #{} by {id}", before + from + 1),
            parts: Vec::new(),
        });
        candidates[at] = candidate;
    }
}
