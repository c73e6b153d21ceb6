//! Suite measures and their values. Shares are stored as counts, so that no comparison depends on a
//! rounded quotient.

use crate::named;
use crate::stats::{mean, percentile};

named! {
    /// A measure of a suite.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SuiteMeasure {
        /// Share of cases with an expected or acceptable result among the first five.
        RecallAt5 = "recall@5",
        /// Share of cases with an expected or acceptable result among the first ten.
        RecallAt10 = "recall@10",
        /// Share of expected keys among the first five results.
        SetRecallAt5 = "set_recall@5",
        /// Share of expected keys among the first ten results.
        SetRecallAt10 = "set_recall@10",
        /// Share of the first five positions with an expected or acceptable result.
        PrecisionAt5 = "precision@5",
        /// Share of the first ten positions with an expected or acceptable result.
        PrecisionAt10 = "precision@10",
        /// Mean reranker score of borderline documents.
        RerankRelevance = "rerank_relevance",
        /// 95th percentile of total latency.
        LatencyP95 = "latency_p95_ms",
        /// 95th percentile of dense retrieval latency.
        DenseP95 = "dense_p95_ms",
        RerankP95 = "rerank_p95_ms",
        /// 95th percentile of hydration latency.
        HydrationP95 = "hydration_p95_ms",
        /// Share of highlights that show the expected text.
        SnippetAccuracy = "snippet_accuracy",
        /// Share of graph questions that are answered.
        GraphAnswer = "graph_answer",
        /// Share of graph answers with a rationale.
        RationalePresent = "rationale_present",
        /// Share of rationales that are faithful.
        RationaleFaithful = "rationale_faithful",
    }
}

impl SuiteMeasure {
    pub fn unit(self) -> MeasureUnit {
        match self {
            Self::RerankRelevance => MeasureUnit::Score,
            Self::LatencyP95 | Self::DenseP95 | Self::RerankP95 | Self::HydrationP95 => {
                MeasureUnit::Millis
            }
            _ => MeasureUnit::Share,
        }
    }
}

/// The unit of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureUnit {
    /// A proportion: hits of n.
    Share,
    Millis,
    Score,
}

/// The value of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeasureValue {
    /// A proportion with its counts.
    Share { hits: u64, n: u64 },
    /// A percentile of latencies in milliseconds.
    Millis {
        /// The 95th percentile in milliseconds.
        p95: Option<f64>,
        n: u64,
    },
    /// A mean score, and its mean when the threshold was set.
    Score { mean: Option<f64>, baseline: Option<f64>, n: u64 },
}

impl MeasureValue {
    /// The number of observations behind the value.
    pub fn n(&self) -> u64 {
        match *self {
            Self::Share { n, .. } | Self::Millis { n, .. } | Self::Score { n, .. } => n,
        }
    }

    /// The value as one number, for trends and charts; none for an empty sample.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Share { hits, n } => (n > 0).then(|| hits as f64 / n as f64),
            Self::Millis { p95, .. } => p95,
            Self::Score { mean, .. } => mean,
        }
    }

    /// The 95th percentile by nearest rank. NaN sorts last.
    pub fn p95(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self::Millis { p95: percentile(&times, 0.95), n: times.len() as u64 }
    }

    /// The mean of scores, with the baseline mean.
    pub fn scores(scores: &[f64], baseline: Option<f64>) -> Self {
        Self::Score { mean: mean(scores), baseline, n: scores.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stages whose slow requests are different ones: the percentile of the totals is not their
    /// sum.
    #[test]
    fn percentiles_do_not_add_up() {
        let dense: Vec<f64> = (0..20).map(|at| if at == 3 { 100.0 } else { 10.0 }).collect();
        let rerank: Vec<f64> = (0..20).map(|at| if at == 7 { 100.0 } else { 10.0 }).collect();
        let dense_high = MeasureValue::p95(dense.iter().map(|ms| ms + 0.0).collect());
        let totals: Vec<f64> = dense.iter().zip(&rerank).map(|(a, b)| a + b).collect();
        assert_eq!(dense_high, MeasureValue::Millis { p95: Some(10.0), n: 20 });
        assert_eq!(MeasureValue::p95(rerank), MeasureValue::Millis { p95: Some(10.0), n: 20 });
        assert_eq!(MeasureValue::p95(totals), MeasureValue::Millis { p95: Some(110.0), n: 20 });
    }

    #[test]
    fn nothing_has_no_number() {
        assert_eq!(MeasureValue::Share { hits: 0, n: 0 }.number(), None);
        assert_eq!(MeasureValue::p95(Vec::new()).number(), None);
        assert_eq!(MeasureValue::scores(&[], Some(0.5)).number(), None);
    }
}
