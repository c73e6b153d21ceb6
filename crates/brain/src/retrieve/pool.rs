//! One candidate per page, whichever arms brought it.

use std::sync::Arc;

use gbrain_core::id::PageId;
use gbrain_core::ranking::Arm;
use gbrain_core::search::candidate::{Candidate, Tier};
use gbrain_core::text::name_key;
use gbrain_index::{NameKind, PageEntry, WordsHit};
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::Retrieval;
use super::arms::ArmResults;

#[derive(Default)]
struct Pool {
    candidates: Vec<Candidate>,
    places: FxHashMap<PageId, usize>,
}

impl Retrieval<'_> {
    pub(super) fn pool(&self, found: &ArmResults) -> Result<Vec<Candidate>, BrainError> {
        let mut pool = Pool::default();
        for (at, words) in found.words.iter().enumerate() {
            let entry = self.view.entry(words.page, self.request.filter.trust)?;
            let Some(entry) = entry else { continue };
            let candidate = pool.of(&entry);
            candidate.enter(Arm::Words, at + 1, words.score, || describe(&words.passages));
        }
        for (at, named) in found.names.iter().enumerate() {
            let candidate = pool.of(&named.entry);
            candidate.tier = Tier::Named(at as u8);
            candidate.enter(Arm::Names, at + 1, 1.0, || {
                format!("the query is its {}", kind_of_name(named.how))
            });
        }
        for (at, reached) in found.graph.iter().enumerate() {
            let candidate = pool.of(&reached.entry);
            candidate.edges = reached.edges.clone();
            candidate.enter(Arm::Graph, at + 1, reached.score, || {
                let types: Vec<&str> =
                    reached.edges.iter().map(|edge| edge.link_type.name()).collect();
                format!("reached by {}", types.join(", "))
            });
        }
        Ok(pool.candidates)
    }

    /// Counts the pages that link to the candidates which may still be shown.
    pub(super) fn count_backlinks(&self, candidates: &mut [Candidate]) -> Result<(), BrainError> {
        if self.request.settings.backlink_boost == 0.0 {
            return Ok(());
        }
        let trust = self.request.filter.trust;
        for candidate in candidates.iter_mut().take(2 * self.request.limit) {
            let slug = self.view.backlinks(&name_key(candidate.key.slug.as_str()), trust)?;
            let title = self.view.backlinks(&name_key(&candidate.title), trust)?;
            candidate.backlinks = u32::try_from(slug + title).unwrap_or(u32::MAX - 1);
        }
        Ok(())
    }
}

fn describe(passages: &[WordsHit]) -> String {
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

impl Pool {
    fn of(&mut self, entry: &Arc<PageEntry>) -> &mut Candidate {
        let next = self.candidates.len();
        let place = *self.places.entry(entry.id).or_insert(next);
        if place == next {
            self.candidates.push(Candidate {
                page: entry.id,
                key: entry.key.clone(),
                title: entry.title.clone(),
                effective_date: entry.effective_date,
                backlinks: 0,
                tier: Tier::Found,
                arms: Vec::new(),
                edges: Vec::new(),
                score: 0.0,
                trace: Vec::new(),
            });
        }
        &mut self.candidates[place]
    }
}
