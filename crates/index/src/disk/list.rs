//! A list of documents that is read forwards, block by block.

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::blocks::Block;
use super::window::Window;
use crate::bm25::points;

/// As many marked documents of a block are looked for one by one; for more it is gone through.
const FEW: usize = 4;

/// The documents of a word.
pub(super) struct List {
    postings: BlockSegmentPostings,
    weight: f32,
    blocks: Vec<Block>,
    /// The block that the window starts in.
    at: usize,
}

/// What scoring a document needs besides its frequency.
#[derive(Clone, Copy)]
pub(super) struct Lengths<'a> {
    /// Length parts by length code.
    pub(super) parts: &'a [f32; 256],
    /// Length codes by document.
    pub(super) codes: &'a [u8],
}

impl Lengths<'_> {
    #[inline]
    pub(super) fn part(&self, doc: DocId) -> f32 {
        self.parts[usize::from(self.codes[doc as usize])]
    }
}

impl List {
    /// A list with the bounds of its full blocks.
    pub(super) fn new(
        postings: BlockSegmentPostings,
        weight: f32,
        mut blocks: Vec<Block>,
        lengths: Lengths<'_>,
    ) -> Self {
        if blocks.is_empty() {
            blocks.push(whole(&postings, weight, lengths));
        } else {
            // The documents after the last full block: few, so no bound is kept for them.
            blocks.push(Block { last: TERMINATED - 1, bound: weight as u32 + 1 });
        }
        Self { postings, weight, blocks, at: 0 }
    }

    /// A document that no document of the list from `from` on comes before.
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

    /// The most points of a document from `from` to before `to`: none only if there is no document.
    /// Moves to `from`.
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

    /// Adds the points of every document from `from` to before `to` and marks it, but leaves blocks
    /// out whose bound `is_hopeless`.
    #[inline]
    pub(super) fn sweep(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: Lengths<'_>,
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

    /// Adds the points of every marked document from `from` to before `to`.
    pub(super) fn join(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: Lengths<'_>,
        window: &mut Window,
    ) {
        let mut from = self.next(from);
        while from < to && self.at < self.blocks.len() {
            let last = self.blocks[self.at].last;
            let marked = window.marked(from..to.min(last.saturating_add(1))).take(FEW + 1).count();
            match marked {
                0 => {}
                1..=FEW => self.join_few(from, to.min(last + 1), lengths, window),
                _ => self.join_block(from, to, lengths, window),
            }
            if last >= to {
                return;
            }
            from = last + 1;
            self.at += 1;
        }
    }

    /// Looks for each marked document.
    fn join_few(&mut self, from: DocId, to: DocId, lengths: Lengths<'_>, window: &mut Window) {
        let mut found = [(0, 0); FEW];
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

    /// Goes through a block.
    fn join_block(&mut self, from: DocId, to: DocId, lengths: Lengths<'_>, window: &mut Window) {
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

/// Documents and frequencies from `from` on in the block that holds it.
#[inline]
fn rest_of_block(
    postings: &mut BlockSegmentPostings,
    from: DocId,
) -> impl Iterator<Item = (&DocId, &u32)> {
    let first = postings.seek(from);
    postings.docs()[first..].iter().zip(&postings.freqs()[first..])
}

/// The points of a document that a list holds. Documents must be asked for in order.
pub(super) fn points_of(
    postings: &mut BlockSegmentPostings,
    weight: f32,
    doc: DocId,
    lengths: Lengths<'_>,
) -> Option<u32> {
    tf_of(postings, doc).map(|tf| points(weight, tf, lengths.part(doc)))
}

/// How often a document that a list holds says its term. Documents must be asked for in order.
pub(super) fn tf_of(postings: &mut BlockSegmentPostings, doc: DocId) -> Option<u32> {
    let at = postings.seek(doc);
    (postings.docs().get(at) == Some(&doc)).then(|| postings.freq(at))
}

/// A list of a single block, exactly bounded.
fn whole(postings: &BlockSegmentPostings, weight: f32, lengths: Lengths<'_>) -> Block {
    let documents = postings.docs().iter().zip(postings.freqs());
    let best = documents.map(|(doc, tf)| points(weight, *tf, lengths.part(*doc))).max();
    let last = postings.docs().last().copied().unwrap_or_default();
    Block { last, bound: best.unwrap_or_default() + 1 }
}
