//! A posting list that is read forwards, block by block.

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::blocks::Block;
use super::window::Window;
use crate::bm25::points;

/// Up to this many marked documents of a block are looked up one by one; for more the block is
/// scanned.
const MAX_LOOKUPS: usize = 4;

/// The posting list of a word.
pub(super) struct PostingList {
    postings: BlockSegmentPostings,
    weight: f32,
    blocks: Vec<Block>,
    /// The block in which the window starts.
    at: usize,
}

/// The lengths that scoring a document needs besides its frequency.
#[derive(Clone, Copy)]
pub(super) struct DocumentLengths<'a> {
    /// Length parts by length code.
    pub(super) parts: &'a [f32; 256],
    /// Length codes by document.
    pub(super) codes: &'a [u8],
}

impl DocumentLengths<'_> {
    #[inline]
    pub(super) fn part(&self, doc: DocId) -> f32 {
        self.parts[usize::from(self.codes[doc as usize])]
    }
}

impl PostingList {
    /// A list with the bounds of its full blocks.
    pub(super) fn new(
        postings: BlockSegmentPostings,
        weight: f32,
        mut blocks: Vec<Block>,
        lengths: DocumentLengths<'_>,
    ) -> Self {
        if blocks.is_empty() {
            blocks.push(whole(&postings, weight, lengths));
        } else {
            // The few documents after the last full block have no recorded bound.
            blocks.push(Block { last: TERMINATED - 1, bound: weight as u32 + 1 });
        }
        Self { postings, weight, blocks, at: 0 }
    }

    /// A lower bound of the list's next document at or after `from`.
    pub(super) fn next(&mut self, from: DocId) -> DocId {
        while self.blocks.get(self.at).is_some_and(|block| block.last < from) {
            self.at += 1;
        }
        match self.at {
            at if at == self.blocks.len() => TERMINATED,
            0 => from,
            at => from.max(self.blocks[at - 1].last + 1),
        }
    }

    /// Upper bound of the points of documents in `from..to`; 0 only if there is no document. Moves
    /// to `from`.
    pub(super) fn bound(&mut self, from: DocId, to: DocId) -> u32 {
        if self.next(from) >= to {
            return 0;
        }
        let mut bound = 0;
        for block in &self.blocks[self.at..] {
            bound = bound.max(block.bound);
            if block.last >= to - 1 {
                break;
            }
        }
        bound
    }

    /// Adds the points of every document in `from..to` and marks it, but skips blocks whose bound
    /// `is_hopeless`.
    #[inline]
    pub(super) fn sweep(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: DocumentLengths<'_>,
        is_hopeless: impl Fn(u32) -> bool,
        window: &mut Window,
    ) {
        let mut from = self.next(from);
        while from < to && self.at < self.blocks.len() {
            let block = self.blocks[self.at];
            if !is_hopeless(block.bound) {
                for (doc, tf) in rest_of_block(&mut self.postings, from) {
                    if *doc >= to {
                        return;
                    }
                    window.add_and_mark(*doc, points(self.weight, *tf, lengths.part(*doc)));
                }
            }
            from = block.last + 1;
            self.at += 1;
        }
    }

    /// Adds the points of every marked document in `from..to`.
    pub(super) fn join(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: DocumentLengths<'_>,
        window: &mut Window,
    ) {
        let mut from = self.next(from);
        while from < to && self.at < self.blocks.len() {
            let last = self.blocks[self.at].last;
            let marked =
                window.marked(from..to.min(last.saturating_add(1))).take(MAX_LOOKUPS + 1).count();
            match marked {
                0 => {}
                1..=MAX_LOOKUPS => self.join_few(from, to.min(last + 1), lengths, window),
                _ => self.join_block(from, to, lengths, window),
            }
            if last >= to {
                return;
            }
            from = last + 1;
            self.at += 1;
        }
    }

    /// Looks up each marked document.
    fn join_few(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: DocumentLengths<'_>,
        window: &mut Window,
    ) {
        let mut found = [(0, 0); MAX_LOOKUPS];
        let mut count = 0;
        for doc in window.marked(from..to) {
            if let Some(points) = points_of(&mut self.postings, self.weight, doc, lengths) {
                found[count] = (doc, points);
                count += 1;
            }
        }
        for (doc, points) in &found[..count] {
            window.add(*doc, *points);
        }
    }

    /// Scans a block for its marked documents.
    fn join_block(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: DocumentLengths<'_>,
        window: &mut Window,
    ) {
        for (doc, tf) in rest_of_block(&mut self.postings, from) {
            if *doc >= to {
                return;
            }
            if window.is_marked(*doc) {
                window.add(*doc, points(self.weight, *tf, lengths.part(*doc)));
            }
        }
    }
}

/// Documents and frequencies at or after `from` in the block that contains it.
#[inline]
fn rest_of_block(
    postings: &mut BlockSegmentPostings,
    from: DocId,
) -> impl Iterator<Item = (&DocId, &u32)> {
    let first = postings.seek(from);
    postings.docs()[first..].iter().zip(&postings.freqs()[first..])
}

/// The points of a document, if the list contains it. Documents must be requested in order.
pub(super) fn points_of(
    postings: &mut BlockSegmentPostings,
    weight: f32,
    doc: DocId,
    lengths: DocumentLengths<'_>,
) -> Option<u32> {
    tf_of(postings, doc).map(|tf| points(weight, tf, lengths.part(doc)))
}

/// The term frequency of a document, if the list contains it. Documents must be requested in order.
pub(super) fn tf_of(postings: &mut BlockSegmentPostings, doc: DocId) -> Option<u32> {
    let at = postings.seek(doc);
    (postings.docs().get(at) == Some(&doc)).then(|| postings.freq(at))
}

/// A list that is a single block, with its exact bound.
fn whole(postings: &BlockSegmentPostings, weight: f32, lengths: DocumentLengths<'_>) -> Block {
    let documents = postings.docs().iter().zip(postings.freqs());
    let best = documents.map(|(doc, tf)| points(weight, *tf, lengths.part(*doc))).max();
    let last = postings.docs().last().copied().unwrap_or_default();
    Block { last, bound: best.unwrap_or_default() + 1 }
}
