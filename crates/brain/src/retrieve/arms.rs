//! The arms: what each finds, in its own order.

use std::sync::Arc;

use gbrain_core::id::PageId;
use gbrain_core::ranking::{Arm, Degraded, Edge, NO_SEED};
use gbrain_core::search::relation::{RelationQuestion, neighbourhood};
use gbrain_index::{ChunkHit, IndexError, Named, PageEntry, PageWords, VectorHit, VectorQuery};

use crate::BrainError;

use super::Retrieval;
use super::graph::Graph;
use super::names;
use super::stopwatch::Stopwatch;

/// A page that the words found.
#[derive(Debug, Clone)]
pub(super) struct WordsPage {
    pub(super) page: PageId,
    /// Of its best passage and of the whole page.
    pub(super) score: f64,
    /// Its best passages, best first.
    pub(super) passages: Vec<ChunkHit>,
}

/// A page that a walk reached.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) entry: Arc<PageEntry>,
    pub(super) score: f64,
    pub(super) edges: Vec<Edge>,
}

/// How a relational question was resolved.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) question: RelationQuestion,
    pub(super) resolved: Vec<Arc<PageEntry>>,
}

/// What the arms found.
#[derive(Debug, Default)]
pub(super) struct ArmResults {
    pub(super) words: Vec<WordsPage>,
    pub(super) vectors: Vec<VectorHit>,
    /// What the vectors were asked.
    pub(super) vector_query: Option<VectorQuery>,
    pub(super) names: Vec<Named>,
    pub(super) graph: Vec<Reached>,
    pub(super) relation: Option<Relation>,
    pub(super) degraded: Vec<Degraded>,
}

impl ArmResults {
    pub(super) fn count(&self, arm: Arm) -> usize {
        match arm {
            Arm::Words => self.words.len(),
            Arm::Names => self.names.len(),
            Arm::Graph => self.graph.len(),
            Arm::Vectors => self.vectors.len(),
        }
    }

    /// The passages that found a page: by its words, best first, then by its meaning.
    pub(super) fn passages(&self, page: PageId) -> impl Iterator<Item = &ChunkHit> {
        let words = self.words.iter().find(|found| found.page == page);
        let words = words.map_or(&[][..], |found| &found.passages);
        let meaning = self.vectors.iter().map(|near| &near.hit).find(|hit| hit.page == page);
        let is_other = move |hit: &&ChunkHit| words.iter().all(|word| word.ordinal != hit.ordinal);
        words.iter().chain(meaning.filter(is_other))
    }
}

impl Retrieval<'_> {
    pub(super) fn run_arms(&self, watch: &mut Stopwatch) -> Result<ArmResults, BrainError> {
        let mut results = ArmResults::default();
        for planned in &self.plan.arms {
            match planned.arm {
                Arm::Words => results.words = self.find_words()?,
                Arm::Names => results.names = self.find_names()?,
                Arm::Graph => self.find_by_graph(&mut results)?,
                Arm::Vectors => self.find_vectors(&mut results)?,
            }
            watch.lap(planned.arm.name());
        }
        Ok(results)
    }

    /// Pages by their words: the index gives them by their best passage, and here what the page
    /// says as a whole has its part in the score.
    fn find_words(&self) -> Result<Vec<WordsPage>, BrainError> {
        if self.words.terms.is_empty() {
            return Ok(Vec::new());
        }
        let best = self.view.words(&self.words, &self.filter, self.plan.pool)?;
        let weight = self.request.settings.page_weight;
        let ids: Vec<PageId> = best.iter().map(|hit| hit.page).collect();
        let words = self.view.page_words(&self.words, &self.filter, &ids, self.plan.passages)?;
        let page = |(hit, words): (ChunkHit, PageWords)| WordsPage {
            page: hit.page,
            score: weight * words.score + (1.0 - weight) * hit.score,
            passages: words.passages,
        };
        let mut pages: Vec<WordsPage> = best.into_iter().zip(words).map(page).collect();
        // Invariant: the sort is stable, so equal pages stay in the index's order.
        pages.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(pages)
    }

    /// Pages that are near in meaning.
    fn find_vectors(&self, results: &mut ArmResults) -> Result<(), BrainError> {
        let Some(embedder) = self.embedder else { return Ok(()) };
        let query = VectorQuery::new(embedder.as_ref(), &self.plan.subject);
        let Some(query) = query.map_err(IndexError::from)? else { return Ok(()) };
        let depth = self.request.settings.rescored(self.view.chunks(self.filter.trust));
        results.vectors = self.view.vectors(&query, &self.filter, depth, self.plan.pool)?;
        let least = self.request.settings.vectors_least;
        results.vectors.retain(|near| near.hit.score >= least);
        results.vector_query = Some(query);
        Ok(())
    }

    /// Pages that the whole query names.
    fn find_names(&self) -> Result<Vec<Named>, BrainError> {
        if self.name.is_empty() || self.name.len() > names::MAX_NAME_BYTES {
            return Ok(Vec::new());
        }
        Ok(names::rightful(self.view.named(&self.name, &self.filter)?, self.sources))
    }

    fn find_by_graph(&self, results: &mut ArmResults) -> Result<(), BrainError> {
        let question = match &self.intent.relation {
            Some(question) => question.clone(),
            None => neighbourhood(self.names_in_query()?),
        };
        let resolved = self.resolve_seeds(&question)?;
        if resolved.is_empty() {
            results.degraded.push(Degraded { stage: "graph", reason: NO_SEED });
        } else {
            let mut graph = Graph::new(self.view, self.sources, self.request.filter.trust);
            let reached = graph.walk(&question, &resolved, self.request)?;
            results.graph =
                reached.into_iter().filter(|reached| reached.entry.passes(&self.filter)).collect();
            results.graph.truncate(self.plan.pool);
        }
        results.relation = Some(Relation { question, resolved });
        Ok(())
    }
}
