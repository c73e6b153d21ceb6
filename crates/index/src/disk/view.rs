//! One opened commit: the location of its pages and the contents of its documents.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gbrain_core::id::PageId;
use gbrain_core::page::Visibility;
use gbrain_core::request::Viewer;
use gbrain_embed::Embedder;
use rustc_hash::FxHashMap;
use tantivy::schema::Value as _;
use tantivy::{DocAddress, DocId, Searcher, TantivyDocument, TantivyError};

use super::payload::Payload;
use super::prepared::PreparedWordsQuery;
use super::record::{RecordError, read_entry, read_links, read_passage};
use super::schema::SchemaFields;
use super::segment::IndexSegment;
use super::sidecar::Sidecar;
use super::vectors::open_all;
use super::{DiskIndexState, corrupt, without_panic};
use crate::contract::{ChunkHit, Corpus, View as _, WordsQuery};
use crate::entry::{LinkEntry, PageEntry, Passage};
use crate::error::{IndexError, IndexResult};
use crate::statistics::ChunkTotals;

/// Maximum number of cached pages per view.
const MAX_CACHED_PAGES: usize = 1 << 16;
/// Prepared queries that a view caches: one request runs the same words several times.
const MAX_CACHED_QUERIES: usize = 4;

pub(super) struct DiskView {
    pub(super) shared: Arc<DiskIndexState>,
    pub(super) payload: Payload,
    searcher: Searcher,
    pub(super) fields: SchemaFields,
    pub(super) segments: Vec<IndexSegment>,
    /// The model whose vectors are stored, if this process has it.
    pub(super) model: Option<Arc<dyn Embedder>>,
    /// The vectors of each segment, by that model.
    sidecars: Vec<OnceLock<Sidecar>>,
    pages: Mutex<FxHashMap<PageId, KnownPage>>,
    queries: Mutex<Vec<CachedQuery>>,
    /// Whether a read found damage.
    is_damaged: AtomicBool,
    /// Number of pages that link to a target, by target and viewer.
    backlinks: Mutex<FxHashMap<(Box<str>, Viewer), u64>>,
}

/// A page's first document, and its entry once that was read.
#[derive(Clone)]
struct KnownPage {
    segment: usize,
    first: DocId,
    entry: Option<Arc<PageEntry>>,
}

struct CachedQuery {
    query: WordsQuery,
    trust: Viewer,
    prepared: Arc<PreparedWordsQuery>,
}

/// The location of a page: its documents in one segment.
pub(super) struct PlacedPage {
    pub(super) segment: usize,
    pub(super) documents: Range<DocId>,
}

impl DiskView {
    pub(super) fn new(
        shared: Arc<DiskIndexState>,
        payload: Payload,
        searcher: Searcher,
    ) -> IndexResult<Self> {
        let fields = shared.fields;
        let readers = searcher.segment_readers().iter();
        let segments: Vec<_> =
            readers.map(|reader| IndexSegment::new(reader.clone(), fields)).collect();
        let model = payload.model.as_deref().and_then(|id| shared.models.find(id)).cloned();
        let opened = match &model {
            Some(model) => open_all(&shared, model, &searcher)?,
            None => Vec::new(),
        };
        let sidecars = opened.into_iter().map(|sidecar| match sidecar {
            Some(sidecar) => OnceLock::from(sidecar),
            None => OnceLock::new(),
        });
        let sidecars = sidecars.collect();
        Ok(Self {
            shared,
            payload,
            searcher,
            fields,
            segments,
            model,
            sidecars,
            pages: Mutex::default(),
            queries: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            backlinks: Mutex::default(),
        })
    }

    /// Compares the commit's own counts with the contents of its segments: for a commit that
    /// another process wrote.
    pub(super) fn compare_with_commit(&self) -> IndexResult<()> {
        let contradiction = || {
            let what = "the commit contradicts its segments";
            super::integrity::damaged(&self.shared.dir, super::META, what)
        };
        for segment in &self.segments {
            let columns = segment.columns().map_err(|e| self.error(e))?;
            if columns.key.num_rows() != segment.reader.max_doc() {
                return Err(contradiction());
            }
        }
        let held = self.count_contents()?;
        let Corpus { pages, chunks, .. } = self.payload.corpus;
        if (held.pages, held.chunks) == (pages, chunks) { Ok(()) } else { Err(contradiction()) }
    }

    /// The vectors of a segment by the view's model, computed if missing.
    pub(super) fn sidecar(&self, model: &dyn Embedder, segment: usize) -> IndexResult<&Sidecar> {
        let cell = &self.sidecars[segment];
        if let Some(sidecar) = cell.get() {
            return Ok(sidecar);
        }
        let sidecar = self.vectors_of(model, segment)?;
        Ok(cell.get_or_init(|| sidecar))
    }

    /// The vectors of a segment, if they existed when the view was opened.
    pub(super) fn opened_vectors(&self, segment: usize) -> Option<&Sidecar> {
        self.sidecars.get(segment)?.get()
    }

    /// The contribution of a page to the totals of its visibility, if the view contains it.
    pub(super) fn totals_of(&self, page: PageId) -> IndexResult<Option<(Visibility, ChunkTotals)>> {
        let Some(placed) = self.place_of(page)? else { return Ok(None) };
        let totals = self.segments[placed.segment].totals_of(placed.documents);
        totals.map(Some).map_err(|e| self.error(e))
    }

    pub(super) fn prepare(
        &self,
        query: &WordsQuery,
        trust: Viewer,
    ) -> IndexResult<Arc<PreparedWordsQuery>> {
        let mut cache = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) =
            cache.iter().find(|entry| entry.trust == trust && entry.query == *query)
        {
            return Ok(found.prepared.clone());
        }
        let prepared = PreparedWordsQuery::new(
            query,
            trust,
            &self.segments,
            &self.fields,
            &self.payload.statistics,
        );
        let prepared = Arc::new(prepared.map_err(|e| self.error(e))?);
        if cache.len() == MAX_CACHED_QUERIES {
            cache.remove(0);
        }
        cache.push(CachedQuery { query: query.clone(), trust, prepared: prepared.clone() });
        Ok(prepared)
    }

    pub(super) fn place_of(&self, page: PageId) -> IndexResult<Option<PlacedPage>> {
        for (segment, reader) in self.segments.iter().enumerate() {
            if let Some(documents) = reader.documents_of(page).map_err(|e| self.error(e))? {
                return Ok(Some(PlacedPage { segment, documents }));
            }
        }
        Ok(None)
    }

    fn document(&self, segment: usize, doc: DocId) -> IndexResult<TantivyDocument> {
        self.searcher.doc(DocAddress::new(segment as u32, doc)).map_err(|e| self.error(e))
    }

    pub(super) fn passage_at(&self, segment: usize, doc: DocId) -> IndexResult<Passage> {
        let document = self.document(segment, doc)?;
        let record =
            document.get_first(self.fields.passage).and_then(|v| v.as_bytes()).unwrap_or_default();
        let text =
            document.get_first(self.fields.body).and_then(|v| v.as_str()).unwrap_or_default();
        read_passage(record, text.to_owned()).map_err(|e| self.damaged(e))
    }

    /// The entry of the page whose first document this is.
    pub(super) fn entry_at(&self, segment: usize, first: DocId) -> IndexResult<Arc<PageEntry>> {
        let page = self.page_id(segment, first)?;
        if let Some(entry) = self.known(page).and_then(|known| known.entry) {
            return Ok(entry);
        }
        let document = self.document(segment, first)?;
        let record =
            document.get_first(self.fields.entry).and_then(|v| v.as_bytes()).unwrap_or_default();
        let entry = Arc::new(read_entry(record).map_err(|e| self.damaged(e))?);
        self.remember(page, KnownPage { segment, first, entry: Some(entry.clone()) });
        Ok(entry)
    }

    /// The cached number of pages that link to a target.
    pub(super) fn counted(
        &self,
        target_key: &str,
        trust: Viewer,
        count: impl FnOnce() -> IndexResult<u64>,
    ) -> IndexResult<u64> {
        let place = (Box::from(target_key), trust);
        let lock = || self.backlinks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&place) {
            return Ok(*known);
        }
        let counted = count()?;
        let mut cache = lock();
        if cache.len() == MAX_CACHED_PAGES {
            cache.clear();
        }
        cache.insert(place, counted);
        Ok(counted)
    }

    fn known(&self, page: PageId) -> Option<KnownPage> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).get(&page).cloned()
    }

    /// Caches the location of a page, because the caller will read it next.
    pub(super) fn remember_place(&self, page: PageId, segment: usize, first: DocId) {
        if self.known(page).is_none() {
            self.remember(page, KnownPage { segment, first, entry: None });
        }
    }

    fn remember(&self, page: PageId, known: KnownPage) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() == MAX_CACHED_PAGES {
            pages.clear();
        }
        pages.insert(page, known);
    }

    fn page_id(&self, segment: usize, doc: DocId) -> IndexResult<PageId> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        Ok(PageId(columns.page.first(doc).unwrap_or_default()))
    }

    pub(super) fn links_at(&self, segment: usize, first: DocId) -> IndexResult<Vec<LinkEntry>> {
        let document = self.document(segment, first)?;
        let Some(record) = document.get_first(self.fields.links) else { return Ok(Vec::new()) };
        let owner = self.page_id(segment, first)?;
        let links =
            read_links(record.as_bytes().unwrap_or_default()).map_err(|e| self.damaged(e))?;
        Ok(links.into_iter().map(|link| LinkEntry { owner, link }).collect())
    }

    /// Converts a chunk to a hit, and caches the location of its page.
    pub(super) fn hit(
        &self,
        prepared: &PreparedWordsQuery,
        segment: usize,
        doc: DocId,
        points: u32,
    ) -> IndexResult<ChunkHit> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        let page = self.page_id(segment, doc)?;
        let ordinal = columns.code(doc).map_or(0, |code| code.ordinal());
        self.remember_place(page, segment, doc - ordinal);
        let score = prepared.scorer.score(points);
        Ok(ChunkHit { page, ordinal, score, handle: handle(segment, doc) })
    }

    /// The location and entry of a page that is visible to the caller.
    pub(super) fn visible(
        &self,
        page: PageId,
        trust: Viewer,
    ) -> IndexResult<Option<(PlacedPage, Arc<PageEntry>)>> {
        let (segment, first) = match self.known(page) {
            Some(known) => (known.segment, known.first),
            None => match self.place_of(page)? {
                Some(placed) => (placed.segment, placed.documents.start),
                None => return Ok(None),
            },
        };
        let entry = self.entry_at(segment, first)?;
        let documents = first..first + entry.chunk_count.max(1);
        Ok(entry.is_visible_to(trust).then_some((PlacedPage { segment, documents }, entry)))
    }

    /// The entries of the live pages with a name key, in no order.
    pub(super) fn entries_named(&self, name_key: &str) -> IndexResult<Vec<Arc<PageEntry>>> {
        let mut entries = Vec::new();
        for (segment, reader) in self.segments.iter().enumerate() {
            let documents = reader.live_documents(self.fields.name, name_key.as_bytes());
            for doc in documents.map_err(|e| self.error(e))? {
                entries.push(self.entry_at(segment, doc)?);
            }
        }
        Ok(entries)
    }

    pub(super) fn error(&self, error: TantivyError) -> IndexError {
        self.note(corrupt(&self.shared.dir, error))
    }

    /// Records that a read found damage.
    fn note(&self, error: IndexError) -> IndexError {
        if matches!(error, IndexError::Corrupt { .. }) {
            self.is_damaged.store(true, Ordering::Relaxed);
            // The next process that opens the index verifies every file.
            let mut verified = self.shared.verified();
            verified.forget();
            verified.save(&self.shared.dir);
        }
        error
    }

    /// Runs code that reads the files, and records damage. tantivy panics on some damage.
    pub(super) fn reading<T>(&self, read: impl FnOnce() -> IndexResult<T>) -> IndexResult<T> {
        let what = "a file contradicts itself";
        without_panic(&self.shared.dir, what, read).map_err(|error| self.note(error))
    }

    pub(super) fn was_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Converts an error from reading vectors to either damage or an I/O error.
    pub(super) fn unreadable(&self, error: std::io::Error) -> IndexError {
        self.note(super::integrity::failed(&self.shared.dir, error))
    }

    pub(super) fn damaged(&self, error: RecordError) -> IndexError {
        self.note(IndexError::Corrupt { dir: self.shared.dir.clone(), source: Box::new(error) })
    }
}

/// Encodes the location of a document in a view, as a hit carries it.
pub(super) fn handle(segment: usize, doc: DocId) -> u64 {
    (segment as u64) << 32 | u64::from(doc)
}

/// Decodes the output of [`handle`].
pub(super) fn place_of_handle(handle: u64) -> (usize, DocId) {
    ((handle >> 32) as usize, handle as DocId)
}
