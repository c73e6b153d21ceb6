//! A view that is behind the store and still answers: without the pages that a caller may no longer see.
//!
//! An index that can't catch up, because another process writes it or because the remote embedder is down,
//! answers from the corpus it holds. A page that was deleted, purged or made private since must not come
//! back through it; everything else is shown as the index holds it.

use std::sync::Arc;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_index::{
    ChunkHit, Corpus, Held, LinkEntry, Named, PageEntry, PageWords, Passage, Result, VectorHit,
    VectorQuery, View, WordsQuery,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::freshness::{BATCH_BYTES, BATCH_CHANGES};
use crate::{Brain, BrainError};

/// The pages of an older corpus that are hidden now.
#[derive(Debug)]
pub(crate) enum Hidden {
    /// The corpus is a past of the store: of the pages that changed since, those that are gone and those
    /// that are private.
    Changed { gone: FxHashSet<PageId>, private: FxHashSet<PageId> },
    /// It is not (a purge, a backup that was restored): everything but pages that the store holds with the
    /// same text.
    Unknown { held: FxHashMap<PageId, (Hash, Visibility)> },
}

impl Brain {
    /// What of `corpus` must not be shown any more.
    pub(crate) fn hidden_in(&self, corpus: &Corpus) -> std::result::Result<Hidden, BrainError> {
        let known = self.store.head_at(&self.workspace, corpus.generation)?;
        let is_past = known.is_some_and(|head| head.root == corpus.root);
        if is_past {
            return self.changed_since(corpus.generation);
        }
        let mut held = FxHashMap::default();
        self.each_change(Generation(0), &mut |upserts, _| {
            held.extend(
                upserts
                    .iter()
                    .map(|stored| (stored.id, (stored.page.content_hash, stored.page.visibility))),
            );
        })?;
        Ok(Hidden::Unknown { held })
    }

    fn changed_since(&self, at: Generation) -> std::result::Result<Hidden, BrainError> {
        let (mut gone, mut private) = (FxHashSet::default(), FxHashSet::default());
        self.each_change(at, &mut |upserts, removals| {
            for stored in upserts {
                gone.remove(&stored.id);
                match stored.page.visibility {
                    Visibility::Private => private.insert(stored.id),
                    Visibility::World => private.remove(&stored.id),
                };
            }
            gone.extend(removals);
        })?;
        Ok(Hidden::Changed { gone, private })
    }

    fn each_change(
        &self,
        mut at: Generation,
        take: &mut dyn FnMut(&[StoredPage], &[PageId]),
    ) -> std::result::Result<(), BrainError> {
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

/// An older corpus without the pages that are hidden now.
pub(crate) struct StaleView {
    pub(crate) view: Arc<dyn View>,
    pub(crate) hidden: Arc<Hidden>,
}

impl StaleView {
    fn is_hidden(&self, page: PageId, trust: Viewer) -> Result<bool> {
        let may_see = |visibility| trust == Viewer::Trusted || visibility == Visibility::World;
        match &*self.hidden {
            Hidden::Changed { gone, private } => {
                Ok(gone.contains(&page) || trust == Viewer::Untrusted && private.contains(&page))
            }
            Hidden::Unknown { held } => {
                let Some((content, visibility)) = held.get(&page) else { return Ok(true) };
                let entry = self.view.entry(page, trust)?;
                Ok(!may_see(*visibility)
                    || entry.is_none_or(|entry| entry.content_hash != *content))
            }
        }
    }

    /// At most how many pages are hidden: so many more are asked for, and those asked for remain.
    fn most_hidden(&self) -> usize {
        match &*self.hidden {
            Hidden::Changed { gone, private } => gone.len() + private.len(),
            Hidden::Unknown { .. } => usize::try_from(self.view.corpus().pages).unwrap_or(0),
        }
    }

    fn shown<T>(
        &self,
        found: Vec<T>,
        trust: Viewer,
        page: impl Fn(&T) -> PageId,
    ) -> Result<Vec<T>> {
        let mut shown = Vec::with_capacity(found.len());
        for one in found {
            if !self.is_hidden(page(&one), trust)? {
                shown.push(one);
            }
        }
        Ok(shown)
    }

    fn unless_hidden<T>(&self, page: PageId, trust: Viewer, found: Option<T>) -> Result<Option<T>> {
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

    fn held(&self) -> Result<Held> {
        self.view.held()
    }

    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> Result<Vec<ChunkHit>> {
        let found = self.view.words(query, filter, k.saturating_add(self.most_hidden()))?;
        let mut shown = self.shown(found, filter.trust, |hit| hit.page)?;
        shown.truncate(k);
        Ok(shown)
    }

    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> Result<Vec<PageWords>> {
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
    ) -> Result<Vec<VectorHit>> {
        let more = self.most_hidden();
        let (depth, most) = (depth.saturating_add(more), k.saturating_add(more));
        let found = self.view.vectors(query, filter, depth, most)?;
        let mut shown = self.shown(found, filter.trust, |near| near.hit.page)?;
        shown.truncate(k);
        Ok(shown)
    }

    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> Result<Vec<Option<ChunkHit>>> {
        let found = self.view.page_vectors(query, filter, pages)?;
        let found = pages.iter().zip(found);
        found.map(|(page, hit)| self.unless_hidden(*page, filter.trust, hit)).collect()
    }

    fn vectors_fit(&self, stored: &StoredPage) -> Result<Option<bool>> {
        self.view.vectors_fit(stored)
    }

    fn read(&self, hit: &ChunkHit) -> Result<Passage> {
        self.view.read(hit)
    }

    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> Result<Option<Passage>> {
        let found = self.view.passage(page, ordinal, trust)?;
        self.unless_hidden(page, trust, found)
    }

    fn entry(&self, page: PageId, trust: Viewer) -> Result<Option<Arc<PageEntry>>> {
        let found = self.view.entry(page, trust)?;
        self.unless_hidden(page, trust, found)
    }

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> Result<Option<Arc<PageEntry>>> {
        let found = self.view.entry_by_key(key, trust)?;
        match found {
            Some(entry) => self.unless_hidden(entry.id, trust, Some(entry)),
            None => Ok(None),
        }
    }

    fn named(&self, name_key: &str, filter: &Filter) -> Result<Vec<Named>> {
        self.shown(self.view.named(name_key, filter)?, filter.trust, |named| named.entry.id)
    }

    fn links_of(&self, page: PageId, trust: Viewer) -> Result<Vec<LinkEntry>> {
        self.shown(self.view.links_of(page, trust)?, trust, |link| link.owner)
    }

    fn links_to(&self, target_key: &str, trust: Viewer) -> Result<Vec<LinkEntry>> {
        self.shown(self.view.links_to(target_key, trust)?, trust, |link| link.owner)
    }

    fn backlinks(&self, target_key: &str, trust: Viewer) -> Result<u64> {
        let owners = self.links_to(target_key, trust)?;
        let owners: FxHashSet<PageId> = owners.into_iter().map(|link| link.owner).collect();
        Ok(owners.len() as u64)
    }
}
