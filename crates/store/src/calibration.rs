//! Calibration of a reranker: judged pairs, and the thresholds computed from their scores.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

use crate::types::WriteKind;

/// A query and a passage to store. There is one pair per query and passage: a later one replaces
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPair {
    /// SHA-256 of the normalised query.
    pub query_hash: Hash,
    /// The passage's id: 1 to 1,024 bytes.
    pub chunk_id: String,
    /// The document of the passage, as `source::slug` for a page: the pair is deleted with it.
    pub document: String,
    /// The reviewer's judgement, such as `borderline`.
    pub label: String,
    /// The query, the passage's text and further details (JSON).
    pub body: String,
    /// Numbers of pairs that it replaces: they are deleted in the same transaction.
    pub replaces: Vec<i64>,
}

/// The result of storing a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairPut {
    /// Number from 1. It does not change when the pair is replaced.
    pub id: i64,
    pub kind: WriteKind,
}

/// A judged pair of a query and a passage, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPair {
    /// Number in the workspace, from 1.
    pub id: i64,
    /// SHA-256 of the normalised query.
    pub query_hash: Hash,
    pub chunk_id: String,
    /// The document of the passage.
    pub document: String,
    pub label: String,
    /// The query, the passage's text and further details (JSON).
    pub body: String,
    /// When it was last stored.
    pub created_at: Timestamp,
}

named! {
    /// The status of a threshold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ThresholdStatus {
        /// Computed, but not in use yet.
        Candidate = "candidate",
        /// In use: at most one per model.
        Active = "active",
        /// Not to be used.
        Rejected = "rejected",
        /// Was in use until another one replaced it.
        Superseded = "superseded",
    }
}

/// The score of a pair by a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerankScore {
    /// The number of the pair, which may have been deleted since.
    pub pair: i64,
    pub score: f64,
}

/// A threshold to store as a candidate, with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct NewThreshold {
    /// The reranker: 1 to 200 bytes.
    pub model: String,
    pub threshold: f64,
    /// The number of scores that the threshold was computed from.
    pub n: u64,
    pub mean: f64,
    pub sigma: f64,
    /// Further details (JSON). No page text; a purge replaces the keys of its page in it.
    pub body: String,
    /// One score per pair.
    pub scores: Vec<RerankScore>,
}

/// A threshold with its status and the settings that it was computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankThreshold {
    /// Number in the workspace, from 1.
    pub id: i64,
    pub model: String,
    pub status: ThresholdStatus,
    pub threshold: f64,
    /// The number of scores that the threshold was computed from.
    pub n: u64,
    pub mean: f64,
    pub sigma: f64,
    /// Further details, as JSON without page text.
    pub body: String,
    /// When it was computed.
    pub created_at: Timestamp,
    /// When its status last changed; `None` for a candidate.
    pub decided_at: Option<Timestamp>,
}
