//! Recall: how much, any, all. Vendors print all three as "R@5"; here each has its own name.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the share of the relevant documents that is among the first k",
    citation: "van Rijsbergen, Information Retrieval, 2nd ed., 1979, ch. 7; trec_eval recall_k",
};

pub(super) const ABOUT_ANY: MeasureInfo = MeasureInfo {
    explanation: "1 if any relevant document is among the first k, otherwise 0",
    citation: "trec_eval success_k; recall_any@k in Wu et al., LongMemEval, ICLR 2025",
};

pub(super) const ABOUT_ALL: MeasureInfo = MeasureInfo {
    explanation: "1 if every relevant document is among the first k, otherwise 0",
    citation: "recall_all@k in Wu et al., LongMemEval, ICLR 2025",
};

pub(super) fn recall(graded: &GradedRanking, rel: u32, k: usize) -> f64 {
    match graded.relevant(rel) {
        0 => 0.0,
        relevant => graded.relevant_ranks(rel, k).count() as f64 / relevant as f64,
    }
}

pub(super) fn any(graded: &GradedRanking, rel: u32, k: usize) -> f64 {
    f64::from(graded.relevant_ranks(rel, k).next().is_some())
}

pub(super) fn all(graded: &GradedRanking, rel: u32, k: usize) -> f64 {
    let relevant = graded.relevant(rel);
    f64::from(relevant > 0 && graded.relevant_ranks(rel, k).count() == relevant)
}
