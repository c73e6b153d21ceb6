//! Query variants: their results and weight.
//!
//! A page's share of a variant's best score, weighted by `expand_weight`, counts beside its share
//! of the query's best: see [`gbrain_core::search::fuse`]. Names, walks, dates and intent use only
//! the typed query.

use gbrain_core::id::PageId;
use gbrain_core::ranking::Arm;
use gbrain_core::search::candidate::Candidate;
use gbrain_core::text::QueryTerms;
use gbrain_index::{VectorHit, VectorQuery, WordsQuery};

use crate::BrainError;

use super::RetrievalRun;
use super::arms::WordsPage;
use super::pool::CandidatePool;

#[derive(Debug)]
pub(super) struct VariantResults {
    pub(super) number: usize,
    pub(super) words: Vec<WordsPage>,
    pub(super) vectors: Vec<VectorHit>,
    vector_query: Option<VectorQuery>,
}

impl VariantResults {
    fn best_words(&self) -> f64 {
        self.words.first().map_or(0.0, |page| page.score)
    }

    fn best_cosine(&self) -> f64 {
        self.vectors.first().map_or(0.0, |near| near.hit.score)
    }
}

impl RetrievalRun<'_> {
    /// The results of each variant. A variant without terms and without a vector is skipped.
    pub(super) fn find_variants(&self) -> Result<Vec<VariantResults>, BrainError> {
        let mut all = Vec::new();
        for (at, subject) in self.plan.variants.iter().enumerate() {
            self.options.check_stop()?;
            let words = WordsQuery { terms: QueryTerms::of(subject), ..self.words.clone() };
            let vector_query = self.vector_queries.get(at + 1).cloned().flatten();
            if words.terms.is_empty() && vector_query.is_none() {
                continue;
            }
            all.push(VariantResults {
                number: at + 1,
                words: self.find_words(&words)?,
                vectors: match &vector_query {
                    Some(query) => self.find_near(query)?,
                    None => Vec::new(),
                },
                vector_query,
            });
        }
        Ok(all)
    }

    /// Adds the pages that variants found.
    pub(super) fn pool_variants(
        &self,
        pool: &mut CandidatePool,
        variants: &[VariantResults],
    ) -> Result<(), BrainError> {
        let trust = self.request.filter.trust;
        for variant in variants {
            for words in &variant.words {
                let Some(entry) = self.view.entry(words.page, trust)? else { continue };
                let share = words.score / variant.best_words();
                self.vary(pool.of(&entry), Arm::Words, share, variant);
            }
            for VectorHit { hit, .. } in &variant.vectors {
                let Some(entry) = self.view.entry(hit.page, trust)? else { continue };
                let share = hit.score / variant.best_cosine();
                self.vary(pool.of(&entry), Arm::Vectors, share, variant);
            }
        }
        Ok(())
    }

    /// Adds vector scores for pages that a variant did not find, as for the query itself.
    pub(super) fn complete_variants(
        &self,
        candidates: &mut [Candidate],
        variants: &[VariantResults],
    ) -> Result<(), BrainError> {
        for variant in variants {
            let Some(query) = variant.vector_query.as_ref().filter(|_| variant.best_cosine() > 0.0)
            else {
                continue;
            };
            let is_known = |page: PageId| variant.vectors.iter().any(|near| near.hit.page == page);
            let mut others: Vec<&mut Candidate> =
                candidates.iter_mut().filter(|candidate| !is_known(candidate.page)).collect();
            let pages: Vec<PageId> = others.iter().map(|candidate| candidate.page).collect();
            let nearest = self.view.page_vectors(query, &self.filter, &pages)?;
            for (candidate, hit) in others.iter_mut().zip(nearest) {
                let Some(hit) = hit else { continue };
                self.vary(candidate, Arm::Vectors, hit.score / variant.best_cosine(), variant);
            }
        }
        Ok(())
    }

    /// A negative similarity counts as zero; a page missed by the shortlist is capped at the best
    /// score.
    fn vary(&self, candidate: &mut Candidate, arm: Arm, share: f64, variant: &VariantResults) {
        let weight = self.request.settings.expand_weight;
        if share > 0.0 {
            let share = weight * share.min(1.0);
            candidate
                .add_variant_share(arm, share, || format!("{arm} of variant {}", variant.number));
        }
    }
}
