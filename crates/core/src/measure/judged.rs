//! The share of a ranking that has judgements.

use super::{GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the share of the first k (or of all, if fewer were retrieved) that is judged, \
                  relevant or not: where it is low, other measures are lower bounds",
    citation: "Judged@k in ir_measures, after OpenNIR",
};

pub(super) fn judged(graded: &GradedRanking, k: Option<usize>) -> f64 {
    let depth = k.unwrap_or(usize::MAX).min(graded.retrieved);
    let judged = graded.found.iter().take_while(|found| found.rank <= depth).count();
    if depth == 0 { 0.0 } else { judged as f64 / depth as f64 }
}
