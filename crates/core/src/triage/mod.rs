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
pub use run::{CaseFinding, ExaminedCase, FailureCauseFinding, Triage, triage};

use crate::named;
use crate::suite::case::DEPTH;
use crate::target::TargetErrorKind;

/// The cause of a failing case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCause {
    /// The target or a stage did not answer, or was too slow.
    Infrastructure,
    /// The expected document is missing, outdated, or its metadata contradicts the query's filters.
    PipelineBug,
    /// The document was retrieved, but scored below the reranker's threshold.
    Threshold,
    /// The document exists, but neither words, vectors nor links retrieve it.
    EmbeddingDrift,
    /// The document was retrieved, but others rank above it.
    Ranking,
    /// The evidence is insufficient.
    Unknown,
}

named! {
    FailureCause {
        Infrastructure = "infrastructure",
        PipelineBug = "pipeline_bug",
        Threshold = "threshold",
        EmbeddingDrift = "embedding_drift",
        Ranking = "ranking",
        Unknown = "unknown",
    }
}

/// The state of an expected document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentPresence {
    /// Present with its passages and vectors.
    Whole,
    /// Present, but some passages or the expected text are missing.
    ChunksMissing,
    /// Present, but its vectors are missing or belong to another model.
    VectorsMissing,
    /// Replaced by a newer document, or deleted.
    Superseded,
    Absent,
    /// Present, but its metadata contradicts the query's filters.
    FilteredOut,
    /// The state cannot be determined here.
    Unknown,
}

named! {
    DocumentPresence {
        Whole = "whole",
        ChunksMissing = "chunks_missing",
        VectorsMissing = "vectors_missing",
        Superseded = "superseded",
        Absent = "absent",
        FilteredOut = "filtered_out",
        Unknown = "unknown",
    }
}

/// The vector similarity of an expected document, compared with passing cases of the same run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorSimilarity {
    pub own: f64,
    /// Median similarity of passing cases.
    pub usual: f64,
    /// 10th percentile of passing cases.
    pub least: f64,
}

/// The evidence about a failing case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseEvidence {
    /// The error, if the target did not answer.
    pub error: Option<TargetErrorKind>,
    /// Names of stages that fell back.
    pub fallbacks: Vec<String>,
    /// Latency and its limit in milliseconds.
    pub latency: Option<(f64, f64)>,
    /// State of the expected document.
    pub presence: DocumentPresence,
    /// Whether it was deleted before the run, so that it can be restored.
    pub is_deleted: bool,
    /// Whether the word arm retrieved it; none if the target does not report it.
    pub in_words: Option<bool>,
    /// Whether the vector arm retrieved it.
    pub in_vectors: Option<bool>,
    /// Whether the graph arm retrieved it.
    pub in_graph: Option<bool>,
    pub similarity: Option<VectorSimilarity>,
    /// Reranker score, if it was reranked.
    pub rerank_score: Option<f64>,
    /// Rank by reranker score, from 1.
    pub rerank_rank: Option<usize>,
    /// Number of reranked documents.
    pub judged: usize,
    /// Reranker threshold in effect.
    pub threshold: Option<f64>,
    /// Whether the threshold was bypassed because no document reached it.
    pub is_bypassed: bool,
    /// Rank in a deeper query; none if it is missing there too.
    pub deeper_rank: Option<usize>,
    /// Maximum number of results.
    pub depth: usize,
    /// Whether the expected result was missed; false for cases that failed otherwise, such as by
    /// their highlight.
    pub is_missed: bool,
    /// Whether a highlight or rationale is unsupported by any text.
    pub is_made_up: bool,
    /// Further remarks. Never contains page text.
    pub notes: Vec<String>,
}

impl CaseEvidence {
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
            latency: None,
            presence: DocumentPresence::Unknown,
            is_deleted: false,
            in_words: None,
            in_vectors: None,
            in_graph: None,
            similarity: None,
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
