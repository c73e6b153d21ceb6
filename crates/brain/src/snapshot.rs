//! A corpus to answer from: the newest, or that of a past generation.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey, SourceId};
use gbrain_core::page::{Page, StoredPage};
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::ranking::{CorpusFingerprint, DegradedStage};
use gbrain_core::request::Viewer;
use gbrain_index::{Corpus, Index, MemoryIndex, Models, PageEntry, View, Writer};
use gbrain_store::{FeedRange, Source, SourceTrust};
use jiff::Timestamp;

use crate::damage::open_or_replace;
use crate::freshness::{
    BATCH_BYTES, BATCH_CHANGES, OnProgress, ProgressControl, WORK_WAIT, corpus_of, wait_for_writer,
};
use crate::{Brain, BrainError, past_path, remove_dir};

/// Up to this many chunks a past corpus is indexed in memory, which is faster than creating files.
const IN_MEMORY_CHUNKS: u64 = 5_000;

/// An immutable corpus: later writes do not change its answers.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) view: Arc<dyn View>,
    pub(crate) sources: Arc<Vec<Source>>,
    pub(crate) behind: i64,
    /// Why it is behind, if the embedder is the reason.
    pub(crate) degraded: Option<DegradedStage>,
    pub(crate) models: Models,
    store: String,
}

impl Snapshot {
    pub(crate) fn new(brain: &Brain, view: Arc<dyn View>, sources: Arc<Vec<Source>>) -> Self {
        let store = brain.store().identity().to_owned();
        Self { view, sources, behind: 0, degraded: None, models: brain.models.clone(), store }
    }

    /// A standalone corpus: pages in memory, in no store, of one trusted source. Nothing remains
    /// when it is dropped, and it contains nothing of any brain.
    pub fn hermetic(pages: Vec<Page>, models: &Models) -> Result<Self, BrainError> {
        let index = MemoryIndex::new(models.clone());
        let chunks = pages.iter().map(|page| page.chunks.len() as u64).sum();
        let corpus = Corpus {
            generation: Generation(1),
            root: pages.iter().fold(Hash::default(), |root, page| root.toggle(page.fingerprint())),
            pages: pages.len() as u64,
            chunks,
        };
        let stored = |(page, number): (Page, i64)| StoredPage {
            id: PageId(number),
            version: 1,
            generation: corpus.generation,
            page,
        };
        let stored: Vec<StoredPage> = pages.into_iter().zip(1..).map(stored).collect();
        let mut writer = index.writer(Duration::ZERO)?;
        writer.apply(&stored, &[])?;
        writer.commit(corpus)?;
        drop(writer);
        Ok(Self {
            view: index.view()?,
            sources: Arc::new(vec![hermetic_source()]),
            behind: 0,
            degraded: None,
            models: models.clone(),
            store: HERMETIC.to_owned(),
        })
    }

    pub fn corpus(&self) -> CorpusSnapshot {
        let Corpus { generation, root, pages, chunks } = self.view.corpus();
        CorpusSnapshot {
            store: self.store.clone(),
            generation: generation.0,
            fingerprint: CorpusFingerprint { pages, chunks, root },
        }
    }

    /// The text of a page's chunk, if this caller may see it.
    pub fn chunk_text(
        &self,
        key: &PageKey,
        ordinal: u32,
        trust: Viewer,
    ) -> Result<Option<String>, BrainError> {
        let Some(entry) = self.view.entry_by_key(key, trust)? else { return Ok(None) };
        Ok(self.view.passage(entry.id, ordinal, trust)?.map(|passage| passage.text))
    }

    /// The title and aliases of a page, if this caller may see it.
    pub fn names_of(&self, key: &PageKey, trust: Viewer) -> Result<Vec<String>, BrainError> {
        let entry = self.view.entry_by_key(key, trust)?;
        let names = |entry: Arc<PageEntry>| {
            std::iter::once(entry.title.clone()).chain(entry.aliases.iter().cloned()).collect()
        };
        Ok(entry.map(names).unwrap_or_default())
    }

    /// Whether it has a page that this caller may see.
    pub fn has_page(&self, key: &PageKey, trust: Viewer) -> Result<bool, BrainError> {
        Ok(self.view.entry_by_key(key, trust)?.is_some())
    }

    /// Whether the store is ahead of it.
    pub(crate) fn is_stale(&self) -> bool {
        self.behind > 0 || self.degraded.is_some()
    }

    /// The model of its vectors.
    pub fn vector_model(&self) -> Option<&str> {
        self.view.vector_model()
    }
}

/// Store identity of a corpus that is in no store.
const HERMETIC: &str = "hermetic";

fn hermetic_source() -> Source {
    let id = SourceId::default();
    let name = id.to_string();
    Source { id, name, trust: SourceTrust::Trusted, created_at: Timestamp::UNIX_EPOCH }
}

impl Brain {
    /// The newest corpus, or an older one if another process is indexing and does not finish soon.
    pub fn snapshot<P: ProgressControl>(
        &self,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Snapshot, BrainError> {
        let fresh = self.fresh_view(&|done, total| progress(done, total).into_result())?;
        let sources = self.sources_at(fresh.head)?;
        let snapshot = Snapshot::new(self, fresh.view, sources);
        Ok(Snapshot { behind: fresh.behind, degraded: fresh.degraded, ..snapshot })
    }

    /// The past corpora of this brain, indexed on demand.
    pub fn past(&self) -> PastCorpora<'_> {
        PastCorpora { brain: self, index: OnceLock::new() }
    }

    fn past_index(&self) -> Result<Arc<dyn Index>, BrainError> {
        let chunks = self.store().head(self.workspace())?.chunks;
        let on_disk = self.index_path.as_deref().filter(|_| chunks > IN_MEMORY_CHUNKS);
        Ok(match on_disk {
            None => Arc::new(MemoryIndex::new(self.models.clone())),
            Some(path) => {
                open_or_replace(&past_path(path), self.store().identity(), &self.models)?.index
            }
        })
    }

    /// Removes the index of past corpora.
    pub(crate) fn remove_past(&self) -> Result<(), BrainError> {
        self.index_path.as_deref().map_or(Ok(()), |path| remove_dir(&past_path(path)))
    }
}

/// Past corpora, indexed on demand. One index moves forward through them, so visiting generations
/// in rising order costs as much as visiting the last one.
pub struct PastCorpora<'a> {
    brain: &'a Brain,
    /// Created for the first corpus.
    index: OnceLock<Arc<dyn Index>>,
}

impl PastCorpora<'_> {
    /// The corpus at a generation; `None` if the generation does not exist.
    ///
    /// Sources are as they are now: the trust of a source has no history.
    pub fn at<P: ProgressControl>(
        &self,
        generation: Generation,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Option<Snapshot>, BrainError> {
        let progress: OnProgress<'_> = &|done, total| progress(done, total).into_result();
        let brain = self.brain;
        let Some(head) = brain.store().head_at(brain.workspace(), generation)? else {
            return Ok(None);
        };
        let index = self.index()?;
        // Taken under the writer's lock: another process may want another generation next.
        let mut writer = wait_for_writer(index.as_ref(), WORK_WAIT, progress)?;
        let corpus = writer.corpus();
        if (corpus.generation, corpus.root) != (generation, head.root) {
            self.advance_to(writer.as_mut(), generation, progress)?;
        }
        let view = index.view()?;
        let sources = brain.sources_at(brain.store().head(brain.workspace())?.generation)?;
        Ok(Some(Snapshot::new(brain, view, sources)))
    }

    fn index(&self) -> Result<&Arc<dyn Index>, BrainError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let made = self.brain.past_index()?;
        Ok(self.index.get_or_init(|| made))
    }

    fn advance_to(
        &self,
        writer: &mut dyn Writer,
        until: Generation,
        progress: OnProgress<'_>,
    ) -> Result<(), BrainError> {
        let (store, workspace) = (self.brain.store(), self.brain.workspace());
        let corpus = writer.corpus();
        let known = store.head_at(workspace, corpus.generation)?;
        let is_past_of = corpus.generation < until
            && (corpus.generation == Generation(0)
                || known.is_some_and(|head| head.root == corpus.root));
        if !is_past_of {
            writer.clear()?;
        }
        let mut at = if is_past_of { corpus.generation } else { Generation(0) };
        loop {
            let range = FeedRange {
                after: at,
                until: Some(until),
                max_changes: BATCH_CHANGES,
                max_bytes: BATCH_BYTES,
            };
            let batch = store.read_feed(workspace, &range)?;
            writer.apply(&batch.upserts, &batch.removals)?;
            let is_last = batch.upto >= until || batch.upto == at;
            at = batch.upto;
            progress(at.0, until.0)?;
            if is_last {
                return Ok(writer.commit(corpus_of(&batch))?);
            }
        }
    }
}
