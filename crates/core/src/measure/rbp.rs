//! Rank-biased precision of a ranking.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "(1 - p) * the sum of p^(rank - 1) over relevant documents (among the first k): \
                  the rate at which a reader who goes on with probability p finds something",
    citation: "Moffat and Zobel, ACM TOIS 27(1), 2008; `RBP(p=p,rel=1)` in ir_measures",
};

pub(super) fn rbp(graded: &GradedRanking, p: f64, rel: u32, k: Option<usize>) -> f64 {
    let weight = |rank: usize| p.powi(i32::try_from(rank - 1).unwrap_or(i32::MAX));
    let sum: f64 = graded.relevant_ranks(rel, k.unwrap_or(usize::MAX)).map(weight).sum();
    ((1.0 - p) * sum).min(1.0)
}
