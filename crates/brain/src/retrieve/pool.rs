//! Merges the results of the arms into one candidate per page.

use std::sync::Arc;

use gbrain_core::id::PageId;
use gbrain_core::ranking::Arm;
use gbrain_core::search::candidate::{Candidate, RankTier};
use gbrain_core::text::name_key;
use gbrain_index::{ChunkHit, NameKind, PageEntry, VectorHit};
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::RetrievalRun;
use super::arms::ArmResults;

/// Minimum number of candidates whose backlinks are counted, regardless of the limit.
const MIN_BACKLINK_CANDIDATES: usize = 10;

#[derive(Default)]
pub(super) struct CandidatePool {
    candidates: Vec<Candidate>,
    positions: FxHashMap<PageId, usize>,
    /// Whether traces contain descriptions.
    has_trace_notes: bool,
}

impl RetrievalRun<'_> {
    pub(super) fn pool(&self, found: &ArmResults) -> Result<Vec<Candidate>, BrainError> {
        let has_trace_notes = self.options.explain || self.options.why_not.is_some();
        let mut pool = CandidatePool { has_trace_notes, ..CandidatePool::default() };
        for (at, words) in found.words.iter().enumerate() {
            self.options.check_stop()?;
            let entry = self.view.entry(words.page, self.request.filter.trust)?;
            let Some(entry) = entry else { continue };
            let candidate = pool.of(&entry);
            candidate
                .add_arm_score(Arm::Words, Some(at + 1), words.score, || describe(&words.passages));
        }
        for VectorHit { hit, place: position } in &found.vectors {
            let entry = self.view.entry(hit.page, self.request.filter.trust)?;
            let Some(entry) = entry else { continue };
            let candidate = pool.of(&entry);
            candidate.add_arm_score(Arm::Vectors, Some(*position), hit.score, || {
                format!("chunk {} cosine {:.3}", hit.ordinal, hit.score)
            });
        }
        for (at, named) in found.names.iter().enumerate() {
            let candidate = pool.of(&named.entry);
            candidate.tier = RankTier::Named(at as u8);
            candidate.add_arm_score(Arm::Names, Some(at + 1), 1.0, || {
                format!("the query is its {}", kind_of_name(named.how))
            });
        }
        for (at, reached) in found.graph.iter().enumerate() {
            let candidate = pool.of(&reached.entry);
            candidate.edges = reached.edges.clone();
            candidate.add_arm_score(Arm::Graph, Some(at + 1), reached.score, || {
                let types: Vec<&str> =
                    reached.edges.iter().map(|edge| edge.link_type.name()).collect();
                format!("reached by {}", types.join(", "))
            });
        }
        self.pool_variants(&mut pool, &found.variants)?;
        Ok(pool.candidates)
    }

    /// Adds vector scores for pages that other arms found: a page just outside the pool is nearly
    /// as similar as one just inside it.
    pub(super) fn complete_vectors(
        &self,
        candidates: &mut [Candidate],
        found: &ArmResults,
    ) -> Result<(), BrainError> {
        let Some(query) = &found.vector_query else { return Ok(()) };
        let mut others: Vec<&mut Candidate> =
            candidates.iter_mut().filter(|c| c.arm_entry(Arm::Vectors).is_none()).collect();
        let pages: Vec<PageId> = others.iter().map(|candidate| candidate.page).collect();
        let nearest = self.view.page_vectors(query, &self.filter, &pages)?;
        for (candidate, hit) in others.iter_mut().zip(nearest) {
            let Some(hit) = hit else { continue };
            candidate.add_arm_score(Arm::Vectors, None, hit.score, || {
                format!("chunk {} cosine {:.3}, beyond the pool", hit.ordinal, hit.score)
            });
        }
        self.complete_variants(candidates, &found.variants)
    }

    /// Counts the pages that link to the candidates which may still be shown.
    pub(super) fn count_backlinks(&self, candidates: &mut [Candidate]) -> Result<(), BrainError> {
        if self.request.settings.backlink_boost == 0.0 {
            return Ok(());
        }
        let trust = self.request.filter.trust;
        // So that a small limit returns a prefix of a larger one's results.
        let limit = self.request.limit.max(MIN_BACKLINK_CANDIDATES);
        for candidate in candidates.iter_mut().take(limit.saturating_add(limit.div_ceil(2))) {
            self.options.check_stop()?;
            let slug = self.view.backlinks(&name_key(candidate.key.slug.as_str()), trust)?;
            let title = self.view.backlinks(&name_key(&candidate.title), trust)?;
            candidate.backlinks = u32::try_from(slug + title).unwrap_or(u32::MAX - 1);
        }
        Ok(())
    }
}

fn describe(passages: &[ChunkHit]) -> String {
    let parts: Vec<String> =
        passages.iter().map(|hit| format!("chunk {} {:.3}", hit.ordinal, hit.score)).collect();
    parts.join(", ")
}

fn kind_of_name(how: NameKind) -> &'static str {
    match how {
        NameKind::Slug => "slug",
        NameKind::Title => "title",
        NameKind::Alias => "alias",
        NameKind::Basename => "last segment",
    }
}

impl CandidatePool {
    pub(super) fn of(&mut self, entry: &Arc<PageEntry>) -> &mut Candidate {
        let next = self.candidates.len();
        let position = *self.positions.entry(entry.id).or_insert(next);
        if position == next {
            let candidate = Candidate::new(entry.id, entry.key.clone(), &entry.title, entry.kind);
            let effective_date = entry.effective_date;
            let has_trace_notes = self.has_trace_notes;
            self.candidates.push(Candidate { effective_date, has_trace_notes, ..candidate });
        }
        &mut self.candidates[position]
    }
}
