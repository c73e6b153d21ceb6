//! What a suite measures, and the values: counts where something is counted, so that nothing is
//! decided by a rounded quotient.

use crate::named;
use crate::stats::{mean, percentile};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Cases with an expected or acceptable result among the first five.
    RecallAt5,
    /// The same among the first ten.
    RecallAt10,
    /// Of all that was expected, what is among the first five.
    SetRecallAt5,
    /// Of all that was expected, what is among the first ten.
    SetRecallAt10,
    /// Of the first five places, those with an expected or acceptable result.
    PrecisionAt5,
    /// Of the first ten places, those with an expected or acceptable result.
    PrecisionAt10,
    /// The mean score that the reranker gives borderline documents.
    RerankRelevance,
    /// The 95th percentile of how long requests took as a whole.
    LatencyP95,
    /// That of finding by meaning.
    DenseP95,
    RerankP95,
    /// That of fetching what is shown.
    HydrationP95,
    /// Highlights that show the right span.
    SnippetAccuracy,
    /// Questions about links that are answered.
    GraphAnswer,
    /// Answers from links that give reasons.
    RationalePresent,
    /// Reasons that are all so.
    RationaleFaithful,
}

named! {
    Measure {
        RecallAt5 = "recall@5",
        RecallAt10 = "recall@10",
        SetRecallAt5 = "set_recall@5",
        SetRecallAt10 = "set_recall@10",
        PrecisionAt5 = "precision@5",
        PrecisionAt10 = "precision@10",
        RerankRelevance = "rerank_relevance",
        LatencyP95 = "latency_p95_ms",
        DenseP95 = "dense_p95_ms",
        RerankP95 = "rerank_p95_ms",
        HydrationP95 = "hydration_p95_ms",
        SnippetAccuracy = "snippet_accuracy",
        GraphAnswer = "graph_answer",
        RationalePresent = "rationale_present",
        RationaleFaithful = "rationale_faithful",
    }
}

impl Measure {
    /// What its value is.
    pub fn unit(self) -> Unit {
        match self {
            Self::RerankRelevance => Unit::Score,
            Self::LatencyP95 | Self::DenseP95 | Self::RerankP95 | Self::HydrationP95 => {
                Unit::Millis
            }
            _ => Unit::Share,
        }
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many of so many.
    Share,
    Millis,
    /// A score of a model.
    Score,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// So many of so many.
    Share { hits: u64, n: u64 },
    /// A percentile of times.
    Millis {
        /// The 95th, in milliseconds.
        p95: Option<f64>,
        /// Of so many requests.
        n: u64,
    },
    /// A mean of scores, and what it was when the threshold was set.
    Score {
        mean: Option<f64>,
        baseline: Option<f64>,
        /// Of so many pairs.
        n: u64,
    },
}

impl Value {
    /// Of how many.
    pub fn n(&self) -> u64 {
        match *self {
            Self::Share { n, .. } | Self::Millis { n, .. } | Self::Score { n, .. } => n,
        }
    }

    /// As one number, for trends and charts; none of nothing.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Share { hits, n } => (n > 0).then(|| hits as f64 / n as f64),
            Self::Millis { p95, .. } => p95,
            Self::Score { mean, .. } => mean,
        }
    }

    /// The 95th percentile of some times, by the nearest rank. Times that are no numbers sort last.
    pub fn p95(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self::Millis { p95: percentile(&times, 0.95), n: times.len() as u64 }
    }

    /// The mean of some scores, beside what it was.
    pub fn scores(scores: &[f64], baseline: Option<f64>) -> Self {
        Self::Score { mean: mean(scores), baseline, n: scores.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stages whose slow requests are different ones: the percentile of the totals is not their sum.
    #[test]
    fn percentiles_do_not_add_up() {
        let dense: Vec<f64> = (0..20).map(|at| if at == 3 { 100.0 } else { 10.0 }).collect();
        let rerank: Vec<f64> = (0..20).map(|at| if at == 7 { 100.0 } else { 10.0 }).collect();
        let dense_high = Value::p95(dense.iter().map(|ms| ms + 0.0).collect());
        let totals: Vec<f64> = dense.iter().zip(&rerank).map(|(a, b)| a + b).collect();
        assert_eq!(dense_high, Value::Millis { p95: Some(10.0), n: 20 });
        assert_eq!(Value::p95(rerank), Value::Millis { p95: Some(10.0), n: 20 });
        assert_eq!(Value::p95(totals), Value::Millis { p95: Some(110.0), n: 20 });
    }

    #[test]
    fn nothing_has_no_number() {
        assert_eq!(Value::Share { hits: 0, n: 0 }.number(), None);
        assert_eq!(Value::p95(Vec::new()).number(), None);
        assert_eq!(Value::scores(&[], Some(0.5)).number(), None);
    }
}
