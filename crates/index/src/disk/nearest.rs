//! Vector search over all segments.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::io;

use gbrain_core::id::PageId;
use gbrain_core::page::Visibility;
use gbrain_core::request::{Filter, Viewer};
use gbrain_embed::Embedder;
use tantivy::{DocId, TantivyError};

use super::filter::SegmentFilter;
use super::sidecar::Sidecar;
use super::view::{DiskView, PlacedPage, handle};
use crate::contract::{ChunkHit, VectorHit};
use crate::error::{IndexError, IndexResult};
use crate::filter::admits_page;
use crate::vectors::{
    DEPTH_GROWTH, NearestPassage, ScoredPassage, Shortlist, VectorPosition, VectorQuery,
    distinct_pages,
};

impl DiskView {
    pub(super) fn nearest(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        k: usize,
    ) -> IndexResult<Vec<VectorHit>> {
        let model = self.model_of(query)?;
        let segments = 0..self.segments.len();
        let sidecars =
            segments.map(|at| self.sidecar(model, at)).collect::<IndexResult<Vec<_>>>()?;
        let mut depth = depth.max(k);
        loop {
            let (passages, is_full) = self.shortlisted(query, filter, depth, &sidecars)?;
            let failure = RefCell::new(None);
            let order = |a: &ScoredPassage<'_>, b: &ScoredPassage<'_>| {
                self.order(a, b).unwrap_or_else(|error| {
                    failure.replace(Some(error));
                    Ordering::Equal
                })
            };
            let pages = distinct_pages(passages, k, |near| self.key_ord(near), order);
            if let Some(error) = failure.take() {
                return Err(self.error(error));
            }
            match pages {
                Err(_) if is_full => depth *= DEPTH_GROWTH,
                Ok(pages) | Err(pages) => {
                    return pages.iter().map(|page| self.found(page)).collect();
                }
            }
        }
    }

    /// The nearest chunk of a page that passes the filter.
    pub(super) fn nearest_of(
        &self,
        query: &VectorQuery,
        filter: &Filter,
        page: PageId,
    ) -> IndexResult<Option<ChunkHit>> {
        let model = self.model_of(query)?;
        let Some((placed, entry)) = self.visible(page, filter.trust)? else { return Ok(None) };
        if !admits_page(filter, &entry) {
            return Ok(None);
        }
        let PlacedPage { segment, documents } = placed;
        let sidecar = self.sidecar(model, segment)?;
        let codes = sidecar.codes().map_err(|e| self.unreadable(e))?;
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        let is_timeline = |doc| columns.code(doc).is_some_and(|code| code.is_timeline());
        let mut nearest: Option<(f64, DocId)> = None;
        for doc in documents.clone() {
            let inverse_length = codes.inverse_length(doc);
            if inverse_length == 0.0 || filter.truth_only && is_timeline(doc) {
                continue;
            }
            let row = sidecar.row(doc).map_err(|e| self.unreadable(e))?;
            let score = query.cosine(&row, inverse_length);
            if nearest.is_none_or(|(best, _)| score > best) {
                nearest = Some((score, doc));
            }
        }
        Ok(nearest.map(|(score, doc)| ChunkHit {
            page,
            ordinal: doc - documents.start,
            score,
            handle: handle(segment, doc),
        }))
    }

    /// The model of a query, if the index holds its vectors.
    fn model_of(&self, query: &VectorQuery) -> IndexResult<&dyn Embedder> {
        let model = self.model.as_deref().filter(|model| model.id() == query.model());
        model.ok_or_else(|| IndexError::OtherModel {
            held: self.payload.model.clone().unwrap_or_else(|| "none".to_owned()),
            query: query.model().to_owned(),
        })
    }

    /// Every passage of the shortlist with its cosine, and whether the shortlist was full.
    fn shortlisted<'v>(
        &'v self,
        query: &VectorQuery,
        filter: &Filter,
        depth: usize,
        sidecars: &[&'v Sidecar],
    ) -> IndexResult<(Vec<ScoredPassage<'v>>, bool)> {
        let mut shortlist = Shortlist::new(depth);
        let codes = sidecars.iter().map(|sidecar| sidecar.codes());
        let codes = codes.collect::<io::Result<Vec<_>>>().map_err(|e| self.unreadable(e))?;
        for (run, codes) in codes.iter().enumerate() {
            let segment = &self.segments[run];
            let columns = segment.columns().map_err(|e| self.error(e))?;
            let conditions =
                SegmentFilter::new(filter, &segment.reader).map_err(|e| self.error(e))?;
            let has_private = self.payload.statistics.of(Visibility::Private).chunks > 0;
            let must_be_world = filter.trust == Viewer::Untrusted && has_private;
            let is_world =
                |doc| columns.code(doc).is_some_and(|code| code.visibility() == Visibility::World);
            let admits = |doc: DocId| {
                segment.is_alive(doc) && (!must_be_world || is_world(doc)) && conditions.admits(doc)
            };
            let has_direction = |doc: DocId| codes.inverse_length(doc) > 0.0;
            let codes = (run as u32, codes.blocks, codes.documents);
            shortlist.scan(query, codes, has_direction, admits);
        }
        let (places, is_full) = shortlist.finish();
        let near = |place: VectorPosition| {
            let run = place.run as usize;
            let row = sidecars[run].row(place.at)?;
            let inverse_length = codes[run].inverse_length(place.at);
            Ok(ScoredPassage {
                score: query.cosine(&row, inverse_length),
                place,
                row,
                inverse_length,
            })
        };
        let passages = places.into_iter().map(near).collect::<io::Result<_>>();
        Ok((passages.map_err(|e| self.unreadable(e))?, is_full))
    }

    /// Orders by source and slug, then by position in the page.
    fn order(
        &self,
        a: &ScoredPassage<'_>,
        b: &ScoredPassage<'_>,
    ) -> Result<Ordering, TantivyError> {
        let (one, other) = (self.key_ord(a), self.key_ord(b));
        if a.place.run == b.place.run {
            return Ok(one.cmp(&other).then(a.place.at.cmp(&b.place.at)));
        }
        let key = |near: &ScoredPassage<'_>, ord| self.segments[near.place.run as usize].key(ord);
        Ok(key(a, one)?.cmp(&key(b, other)?))
    }

    /// The ordinal of a passage's page among the keys of its segment, whose columns were read when
    /// it was scanned.
    fn key_ord(&self, near: &ScoredPassage<'_>) -> u64 {
        let columns = self.segments[near.place.run as usize].columns();
        columns.map_or(u64::MAX, |columns| columns.key_ord(near.place.at))
    }

    fn found(&self, nearest: &NearestPassage<'_>) -> IndexResult<VectorHit> {
        let NearestPassage { near, place } = nearest;
        let segment = near.place.run as usize;
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        let doc = near.place.at;
        let page = PageId(columns.page.first(doc).unwrap_or_default());
        let ordinal = columns.code(doc).map_or(0, |code| code.ordinal());
        self.remember_place(page, segment, doc - ordinal);
        let hit = ChunkHit { page, ordinal, score: near.score, handle: handle(segment, doc) };
        Ok(VectorHit { hit, place: *place })
    }
}
