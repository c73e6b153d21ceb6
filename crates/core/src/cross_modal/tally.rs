//! Sums scores by slot and derives the verdict, in integer arithmetic.

use super::{MEAN_FLOOR, QUORUM, SCORE_FLOOR};
use crate::gate::Verdict;

/// The votes of one model over its cycles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) votes: u64,
    /// The sum of its scores by dimension; empty without votes.
    pub(super) sums: Vec<u64>,
    /// The lowest of its scores by dimension; empty without votes.
    pub(super) lowest: Vec<u8>,
}

impl Tally {
    pub(super) fn add(&mut self, scores: &[u8]) {
        self.sums.resize(scores.len(), 0);
        self.lowest.resize(scores.len(), u8::MAX);
        for (at, score) in scores.iter().enumerate() {
            self.sums[at] += u64::from(*score);
            self.lowest[at] = self.lowest[at].min(*score);
        }
        self.votes += 1;
    }

    /// The model's score of a dimension: the mean over its cycles.
    pub(super) fn mean(&self, dimension: usize) -> Option<f64> {
        (self.votes > 0).then(|| self.sums[dimension] as f64 / self.votes as f64)
    }
}

/// The verdict on the final votes.
pub(super) fn verdict(tallies: &[Tally], dimensions: usize) -> Verdict {
    if contributing(tallies) < QUORUM {
        return Verdict::Inconclusive;
    }
    let is_good = |at: usize| reaches_mean(tallies, at) && lowest(tallies, at) >= Some(SCORE_FLOOR);
    if (0..dimensions).all(is_good) { Verdict::Pass } else { Verdict::Fail }
}

/// Number of models that voted.
pub(super) fn contributing(tallies: &[Tally]) -> usize {
    tallies.iter().filter(|tally| tally.votes > 0).count()
}

/// Whether the mean of the models' means reaches the floor. Compares integers over a common
/// denominator, so that nothing is rounded.
pub(super) fn reaches_mean(tallies: &[Tally], dimension: usize) -> bool {
    let voted = || tallies.iter().filter(|tally| tally.votes > 0);
    let common: u64 = voted().map(|tally| tally.votes).product();
    let sum: u64 = voted().map(|tally| tally.sums[dimension] * (common / tally.votes)).sum();
    sum >= u64::from(MEAN_FLOOR) * voted().count() as u64 * common
}

/// The lowest single score, over models and cycles.
pub(super) fn lowest(tallies: &[Tally], dimension: usize) -> Option<u8> {
    tallies.iter().filter(|tally| tally.votes > 0).map(|tally| tally.lowest[dimension]).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The votes of each slot on one dimension.
    #[track_caller]
    fn check(slots: &[&[u8]], expected: Verdict) {
        let tally = |votes: &&[u8]| {
            let mut tally = Tally::default();
            votes.iter().for_each(|score| tally.add(&[*score]));
            tally
        };
        let tallies: Vec<Tally> = slots.iter().map(tally).collect();
        assert_eq!(verdict(&tallies, 1), expected, "{slots:?}");
    }

    #[test]
    fn the_mean_reaches_seven_or_does_not() {
        check(&[&[7], &[7], &[7]], Verdict::Pass);
        check(&[&[7], &[7], &[6]], Verdict::Fail);
        check(&[&[5], &[9], &[7]], Verdict::Pass);
        // (6 2/3 + 7 + 7 1/3) / 3 is 7; a third less is not.
        check(&[&[6, 7, 7], &[7, 7, 7], &[8, 7, 7]], Verdict::Pass);
        check(&[&[6, 7, 7], &[7, 7, 7], &[7, 7, 7]], Verdict::Fail);
    }

    /// Models weigh the same, however many of their cycles gave a vote.
    #[test]
    fn a_model_is_the_mean_of_its_cycles() {
        check(&[&[6, 6, 6], &[8]], Verdict::Pass);
        check(&[&[8, 8, 8], &[5]], Verdict::Fail);
    }

    #[test]
    fn no_single_score_is_below_five() {
        check(&[&[10], &[10], &[5]], Verdict::Pass);
        check(&[&[10], &[10], &[4]], Verdict::Fail);
        check(&[&[10, 10, 4], &[10, 10, 10], &[10, 10, 10]], Verdict::Fail);
    }

    #[test]
    fn two_models_are_needed() {
        check(&[&[10], &[10], &[]], Verdict::Pass);
        check(&[&[1], &[1], &[]], Verdict::Fail);
        check(&[&[10, 10, 10], &[], &[]], Verdict::Inconclusive);
        check(&[&[1], &[], &[]], Verdict::Inconclusive);
        check(&[], Verdict::Inconclusive);
    }
}
