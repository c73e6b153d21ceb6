//! Variants of the query: what words and vectors find for each, and what that is worth.
//!
//! A page's share of a variant's best page, weighted by `expand_weight`, counts beside its share of
//! the query's best: see [`gbrain_core::search::fuse`]. Names, walks, days and intent go by what was
//! typed.

use gbrain_core::id::PageId;
use gbrain_core::ranking::Arm;
use gbrain_core::search::candidate::Candidate;
use gbrain_core::text::QueryTerms;
use gbrain_index::{VectorHit, VectorQuery, WordsQuery};

use crate::BrainError;

use super::Retrieval;
use super::arms::WordsPage;
use super::pool::Pool;

/// What a variant found.
#[derive(Debug)]
pub(super) struct Varied {
    pub(super) number: usize,
    pub(super) words: Vec<WordsPage>,
    pub(super) vectors: Vec<VectorHit>,
    vector_query: Option<VectorQuery>,
}

impl Varied {
    fn best_words(&self) -> f64 {
        self.words.first().map_or(0.0, |page| page.score)
    }

    fn best_cosine(&self) -> f64 {
        self.vectors.first().map_or(0.0, |near| near.hit.score)
    }
}

impl Retrieval<'_> {
    /// What each variant finds. One that says nothing to any arm takes no part.
    pub(super) fn find_variants(&self) -> Result<Vec<Varied>, BrainError> {
        let mut all = Vec::new();
        for (at, subject) in self.plan.variants.iter().enumerate() {
            self.ask.check_stop()?;
            let words = WordsQuery { terms: QueryTerms::of(subject), ..self.words.clone() };
            let vector_query = self.vector_queries.get(at + 1).cloned().flatten();
            if words.terms.is_empty() && vector_query.is_none() {
                continue;
            }
            all.push(Varied {
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

    /// Takes in the pages that variants found.
    pub(super) fn pool_variants(
        &self,
        pool: &mut Pool,
        variants: &[Varied],
    ) -> Result<(), BrainError> {
        let trust = self.request.filter.trust;
        for varied in variants {
            for words in &varied.words {
                let Some(entry) = self.view.entry(words.page, trust)? else { continue };
                let share = words.score / varied.best_words();
                self.vary(pool.of(&entry), Arm::Words, share, varied);
            }
            for VectorHit { hit, .. } in &varied.vectors {
                let Some(entry) = self.view.entry(hit.page, trust)? else { continue };
                let share = hit.score / varied.best_cosine();
                self.vary(pool.of(&entry), Arm::Vectors, share, varied);
            }
        }
        Ok(())
    }

    /// Asks the vectors about the pages that a variant did not bring, as for the query itself.
    pub(super) fn complete_variants(
        &self,
        candidates: &mut [Candidate],
        variants: &[Varied],
    ) -> Result<(), BrainError> {
        for varied in variants {
            let Some(query) = varied.vector_query.as_ref().filter(|_| varied.best_cosine() > 0.0)
            else {
                continue;
            };
            let is_known = |page: PageId| varied.vectors.iter().any(|near| near.hit.page == page);
            let mut others: Vec<&mut Candidate> =
                candidates.iter_mut().filter(|candidate| !is_known(candidate.page)).collect();
            let pages: Vec<PageId> = others.iter().map(|candidate| candidate.page).collect();
            let nearest = self.view.page_vectors(query, &self.filter, &pages)?;
            for (candidate, hit) in others.iter_mut().zip(nearest) {
                let Some(hit) = hit else { continue };
                self.vary(candidate, Arm::Vectors, hit.score / varied.best_cosine(), varied);
            }
        }
        Ok(())
    }

    /// Being unlike a variant is worth nothing, not less; a shortlist that missed a page does not
    /// make it better than the best.
    fn vary(&self, candidate: &mut Candidate, arm: Arm, share: f64, varied: &Varied) {
        let weight = self.request.settings.expand_weight;
        if share > 0.0 {
            let share = weight * share.min(1.0);
            candidate.vary(arm, share, || format!("{arm} of variant {}", varied.number));
        }
    }
}
