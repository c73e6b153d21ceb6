//! Selects the passages that are worth scoring by their rows.

use super::block::{BLOCK, block_bytes};
use super::query::VectorQuery;

/// The position of a passage: the number of a run of codes, and the index in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorPosition {
    pub(crate) run: u32,
    pub(crate) at: u32,
}

/// The passages with the best code scores: at least `depth` of them, and all that tie with the
/// last, so that the selection does not depend on insertion order.
#[derive(Debug)]
pub(crate) struct Shortlist {
    depth: usize,
    threshold: i32,
    candidates: Vec<(i32, VectorPosition)>,
    /// Scratch space for pruning.
    scores: Vec<i32>,
}

impl Shortlist {
    pub(crate) fn new(depth: usize) -> Self {
        Self {
            depth: depth.max(1),
            threshold: i32::MIN,
            candidates: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Scans the codes of `count` passages. The callbacks are called only for passages that would
    /// be selected: whether they have a direction, and whether the filter admits them.
    pub(crate) fn scan(
        &mut self,
        query: &VectorQuery,
        (run, codes, count): (u32, &[u8], usize),
        has_direction: impl Fn(u32) -> bool,
        mut admits: impl FnMut(u32) -> bool,
    ) {
        let mut scores = [0; BLOCK];
        for (number, block) in codes.chunks_exact(block_bytes(query.dims())).enumerate() {
            if query.score_block(block, &mut scores) < self.threshold {
                continue;
            }
            let first = number * BLOCK;
            for (at, score) in (first..count).zip(scores) {
                // Without a direction there is no stretch, and the score is zero.
                let at = at as u32;
                if score >= self.threshold && (score > 0 || has_direction(at)) && admits(at) {
                    self.keep(score, VectorPosition { run, at });
                }
            }
        }
    }

    /// The selected passages in insertion order, and whether there may be more.
    pub(crate) fn finish(mut self) -> (Vec<VectorPosition>, bool) {
        self.prune();
        let is_full = self.candidates.len() >= self.depth;
        (self.candidates.into_iter().map(|(_, place)| place).collect(), is_full)
    }

    fn keep(&mut self, score: i32, place: VectorPosition) {
        self.candidates.push((score, place));
        // Pruning costs as much as the number of entries: let that double in between.
        if self.candidates.len() >= 2 * self.depth
            && self.candidates.len() == self.candidates.capacity()
        {
            self.prune();
        }
    }

    /// Drops entries with a lower score than the one at the depth. The rest stays in insertion
    /// order, which is the order of the rows in memory.
    fn prune(&mut self) {
        if self.candidates.len() < self.depth {
            return;
        }
        self.scores.clear();
        self.scores.extend(self.candidates.iter().map(|(score, _)| *score));
        let (_, threshold, _) = self.scores.select_nth_unstable_by(self.depth - 1, |a, b| b.cmp(a));
        self.threshold = *threshold;
        self.candidates.retain(|(score, _)| *score >= self.threshold);
    }
}
