//! Precision at rank R, the number of relevant documents.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "precision at R, where R is the number of relevant documents of the query",
    citation: "Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000; trec_eval Rprec",
};

pub(super) fn r_precision(graded: &GradedRanking, rel: u32) -> f64 {
    match graded.relevant(rel) {
        0 => 0.0,
        relevant => graded.relevant_ranks(rel, relevant).count() as f64 / relevant as f64,
    }
}
