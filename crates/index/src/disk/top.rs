//! The best pages found so far.

use std::cmp::Ordering;

use tantivy::DocId;

use super::segment::IndexSegment;

/// A page, represented by its best chunk.
#[derive(Debug, Clone)]
pub(super) struct TopPage {
    pub(super) points: u32,
    pub(super) segment: usize,
    /// The ordinal of the page's key in the segment: its identity and its order there.
    key_ord: u64,
    pub(super) doc: DocId,
    /// The key itself, once it was needed for a comparison across segments.
    key: Option<String>,
}

/// The best `k` pages in order: more points first, then source and slug.
pub(super) struct TopPages<'v> {
    k: usize,
    segments: &'v [IndexSegment],
    winners: Vec<TopPage>,
    /// The position of the worst winner's key in another segment, cached while both stay the same.
    bar: Option<WorstKey>,
}

struct WorstKey {
    segment: usize,
    key_ord: u64,
}

impl<'v> TopPages<'v> {
    pub(super) fn new(k: usize, segments: &'v [IndexSegment]) -> Self {
        Self { k, segments, winners: Vec::new(), bar: None }
    }

    /// Pages with fewer points than this cannot be among the best; pages with as many can.
    pub(super) fn threshold(&self) -> u32 {
        match self.winners.last() {
            Some(worst) if self.winners.len() == self.k => worst.points,
            _ => 0,
        }
    }

    /// Offers a chunk. Chunks of one page must arrive in the order of their ordinals.
    pub(super) fn offer(&mut self, points: u32, segment: usize, doc: DocId) -> tantivy::Result<()> {
        let key_ord = self.segments[segment].columns()?.key_ord(doc);
        if self.is_too_late(points, segment, key_ord)? {
            return Ok(());
        }
        let mut winner = TopPage { points, segment, key_ord, doc, key: None };
        match self.winners.iter().position(|w| w.segment == segment && w.key_ord == key_ord) {
            Some(place) if self.winners[place].points >= points => return Ok(()),
            Some(place) => drop(self.winners.remove(place)),
            None => {}
        }
        let place = self.place_of(&mut winner)?;
        self.winners.insert(place, winner);
        self.winners.truncate(self.k);
        self.bar = None;
        Ok(())
    }

    /// Whether a page ties with the worst winner and sorts after it. There can be many such pages,
    /// so in another segment their keys are not read.
    fn is_too_late(&mut self, points: u32, segment: usize, key_ord: u64) -> tantivy::Result<bool> {
        let is_full = self.winners.len() == self.k;
        let Some(worst) = self.winners.last_mut().filter(|worst| is_full && worst.points == points)
        else {
            return Ok(false);
        };
        if worst.segment == segment {
            return Ok(worst.key_ord < key_ord);
        }
        let bar = match self.bar.take().filter(|bar| bar.segment == segment) {
            Some(bar) => bar,
            None => WorstKey {
                segment,
                key_ord: self.segments[segment].keys_before(key(self.segments, worst)?)?,
            },
        };
        Ok(self.bar.insert(bar).key_ord <= key_ord)
    }

    pub(super) fn into_winners(self) -> Vec<TopPage> {
        self.winners
    }

    fn place_of(&mut self, winner: &mut TopPage) -> tantivy::Result<usize> {
        let segments = self.segments;
        let (mut low, mut high) = (0, self.winners.len());
        while low < high {
            let middle = (low + high) / 2;
            match order(segments, &mut self.winners[middle], winner)? {
                Ordering::Greater => high = middle,
                _ => low = middle + 1,
            }
        }
        Ok(low)
    }
}

fn order(segments: &[IndexSegment], a: &mut TopPage, b: &mut TopPage) -> tantivy::Result<Ordering> {
    if a.points != b.points {
        return Ok(b.points.cmp(&a.points));
    }
    if a.segment == b.segment {
        return Ok(a.key_ord.cmp(&b.key_ord));
    }
    Ok(key(segments, a)?.cmp(key(segments, b)?))
}

fn key<'w>(segments: &[IndexSegment], winner: &'w mut TopPage) -> tantivy::Result<&'w str> {
    let key = match winner.key.take() {
        Some(key) => key,
        None => segments[winner.segment].key(winner.key_ord)?,
    };
    Ok(winner.key.insert(key))
}
