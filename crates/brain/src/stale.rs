//! A stale view that hides the pages which a caller may no longer see.
//!
//! An index that cannot catch up, because another process is writing it or the remote embedder is
//! down, answers from the corpus it holds. A page that was deleted, purged or made private since
//! must not reappear; everything else is shown as indexed.

use std::sync::Arc;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_index::{
    ChunkHit, Corpus, IndexCounts, IndexResult, LinkEntry, NameMatch, PageEntry, PageWords,
    Passage, VectorHit, VectorQuery, View, WordsQuery,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::freshness::{BATCH_BYTES, BATCH_CHANGES};
use crate::{Brain, BrainError};

/// The pages of an older corpus that must be hidden.
#[derive(Debug)]
pub(crate) enum HiddenPages {
    /// The corpus is a past state of the store: the pages changed since that are deleted or
    /// private.
    Changed { deleted: FxHashSet<PageId>, private: FxHashSet<PageId> },
    /// It is not (after a purge or a restored backup): only pages that the store holds with the
    /// same text are shown.
    Unknown { held: FxHashMap<PageId, (Hash, Visibility)> },
}

impl Brain {
    /// The pages of `corpus` that must not be shown any more.
    pub(crate) fn hidden_in(&self, corpus: &Corpus) -> Result<HiddenPages, BrainError> {
        let known = self.store.head_at(&self.workspace, corpus.generation)?;
        let is_past = known.is_some_and(|head| head.root == corpus.root);
        if is_past {
            return self.changed_since(corpus.generation);
        }
        let mut held = FxHashMap::default();
        self.for_each_change(Generation(0), &mut |upserts, _| {
            held.extend(
                upserts
                    .iter()
                    .map(|stored| (stored.id, (stored.page.content_hash, stored.page.visibility))),
            );
        })?;
        Ok(HiddenPages::Unknown { held })
    }

    fn changed_since(&self, at: Generation) -> Result<HiddenPages, BrainError> {
        let (mut deleted, mut private) = (FxHashSet::default(), FxHashSet::default());
        self.for_each_change(at, &mut |upserts, removals| {
            for stored in upserts {
                deleted.remove(&stored.id);
                match stored.page.visibility {
                    Visibility::Private => private.insert(stored.id),
                    Visibility::World => private.remove(&stored.id),
                };
            }
            deleted.extend(removals);
        })?;
        Ok(HiddenPages::Changed { deleted, private })
    }

    fn for_each_change(
        &self,
        mut at: Generation,
        take: &mut dyn FnMut(&[StoredPage], &[PageId]),
    ) -> Result<(), BrainError> {
        loop {
            let batch = self.store.changes(&self.workspace, at, BATCH_CHANGES, BATCH_BYTES)?;
            take(&batch.upserts, &batch.removals);
            if batch.upto >= batch.head || batch.upto == at {
                return Ok(());
            }
            at = batch.upto;
        }
    }
}

/// An older corpus without its hidden pages.
pub(crate) struct StaleView {
    pub(crate) view: Arc<dyn View>,
    pub(crate) hidden: Arc<HiddenPages>,
}

impl StaleView {
    fn is_hidden(&self, page: PageId, trust: Viewer) -> IndexResult<bool> {
        let may_see = |visibility| trust == Viewer::Trusted || visibility == Visibility::World;
        match &*self.hidden {
            HiddenPages::Changed { deleted, private } => {
                Ok(deleted.contains(&page) || trust == Viewer::Untrusted && private.contains(&page))
            }
            HiddenPages::Unknown { held } => {
                let Some((content, visibility)) = held.get(&page) else { return Ok(true) };
                let entry = self.view.entry(page, trust)?;
                Ok(!may_see(*visibility)
                    || entry.is_none_or(|entry| entry.content_hash != *content))
            }
        }
    }

    /// Upper bound of hidden pages: that many extra results are requested, so enough remain.
    fn max_hidden(&self) -> usize {
        match &*self.hidden {
            HiddenPages::Changed { deleted, private } => deleted.len() + private.len(),
            HiddenPages::Unknown { .. } => usize::try_from(self.view.corpus().pages).unwrap_or(0),
        }
    }

    fn without_hidden<T>(
        &self,
        found: Vec<T>,
        trust: Viewer,
        page: impl Fn(&T) -> PageId,
    ) -> IndexResult<Vec<T>> {
        let mut shown = Vec::with_capacity(found.len());
        for one in found {
            if !self.is_hidden(page(&one), trust)? {
                shown.push(one);
            }
        }
        Ok(shown)
    }

    fn unless_hidden<T>(
        &self,
        page: PageId,
        trust: Viewer,
        found: Option<T>,
    ) -> IndexResult<Option<T>> {
        Ok(if self.is_hidden(page, trust)? { None } else { found })
    }
}

impl View for StaleView {
    fn corpus(&self) -> Corpus {
        self.view.corpus()
    }

    fn is_damaged(&self) -> bool {
        self.view.is_damaged()
    }

    fn count_contents(&self) -> IndexResult<IndexCounts> {
        self.view.count_contents()
    }

    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> IndexResult<Vec<ChunkHit>> {
        let found = self.view.words(query, filter, k.saturating_add(self.max_hidden()))?;
        let mut without_hidden = self.without_hidden(found, filter.trust, |hit| hit.page)?;
        without_hidden.truncate(k);
        Ok(without_hidden)
    }

    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> IndexResult<Vec<PageWords>> {
        let mut words = self.view.page_words(query, filter, pages, max)?;
        for (page, words) in pages.iter().zip(&mut words) {
            if self.is_hidden(*page, filter.trust)? {
                *words = PageWords::default();
            }
        }
        Ok(words)
    }

    fn chunks(&self, trust: Viewer) -> u64 {
        self.view.chunks(trust)
    }

    fn vector_model(&self) -> Option<&str> {
        self.view.vector_model()
    }

    fn vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> IndexResult<Vec<VectorHit>> {
        let more = self.max_hidden();
        let (depth, most) = (depth.saturating_add(more), k.saturating_add(more));
        let found = self.view.vectors(query, filter, depth, most)?;
        let mut without_hidden = self.without_hidden(found, filter.trust, |near| near.hit.page)?;
        without_hidden.truncate(k);
        Ok(without_hidden)
    }

    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> IndexResult<Vec<Option<ChunkHit>>> {
        let found = self.view.page_vectors(query, filter, pages)?;
        let found = pages.iter().zip(found);
        found.map(|(page, hit)| self.unless_hidden(*page, filter.trust, hit)).collect()
    }

    fn vectors_fit(&self, stored: &StoredPage) -> IndexResult<Option<bool>> {
        self.view.vectors_fit(stored)
    }

    fn read(&self, hit: &ChunkHit) -> IndexResult<Passage> {
        self.view.read(hit)
    }

    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> IndexResult<Option<Passage>> {
        let found = self.view.passage(page, ordinal, trust)?;
        self.unless_hidden(page, trust, found)
    }

    fn entry(&self, page: PageId, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        let found = self.view.entry(page, trust)?;
        self.unless_hidden(page, trust, found)
    }

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        let found = self.view.entry_by_key(key, trust)?;
        match found {
            Some(entry) => self.unless_hidden(entry.id, trust, Some(entry)),
            None => Ok(None),
        }
    }

    fn named(&self, name_key: &str, filter: &Filter) -> IndexResult<Vec<NameMatch>> {
        self.without_hidden(self.view.named(name_key, filter)?, filter.trust, |named| {
            named.entry.id
        })
    }

    fn links_of(&self, page: PageId, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        self.without_hidden(self.view.links_of(page, trust)?, trust, |link| link.owner)
    }

    fn links_to(&self, target_key: &str, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        self.without_hidden(self.view.links_to(target_key, trust)?, trust, |link| link.owner)
    }

    fn backlinks(&self, target_key: &str, trust: Viewer) -> IndexResult<u64> {
        let owners = self.links_to(target_key, trust)?;
        let owners: FxHashSet<PageId> = owners.into_iter().map(|link| link.owner).collect();
        Ok(owners.len() as u64)
    }
}
