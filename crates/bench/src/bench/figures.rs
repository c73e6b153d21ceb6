//! The figures that collections are compared by: nDCG@10 and recall, by the measures of core.

use gbrain_core::measure::{GradedRanking, Measure};
use gbrain_core::qrels::Judgement;

/// The figures of one query, or their means over queries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Figures {
    pub(crate) ndcg_10: f64,
    pub(crate) recall_5: f64,
    pub(crate) recall_10: f64,
    pub(crate) recall_100: f64,
}

impl Figures {
    pub(crate) fn of(ranked: &[&str], judgements: &[Judgement]) -> Self {
        let graded = GradedRanking::of(judgements, ranked.iter().copied());
        Self {
            ndcg_10: Measure::ndcg(10).of(&graded),
            recall_5: Measure::recall(5).of(&graded),
            recall_10: Measure::recall(10).of(&graded),
            recall_100: Measure::recall(100).of(&graded),
        }
    }

    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            ndcg_10: mean(|figures| figures.ndcg_10),
            recall_5: mean(|figures| figures.recall_5),
            recall_10: mean(|figures| figures.recall_10),
            recall_100: mean(|figures| figures.recall_100),
        }
    }
}
