//! Canonical queries: reviewed queries with the results they must find.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

use crate::types::WriteKind;

named! {
    /// The state of a canonical query.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum QueryState {
        /// Proposed, but not approved yet.
        Candidate = "candidate",
        /// Suites draw their samples from it.
        Active = "active",
        /// Kept for reference; suites do not use it.
        Retired = "retired",
    }
}

/// A canonical query to store. There is one per text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuery {
    /// SHA-256 of its normalised text.
    pub text_hash: Hash,
    /// The state, if it is new.
    pub state: QueryState,
    /// The source of its answer, such as `github`.
    pub source: String,
    pub difficulty: Option<String>,
    /// The origin of the query, such as `feedback`.
    pub origin: String,
    /// Its text, its answers and further details (JSON). It names the pages whose text it contains:
    /// a purge removes the key and that text.
    pub body: String,
}

/// How to handle a query whose text is already stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDuplicate {
    /// Keep the stored one.
    Keep,
    /// Replace it. Its number, state and times do not change.
    Replace,
}

/// The result of storing a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryPut {
    /// Number in the workspace, from 1.
    pub id: i64,
    pub kind: WriteKind,
}

/// A stored canonical query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCanonicalQuery {
    /// Number in the workspace, from 1.
    pub id: i64,
    /// SHA-256 of its normalised text.
    pub text_hash: Hash,
    pub state: QueryState,
    /// The source of its answer.
    pub source: String,
    pub difficulty: Option<String>,
    /// The origin of the query.
    pub origin: String,
    /// Its text, its answers and further details (JSON).
    pub body: String,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When its state was last set.
    pub reviewed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryFilter {
    pub state: Option<QueryState>,
    pub source: Option<String>,
    pub difficulty: Option<String>,
    pub origin: Option<String>,
    /// Only numbers above this.
    pub after: Option<i64>,
}
