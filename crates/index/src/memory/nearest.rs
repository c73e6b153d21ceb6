//! Vector search in memory: the same scan as on disk, over one run of codes.

use gbrain_core::id::PageId;
use gbrain_core::request::Filter;

use super::state::MemoryState;
use crate::contract::{ChunkHit, VectorHit};
use crate::filter::{admits_page, admits_part};
use crate::vectors::{
    DEPTH_GROWTH, FlatVectors, NearestPassage, ScoredPassage, VectorQuery, distinct_pages,
};

/// The vectors of an index, laid out for a scan.
#[derive(Debug)]
pub(super) struct PackedVectors {
    /// The chunk of each vector.
    chunks: Vec<(PageId, u32)>,
    vectors: FlatVectors,
}

impl PackedVectors {
    pub(super) fn of(state: &MemoryState, centre: &[f32]) -> Self {
        let (mut chunks, mut vectors) = (Vec::new(), FlatVectors::new(centre));
        for (id, page) in &state.pages {
            for (row, ordinal) in page.rows.iter().zip(0..) {
                chunks.push((*id, ordinal));
                vectors.push_row(row);
            }
        }
        Self { chunks, vectors }
    }

    pub(super) fn nearest(
        &self,
        state: &MemoryState,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> Vec<VectorHit> {
        let admits = |at: u32| {
            let (page, ordinal) = self.chunks[at as usize];
            let page = &state.pages[&page];
            let part = page.chunks[ordinal as usize].passage.part;
            admits_page(filter, &page.entry) && admits_part(filter, part)
        };
        let name = |near: &ScoredPassage<'_>| {
            let (page, ordinal) = self.chunks[near.place.at as usize];
            (&state.pages[&page].entry.key, ordinal)
        };
        let mut depth = depth.max(k);
        loop {
            let (passages, is_full) = self.vectors.shortlisted(query, depth, admits);
            let page_of = |near: &ScoredPassage<'_>| self.chunks[near.place.at as usize].0.0 as u64;
            match distinct_pages(passages, k, page_of, |a, b| name(a).cmp(&name(b))) {
                Err(_) if is_full => depth *= DEPTH_GROWTH,
                Ok(pages) | Err(pages) => return pages.iter().map(|page| self.hit(page)).collect(),
            }
        }
    }

    fn hit(&self, NearestPassage { near, place }: &NearestPassage<'_>) -> VectorHit {
        let (page, ordinal) = self.chunks[near.place.at as usize];
        let hit = ChunkHit { page, ordinal, score: near.score, handle: 0 };
        VectorHit { hit, place: *place }
    }
}
