//! Precision among the first k.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the share of the first k that is relevant: relevant among the first k / k, also \
                  when fewer than k were retrieved",
    citation: "van Rijsbergen, Information Retrieval, 2nd ed., 1979, ch. 7; trec_eval P_k",
};

pub(super) fn precision(graded: &GradedRanking, rel: u32, k: usize) -> f64 {
    graded.relevant_ranks(rel, k).count() as f64 / k as f64
}
