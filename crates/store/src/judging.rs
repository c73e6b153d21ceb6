//! What measurements keep: answers of models, and runs with their reports.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

/// What an answer of a model is an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    /// Variants of a query.
    Expansion,
    /// What a text means, as a vector.
    Vector,
    /// Whether two statements contradict each other.
    Contradiction,
    /// What a reranker said of a pair, until its calibration is whole.
    RerankScore,
}

named! {
    AnswerKind {
        Expansion = "expansion",
        Vector = "vector",
        Contradiction = "contradiction",
        RerankScore = "rerank_score",
    }
}

/// An answer of a model to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// Everything that it depends on.
    pub key: Hash,
    pub body: String,
    /// The pages that it was made from, as `source::slug`: it goes when one of them is purged. `None` if that is not
    /// known: it goes with any page.
    pub pages: Option<Vec<String>>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// Contradictions that retrieval surfaces.
    Contradictions,
    /// The nightly probe of quality.
    QualityProbe,
}

named! { RunKind { Contradictions = "contradictions", QualityProbe = "quality_probe" } }

/// A measurement that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its name, once in its kind: 1 to 200 bytes.
    pub id: String,
    pub at: Timestamp,
    /// How it ended, in a word.
    pub outcome: String,
    /// Its report, as JSON.
    pub body: String,
}
