//! The score cut: drops results that score far below the first.

use super::candidate::{Candidate, RankTier};

/// Number of sorted candidates that score at least `ratio` of the best found one. Named pages
/// always stay.
pub fn keep(candidates: &[Candidate], ratio: f64) -> usize {
    let best = candidates
        .iter()
        .filter(|c| c.tier == RankTier::Found)
        .map(|c| c.score)
        .fold(0.0, f64::max);
    let floor = ratio * best;
    candidates.iter().take_while(|c| c.tier != RankTier::Found || c.score >= floor).count()
}
