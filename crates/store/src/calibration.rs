//! Calibration of a reranker: pairs that people judged, thresholds made of their scores.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

use crate::types::WriteKind;

/// A query and a passage to keep. There is one pair of them: a later one takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPair {
    /// SHA-256 of the query, as far as queries are told apart.
    pub query_hash: Hash,
    /// The passage: 1 to 1,024 bytes.
    pub chunk_id: String,
    /// The document that the passage is of, as `source::slug` for a page: the pair goes with it.
    pub document: String,
    /// What people said, such as `borderline`.
    pub label: String,
    /// The query, the passage's text and the rest (JSON).
    pub body: String,
    /// Numbers of pairs that it takes the place of: they go in the same transaction.
    pub replaces: Vec<i64>,
}

/// What became of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairPut {
    /// Its number, from 1. It stays when the pair is replaced.
    pub id: i64,
    /// Added, changed or left alone.
    pub kind: WriteKind,
}

/// A pair that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationPair {
    /// Its number, from 1.
    pub id: i64,
    /// SHA-256 of the query, as far as queries are told apart.
    pub query_hash: Hash,
    pub chunk_id: String,
    /// The document that the passage is of.
    pub document: String,
    pub label: String,
    /// The query, the passage's text and the rest (JSON).
    pub body: String,
    /// When it was last put.
    pub created_at: Timestamp,
}

/// Where a threshold is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThresholdStatus {
    /// Computed; nobody uses it yet.
    Candidate,
    /// In use: one of a model.
    Active,
    /// Not to be used.
    Rejected,
    /// It was in use until another was.
    Superseded,
}

named! {
    ThresholdStatus {
        Candidate = "candidate",
        Active = "active",
        Rejected = "rejected",
        Superseded = "superseded",
    }
}

/// The score of a pair by a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerankScore {
    /// The pair. It need not be there any more.
    pub pair: i64,
    pub score: f64,
}

/// A threshold to keep, as a candidate, with the scores it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct NewThreshold {
    /// The reranker: 1 to 200 bytes.
    pub model: String,
    pub threshold: f64,
    /// Of how many scores.
    pub n: u64,
    pub mean: f64,
    pub sigma: f64,
    /// What else is known of it (JSON). No text of pages; a purge replaces the keys of its page in it.
    pub body: String,
    /// The scores, one for a pair.
    pub scores: Vec<RerankScore>,
}

/// A threshold that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankThreshold {
    /// Its number, from 1.
    pub id: i64,
    pub model: String,
    pub status: ThresholdStatus,
    pub threshold: f64,
    /// Of how many scores.
    pub n: u64,
    pub mean: f64,
    pub sigma: f64,
    /// What else is known of it (JSON).
    pub body: String,
    /// When it was computed.
    pub created_at: Timestamp,
    /// When it got where it is, unless it is a candidate still.
    pub decided_at: Option<Timestamp>,
}
