//! The rerank hook: a caller's own judgement of the best candidates, between boosts and duplicates.
//!
//! Promises: named pages stay first and are never left out; candidates beyond the depth keep their
//! order behind the rest; and a judge that fails, or answers with the wrong number of scores or with
//! some that are no numbers, changes nothing and is named in the answer as degraded. With a threshold,
//! pages that score less are left out, and so are those that were not judged. Where all score less
//! nothing is left out, the judge's order stays, and the answer says so: an empty answer and one that
//! a judge emptied must not look the same. A threshold that was calibrated for another judge leaves
//! nothing out, and the answer says that too: scores of different models do not compare.
//!
//! Deliberately absent: a time limit. A closure can't be stopped from outside; the hook says
//! [`HookError::Timeout`] when its own time is up.

use gbrain_core::hook::HookError;
use gbrain_core::ranking::{ALL_BELOW, Degraded, RERANK, RERANK_THRESHOLD, STALE, TraceStep};
use gbrain_core::search::Least;
use gbrain_core::search::candidate::{Candidate, Tier};

use crate::BrainError;

use super::Retrieval;
use super::arms::ArmResults;

/// A passage to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub title: String,
    pub text: String,
}

/// Scores passages against a query, higher is better, one score a passage in the same order.
pub type Rerank<'a> = dyn Fn(&str, &[Judged]) -> Result<Vec<f64>, HookError> + 'a;

/// A judge and its name.
#[derive(Clone, Copy)]
pub struct Reranker<'a> {
    /// Names the model: the same name gives the same scores.
    pub id: &'a str,
    pub judge: &'a Rerank<'a>,
}

impl Retrieval<'_> {
    /// Puts the first candidates in the order of the caller's judge, if there is one.
    pub(super) fn rerank(
        &self,
        candidates: &mut [Candidate],
        found: &mut ArmResults,
    ) -> Result<(), BrainError> {
        let Some(reranker) = self.ask.rerank.filter(|_| self.plan.fused) else { return Ok(()) };
        let named = candidates.iter().take_while(|c| c.tier != Tier::Found).count();
        let depth = self.request.settings.rerank_depth as usize;
        let end = candidates.len().min(named + depth);
        let judged = self.judged(&candidates[named..end], found)?;
        if judged.is_empty() {
            return Ok(());
        }
        match scores(reranker, &self.request.query, &judged) {
            Ok(scores) => {
                reorder(&mut candidates[named..end], &scores, named, reranker.id);
                found.rerank_model = Some(reranker.id.to_owned());
                self.leave_out(&scores, named, reranker.id, found);
            }
            Err(error) => {
                found.degraded.push(Degraded { stage: RERANK, reason: error.name() });
            }
        }
        Ok(())
    }

    /// Says how many candidates stay, where a threshold leaves some out.
    fn leave_out(&self, scores: &[f64], named: usize, model: &str, found: &mut ArmResults) {
        let least = match self.request.settings.least_for(model) {
            Least::Nothing => return,
            Least::Score(least) => least,
            Least::OfAnother => {
                found.degraded.push(Degraded { stage: RERANK_THRESHOLD, reason: STALE });
                return;
            }
        };
        match scores.iter().filter(|score| **score >= least).count() {
            0 => found.degraded.push(Degraded { stage: RERANK, reason: ALL_BELOW }),
            good => found.stay = Some(named + good),
        }
    }

    fn judged(
        &self,
        candidates: &[Candidate],
        found: &ArmResults,
    ) -> Result<Vec<Judged>, BrainError> {
        let trust = self.request.filter.trust;
        let mut judged = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let text = match found.passages(candidate.page).first() {
                Some(hit) => self.view.read(hit)?.text,
                None => {
                    self.view.passage(candidate.page, 0, trust)?.map(|p| p.text).unwrap_or_default()
                }
            };
            judged.push(Judged { title: candidate.title.clone(), text });
        }
        Ok(judged)
    }
}

fn scores(
    Reranker { id: _, judge }: Reranker<'_>,
    query: &str,
    judged: &[Judged],
) -> Result<Vec<f64>, HookError> {
    let scores = judge(query, judged)?;
    let are_numbers = scores.len() == judged.len() && scores.iter().all(|s| s.is_finite());
    if are_numbers { Ok(scores) } else { Err(HookError::BadScores) }
}

/// Sorts by the judge's scores; equal ones keep their order.
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
        });
        candidates[at] = candidate;
    }
}
