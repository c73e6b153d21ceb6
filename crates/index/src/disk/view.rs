//! One commit, opened: where its pages are and what its documents hold.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_core::id::PageId;
use gbrain_core::page::Visibility;
use gbrain_core::request::Trust;
use rustc_hash::FxHashMap;
use tantivy::schema::Value as _;
use tantivy::{DocAddress, DocId, Searcher, TantivyDocument, TantivyError};

use super::corrupt;
use super::payload::Payload;
use super::prepared::Prepared;
use super::record::{RecordError, read_entry, read_links, read_passage};
use super::schema::Fields;
use super::segment::Segment;
use crate::contract::{WordsHit, WordsQuery};
use crate::entry::{LinkEntry, PageEntry, Passage};
use crate::error::{IndexError, Result};
use crate::statistics::Totals;

/// Pages that a view remembers.
const KEPT_PAGES: usize = 8192;
/// Queries that a view keeps ready: the words of one request are asked several times.
const KEPT_QUERIES: usize = 4;

pub(super) struct DiskView {
    dir: PathBuf,
    pub(super) payload: Payload,
    searcher: Searcher,
    pub(super) fields: Fields,
    pub(super) segments: Vec<Segment>,
    pages: Mutex<FxHashMap<PageId, KnownPage>>,
    queries: Mutex<Vec<KeptQuery>>,
}

/// What is known of a page: where its first document is, and its entry once that was read.
#[derive(Clone)]
struct KnownPage {
    segment: usize,
    first: DocId,
    entry: Option<Arc<PageEntry>>,
}

struct KeptQuery {
    query: WordsQuery,
    trust: Trust,
    prepared: Arc<Prepared>,
}

/// Where a page is: its documents in one segment.
pub(super) struct PlacedPage {
    pub(super) segment: usize,
    pub(super) documents: Range<DocId>,
}

impl DiskView {
    pub(super) fn new(dir: &Path, payload: Payload, searcher: Searcher, fields: Fields) -> Self {
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| Segment::new(reader.clone(), fields))
            .collect();
        let (pages, queries) = (Mutex::default(), Mutex::default());
        Self { dir: dir.to_owned(), payload, searcher, fields, segments, pages, queries }
    }

    /// What a page adds to the totals of its visibility, if the view holds it.
    pub(super) fn totals_of(&self, page: PageId) -> Result<Option<(Visibility, Totals)>> {
        let Some(placed) = self.place_of(page)? else { return Ok(None) };
        let totals = self.segments[placed.segment].totals_of(placed.documents);
        totals.map(Some).map_err(|e| self.error(e))
    }

    pub(super) fn prepare(&self, query: &WordsQuery, trust: Trust) -> Result<Arc<Prepared>> {
        let mut kept = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().find(|kept| kept.trust == trust && kept.query == *query) {
            return Ok(found.prepared.clone());
        }
        let prepared =
            Prepared::new(query, trust, &self.segments, &self.fields, &self.payload.statistics);
        let prepared = Arc::new(prepared.map_err(|e| self.error(e))?);
        if kept.len() == KEPT_QUERIES {
            kept.remove(0);
        }
        kept.push(KeptQuery { query: query.clone(), trust, prepared: prepared.clone() });
        Ok(prepared)
    }

    pub(super) fn place_of(&self, page: PageId) -> Result<Option<PlacedPage>> {
        for (segment, reader) in self.segments.iter().enumerate() {
            if let Some(documents) = reader.documents_of(page).map_err(|e| self.error(e))? {
                return Ok(Some(PlacedPage { segment, documents }));
            }
        }
        Ok(None)
    }

    fn document(&self, segment: usize, doc: DocId) -> Result<TantivyDocument> {
        self.searcher.doc(DocAddress::new(segment as u32, doc)).map_err(|e| self.error(e))
    }

    pub(super) fn passage_at(&self, segment: usize, doc: DocId) -> Result<Passage> {
        let document = self.document(segment, doc)?;
        let record =
            document.get_first(self.fields.passage).and_then(|v| v.as_bytes()).unwrap_or_default();
        let text =
            document.get_first(self.fields.body).and_then(|v| v.as_str()).unwrap_or_default();
        read_passage(record, text.to_owned()).map_err(|e| self.damaged(e))
    }

    /// The entry of the page whose first document this is.
    pub(super) fn entry_at(&self, segment: usize, first: DocId) -> Result<Arc<PageEntry>> {
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

    fn known(&self, page: PageId) -> Option<KnownPage> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).get(&page).cloned()
    }

    fn remember(&self, page: PageId, known: KnownPage) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() == KEPT_PAGES {
            pages.clear();
        }
        pages.insert(page, known);
    }

    fn page_id(&self, segment: usize, doc: DocId) -> Result<PageId> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        Ok(PageId(columns.page.first(doc).unwrap_or_default()))
    }

    pub(super) fn links_at(&self, segment: usize, first: DocId) -> Result<Vec<LinkEntry>> {
        let document = self.document(segment, first)?;
        let Some(record) = document.get_first(self.fields.links) else { return Ok(Vec::new()) };
        let owner = self.page_id(segment, first)?;
        let links =
            read_links(record.as_bytes().unwrap_or_default()).map_err(|e| self.damaged(e))?;
        Ok(links.into_iter().map(|link| LinkEntry { owner, link }).collect())
    }

    /// A chunk as a hit. Where its page is will be asked next.
    pub(super) fn hit(
        &self,
        prepared: &Prepared,
        segment: usize,
        doc: DocId,
        points: u32,
    ) -> Result<WordsHit> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        let page = self.page_id(segment, doc)?;
        let ordinal = columns.code(doc).map_or(0, |code| code.ordinal());
        if self.known(page).is_none() {
            self.remember(page, KnownPage { segment, first: doc - ordinal, entry: None });
        }
        let handle = (segment as u64) << 32 | u64::from(doc);
        Ok(WordsHit { page, ordinal, score: prepared.scorer.score(points), handle })
    }

    /// A page that a caller may know of: where it is, and its entry.
    pub(super) fn visible(
        &self,
        page: PageId,
        trust: Trust,
    ) -> Result<Option<(PlacedPage, Arc<PageEntry>)>> {
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

    /// The entries of the live pages that a name key names, in no order.
    pub(super) fn entries_named(&self, name_key: &str) -> Result<Vec<Arc<PageEntry>>> {
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
        corrupt(&self.dir, error)
    }

    pub(super) fn damaged(&self, error: RecordError) -> IndexError {
        IndexError::Corrupt { dir: self.dir.clone(), source: Box::new(error) }
    }
}
