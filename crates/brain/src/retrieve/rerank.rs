//! The rerank hook: a caller's own judgement of the best candidates, between boosts and duplicates.
//!
//! Promises: named pages stay first, candidates beyond the depth keep their order behind the rest,
//! and a judge that fails, or answers with the wrong number of scores or with none that are
//! numbers, changes nothing and is named in the answer as degraded.

use gbrain_core::ranking::{Degraded, TraceStep};
use gbrain_core::search::candidate::{Candidate, Tier};

use crate::BrainError;

use super::Retrieval;
use super::arms::ArmResults;

/// A passage to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The page's title.
    pub title: String,
    /// Its best passage.
    pub text: String,
}

/// Scores passages against a query, higher is better, one score a passage in the same order.
pub type Rerank<'a> = dyn Fn(&str, &[Judged]) -> Result<Vec<f64>, String> + 'a;

impl Retrieval<'_> {
    /// Puts the first candidates in the order of the caller's judge, if there is one.
    pub(super) fn rerank(
        &self,
        candidates: &mut [Candidate],
        found: &mut ArmResults,
    ) -> Result<(), BrainError> {
        let Some(judge) = self.ask.rerank.filter(|_| self.plan.fused) else { return Ok(()) };
        let named = candidates.iter().take_while(|c| c.tier != Tier::Found).count();
        let depth = self.request.settings.rerank_depth as usize;
        let end = candidates.len().min(named + depth);
        let judged = self.judged(&candidates[named..end], found)?;
        if judged.is_empty() {
            return Ok(());
        }
        match judge(&self.request.query, &judged) {
            Ok(scores) if scores.len() == judged.len() && scores.iter().all(|s| s.is_finite()) => {
                reorder(&mut candidates[named..end], &scores, named);
            }
            Ok(_) => found.degraded.push(Degraded { stage: "rerank", reason: "bad_scores" }),
            Err(_) => found.degraded.push(Degraded { stage: "rerank", reason: "failed" }),
        }
        Ok(())
    }

    fn judged(
        &self,
        candidates: &[Candidate],
        found: &ArmResults,
    ) -> Result<Vec<Judged>, BrainError> {
        let trust = self.request.filter.trust;
        let mut judged = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let text = match found.passages(candidate.page).next() {
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

/// Sorts by the judge's scores; equal ones keep their order.
fn reorder(candidates: &mut [Candidate], scores: &[f64], before: usize) {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let sorted: Vec<Candidate> = order.iter().map(|at| candidates[*at].clone()).collect();
    for (at, (mut candidate, from)) in sorted.into_iter().zip(order).enumerate() {
        candidate.trace.push(TraceStep {
            stage: "rerank",
            rank: Some(before + at + 1),
            score: Some(scores[from]),
            note: format!("from #{}", before + from + 1),
        });
        candidates[at] = candidate;
    }
}
