//! The score cut: drops what is far below the first.

use super::candidate::{Candidate, Tier};

/// How many of the sorted candidates score at least `ratio` of the best found one. Named pages
/// always stay.
pub fn keep(candidates: &[Candidate], ratio: f64) -> usize {
    let best =
        candidates.iter().filter(|c| c.tier == Tier::Found).map(|c| c.score).fold(0.0, f64::max);
    let floor = ratio * best;
    candidates.iter().take_while(|c| c.tier != Tier::Found || c.score >= floor).count()
}
