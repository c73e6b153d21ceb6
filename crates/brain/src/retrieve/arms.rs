//! The retrieval arms and their results.

use std::sync::Arc;

use gbrain_core::id::PageId;
use gbrain_core::ranking::{Arm, DegradedStage, EXPANSION, Edge, NO_SEED};
use gbrain_core::search::relation::{RelationQuestion, neighbourhood};
use gbrain_index::{ChunkHit, NameMatch, PageEntry, PageWords, VectorHit, VectorQuery, WordsQuery};
use rustc_hash::FxHashSet;

use crate::BrainError;

use super::RetrievalRun;
use super::graph::LinkGraph;
use super::names;
use super::stopwatch::Stopwatch;
use super::vary::VariantResults;

/// A page found by words.
#[derive(Debug, Clone)]
pub(super) struct WordsPage {
    pub(super) page: PageId,
    /// Combines its best passage and the whole page.
    pub(super) score: f64,
    pub(super) passages: Vec<ChunkHit>,
}

/// A page reached by a graph walk.
#[derive(Debug, Clone)]
pub(super) struct GraphPage {
    pub(super) entry: Arc<PageEntry>,
    pub(super) score: f64,
    pub(super) edges: Vec<Edge>,
}

/// A relational question and the pages that it names.
#[derive(Debug, Clone)]
pub(super) struct ResolvedRelation {
    pub(super) question: RelationQuestion,
    pub(super) resolved: Vec<Arc<PageEntry>>,
}

#[derive(Debug, Default)]
pub(super) struct ArmResults {
    pub(super) words: Vec<WordsPage>,
    pub(super) vectors: Vec<VectorHit>,
    /// The embedded query of the vectors arm.
    pub(super) vector_query: Option<VectorQuery>,
    pub(super) names: Vec<NameMatch>,
    pub(super) graph: Vec<GraphPage>,
    pub(super) relation: Option<ResolvedRelation>,
    pub(super) variants: Vec<VariantResults>,
    /// The model that reranked the best candidates.
    pub(super) rerank_model: Option<String>,
    /// How many candidates pass the rerank threshold, if it dropped some.
    pub(super) above_threshold: Option<usize>,
    pub(super) degraded: Vec<DegradedStage>,
}

impl ArmResults {
    /// How many pages an arm found, for the query or one of its variants.
    pub(super) fn count(&self, arm: Arm) -> usize {
        let pages: FxHashSet<PageId> = match arm {
            Arm::Names => return self.names.len(),
            Arm::Graph => return self.graph.len(),
            Arm::Words => self
                .results_by_variant()
                .flat_map(|(words, _)| words)
                .map(|page| page.page)
                .collect(),
            Arm::Vectors => self
                .results_by_variant()
                .flat_map(|(_, vectors)| vectors)
                .map(|near| near.hit.page)
                .collect(),
        };
        pages.len()
    }

    /// The passages that found a page: by words, best first, then by vector; those of the query
    /// before those of its variants.
    pub(super) fn passages(&self, page: PageId) -> Vec<&ChunkHit> {
        let mut passages: Vec<&ChunkHit> = Vec::new();
        for (words, vectors) in self.results_by_variant() {
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

    /// Words and vector results of the query, then of its variants.
    fn results_by_variant(&self) -> impl Iterator<Item = (&[WordsPage], &[VectorHit])> {
        let own = (self.words.as_slice(), self.vectors.as_slice());
        let variants = self.variants.iter();
        std::iter::once(own).chain(variants.map(|v| (v.words.as_slice(), v.vectors.as_slice())))
    }
}

impl RetrievalRun<'_> {
    pub(super) fn run_arms(&self, stopwatch: &mut Stopwatch) -> Result<ArmResults, BrainError> {
        let mut results = ArmResults::default();
        for planned in &self.plan.arms {
            self.options.check_stop()?;
            match planned.arm {
                Arm::Words => results.words = self.find_words(&self.words)?,
                Arm::Names => results.names = self.find_names()?,
                Arm::Graph => self.find_by_graph(&mut results)?,
                Arm::Vectors => self.find_vectors(&mut results)?,
            }
            stopwatch.lap(planned.arm.name());
        }
        if !self.plan.variants.is_empty() {
            results.variants = self.find_variants()?;
            stopwatch.lap(EXPANSION);
        }
        Ok(results)
    }

    /// Finds pages by words. The index ranks by the best passage; the score here also includes the
    /// page as a whole.
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

    /// Finds pages by vector similarity.
    fn find_vectors(&self, results: &mut ArmResults) -> Result<(), BrainError> {
        let Some(query) = self.vector_queries.first().cloned().flatten() else { return Ok(()) };
        results.vectors = self.find_near(&query)?;
        results.vector_query = Some(query);
        Ok(())
    }

    pub(super) fn find_near(&self, query: &VectorQuery) -> Result<Vec<VectorHit>, BrainError> {
        let depth = self.request.settings.rescored_passages(self.view.chunks(self.filter.trust));
        let mut near = self.view.vectors(query, &self.filter, depth, self.plan.pool)?;
        let min_cosine = self.request.settings.vectors_least;
        near.retain(|near| near.hit.score >= min_cosine);
        Ok(near)
    }

    /// Finds pages whose name is the whole query.
    fn find_names(&self) -> Result<Vec<NameMatch>, BrainError> {
        if self.name.is_empty() || self.name.len() > names::MAX_NAME_BYTES {
            return Ok(Vec::new());
        }
        Ok(names::entitled(self.view.named(&self.name, &self.filter)?, self.sources))
    }

    fn find_by_graph(&self, results: &mut ArmResults) -> Result<(), BrainError> {
        let question = match &self.intent.relation {
            Some(question) => question.clone(),
            None => neighbourhood(self.names_in_query()?),
        };
        let resolved = self.resolve_seeds(&question)?;
        if resolved.is_empty() {
            results.degraded.push(DegradedStage { stage: "graph", reason: NO_SEED });
        } else {
            let trust = self.request.filter.trust;
            let mut graph = LinkGraph::new(self.view, self.sources, trust, self.options.is_stopped);
            let reached = graph.walk(&question, &resolved, self.request)?;
            results.graph =
                reached.into_iter().filter(|reached| reached.entry.passes(&self.filter)).collect();
            results.graph.truncate(self.plan.pool);
        }
        results.relation = Some(ResolvedRelation { question, resolved });
        Ok(())
    }
}
