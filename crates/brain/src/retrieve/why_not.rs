//! Explains at which stage a page was dropped.

use gbrain_core::ranking::{Arm, TraceStep, WhyNot};
use gbrain_core::request::Filter;
use gbrain_core::search::candidate::Candidate;
use gbrain_index::{ChunkHit, PageEntry};

use crate::BrainError;

use super::RetrievalRun;
use super::arms::ArmResults;
use super::hydrate::{DropReason, HydrateOutcome};

/// How deep the words arm is searched for the page's rank.
const MAX_DEPTH: usize = 100_000;

impl RetrievalRun<'_> {
    pub(super) fn why_not(
        &self,
        candidates: &[Candidate],
        outcome: &HydrateOutcome,
        results: &ArmResults,
    ) -> Result<Option<WhyNot>, BrainError> {
        let Some(key) = &self.options.why_not else { return Ok(None) };
        let why = |stage, verdict: String, trace: Vec<TraceStep>| {
            Ok(Some(WhyNot { key: key.clone(), stage, verdict, trace }))
        };
        // To a viewer who may not see it, a private page does not exist.
        let Some(entry) = self.view.entry_by_key(key, self.request.filter.trust)? else {
            return why("corpus", "the corpus has no such page".to_owned(), Vec::new());
        };
        if let Some(hit) = outcome.hits.iter().find(|hit| hit.key == *key) {
            let trace = candidates.iter().find(|c| c.page == entry.id).map(|c| c.trace.clone());
            return why(
                "answer",
                format!("it is in the answer, at rank {}", hit.rank),
                trace.unwrap_or_default(),
            );
        }
        if let Some(at) = candidates.iter().position(|candidate| candidate.page == entry.id) {
            let dropped =
                outcome.dropped.iter().find(|(page, _)| *page == entry.id).map(|(_, why)| why);
            let (stage, verdict) = self.describe_drop(at, dropped);
            return why(stage, verdict, candidates[at].trace.clone());
        }
        if let Some(verdict) = excluded_by(&self.request.filter, &entry) {
            return why("filter", verdict, Vec::new());
        }
        let (mut verdict, mut trace) = self.explain_outside_pool(&entry, results)?;
        if let Some(step) = self.missed_vector_score(&entry, results)? {
            verdict.push_str(", and it is not among the nearest in meaning");
            trace.push(step);
        }
        let stage = trace.first().map_or(Arm::Words.name(), |step| step.stage);
        why(stage, verdict, trace)
    }

    fn describe_drop(&self, at: usize, dropped: Option<&DropReason>) -> (&'static str, String) {
        let rank = at + 1;
        match dropped {
            Some(DropReason::Duplicate { of }) => {
                ("dedup", format!("it says the same as {of} and was left out as a duplicate"))
            }
            Some(DropReason::BelowThreshold) => {
                let min_score = self.request.settings.rerank_threshold;
                let reason = format!("no judgement of at least {min_score} (rerank.threshold)");
                ("rerank", format!("it was at rank {rank} and had {reason}"))
            }
            Some(DropReason::Cut) => {
                let ratio = self.request.settings.cut_ratio;
                let scores = format!("scores less than {ratio} of the first (search.cut_ratio)");
                ("cut", format!("it was at rank {rank} and {scores}"))
            }
            Some(DropReason::BeyondLimit) | None => {
                let limit = self.request.limit;
                ("limit", format!("it is at rank {rank}, beyond the limit of {limit}"))
            }
        }
    }

    fn best_passage(
        &self,
        entry: &PageEntry,
        filter: &Filter,
    ) -> Result<Option<ChunkHit>, BrainError> {
        let words = self.view.page_words(&self.words, filter, &[entry.id], 1)?;
        Ok(words.first().and_then(|words| words.passages.first().copied()))
    }

    /// The vector score of a page that the vectors arm did not find, if the arm ran.
    fn missed_vector_score(
        &self,
        entry: &PageEntry,
        results: &ArmResults,
    ) -> Result<Option<TraceStep>, BrainError> {
        let Some(query) = &results.vector_query else { return Ok(None) };
        let nearest = self.view.page_vectors(query, &self.filter, &[entry.id])?;
        let score = nearest.first().and_then(|hit| hit.map(|hit| hit.score));
        let last = results.vectors.last().map_or(0.0, |near| near.hit.score);
        let own = score.map_or_else(|| "none".to_owned(), |score| format!("{score:.3}"));
        let note =
            format!("its nearest passage has cosine {own}; the nearest pages end at {last:.3}");
        let (stage, parts) = (Arm::Vectors.name(), Vec::new());
        Ok(Some(TraceStep { stage, rank: None, score, note, parts }))
    }

    fn explain_outside_pool(
        &self,
        entry: &PageEntry,
        results: &ArmResults,
    ) -> Result<(String, Vec<TraceStep>), BrainError> {
        let step = |arm: Arm, rank, score, note: String| TraceStep {
            stage: arm.name(),
            rank,
            score,
            note,
            parts: Vec::new(),
        };
        if self.plan.arms.iter().all(|planned| planned.arm != Arm::Words) {
            let verdict = "no walk from what the question names reaches it".to_owned();
            return Ok((verdict.clone(), vec![step(Arm::Graph, None, None, verdict)]));
        }
        let best = self.best_passage(entry, &self.filter)?;
        let Some(best) = best else {
            let anywhere = Filter { truth_only: false, ..self.filter.clone() };
            let in_timeline = self.best_passage(entry, &anywhere)?.is_some();
            let words: Vec<&str> =
                self.words.terms.terms.iter().map(|term| term.stem.as_str()).collect();
            let verdict = if in_timeline {
                "only its timeline holds the words, and detail low leaves timelines out".to_owned()
            } else {
                format!("none of its passages holds any of the words ({})", words.join(", "))
            };
            return Ok((verdict.clone(), vec![step(Arm::Words, None, None, verdict)]));
        };
        let all = self.view.words(&self.words, &self.filter, MAX_DEPTH)?;
        let rank = all.iter().position(|hit| hit.page == entry.id).map(|at| at + 1);
        let last = results.words.last().map_or(0.0, |hit| hit.score);
        let note = format!(
            "its best passage, chunk {}, scores {:.3}; the pool of {} ends at {last:.3}",
            best.ordinal, best.score, self.plan.pool
        );
        let place = rank.map_or_else(|| "far down".to_owned(), |rank| format!("at rank {rank}"));
        let verdict =
            format!("the words arm has it {place}, outside its pool of {}", self.plan.pool);
        Ok((verdict, vec![step(Arm::Words, rank, Some(best.score), note)]))
    }
}

/// The filter that excludes a page.
pub(crate) fn excluded_by(filter: &Filter, entry: &PageEntry) -> Option<String> {
    let Filter { sources, types, tags, since, until, trust: _, truth_only: _ } = filter;
    let date = entry.effective_date.map_or_else(|| "none".to_owned(), |date| date.to_string());
    let alone = |filter: Filter| {
        !entry.passes(&Filter { trust: gbrain_core::request::Viewer::Trusted, ..filter })
    };
    let only = Filter::default();
    if alone(Filter { sources: sources.clone(), ..only.clone() }) {
        Some(format!("its source `{}` is not asked for", entry.key.source))
    } else if alone(Filter { types: types.clone(), ..only.clone() }) {
        Some(format!("its type `{}` is not asked for", entry.page_type))
    } else if alone(Filter { tags: tags.clone(), ..only.clone() }) {
        Some(format!("its tags ({}) are not asked for", entry.tags.join(", ")))
    } else if alone(Filter { since: *since, until: *until, ..only }) {
        Some(format!("its date ({date}) is not in the range asked for"))
    } else {
        None
    }
}
