//! Comparing a captured ranking with a current one.
//!
//! [`PageMatcher`](super::PageMatcher) says which pages are the same; here are the measures.

use crate::latency::{NotComparedReason, TimeComparison};
use crate::overlap::{jaccard, kendall_tau, rank_biased_overlap};
use crate::provenance::FactorDifferences;

use super::{Caveat, RowComparison};

/// Both rankings in the form in which they are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankingPair {
    pub captured: Vec<String>,
    /// The ranking of the replay.
    pub current: Vec<String>,
}

/// The measures of one row.
pub fn compare(
    sides: RankingPair,
    latencies: (Option<f64>, f64),
    caveats: Vec<Caveat>,
    differences: FactorDifferences,
) -> RowComparison {
    let RankingPair { captured, current } = sides;
    let top1 = match (captured.first(), current.first()) {
        (None, None) => None,
        (a, b) => Some(a == b),
    };
    RowComparison {
        jaccard: jaccard(&captured, &current),
        top1,
        rbo: rank_biased_overlap(&captured, &current, 0.9),
        kendall: kendall_tau(&captured, &current),
        // Hand-written rows have 0, which is not a latency.
        captured_ms: latencies.0.filter(|ms| *ms > 0.0),
        current_ms: latencies.1,
        timing: TimeComparison::NotCompared(NotComparedReason::NoCpuTime),
        captured,
        current,
        caveats,
        differences,
        blame: None,
        lost: Vec::new(),
    }
}
