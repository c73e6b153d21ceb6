//! A list of documents that is read forwards, block by block.

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::blocks::Block;
use crate::bm25::points;

/// The documents of a word.
pub(super) struct List {
    postings: BlockSegmentPostings,
    weight: f32,
    blocks: Vec<Block>,
    /// The block that the window starts in.
    at: usize,
    /// The block of the last document that was asked for.
    probe: usize,
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
    fn part(&self, doc: DocId) -> f32 {
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
            blocks.push(Block { last: TERMINATED - 1, bound: weight as u32 });
        }
        Self { postings, weight, blocks, at: 0, probe: 0 }
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

    /// The most points of a document from `from` to before `to`. Moves to `from`.
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

    /// Calls `each` with document and points for every document from `from` to before `to`, but
    /// leaves blocks out whose bound `is_hopeless`.
    #[inline]
    pub(super) fn sweep(
        &mut self,
        from: DocId,
        to: DocId,
        lengths: Lengths<'_>,
        is_hopeless: impl Fn(u32) -> bool,
        mut each: impl FnMut(DocId, u32),
    ) {
        let mut from = self.next(from);
        while from < to && self.at < self.blocks.len() {
            let block = self.blocks[self.at];
            if !is_hopeless(block.bound) {
                let first = self.postings.seek(from);
                let (docs, freqs) =
                    (&self.postings.docs()[first..], &self.postings.freqs()[first..]);
                for (doc, tf) in docs.iter().zip(freqs) {
                    if *doc >= to {
                        return;
                    }
                    each(*doc, points(self.weight, *tf, lengths.part(*doc)));
                }
            }
            from = block.last + 1;
            self.at += 1;
        }
    }

    /// The bound of the block that would hold `doc`. Documents must be asked for in order.
    pub(super) fn bound_at(&mut self, doc: DocId) -> u32 {
        self.probe = self.probe.max(self.at);
        while self.blocks.get(self.probe).is_some_and(|block| block.last < doc) {
            self.probe += 1;
        }
        self.blocks.get(self.probe).map_or(0, |block| block.bound)
    }

    /// The points of a document that the list holds. Documents must be asked for in order.
    pub(super) fn points_of(&mut self, doc: DocId, lengths: Lengths<'_>) -> Option<u32> {
        points_of(&mut self.postings, self.weight, doc, lengths)
    }
}

/// The points of a document that a list holds. Documents must be asked for in order.
pub(super) fn points_of(
    postings: &mut BlockSegmentPostings,
    weight: f32,
    doc: DocId,
    lengths: Lengths<'_>,
) -> Option<u32> {
    let at = postings.seek(doc);
    let is_there = postings.docs().get(at) == Some(&doc);
    is_there.then(|| points(weight, postings.freq(at), lengths.part(doc)))
}

/// A list of a single block, exactly bounded.
fn whole(postings: &BlockSegmentPostings, weight: f32, lengths: Lengths<'_>) -> Block {
    let documents = postings.docs().iter().zip(postings.freqs());
    let best = documents.map(|(doc, tf)| points(weight, *tf, lengths.part(*doc))).max();
    Block {
        last: postings.docs().last().copied().unwrap_or_default(),
        bound: best.unwrap_or_default(),
    }
}
