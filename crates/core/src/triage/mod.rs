//! Why a case failed, from what was logged, and what to do about it.
//!
//! The order matters: what did not answer can't have lost anything, what is not there can't have been
//! filtered, and what was filtered was found. Every class comes with the evidence that it was chosen by;
//! a case about which too little is known is `unknown`, and says what was missing.
//!
//! Promises: a failing case always has a class, and none of them is green.
//! Deliberately absent: looking things up, and doing anything.

mod affected;
mod mitigation;
mod rules;
mod run;

pub use affected::{Affected, affected, is_late, limit_of};
pub use mitigation::{Lost, Mitigation, Remedy, Rerun, mitigation};
pub use rules::{Classified, classify};
pub use run::{CaseFinding, Finding, Looked, Triage, triage};

use crate::named;
use crate::suite::case::DEPTH;
use crate::target::TargetErrorKind;

/// Why a case failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The target did not answer, a stage did not, or it was too slow.
    Infrastructure,
    /// What must be found is not there, is out of date, or says of itself what keeps it from being found.
    PipelineBug,
    /// It was found, and the reranker's threshold dropped it.
    Threshold,
    /// It is there, and neither words nor meaning nor links find it.
    EmbeddingDrift,
    /// It was found, and others are ranked before it.
    Ranking,
    /// Too little is known.
    Unknown,
}

named! {
    Class {
        Infrastructure = "infrastructure",
        PipelineBug = "pipeline_bug",
        Threshold = "threshold",
        EmbeddingDrift = "embedding_drift",
        Ranking = "ranking",
        Unknown = "unknown",
    }
}

/// What is known of something that must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is there, with its passages and vectors.
    Whole,
    /// It is there without some of its passages, or without the text that is asked about.
    ChunksMissing,
    /// It is there without its vectors, or with those of another model.
    VectorsMissing,
    /// A newer one has taken its place, or it was deleted.
    Superseded,
    /// It is not there.
    Absent,
    /// It is there, and what it says of itself contradicts the filters of the query.
    FilteredOut,
    /// Nobody here can tell.
    Unknown,
}

named! {
    Presence {
        Whole = "whole",
        ChunksMissing = "chunks_missing",
        VectorsMissing = "vectors_missing",
        Superseded = "superseded",
        Absent = "absent",
        FilteredOut = "filtered_out",
        Unknown = "unknown",
    }
}

/// How close something is to a query by meaning, beside what passing cases of the same run found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    pub own: f64,
    /// What is usual: the median.
    pub usual: f64,
    /// What is still found: the lowest tenth ends here.
    pub least: f64,
}

/// What is known of a failing case.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    /// Stages that did not do their work, by name.
    pub fallbacks: Vec<String>,
    /// How long it took, and how long it may take, in milliseconds.
    pub latency: Option<(f64, f64)>,
    /// What is known of what must be found.
    pub presence: Presence,
    /// Whether it was deleted before the run: it can be brought back.
    pub is_deleted: bool,
    /// Whether words had it; none if the target does not tell.
    pub in_words: Option<bool>,
    /// Whether meaning had it.
    pub in_vectors: Option<bool>,
    /// Whether links led to it.
    pub in_graph: Option<bool>,
    /// How close it is to the query by meaning, beside what is found.
    pub similarity: Option<Similarity>,
    /// What the reranker said of it, if it was asked.
    pub rerank_score: Option<f64>,
    /// Its place among what the reranker judged, from 1.
    pub rerank_rank: Option<usize>,
    /// How many documents the reranker judged.
    pub judged: usize,
    /// The threshold that was in force.
    pub threshold: Option<f64>,
    /// Whether the threshold let everything through, because nothing reached it.
    pub is_bypassed: bool,
    /// Its rank in a deeper answer; none if it is not in that either.
    pub deeper_rank: Option<usize>,
    /// How many results there may be.
    pub depth: usize,
    /// Whether it was missed: false for a case that failed otherwise, such as by its highlight.
    pub is_missed: bool,
    /// Whether something is shown or claimed that no text says.
    pub is_made_up: bool,
    /// What else was seen, in words. No text of a page.
    pub notes: Vec<String>,
}

impl Evidence {
    /// Whether links alone led to it.
    pub(crate) fn is_from_links_alone(&self) -> bool {
        let by_text = self.in_words == Some(true) || self.in_vectors == Some(true);
        self.in_graph == Some(true) && !by_text
    }

    /// Whether some stage had it.
    pub(crate) fn was_found(&self) -> bool {
        [self.in_words, self.in_vectors, self.in_graph].contains(&Some(true))
    }
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            error: None,
            fallbacks: Vec::new(),
            latency: None,
            presence: Presence::Unknown,
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
