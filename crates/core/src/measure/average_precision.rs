//! Average precision of a ranking.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the mean, over all relevant documents, of the precision at the rank of each; one \
                  that was not found (among the first k) counts 0",
    citation: "Harman, Evaluation issues in information retrieval, 1992; trec_eval map, map_cut_k",
};

pub(super) fn average_precision(graded: &GradedRanking, rel: u32, k: Option<usize>) -> f64 {
    let hits = graded.relevant_ranks(rel, k.unwrap_or(usize::MAX));
    let sum: f64 = hits.zip(1u32..).map(|(rank, nth)| f64::from(nth) / rank as f64).sum();
    match graded.relevant(rel) {
        0 => 0.0,
        relevant => sum / relevant as f64,
    }
}
