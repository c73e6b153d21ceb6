//! Normalised discounted cumulative gain.
//!
//! The discount of rank i is log2(i + 1). A grade below zero gains nothing.

use super::{Gain, GradedRanking, MeasureInfo};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the sum of grade / log2(rank + 1) (over the first k), divided by that of the best \
                  possible ranking of the judged documents",
    citation: "Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; trec_eval ndcg, ndcg_cut_k",
};

pub(super) const ABOUT_EXPONENTIAL: MeasureInfo = MeasureInfo {
    explanation: "the sum of (2^grade - 1) / log2(rank + 1) (over the first k), divided by that of \
                  the best possible ranking of the judged documents",
    citation: "Burges et al., Learning to rank using gradient descent, ICML 2005",
};

pub(super) fn ndcg(graded: &GradedRanking, gain: Gain, k: Option<usize>) -> f64 {
    let k = k.unwrap_or(usize::MAX);
    let highest = graded.ideal.first().copied().unwrap_or(0.0);
    // 2^grade leaves the range of doubles past 1023: only the differences between grades count.
    let shift = (highest - 64.0).max(0.0);
    // A sum of huge grades leaves it too: then only their proportions count.
    let unit = if highest > 1e200 { highest } else { 1.0 };
    let gain = |grade: f64| match gain {
        Gain::Linear => grade.max(0.0) / unit,
        Gain::Exponential => (grade.max(0.0) - shift).exp2() - (-shift).exp2(),
    };
    let discounted = |(rank, grade): (usize, f64)| gain(grade) / (rank as f64 + 1.0).log2();
    let found = graded.found.iter().take_while(|found| found.rank <= k);
    let reached: f64 = found.map(|found| discounted((found.rank, found.grade))).sum();
    let ideal = graded.ideal.iter().copied().take(k).take_while(|grade| *grade > 0.0);
    let best: f64 = (1..).zip(ideal).map(discounted).sum();
    if best > 0.0 { (reached / best).min(1.0) } else { 0.0 }
}
