//! The passages worth scoring by their rows.

use super::block::{BLOCK, block_bytes};
use super::query::VectorQuery;

/// Where a passage is: a number for the run of codes and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) run: u32,
    pub(crate) at: u32,
}

/// The passages whose codes score best: at least `depth` of them, and all that score as much as
/// the last, so that which they are does not depend on the order they came in.
#[derive(Debug)]
pub(crate) struct Shortlist {
    depth: usize,
    threshold: i32,
    kept: Vec<(i32, Place)>,
    /// The scores of what is kept, while they are pruned.
    scores: Vec<i32>,
}

impl Shortlist {
    pub(crate) fn new(depth: usize) -> Self {
        Self { depth: depth.max(1), threshold: i32::MIN, kept: Vec::new(), scores: Vec::new() }
    }

    /// Scans the codes of `count` passages. Only passages that would be kept are asked about:
    /// whether they have a direction at all, and whether they are admitted.
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
                    self.keep(score, Place { run, at });
                }
            }
        }
    }

    /// What was kept, in the order it came in; and whether there may be more where it came from.
    pub(crate) fn finish(mut self) -> (Vec<Place>, bool) {
        self.prune();
        let is_full = self.kept.len() >= self.depth;
        (self.kept.into_iter().map(|(_, place)| place).collect(), is_full)
    }

    fn keep(&mut self, score: i32, place: Place) {
        self.kept.push((score, place));
        // Pruning costs as much as what is kept: let that double in between.
        if self.kept.len() >= 2 * self.depth && self.kept.len() == self.kept.capacity() {
            self.prune();
        }
    }

    /// Drops what scores less than the one at the depth. What stays is in the order it came in,
    /// which is that of its rows in memory.
    fn prune(&mut self) {
        if self.kept.len() < self.depth {
            return;
        }
        self.scores.clear();
        self.scores.extend(self.kept.iter().map(|(score, _)| *score));
        let (_, threshold, _) = self.scores.select_nth_unstable_by(self.depth - 1, |a, b| b.cmp(a));
        self.threshold = *threshold;
        self.kept.retain(|(score, _)| *score >= self.threshold);
    }
}
