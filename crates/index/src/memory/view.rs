//! [`View`] of the index in memory.

use std::sync::{Arc, Mutex, PoisonError};

use gbrain_core::id::{PageId, PageKey};
use gbrain_core::page::StoredPage;
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::name_key;
use gbrain_embed::{Embedder, Urgency};
use rustc_hash::FxHashMap;

use super::state::{MemoryPage, MemoryState};
use crate::bm25::{PageTally, Scorer, lists};
use crate::contract::{ChunkHit, Corpus, IndexCounts, PageWords, VectorHit, View, WordsQuery};
use crate::entry::{LinkEntry, NameMatch, PageEntry, Passage, fallback_name_key};
use crate::error::{IndexError, IndexResult};
use crate::filter::{admits_page, admits_part};
use crate::vectors::{VectorQuery, page_rows};

pub(super) struct MemoryView {
    state: Arc<MemoryState>,
    cached: Mutex<Option<(WordsQuery, Filter, Arc<ScoredPages>)>>,
}

/// Points of chunks by page and ordinal.
type Points = FxHashMap<(PageId, u32), u32>;

/// Points of every chunk and page for one query.
struct ScoredPages {
    points: Points,
    tallies: FxHashMap<PageId, PageTally>,
    scorer: Scorer,
}

impl ScoredPages {
    fn words_of(&self, page: PageId, max: usize) -> PageWords {
        let mut chunks: Vec<_> = self.points.iter().filter(|((id, _), _)| *id == page).collect();
        chunks.sort_by_key(|((_, ordinal), points)| (std::cmp::Reverse(**points), *ordinal));
        chunks.truncate(max);
        let tally = self.tallies.get(&page).cloned().unwrap_or_default();
        let hit = |((page, ordinal), points): (&(PageId, u32), &u32)| {
            hit(*page, *ordinal, *points, &self.scorer)
        };
        PageWords {
            score: self.scorer.score(self.scorer.page_points(&tally)),
            passages: chunks.into_iter().map(hit).collect(),
        }
    }
}

impl MemoryView {
    pub(super) fn new(state: Arc<MemoryState>) -> Self {
        Self { state, cached: Mutex::default() }
    }

    fn page(&self, id: PageId, trust: Viewer) -> Option<&Arc<MemoryPage>> {
        self.state.pages.get(&id).filter(|page| page.entry.is_visible_to(trust))
    }

    fn key(&self, id: PageId) -> &PageKey {
        &self.state.pages[&id].entry.key
    }

    /// The model of a query, if the index holds its vectors.
    fn model_of(&self, query: &VectorQuery) -> IndexResult<&dyn Embedder> {
        let model = self.state.models.wanted().filter(|model| model.id() == query.model());
        model.map(Arc::as_ref).ok_or_else(|| IndexError::OtherModel {
            held: self.vector_model().unwrap_or("none").to_owned(),
            query: query.model().to_owned(),
        })
    }

    /// The points of a query, cached because a request reads its pages one by one.
    fn scored(&self, query: &WordsQuery, filter: &Filter) -> Arc<ScoredPages> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((cached_query, cached_filter, scored)) = &*cached
            && cached_query == query
            && cached_filter == filter
        {
            return scored.clone();
        }
        let scored = Arc::new(self.score_all(query, filter));
        *cached = Some((query.clone(), filter.clone(), scored.clone()));
        scored
    }

    /// The points of every chunk that passes the filter and matches a term.
    fn score_all(&self, query: &WordsQuery, filter: &Filter) -> ScoredPages {
        let lists = lists(query);
        let mut visible_lists = Vec::with_capacity(lists.len());
        for list in &lists {
            let postings = self.state.list(list.form, list.text).iter();
            visible_lists.push(
                postings.filter(|p| self.page(p.page, filter.trust).is_some()).collect::<Vec<_>>(),
            );
        }
        let frequencies: Vec<u64> = visible_lists.iter().map(|list| list.len() as u64).collect();
        let scorer =
            Scorer::new(query, &lists, &frequencies, self.state.statistics.seen_by(filter.trust));
        let mut points = Points::default();
        let mut tallies: FxHashMap<PageId, PageTally> = FxHashMap::default();
        for (number, postings) in visible_lists.iter().enumerate() {
            for posting in postings {
                let page = &self.state.pages[&posting.page];
                let chunk = &page.chunks[posting.ordinal as usize];
                if admits_page(filter, &page.entry) && admits_part(filter, chunk.passage.part) {
                    *points.entry((posting.page, posting.ordinal)).or_default() +=
                        scorer.points(number, posting.tf, chunk.length_code);
                    let tally = tallies.entry(posting.page).or_insert_with(|| {
                        let mut tally = PageTally::new(lists.len());
                        let admitted =
                            page.chunks.iter().filter(|c| admits_part(filter, c.passage.part));
                        admitted.for_each(|chunk| tally.add_chunk_length(chunk.length_code));
                        tally
                    });
                    tally.add_occurrences(number, posting.tf);
                }
            }
        }
        ScoredPages { points, tallies, scorer }
    }
}

fn hit(page: PageId, ordinal: u32, points: u32, scorer: &Scorer) -> ChunkHit {
    ChunkHit { page, ordinal, score: scorer.score(points), handle: 0 }
}

impl View for MemoryView {
    fn corpus(&self) -> Corpus {
        self.state.corpus
    }

    fn count_contents(&self) -> IndexResult<IndexCounts> {
        let chunks = self.state.pages.values().map(|page| page.chunks.len() as u64).sum();
        let tokens = self.state.statistics.seen_by(Viewer::Trusted).tokens;
        Ok(IndexCounts { pages: self.state.pages.len() as u64, chunks, tokens })
    }

    fn words(&self, query: &WordsQuery, filter: &Filter, k: usize) -> IndexResult<Vec<ChunkHit>> {
        let scored = self.scored(query, filter);
        let (points, scorer) = (&scored.points, &scored.scorer);
        let mut chunks: Vec<_> =
            points.iter().map(|((page, ordinal), points)| (*page, *ordinal, *points)).collect();
        chunks.sort_by_key(|(page, ordinal, points)| (*page, std::cmp::Reverse(*points), *ordinal));
        chunks.dedup_by_key(|(page, ..)| *page);
        chunks.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| self.key(a.0).cmp(self.key(b.0))));
        chunks.truncate(k);
        Ok(chunks
            .into_iter()
            .map(|(page, ordinal, points)| hit(page, ordinal, points, scorer))
            .collect())
    }

    fn page_words(
        &self,
        query: &WordsQuery,
        filter: &Filter,
        pages: &[PageId],
        max: usize,
    ) -> IndexResult<Vec<PageWords>> {
        let scored = self.scored(query, filter);
        Ok(pages.iter().map(|page| scored.words_of(*page, max)).collect())
    }

    fn chunks(&self, trust: Viewer) -> u64 {
        self.state.statistics.seen_by(trust).chunks
    }

    fn vector_model(&self) -> Option<&str> {
        self.state.models.wanted().map(|model| model.id())
    }

    fn vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> IndexResult<Vec<VectorHit>> {
        let model = self.model_of(query)?;
        if k == 0 {
            return Ok(Vec::new());
        }
        let packed = self.state.packed(model);
        Ok(packed.nearest(&self.state, query, filter, depth, k))
    }

    fn page_vectors(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        pages: &[PageId],
    ) -> IndexResult<Vec<Option<ChunkHit>>> {
        self.model_of(query)?;
        let nearest = |page: &PageId| {
            let known = self.page(*page, filter.trust)?;
            if !admits_page(filter, &known.entry) {
                return None;
            }
            let chunks = known.chunks.iter().zip(&known.rows).filter(|(chunk, row)| {
                admits_part(filter, chunk.passage.part) && row.inverse_length > 0.0
            });
            let hits = chunks.map(|(chunk, row)| {
                let bytes: Vec<u8> = row.values.iter().map(|value| *value as u8).collect();
                let score = query.cosine(&bytes, row.inverse_length);
                ChunkHit { page: *page, ordinal: chunk.passage.ordinal, score, handle: 0 }
            });
            hits.reduce(|best, hit| if hit.score > best.score { hit } else { best })
        };
        Ok(pages.iter().map(nearest).collect())
    }

    fn vectors_fit(&self, stored: &StoredPage) -> IndexResult<Option<bool>> {
        let (Some(model), Some(page)) =
            (self.state.models.wanted(), self.state.pages.get(&stored.id))
        else {
            return Ok(None);
        };
        Ok(Some(page.rows == page_rows(model.as_ref(), stored, Urgency::Work)?))
    }

    fn read(&self, hit: &ChunkHit) -> IndexResult<Passage> {
        let page = &self.state.pages[&hit.page];
        Ok(page.chunks[hit.ordinal as usize].passage.clone())
    }

    fn passage(&self, page: PageId, ordinal: u32, trust: Viewer) -> IndexResult<Option<Passage>> {
        let chunk = self.page(page, trust).and_then(|page| page.chunks.get(ordinal as usize));
        Ok(chunk.map(|chunk| chunk.passage.clone()))
    }

    fn entry(&self, page: PageId, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        Ok(self.page(page, trust).map(|page| page.entry.clone()))
    }

    fn entry_by_key(&self, key: &PageKey, trust: Viewer) -> IndexResult<Option<Arc<PageEntry>>> {
        let mut pages =
            self.state.named(&fallback_name_key(key)).iter().filter_map(|id| self.page(*id, trust));
        Ok(pages.find(|page| page.entry.key == *key).map(|page| page.entry.clone()))
    }

    fn named(&self, name_key: &str, filter: &Filter) -> IndexResult<Vec<NameMatch>> {
        let pages = self.state.named(name_key).iter().map(|id| &self.state.pages[id].entry);
        let mut named: Vec<_> = pages
            .filter(|entry| admits_page(filter, entry))
            .filter_map(|entry| {
                Some(NameMatch { how: entry.named_by(name_key)?, entry: entry.clone() })
            })
            .collect();
        named.sort_by(NameMatch::order);
        Ok(named)
    }

    fn links_of(&self, page: PageId, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        Ok(self.page(page, trust).map(|page| page.links.clone()).unwrap_or_default())
    }

    fn links_to(&self, target_key: &str, trust: Viewer) -> IndexResult<Vec<LinkEntry>> {
        let ids = self.state.pointing_to(target_key).iter();
        let mut pages: Vec<_> = ids.filter_map(|id| self.page(*id, trust)).collect();
        pages.sort_by(|a, b| a.entry.key.cmp(&b.entry.key));
        let links = pages.iter().flat_map(|page| &page.links);
        Ok(links.filter(|entry| name_key(&entry.link.target) == target_key).cloned().collect())
    }

    fn backlinks(&self, target_key: &str, trust: Viewer) -> IndexResult<u64> {
        let ids = self.state.pointing_to(target_key).iter();
        Ok(ids.filter(|id| self.page(**id, trust).is_some()).count() as u64)
    }
}
