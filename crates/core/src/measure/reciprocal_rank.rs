//! Reciprocal rank of the first relevant document.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "1 / rank of the first relevant document, 0 if there is none (among the first k)",
    citation: "Kantor and Voorhees, The TREC-5 confusion track, 2000; trec_eval recip_rank",
};

pub(super) fn reciprocal_rank(graded: &GradedRanking, rel: u32, k: Option<usize>) -> f64 {
    let first = graded.relevant_ranks(rel, k.unwrap_or(usize::MAX)).next();
    first.map_or(0.0, |rank| 1.0 / rank as f64)
}
