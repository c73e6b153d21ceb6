//! Classifies failing cases by cause and suggests mitigations.
//!
//! The order of the rules matters: a target that did not answer cannot have lost a document, a
//! missing document cannot have been filtered, and a filtered document was retrieved. Every class
//! comes with its evidence; a case with too little evidence is `unknown` and lists the missing
//! evidence.
//!
//! Guarantees: a failing case always has a class, and no class counts as a pass. Not here:
//! collecting evidence, and applying mitigations.

mod affected;
mod mitigation;
mod rules;
mod run;

pub use affected::{AffectedCase, affected, is_below_rank_five, limit_of};
pub use mitigation::{MissingPage, Mitigation, MitigationContext, Rerun, mitigation, shell_word};
pub use rules::{Classification, classify};
pub use run::{CaseFinding, ExaminedCase, FailureCauseFinding, Triage, TriageSubject, triage};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;
use crate::suite::case::DEPTH;
use crate::target::TargetErrorKind;

named! {
    /// The cause of a failing case.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum FailureCause {
        /// The target or a stage did not answer, or was too slow.
        Infrastructure = "infrastructure",
        /// The expected document is missing, outdated, or its metadata contradicts the query's filters.
        PipelineBug = "pipeline_bug",
        /// The document was retrieved, but scored below the reranker's threshold.
        Threshold = "threshold",
        /// The document exists, but neither words, vectors nor links retrieve it.
        EmbeddingDrift = "embedding_drift",
        /// The document was retrieved, but others rank above it.
        Ranking = "ranking",
        /// The evidence is insufficient.
        Unknown = "unknown",
    }
}

named! {
    /// The state of an expected document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DocumentPresence {
        /// Present with its passages and vectors.
        Whole = "whole",
        /// Present, but some passages or the expected text are missing.
        ChunksMissing = "chunks_missing",
        /// Present, but its vectors are missing or belong to another model.
        VectorsMissing = "vectors_missing",
        /// Replaced by a newer document, or deleted.
        Superseded = "superseded",
        Absent = "absent",
        /// Present, but its metadata contradicts the query's filters.
        FilteredOut = "filtered_out",
        /// The state cannot be determined here.
        Unknown = "unknown",
    }
}

/// The vector similarity of an expected document, compared with passing cases of the same run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct VectorSimilarity {
    pub(crate) own: f64,
    /// Median similarity of passing cases.
    pub(crate) usual: f64,
    /// 10th percentile of passing cases.
    pub(crate) least: f64,
}

/// The facts known about a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TriageEvidence")]
pub struct CaseEvidence {
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    /// Stages that fell back or failed.
    pub fallbacks: Vec<String>,
    /// Latency in milliseconds, if it was too high.
    pub took_ms: Option<f64>,
    /// Allowed latency in milliseconds.
    pub allowed_ms: Option<f64>,
    /// Whether the expected documents are in the corpus.
    pub presence: DocumentPresence,
    /// Whether the document was deleted before the run, so that it can be restored.
    #[serde(skip)]
    pub is_deleted: bool,
    /// Whether the lexical search found it.
    // None if the target does not report it.
    pub in_words: Option<bool>,
    /// Whether the vector search found it.
    pub in_vectors: Option<bool>,
    /// Whether the graph search found it.
    #[serde(default)]
    pub in_graph: Option<bool>,
    /// Vector similarity to the query.
    pub similarity: Option<f64>,
    /// Median similarity of documents found by passing cases of the run.
    pub usual_similarity: Option<f64>,
    /// 10th percentile of these similarities.
    pub least_similarity: Option<f64>,
    pub rerank_score: Option<f64>,
    /// Rank among the documents the reranker scored.
    pub rerank_rank: Option<usize>,
    /// Number of documents the reranker scored.
    #[serde(default)]
    pub judged: usize,
    /// The threshold in force.
    pub threshold: Option<f64>,
    /// Whether the threshold was bypassed.
    // Because no document reached it.
    #[serde(rename = "threshold_bypassed")]
    pub is_bypassed: bool,
    /// Rank in a deeper answer.
    // None if it is missing there too.
    pub deeper_rank: Option<usize>,
    /// Maximum number of results.
    pub depth: usize,
    // False for cases that failed otherwise, such as by their highlight.
    #[serde(rename = "missed")]
    pub is_missed: bool,
    /// Whether the answer shows or claims something that no text supports.
    #[serde(rename = "made_up")]
    pub is_made_up: bool,
    /// Further remarks, which become reasons of the class. Never contains page text.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl CaseEvidence {
    /// Latency and its limit in milliseconds.
    pub(crate) fn latency(&self) -> Option<(f64, f64)> {
        self.took_ms.zip(self.allowed_ms)
    }

    pub(crate) fn similarities(&self) -> Option<VectorSimilarity> {
        let (own, usual, least) =
            (self.similarity?, self.usual_similarity?, self.least_similarity?);
        Some(VectorSimilarity { own, usual, least })
    }

    /// Whether only the graph arm retrieved it.
    pub(crate) fn is_from_links_alone(&self) -> bool {
        let by_text = self.in_words == Some(true) || self.in_vectors == Some(true);
        self.in_graph == Some(true) && !by_text
    }

    /// Whether any arm retrieved it.
    pub(crate) fn was_found(&self) -> bool {
        [self.in_words, self.in_vectors, self.in_graph].contains(&Some(true))
    }
}

impl Default for CaseEvidence {
    fn default() -> Self {
        Self {
            error: None,
            fallbacks: Vec::new(),
            took_ms: None,
            allowed_ms: None,
            presence: DocumentPresence::Unknown,
            is_deleted: false,
            in_words: None,
            in_vectors: None,
            in_graph: None,
            similarity: None,
            usual_similarity: None,
            least_similarity: None,
            rerank_score: None,
            rerank_rank: None,
            judged: 0,
            threshold: None,
            is_bypassed: false,
            deeper_rank: None,
            depth: DEPTH,
            is_missed: true,
            is_made_up: false,
            notes: Vec::new(),
        }
    }
}
