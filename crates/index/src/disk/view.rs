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

/// Entries that a view keeps once read.
const KEPT_ENTRIES: usize = 4096;
/// Queries that a view keeps ready: the words of one request are asked several times.
const KEPT_QUERIES: usize = 4;

pub(super) struct DiskView {
    dir: PathBuf,
    pub(super) payload: Payload,
    searcher: Searcher,
    pub(super) fields: Fields,
    pub(super) segments: Vec<Segment>,
    entries: Mutex<FxHashMap<PageId, Arc<PageEntry>>>,
    queries: Mutex<Vec<KeptQuery>>,
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
        let (entries, queries) = (Mutex::default(), Mutex::default());
        Self { dir: dir.to_owned(), payload, searcher, fields, segments, entries, queries }
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
        if let Some(entry) = self.entries.lock().unwrap_or_else(PoisonError::into_inner).get(&page)
        {
            return Ok(entry.clone());
        }
        let document = self.document(segment, first)?;
        let record =
            document.get_first(self.fields.entry).and_then(|v| v.as_bytes()).unwrap_or_default();
        let entry = Arc::new(read_entry(record).map_err(|e| self.damaged(e))?);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == KEPT_ENTRIES {
            entries.clear();
        }
        entries.insert(page, entry.clone());
        Ok(entry)
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

    pub(super) fn hit(
        &self,
        prepared: &Prepared,
        segment: usize,
        doc: DocId,
        points: u32,
    ) -> Result<WordsHit> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        Ok(WordsHit {
            page: self.page_id(segment, doc)?,
            ordinal: columns.code(doc).map_or(0, |code| code.ordinal()),
            score: prepared.scorer.score(points),
            handle: (segment as u64) << 32 | u64::from(doc),
        })
    }

    pub(super) fn visible(
        &self,
        page: PageId,
        trust: Trust,
    ) -> Result<Option<(PlacedPage, Arc<PageEntry>)>> {
        let Some(placed) = self.place_of(page)? else { return Ok(None) };
        let entry = self.entry_at(placed.segment, placed.documents.start)?;
        Ok(entry.is_visible_to(trust).then_some((placed, entry)))
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
