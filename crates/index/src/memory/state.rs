//! The contents of a memory index.

use std::sync::{Arc, OnceLock};

use gbrain_core::chunk;
use gbrain_core::id::PageId;
use gbrain_core::page::StoredPage;
use gbrain_core::text::name_key;
use gbrain_embed::{Embedder, Urgency};
use rustc_hash::{FxHashMap, FxHashSet};

use super::nearest::PackedVectors;
use super::words::{InvertedIndex, TermPosting};
use crate::bm25::{TermForm, length_code};
use crate::contract::Corpus;
use crate::entry::{LinkEntry, PageEntry, Passage};
use crate::error::IndexResult;
use crate::models::Models;
use crate::statistics::{ChunkTotals, CorpusTotals};
use crate::tokens::for_each_unstemmed_chunk_token;
use crate::vectors::{VectorRow, page_rows};

#[derive(Debug)]
pub(super) struct MemoryChunk {
    pub(super) passage: Passage,
    pub(super) length_code: u8,
}

#[derive(Debug)]
pub(super) struct MemoryPage {
    pub(super) entry: Arc<PageEntry>,
    pub(super) chunks: Vec<MemoryChunk>,
    pub(super) links: Vec<LinkEntry>,
    /// The vectors of its chunks.
    pub(super) rows: Vec<VectorRow>,
    totals: ChunkTotals,
}

#[derive(Debug, Clone, Default)]
pub(super) struct MemoryState {
    pub(super) corpus: Corpus,
    pub(super) pages: FxHashMap<PageId, Arc<MemoryPage>>,
    words: InvertedIndex,
    names: FxHashMap<String, Vec<PageId>>,
    targets: FxHashMap<String, Vec<PageId>>,
    pub(super) statistics: CorpusTotals,
    pub(super) models: Models,
    packed: OnceLock<Arc<PackedVectors>>,
}

impl MemoryState {
    pub(super) fn new(models: Models) -> Self {
        Self { models, ..Self::default() }
    }

    pub(super) fn apply(
        &mut self,
        upserts: &[StoredPage],
        removals: &[PageId],
        urgency: Urgency,
    ) -> IndexResult<()> {
        self.packed = OnceLock::new();
        let replaced: FxHashSet<PageId> =
            upserts.iter().map(|p| p.id).chain(removals.iter().copied()).collect();
        self.remove(&replaced);
        for stored in upserts {
            // If a page occurs twice in one batch, the last one counts.
            if self.pages.contains_key(&stored.id) {
                self.remove(&FxHashSet::from_iter([stored.id]));
            }
            self.insert(stored, urgency)?;
        }
        Ok(())
    }

    /// The vectors, laid out for a scan.
    pub(super) fn packed(&self, model: &dyn Embedder) -> &PackedVectors {
        self.packed.get_or_init(|| Arc::new(PackedVectors::of(self, model.centre())))
    }

    pub(super) fn list(&self, form: TermForm, text: &str) -> &[TermPosting] {
        self.words.list(form, text)
    }

    /// The pages with a name key.
    pub(super) fn named(&self, name_key: &str) -> &[PageId] {
        self.names.get(name_key).map_or(&[], Vec::as_slice)
    }

    /// The pages with links to a target.
    pub(super) fn pointing_to(&self, target_key: &str) -> &[PageId] {
        self.targets.get(target_key).map_or(&[], Vec::as_slice)
    }

    fn insert(&mut self, stored: &StoredPage, urgency: Urgency) -> IndexResult<()> {
        let entry = Arc::new(PageEntry::of(stored));
        for (_, name) in entry.names() {
            self.names.entry(name).or_default().push(stored.id);
        }
        for target in targets(stored) {
            self.targets.entry(target).or_default().push(stored.id);
        }
        let (chunks, tokens) = self.insert_chunks(stored);
        let totals = ChunkTotals { chunks: chunks.len() as u64, tokens };
        self.statistics.of_mut(entry.visibility).add(totals);
        let links =
            stored.page.links.iter().map(|link| LinkEntry { owner: stored.id, link: link.clone() });
        let rows = match self.models.wanted() {
            Some(model) => page_rows(model.as_ref(), stored, urgency)?,
            None => Vec::new(),
        };
        let page = MemoryPage { entry, chunks, links: links.collect(), rows, totals };
        self.pages.insert(stored.id, Arc::new(page));
        Ok(())
    }

    fn insert_chunks(&mut self, stored: &StoredPage) -> (Vec<MemoryChunk>, u64) {
        let texts = chunk::texts(&stored.page.content, &stored.page.chunks);
        let mut all_tokens = 0;
        let chunks = stored.page.chunks.iter().zip(texts).map(|(chunk, text)| {
            let tokens = self.insert_words(stored, chunk.ordinal, &chunk.section, text);
            all_tokens += tokens;
            MemoryChunk { passage: Passage::of(chunk, text), length_code: length_code(tokens) }
        });
        (chunks.collect(), all_tokens)
    }

    fn insert_words(
        &mut self,
        stored: &StoredPage,
        ordinal: u32,
        section: &str,
        text: &str,
    ) -> u64 {
        let mut tokens = 0;
        for_each_unstemmed_chunk_token(&stored.page.title, ordinal, section, text, &mut |said| {
            tokens += self.words.count(said, stored.id, ordinal);
        });
        tokens
    }

    fn remove(&mut self, replaced: &FxHashSet<PageId>) {
        let mut any = false;
        for id in replaced {
            let Some(page) = self.pages.remove(id) else { continue };
            self.statistics.of_mut(page.entry.visibility).subtract(page.totals);
            any = true;
        }
        if !any {
            return;
        }
        self.words.remove(|page| replaced.contains(&page));
        for pages in [&mut self.names, &mut self.targets] {
            pages.retain(|_, ids| {
                ids.retain(|id| !replaced.contains(id));
                !ids.is_empty()
            });
        }
    }
}

/// The distinct target keys of a page's links.
fn targets(stored: &StoredPage) -> FxHashSet<String> {
    stored.page.links.iter().map(|link| name_key(&link.target)).collect()
}
