//! The writer of the index on disk.

use std::sync::Arc;
use std::thread;

use gbrain_core::id::PageId;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_embed::{Embedder, Urgency};
use rustc_hash::FxHashMap;
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy, UserOperation};
use tantivy::{IndexWriter, TantivyError, Term};

use super::DiskIndexState;
use super::document::{PageDocuments, documents_of};
use super::lock::WriterLock;
use super::payload::Payload;
use super::pending::PendingRows;
use super::settle::due;
use super::vectors::VectorSources;
use super::view::DiskView;
use crate::contract::{Corpus, Writer};
use crate::error::{IndexError, IndexResult};
use crate::statistics::{ChunkTotals, CorpusTotals};
use crate::vectors::{VectorRow, page_rows};

/// Batches with fewer chunks are a catch-up: one thread, little memory, one new segment.
const BULK_CHUNKS: usize = 2000;
const BULK_THREADS: usize = 2;
const BULK_BYTES: usize = 128 << 20;
const CATCH_UP_BYTES: usize = 32 << 20;

pub(super) struct DiskWriter {
    shared: Arc<DiskIndexState>,
    committed: Payload,
    /// The pages as of the last commit, opened when the first page is replaced.
    before: Option<Arc<DiskView>>,
    /// Contribution of each page changed since the last commit to the statistics; `None` for
    /// removed pages.
    changed: FxHashMap<PageId, Option<(Visibility, ChunkTotals)>>,
    statistics: CorpusTotals,
    is_cleared: bool,
    /// The model whose vectors are stored, if this process has it.
    model: Option<Arc<dyn Embedder>>,
    /// Rows of the pages changed since the last commit.
    pending: Option<PendingRows>,
    urgency: Urgency,
    writer: Option<IndexWriter>,
    // Released last.
    _lock: WriterLock,
}

impl DiskWriter {
    pub(super) fn new(shared: Arc<DiskIndexState>, committed: Payload, lock: WriterLock) -> Self {
        let model = committed.model.as_deref().and_then(|id| shared.models.find(id)).cloned();
        let statistics = committed.statistics;
        let (before, changed) = (None, FxHashMap::default());
        Self {
            shared,
            committed,
            before,
            changed,
            statistics,
            is_cleared: false,
            model,
            pending: None,
            urgency: Urgency::default(),
            writer: None,
            _lock: lock,
        }
    }

    /// The tantivy writer, created for about `chunks` chunks on first use.
    fn writer(&mut self, chunks: usize) -> IndexResult<&mut IndexWriter> {
        if self.writer.is_none() {
            let (threads, bytes) = match chunks < BULK_CHUNKS {
                true => (1, CATCH_UP_BYTES),
                false => (BULK_THREADS, BULK_BYTES),
            };
            // A write error of an earlier writer is not the cause of this one's failure.
            drop(self.shared.files.take_refusal());
            let writer =
                open(&self.shared.index, threads, bytes).map_err(|e| self.shared.error(e))?;
            self.writer = Some(writer);
        }
        Ok(self.writer.as_mut().expect("it was just made"))
    }

    /// Removes a page if the index contains it.
    fn remove(&mut self, page: PageId, chunks: usize) -> IndexResult<()> {
        let known = match self.changed.get(&page) {
            Some(known) => *known,
            None => self.committed_totals(page)?,
        };
        let Some((visibility, totals)) = known else { return Ok(()) };
        self.statistics.of_mut(visibility).subtract(totals);
        self.changed.insert(page, None);
        let term = Term::from_field_i64(self.shared.fields.page, page.0);
        self.writer(chunks)?.delete_term(term);
        Ok(())
    }

    fn committed_totals(&mut self, page: PageId) -> IndexResult<Option<(Visibility, ChunkTotals)>> {
        if self.is_cleared {
            return Ok(None);
        }
        let before = match &self.before {
            Some(before) => before,
            None => self.before.insert(Arc::new(self.shared.read()?)),
        };
        before.totals_of(page)
    }

    fn insert(&mut self, stored: &StoredPage, chunks: usize) -> IndexResult<()> {
        let PageDocuments { documents, totals } = documents_of(&self.shared.fields, stored);
        let visibility = stored.page.visibility;
        self.statistics.of_mut(visibility).add(totals);
        self.changed.insert(stored.id, Some((visibility, totals)));
        let adds: Vec<_> = documents.into_iter().map(UserOperation::Add).collect();
        let written = self.writer(chunks)?.run(adds);
        written.map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// Converts a write error. Data written since the last commit is removed: it takes space that
    /// the store may need.
    fn fail(&mut self, error: TantivyError) -> IndexError {
        // This ends its threads, so an I/O error that one of them met is known.
        self.writer = None;
        let failure = self.shared.write_failed(error);
        // A new writer knows only the files of the last commit.
        if let Ok(writer) = open(&self.shared.index, 1, CATCH_UP_BYTES) {
            // Files that cannot be removed now are removed after the next commit.
            let _ = writer.garbage_collect_files().wait();
        }
        failure
    }

    fn write(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> IndexResult<()> {
        let chunks = upserts.iter().map(|stored| stored.page.chunks.len()).sum();
        for page in removals {
            self.remove(*page, chunks)?;
        }
        for stored in upserts {
            self.remove(stored.id, chunks)?;
            self.insert(stored, chunks)?;
        }
        Ok(())
    }

    /// Stores the rows of pages until their commit.
    fn keep_rows(&mut self, dims: usize, rows: Vec<(PageId, Vec<VectorRow>)>) -> IndexResult<()> {
        let io = |e| self.shared.io(e);
        let pending = match &mut self.pending {
            Some(pending) => pending,
            none => none.insert(PendingRows::new(&self.shared.dir, dims).map_err(io)?),
        };
        rows.iter().try_for_each(|(page, rows)| pending.push(*page, rows)).map_err(io)
    }

    /// Writes the vectors of segments that have none yet.
    fn write_vectors(&self, known: &VectorSources<'_>) -> IndexResult<()> {
        if let Some(model) = &self.model {
            let view = self.shared.read()?;
            for segment in 0..view.segments.len() {
                view.write_missing_vectors(model.as_ref(), segment, known)?;
            }
        }
        Ok(())
    }

    fn commit_payload(&mut self, payload: Payload) -> IndexResult<()> {
        let text = payload.write(&self.shared.store);
        let committed = commit(self.writer(0)?, &text);
        committed.map_err(|e| self.fail(e))?;
        self.shared.remember_commit()?;
        self.committed = payload;
        self.changed.clear();
        self.before = None;
        self.is_cleared = false;
        // The next batch may have another size.
        self.writer = None;
        Ok(())
    }
}

impl Writer for DiskWriter {
    fn corpus(&self) -> Corpus {
        self.committed.corpus
    }

    fn set_urgency(&mut self, urgency: Urgency) {
        self.urgency = urgency;
    }

    /// Words are written while another thread embeds.
    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> IndexResult<()> {
        let Some(model) = self.model.clone().filter(|_| !upserts.is_empty()) else {
            return self.write(upserts, removals);
        };
        let urgency = self.urgency;
        let rows = thread::scope(|scope| {
            let rows = scope.spawn(|| rows_of(model.as_ref(), upserts, urgency));
            self.write(upserts, removals)?;
            rows.join().expect("embedding does not panic")
        })?;
        self.keep_rows(model.dims(), rows)
    }

    fn clear(&mut self) -> IndexResult<()> {
        // Documents queued in the writer would be added after the clearing: start a new writer.
        self.writer = None;
        let cleared = self.writer(0)?.delete_all_documents();
        cleared.map_err(|e| self.shared.error(e))?;
        self.statistics = CorpusTotals::default();
        self.changed.clear();
        self.is_cleared = true;
        self.pending = None;
        Ok(())
    }

    fn commit(&mut self, corpus: Corpus) -> IndexResult<()> {
        let model = self.committed.model.clone();
        self.commit_payload(Payload { corpus, statistics: self.statistics, model })?;
        let waiting = match self.pending.take() {
            Some(pending) => {
                let waiting = pending.finish();
                Some(waiting.map_err(|e| self.shared.io(e))?)
            }
            None => None,
        };
        self.write_vectors(&VectorSources { waiting: waiting.as_ref(), ..VectorSources::default() })
    }

    fn adopt_wanted_model(&mut self) -> IndexResult<()> {
        // The commit below repeats the last one except for the model.
        debug_assert!(self.changed.is_empty() && !self.is_cleared);
        let Some(wanted) = self.shared.models.wanted().cloned() else { return Ok(()) };
        let id = wanted.id().to_owned();
        self.model = Some(wanted);
        self.write_vectors(&VectorSources::default())?;
        if self.committed.model.as_ref() != Some(&id) {
            self.commit_payload(Payload { model: Some(id.clone()), ..self.committed.clone() })?;
        }
        self.shared.remove_unused_vectors(Some(&id))
    }

    fn settle(&mut self) -> IndexResult<()> {
        let shared = self.shared.clone();
        loop {
            let segments = shared.index.searchable_segment_metas().map_err(|e| shared.error(e))?;
            let Some(due) = due(&segments) else {
                return shared.remove_unused_vectors(None);
            };
            // tantivy does not remove the files of a segment while its metadata is held.
            drop(segments);
            let before = shared.read()?;
            let merged = self.writer(0)?.merge(&due).wait();
            merged.map_err(|e| self.fail(e))?;
            shared.remember_commit()?;
            let pages = before.first_documents(&due)?;
            self.write_vectors(&VectorSources {
                before: Some((&before, pages)),
                ..VectorSources::default()
            })?;
            drop(before);
            // Readers keep open files even after they are unlinked.
            let collected = self.writer(0)?.garbage_collect_files().wait();
            collected.map_err(|e| shared.error(e))?;
        }
    }
}

fn rows_of(
    model: &dyn Embedder,
    upserts: &[StoredPage],
    urgency: Urgency,
) -> IndexResult<Vec<(PageId, Vec<VectorRow>)>> {
    upserts.iter().map(|stored| Ok((stored.id, page_rows(model, stored, urgency)?))).collect()
}

/// The first commit of an index: empty, with the current version and store.
pub(super) fn commit_nothing(
    index: &tantivy::Index,
    store: &str,
    model: Option<String>,
) -> tantivy::Result<()> {
    let (corpus, statistics) = (Corpus::default(), CorpusTotals::default());
    let payload = Payload { corpus, statistics, model };
    commit(&mut open(index, 1, CATCH_UP_BYTES)?, &payload.write(store))
}

fn commit(writer: &mut IndexWriter, payload: &str) -> tantivy::Result<()> {
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(payload);
    prepared.commit()?;
    Ok(())
}

/// A writer without automatic merges: [`Writer::settle`] merges when its caller has time.
fn open(index: &tantivy::Index, threads: usize, bytes: usize) -> tantivy::Result<IndexWriter> {
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(bytes)
        .num_merge_threads(1)
        .build();
    let writer: IndexWriter = index.writer_with_options(options)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}
