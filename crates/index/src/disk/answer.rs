//! [`View`] of the index on disk.

use std::cmp::Reverse;
use std::sync::Arc;

use gbrain_core::id::{PageId, PageKey};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::name_key;
use tantivy::DocId;

use super::filter::SegmentFilter;
use super::list::{DocumentLengths, tf_of};
use super::prepared::{PreparedWordsQuery, SegmentLists};
use super::record::RecordError;
use super::search::search;
use super::top::{TopPage, TopPages};
use super::view::{DiskView, PlacedPage, place_of_handle};
use gbrain_embed::Urgency;

use crate::bm25::{PageTally, points};
use crate::contract::{ChunkHit, Corpus, IndexCounts, PageWords, VectorHit, View, WordsQuery};
use crate::entry::{LinkEntry, NameMatch, PageEntry, Passage, fallback_name_key};
use crate::error::IndexResult;
use crate::filter::admits_page;
use crate::statistics::{CorpusTotals, seen_by};
use crate::vectors::{VectorQuery, page_rows};

impl View for DiskView {
    fn corpus(&self) -> Corpus {
        self.payload.corpus
    }

    fn is_damaged(&self) -> bool {
        self.was_damaged()
    }

    fn count_contents(&self) -> IndexResult<IndexCounts> {
        self.reading(|| {
            let mut contents = IndexCounts::default();
            let mut counted = CorpusTotals::default();
            for segment in &self.segments {
                segment.count(&mut contents, &mut counted).map_err(|e| self.error(e))?;
            }
            if counted != self.payload.statistics {
                return Err(self.damaged(RecordError { what: "count of chunks and tokens" }));
            }
            Ok(contents)
        })
    }

    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> IndexResult<Vec<ChunkHit>> {
        self.reading(|| {
            if k == 0 {
                return Ok(Vec::new());
            }
            let prepared = self.prepare(query, filter.trust)?;
            let winners = self.best_pages(&prepared, filter, k).map_err(|e| self.error(e))?;
            winners.iter().map(|w| self.hit(&prepared, w.segment, w.doc, w.points)).collect()
        })
    }

    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> IndexResult<Vec<PageWords>> {
        self.reading(|| {
            let prepared = self.prepare(query, filter.trust)?;
            let mut requested_pages = Vec::with_capacity(pages.len());
            for (at, page) in pages.iter().enumerate() {
                if let Some((placed, entry)) = self.visible(*page, filter.trust)?
                    && admits_page(filter, &entry)
                {
                    requested_pages.push(RequestedPage::new(at, placed, prepared.lists.len()));
                }
            }
            // Lists are read forwards, once for all pages.
            requested_pages.sort_by_key(|page| (page.placed.segment, page.placed.documents.start));
            self.score_pages(&prepared, filter, &mut requested_pages).map_err(|e| self.error(e))?;
            let mut words = vec![PageWords::default(); pages.len()];
            for page in requested_pages {
                let at = page.at;
                words[at] = self.words_of(&prepared, page, max)?;
            }
            Ok(words)
        })
    }

    fn chunks(&self, trust: Viewer) -> u64 {
        self.payload.statistics.seen_by(trust).chunks
    }

    fn vector_model(&self) -> Option<&str> {
        self.payload.model.as_deref()
    }

    fn vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> IndexResult<Vec<VectorHit>> {
        self.reading(|| {
            if k == 0 {
                return Ok(Vec::new());
            }
            self.nearest(query, filter, depth, k)
        })
    }

    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> IndexResult<Vec<Option<ChunkHit>>> {
        self.reading(|| pages.iter().map(|page| self.nearest_of(query, filter, *page)).collect())
    }

    fn vectors_fit(&self, stored: &StoredPage) -> IndexResult<Option<bool>> {
        self.reading(|| {
            let Some(model) = &self.model else { return Ok(None) };
            let Some(placed) = self.place_of(stored.id)? else { return Ok(None) };
            let sidecar = self.sidecar(model.as_ref(), placed.segment)?;
            let rows = page_rows(model.as_ref(), stored, Urgency::Work)?;
            let codes = sidecar.codes().map_err(|e| self.unreadable(e))?;
            for (row, doc) in rows.iter().zip(placed.documents) {
                let values = row.values.iter().map(|value| *value as u8);
                let stored_row = sidecar.row(doc).map_err(|e| self.unreadable(e))?;
                if codes.inverse_length(doc) != row.inverse_length
                    || !values.eq(stored_row.iter().copied())
                {
                    return Ok(Some(false));
                }
            }
            Ok(Some(true))
        })
    }

    fn read(&self, hit: &ChunkHit) -> IndexResult<Passage> {
        self.reading(|| {
            let (segment, doc) = place_of_handle(hit.handle);
            self.passage_at(segment, doc)
        })
    }

    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> IndexResult<Option<Passage>> {
        self.reading(|| {
            let Some((placed, entry)) = self.visible(page, trust)? else { return Ok(None) };
            if ordinal >= entry.chunk_count {
                return Ok(None);
            }
            self.passage_at(placed.segment, placed.documents.start + ordinal).map(Some)
        })
    }

    fn entry(&self, page: PageId, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        self.reading(|| Ok(self.visible(page, trust)?.map(|(_, entry)| entry)))
    }

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        self.reading(|| {
            let mut entries = self.entries_named(&fallback_name_key(key))?.into_iter();
            Ok(entries.find(|entry| entry.key == *key && entry.is_visible_to(trust)))
        })
    }

    fn named(&self, name_key: &str, filter: &Filter) -> IndexResult<Vec<NameMatch>> {
        self.reading(|| {
            let entries = self.entries_named(name_key)?.into_iter();
            let mut named: Vec<_> = entries
                .filter(|entry| admits_page(filter, entry))
                .filter_map(|entry| Some(NameMatch { how: entry.named_by(name_key)?, entry }))
                .collect();
            named.sort_by(NameMatch::order);
            Ok(named)
        })
    }

    fn links_of(&self, page: PageId, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        self.reading(|| match self.visible(page, trust)? {
            Some((placed, _)) => self.links_at(placed.segment, placed.documents.start),
            None => Ok(Vec::new()),
        })
    }

    fn links_to(&self, target_key: &str, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        self.reading(|| {
            let mut pages = Vec::new();
            for (segment, doc) in self.pages_linking_to(target_key, trust)? {
                pages.push((self.entry_at(segment, doc)?, self.links_at(segment, doc)?));
            }
            pages.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
            let links = pages.into_iter().flat_map(|(_, links)| links);
            Ok(links.filter(|entry| name_key(&entry.link.target) == target_key).collect())
        })
    }

    fn backlinks(&self, target_key: &str, trust: Viewer) -> IndexResult<u64> {
        self.reading(|| self.counted(target_key, trust, || self.count_backlinks(target_key, trust)))
    }
}

impl DiskView {
    fn count_backlinks(&self, target_key: &str, trust: Viewer) -> IndexResult<u64> {
        let mut pages = 0;
        for segment in &self.segments {
            for visibility in seen_by(trust) {
                let field = self.fields.targets(*visibility);
                let found =
                    segment.find(field, target_key.as_bytes()).map_err(|e| self.error(e))?;
                if let Some(info) = found {
                    pages += segment.live_length(field, &info).map_err(|e| self.error(e))?;
                }
            }
        }
        Ok(pages)
    }

    fn best_pages(
        &self,
        prepared: &PreparedWordsQuery,
        filter: &Filter,
        k: usize,
    ) -> tantivy::Result<Vec<TopPage>> {
        let mut top = TopPages::new(k, &self.segments);
        for place in &prepared.places {
            let segment = &self.segments[place.segment];
            let filter = SegmentFilter::new(filter, &segment.reader)?;
            search(prepared, place, segment, &filter, &mut top)?;
        }
        Ok(top.into_winners())
    }

    /// Computes the term frequencies of pages, and the points of their chunks that match a term and
    /// pass the filter. The pages must be ordered by segment and document.
    fn score_pages(
        &self,
        prepared: &PreparedWordsQuery,
        filter: &Filter,
        requested_pages: &mut [RequestedPage],
    ) -> tantivy::Result<()> {
        for pages in requested_pages.chunk_by_mut(|a, b| a.placed.segment == b.placed.segment) {
            let number = pages[0].placed.segment;
            let filter = SegmentFilter::new(filter, &self.segments[number].reader)?;
            for page in pages.iter_mut() {
                let admitted = page.placed.documents.clone().filter(|doc| filter.admits(*doc));
                page.chunks = admitted.map(|doc| (doc, None)).collect();
            }
            for place in prepared.places.iter().filter(|place| place.segment == number) {
                self.add_lists(prepared, place, pages)?;
            }
        }
        Ok(())
    }

    /// Adds the points of every list in one segment and visibility to the pages.
    fn add_lists(
        &self,
        prepared: &PreparedWordsQuery,
        place: &SegmentLists,
        pages: &mut [RequestedPage],
    ) -> tantivy::Result<()> {
        let segment = &self.segments[place.segment];
        let codes = segment.words(place.visibility)?.lengths.as_slice();
        let lengths = DocumentLengths { parts: prepared.scorer.lengths(), codes };
        for (number, ((form, _), info)) in prepared.lists.iter().zip(&place.infos).enumerate() {
            let Some(info) = info else { continue };
            let mut postings = segment.open_word(*form, place.visibility, info)?;
            let weight = prepared.scorer.weight(number);
            for page in pages.iter_mut() {
                for (doc, sum) in &mut page.chunks {
                    let Some(tf) = tf_of(&mut postings, *doc) else { continue };
                    let points = points(weight, tf, lengths.part(*doc));
                    *sum = Some(sum.unwrap_or_default() + points);
                    page.tally.add_occurrences(number, tf);
                    page.lengths_in = Some(place.visibility);
                }
            }
        }
        for page in pages.iter_mut().filter(|page| page.lengths_in == Some(place.visibility)) {
            page.chunks
                .iter()
                .for_each(|(doc, _)| page.tally.add_chunk_length(codes[*doc as usize]));
        }
        Ok(())
    }

    fn words_of(
        &self,
        prepared: &PreparedWordsQuery,
        requested: RequestedPage,
        max: usize,
    ) -> IndexResult<PageWords> {
        let scored = requested.chunks.into_iter().filter_map(|(doc, sum)| Some((doc, sum?)));
        let mut chunks: Vec<(DocId, u32)> = scored.collect();
        chunks.sort_by_key(|(doc, points)| (Reverse(*points), *doc));
        chunks.truncate(max);
        let hit = |(doc, points)| self.hit(prepared, requested.placed.segment, doc, points);
        let passages = chunks.into_iter().map(hit).collect::<IndexResult<_>>()?;
        let points = prepared.scorer.page_points(&requested.tally);
        Ok(PageWords { score: prepared.scorer.score(points), passages })
    }

    /// The first documents of live pages with a link to a target.
    fn pages_linking_to(
        &self,
        target_key: &str,
        trust: Viewer,
    ) -> IndexResult<Vec<(usize, DocId)>> {
        let mut pages = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            for visibility in seen_by(trust) {
                let field = self.fields.targets(*visibility);
                let found = segment
                    .live_documents(field, target_key.as_bytes())
                    .map_err(|e| self.error(e))?;
                pages.extend(found.into_iter().map(|doc| (number, doc)));
            }
        }
        Ok(pages)
    }
}

/// A page whose word matches were requested.
struct RequestedPage {
    /// Its position in the request.
    at: usize,
    placed: PlacedPage,
    tally: PageTally,
    /// Its chunks that pass the filter, with their points.
    chunks: Vec<(DocId, Option<u32>)>,
    /// The field with its lengths, once a matching list was found.
    lengths_in: Option<Visibility>,
}

impl RequestedPage {
    fn new(at: usize, placed: PlacedPage, lists: usize) -> Self {
        Self { at, placed, tally: PageTally::new(lists), chunks: Vec::new(), lengths_in: None }
    }
}
