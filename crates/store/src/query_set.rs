//! Canonical queries: what people ask, with what they should find.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

use crate::types::WriteKind;

/// Where a canonical query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueryState {
    /// Proposed; nobody has said yes.
    Candidate,
    /// Part of what suites ask.
    Active,
    /// Not asked any more.
    Retired,
}

named! { QueryState { Candidate = "candidate", Active = "active", Retired = "retired" } }

/// A canonical query to keep. There is one for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuery {
    /// SHA-256 of its text, as far as texts are told apart.
    pub text_hash: Hash,
    /// Where a new one is.
    pub state: QueryState,
    /// Where its answer comes from, such as `github`.
    pub source: String,
    /// How hard it is.
    pub difficulty: Option<String>,
    /// Where it comes from, such as `feedback`.
    pub origin: String,
    /// Its text, its answers and the rest (JSON). It names the pages whose text it holds: a purge
    /// takes the key and that text out.
    pub body: String,
}

/// What to do with a query whose text is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// Leave what is there alone.
    Keep,
    /// Put the new one in its place. Its number, its state and its times stay.
    Replace,
}

/// What became of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryPut {
    /// Its number, from 1.
    pub id: i64,
    /// Added, changed or left alone.
    pub kind: WriteKind,
}

/// A canonical query that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalQuery {
    /// Its number, from 1.
    pub id: i64,
    /// SHA-256 of its text, as far as texts are told apart.
    pub text_hash: Hash,
    pub state: QueryState,
    /// Where its answer comes from.
    pub source: String,
    /// How hard it is.
    pub difficulty: Option<String>,
    /// Where it comes from.
    pub origin: String,
    /// Its text, its answers and the rest (JSON).
    pub body: String,
    /// When it was first kept.
    pub created_at: Timestamp,
    /// When somebody last said where it is to be.
    pub reviewed_at: Option<Timestamp>,
}

/// Which canonical queries to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryFilter {
    /// In this state only.
    pub state: Option<QueryState>,
    /// Of this source only.
    pub source: Option<String>,
    /// Of this difficulty only.
    pub difficulty: Option<String>,
    /// Of this origin only.
    pub origin: Option<String>,
    /// With a higher number than this.
    pub after: Option<i64>,
}
