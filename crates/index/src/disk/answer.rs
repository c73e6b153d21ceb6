//! Answers from disk.

use std::cmp::Reverse;
use std::sync::Arc;

use gbrain_core::id::{PageId, PageKey};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::name_key;
use tantivy::DocId;

use super::filter::SegmentFilter;
use super::list::{Lengths, tf_of};
use super::prepared::{Place, Prepared};
use super::record::RecordError;
use super::search::search;
use super::top::{TopPages, Winner};
use super::view::{DiskView, PlacedPage, place_of_handle};
use gbrain_embed::Urgency;

use crate::bm25::{PageTally, points};
use crate::contract::{ChunkHit, Corpus, Held, PageWords, VectorHit, View, WordsQuery};
use crate::entry::{LinkEntry, Named, PageEntry, Passage, own_name};
use crate::error::Result;
use crate::filter::admits_page;
use crate::statistics::{Statistics, seen_by};
use crate::vectors::{VectorQuery, page_rows};

impl View for DiskView {
    fn corpus(&self) -> Corpus {
        self.payload.corpus
    }

    fn is_damaged(&self) -> bool {
        self.was_damaged()
    }

    fn held(&self) -> Result<Held> {
        self.reading(|| {
            let mut held = Held::default();
            let mut counted = Statistics::default();
            for segment in &self.segments {
                segment.count(&mut held, &mut counted).map_err(|e| self.error(e))?;
            }
            if counted != self.payload.statistics {
                return Err(self.damaged(RecordError { what: "count of chunks and tokens" }));
            }
            Ok(held)
        })
    }

    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> Result<Vec<ChunkHit>> {
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
    ) -> Result<Vec<PageWords>> {
        self.reading(|| {
            let prepared = self.prepare(query, filter.trust)?;
            let mut asked = Vec::with_capacity(pages.len());
            for (at, page) in pages.iter().enumerate() {
                if let Some((placed, entry)) = self.visible(*page, filter.trust)?
                    && admits_page(filter, &entry)
                {
                    asked.push(AskedPage::new(at, placed, prepared.lists.len()));
                }
            }
            // Lists are read forward, once for all pages.
            asked.sort_by_key(|asked| (asked.placed.segment, asked.placed.documents.start));
            self.score_pages(&prepared, filter, &mut asked).map_err(|e| self.error(e))?;
            let mut words = vec![PageWords::default(); pages.len()];
            for asked in asked {
                let at = asked.at;
                words[at] = self.words_of(&prepared, asked, max)?;
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
    ) -> Result<Vec<VectorHit>> {
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
    ) -> Result<Vec<Option<ChunkHit>>> {
        self.reading(|| pages.iter().map(|page| self.nearest_of(query, filter, *page)).collect())
    }

    fn vectors_fit(&self, stored: &StoredPage) -> Result<Option<bool>> {
        self.reading(|| {
            let Some(model) = &self.model else { return Ok(None) };
            let Some(placed) = self.place_of(stored.id)? else { return Ok(None) };
            let sidecar = self.sidecar(model.as_ref(), placed.segment)?;
            let rows = page_rows(model.as_ref(), stored, Urgency::Work)?;
            let codes = sidecar.codes().map_err(|e| self.unreadable(e))?;
            for (row, doc) in rows.iter().zip(placed.documents) {
                let values = row.values.iter().map(|value| *value as u8);
                let held = sidecar.row(doc).map_err(|e| self.unreadable(e))?;
                if codes.inverse_length(doc) != row.inverse_length
                    || !values.eq(held.iter().copied())
                {
                    return Ok(Some(false));
                }
            }
            Ok(Some(true))
        })
    }

    fn read(&self, hit: &ChunkHit) -> Result<Passage> {
        self.reading(|| {
            let (segment, doc) = place_of_handle(hit.handle);
            self.passage_at(segment, doc)
        })
    }

    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> Result<Option<Passage>> {
        self.reading(|| {
            let Some((placed, entry)) = self.visible(page, trust)? else { return Ok(None) };
            if ordinal >= entry.chunk_count {
                return Ok(None);
            }
            self.passage_at(placed.segment, placed.documents.start + ordinal).map(Some)
        })
    }

    fn entry(&self, page: PageId, trust: Viewer) -> Result<Option<Arc<PageEntry>>> {
        self.reading(|| Ok(self.visible(page, trust)?.map(|(_, entry)| entry)))
    }

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> Result<Option<Arc<PageEntry>>> {
        self.reading(|| {
            let mut entries = self.entries_named(&own_name(key))?.into_iter();
            Ok(entries.find(|entry| entry.key == *key && entry.is_visible_to(trust)))
        })
    }

    fn named(&self, name_key: &str, filter: &Filter) -> Result<Vec<Named>> {
        self.reading(|| {
            let entries = self.entries_named(name_key)?.into_iter();
            let mut named: Vec<_> = entries
                .filter(|entry| admits_page(filter, entry))
                .filter_map(|entry| Some(Named { how: entry.named_by(name_key)?, entry }))
                .collect();
            named.sort_by(Named::order);
            Ok(named)
        })
    }

    fn links_of(&self, page: PageId, trust: Viewer) -> Result<Vec<LinkEntry>> {
        self.reading(|| match self.visible(page, trust)? {
            Some((placed, _)) => self.links_at(placed.segment, placed.documents.start),
            None => Ok(Vec::new()),
        })
    }

    fn links_to(&self, target_key: &str, trust: Viewer) -> Result<Vec<LinkEntry>> {
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

    fn backlinks(&self, target_key: &str, trust: Viewer) -> Result<u64> {
        self.reading(|| self.counted(target_key, trust, || self.count_backlinks(target_key, trust)))
    }
}

impl DiskView {
    fn count_backlinks(&self, target_key: &str, trust: Viewer) -> Result<u64> {
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
        prepared: &Prepared,
        filter: &Filter,
        k: usize,
    ) -> tantivy::Result<Vec<Winner>> {
        let mut top = TopPages::new(k, &self.segments);
        for place in &prepared.places {
            let segment = &self.segments[place.segment];
            let filter = SegmentFilter::new(filter, &segment.reader)?;
            search(prepared, place, segment, &filter, &mut top)?;
        }
        Ok(top.into_winners())
    }

    /// Tallies what pages say and the points of their chunks that a term matches and the filter
    /// lets through. The pages must be in order of segment and document.
    fn score_pages(
        &self,
        prepared: &Prepared,
        filter: &Filter,
        asked: &mut [AskedPage],
    ) -> tantivy::Result<()> {
        for pages in asked.chunk_by_mut(|a, b| a.placed.segment == b.placed.segment) {
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

    /// Adds what every list of a place says of the pages.
    fn add_lists(
        &self,
        prepared: &Prepared,
        place: &Place,
        pages: &mut [AskedPage],
    ) -> tantivy::Result<()> {
        let segment = &self.segments[place.segment];
        let codes = segment.words(place.visibility)?.lengths.as_slice();
        let lengths = Lengths { parts: prepared.scorer.lengths(), codes };
        for (number, ((form, _), info)) in prepared.lists.iter().zip(&place.infos).enumerate() {
            let Some(info) = info else { continue };
            let mut postings = segment.open_word(*form, place.visibility, info)?;
            let weight = prepared.scorer.weight(number);
            for page in pages.iter_mut() {
                for (doc, sum) in &mut page.chunks {
                    let Some(tf) = tf_of(&mut postings, *doc) else { continue };
                    let points = points(weight, tf, lengths.part(*doc));
                    *sum = Some(sum.unwrap_or_default() + points);
                    page.tally.say(number, tf);
                    page.lengths_in = Some(place.visibility);
                }
            }
        }
        for page in pages.iter_mut().filter(|page| page.lengths_in == Some(place.visibility)) {
            page.chunks.iter().for_each(|(doc, _)| page.tally.lengthen(codes[*doc as usize]));
        }
        Ok(())
    }

    fn words_of(&self, prepared: &Prepared, asked: AskedPage, max: usize) -> Result<PageWords> {
        let scored = asked.chunks.into_iter().filter_map(|(doc, sum)| Some((doc, sum?)));
        let mut chunks: Vec<(DocId, u32)> = scored.collect();
        chunks.sort_by_key(|(doc, points)| (Reverse(*points), *doc));
        chunks.truncate(max);
        let hit = |(doc, points)| self.hit(prepared, asked.placed.segment, doc, points);
        let passages = chunks.into_iter().map(hit).collect::<Result<_>>()?;
        let points = prepared.scorer.page_points(&asked.tally);
        Ok(PageWords { score: prepared.scorer.score(points), passages })
    }

    /// The first documents of live pages with a link to a target.
    fn pages_linking_to(&self, target_key: &str, trust: Viewer) -> Result<Vec<(usize, DocId)>> {
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

/// A page whose words are asked for.
struct AskedPage {
    /// Its place among the pages asked for.
    at: usize,
    placed: PlacedPage,
    tally: PageTally,
    /// Its chunks that the filter lets through, with their points.
    chunks: Vec<(DocId, Option<u32>)>,
    /// Where its lengths are, once a list of it was found.
    lengths_in: Option<Visibility>,
}

impl AskedPage {
    fn new(at: usize, placed: PlacedPage, lists: usize) -> Self {
        Self { at, placed, tally: PageTally::new(lists), chunks: Vec::new(), lengths_in: None }
    }
}
