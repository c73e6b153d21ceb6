//! The arms: what each finds, in its own order.

use std::sync::Arc;

use gbrain_core::id::PageId;
use gbrain_core::ranking::{Arm, Degraded, EXPANSION, Edge, NO_SEED};
use gbrain_core::search::relation::{RelationQuestion, neighbourhood};
use gbrain_index::{ChunkHit, Named, PageEntry, PageWords, VectorHit, VectorQuery, WordsQuery};
use rustc_hash::FxHashSet;

use crate::BrainError;

use super::Retrieval;
use super::graph::Graph;
use super::names;
use super::stopwatch::Stopwatch;
use super::vary::Varied;

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
    /// What variants of the query found.
    pub(super) variants: Vec<Varied>,
    /// The model that judged the best candidates.
    pub(super) rerank_model: Option<String>,
    /// How many candidates stay, where a judge left some out.
    pub(super) stay: Option<usize>,
    pub(super) degraded: Vec<Degraded>,
}

impl ArmResults {
    /// How many pages an arm brought, for the query or for a variant of it.
    pub(super) fn count(&self, arm: Arm) -> usize {
        let pages: FxHashSet<PageId> = match arm {
            Arm::Names => return self.names.len(),
            Arm::Graph => return self.graph.len(),
            Arm::Words => self.ways().flat_map(|(words, _)| words).map(|page| page.page).collect(),
            Arm::Vectors => {
                self.ways().flat_map(|(_, vectors)| vectors).map(|near| near.hit.page).collect()
            }
        };
        pages.len()
    }

    /// The passages that found a page: by its words, best first, then by its meaning; those of the
    /// query before those of its variants.
    pub(super) fn passages(&self, page: PageId) -> Vec<&ChunkHit> {
        let mut passages: Vec<&ChunkHit> = Vec::new();
        for (words, vectors) in self.ways() {
            let words = words.iter().find(|found| found.page == page);
            let words = words.map_or(&[][..], |found| &found.passages);
            let meaning = vectors.iter().map(|near| &near.hit).find(|hit| hit.page == page);
            for hit in words.iter().chain(meaning) {
                if passages.iter().all(|known| known.ordinal != hit.ordinal) {
                    passages.push(hit);
                }
            }
        }
        passages
    }

    /// What words and vectors found, for the query and then for its variants.
    fn ways(&self) -> impl Iterator<Item = (&[WordsPage], &[VectorHit])> {
        let own = (self.words.as_slice(), self.vectors.as_slice());
        let variants = self.variants.iter();
        std::iter::once(own).chain(variants.map(|v| (v.words.as_slice(), v.vectors.as_slice())))
    }
}

impl Retrieval<'_> {
    pub(super) fn run_arms(&self, watch: &mut Stopwatch) -> Result<ArmResults, BrainError> {
        let mut results = ArmResults::default();
        for planned in &self.plan.arms {
            self.ask.check_stop()?;
            match planned.arm {
                Arm::Words => results.words = self.find_words(&self.words)?,
                Arm::Names => results.names = self.find_names()?,
                Arm::Graph => self.find_by_graph(&mut results)?,
                Arm::Vectors => self.find_vectors(&mut results)?,
            }
            watch.lap(planned.arm.name());
        }
        if !self.plan.variants.is_empty() {
            results.variants = self.find_variants()?;
            watch.lap(EXPANSION);
        }
        Ok(results)
    }

    /// Pages by their words: the index gives them by their best passage, and here what the page
    /// says as a whole has its part in the score.
    pub(super) fn find_words(&self, query: &WordsQuery) -> Result<Vec<WordsPage>, BrainError> {
        if query.terms.is_empty() {
            return Ok(Vec::new());
        }
        let best = self.view.words(query, &self.filter, self.plan.pool)?;
        let weight = self.request.settings.page_weight;
        let ids: Vec<PageId> = best.iter().map(|hit| hit.page).collect();
        let words = self.view.page_words(query, &self.filter, &ids, self.plan.passages)?;
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
        let Some(query) = self.vector_queries.first().cloned().flatten() else { return Ok(()) };
        results.vectors = self.find_near(&query)?;
        results.vector_query = Some(query);
        Ok(())
    }

    pub(super) fn find_near(&self, query: &VectorQuery) -> Result<Vec<VectorHit>, BrainError> {
        let depth = self.request.settings.rescored(self.view.chunks(self.filter.trust));
        let mut near = self.view.vectors(query, &self.filter, depth, self.plan.pool)?;
        let least = self.request.settings.vectors_least;
        near.retain(|near| near.hit.score >= least);
        Ok(near)
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
            let trust = self.request.filter.trust;
            let mut graph = Graph::new(self.view, self.sources, trust, self.ask.is_stopped);
            let reached = graph.walk(&question, &resolved, self.request)?;
            results.graph =
                reached.into_iter().filter(|reached| reached.entry.passes(&self.filter)).collect();
            results.graph.truncate(self.plan.pool);
        }
        results.relation = Some(Relation { question, resolved });
        Ok(())
    }
}
