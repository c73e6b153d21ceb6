//! Stored model answers, and runs of measurements with their reports.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

named! {
    /// The kind of request that a model answered.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AnswerKind {
        /// Variants of a query.
        Expansion = "expansion",
        /// The embedding of a text.
        Vector = "vector",
        /// Whether two statements contradict each other.
        Contradiction = "contradiction",
        /// A reranker's score of a pair, until its calibration is complete.
        RerankScore = "rerank_score",
    }
}

/// A model answer to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// A hash of everything the answer depends on.
    pub key: Hash,
    pub body: String,
    /// The pages that it was derived from, as `source::slug`: it is deleted when one of them is
    /// purged. `None` if unknown: it is deleted when any page is purged.
    pub pages: Option<Vec<String>>,
}

named! {
    /// The kind of a measurement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RunKind {
        /// Contradictions that retrieval surfaces.
        Contradictions = "contradictions",
        /// The nightly quality probe.
        QualityProbe = "quality_probe",
    }
}

/// One run of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgingRun {
    /// A name that is unique in its kind: 1 to 200 bytes.
    pub id: String,
    pub at: Timestamp,
    /// The outcome in one word.
    pub outcome: String,
    /// Its report, as JSON.
    pub body: String,
}
