//! Canonical queries in the store: read whole, and taken in scrubbed, each text once.

use std::collections::BTreeMap;

use gbrain_core::format::suite::{QueryEntry, QueryError};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, QueryState};
use gbrain_store::{Known, NewQuery, QueryFilter, Store, StoreError, WriteKind};
use jiff::Timestamp;

/// The most that a workspace has.
const MOST: usize = 1_000_000;

/// A query of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredQuery {
    /// Its number.
    pub number: i64,
    /// What it is.
    pub query: CanonicalQuery,
}

/// Why queries are not taken in.
#[derive(Debug, thiserror::Error)]
pub enum QueryProblem {
    /// One of them is none.
    #[error("query {at}: {source}")]
    Query {
        /// Which, from 1.
        at: usize,
        /// What is wrong.
        source: QueryError,
    },
    /// Another text has its id.
    #[error("the id `{0}` is that of another query")]
    Id(String),
    /// The store can't.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a query that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its number.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// Added, changed or left alone.
    pub kind: WriteKind,
}

/// Every query of a workspace, by number, retired ones too.
pub fn all_queries(store: &dyn Store, ws: &WorkspaceId) -> Result<Vec<StoredQuery>, StoreError> {
    let rows = store.canonical_queries(ws, &QueryFilter::default(), MOST)?;
    let read = rows.into_iter().filter_map(|row| {
        let entry: QueryEntry = serde_json::from_str(&row.body).ok()?;
        let mut query = entry.read().ok()?;
        // Where it is, is the store's to say.
        query.state = QueryState::from_name(row.state.name())?;
        Some(StoredQuery { number: row.id, query })
    });
    Ok(read.collect())
}

/// The queries themselves.
pub fn stored(store: &dyn Store, ws: &WorkspaceId) -> Result<Vec<CanonicalQuery>, StoreError> {
    Ok(all_queries(store, ws)?.into_iter().map(|one| one.query).collect())
}

/// Takes queries in, all or none: scrubbed, without the names of threads, and joined with what is there of
/// the same text.
pub fn take_in(
    store: &dyn Store,
    ws: &WorkspaceId,
    entries: Vec<QueryEntry>,
    scrubber: &Scrubber,
    now: Timestamp,
) -> Result<Vec<Taken>, QueryProblem> {
    let known = stored(store, ws)?;
    let mut texts: BTreeMap<Hash, CanonicalQuery> =
        known.into_iter().map(|one| (CanonicalQuery::text_hash(&one.text), one)).collect();
    let mut order = Vec::new();
    for (at, mut entry) in entries.into_iter().enumerate() {
        entry.query = anonymous(&scrubber.scrub(&entry.query).text);
        let query = entry.read().map_err(|source| QueryProblem::Query { at: at + 1, source })?;
        let hash = CanonicalQuery::text_hash(&query.text);
        if texts.iter().any(|(other, one)| *other != hash && one.id == query.id) {
            return Err(QueryProblem::Id(query.id));
        }
        let joined = match texts.remove(&hash) {
            Some(there) => there.join(query),
            None => query,
        };
        texts.insert(hash, joined);
        if !order.contains(&hash) {
            order.push(hash);
        }
    }
    let rows: Vec<NewQuery> = order.iter().map(|hash| row(*hash, &texts[hash])).collect();
    let put = store.put_queries(ws, &rows, Known::Replace, now)?;
    let taken = order.iter().zip(put);
    let taken = taken.map(|(hash, put)| {
        let id = texts[hash].id.clone();
        Taken { number: put.id, id, kind: put.kind }
    });
    Ok(taken.collect())
}

/// A query as the store keeps it.
pub fn row(text_hash: Hash, query: &CanonicalQuery) -> NewQuery {
    NewQuery {
        text_hash,
        state: gbrain_store::QueryState::from_name(query.state.name())
            .expect("both know the same states"),
        source: query.source.clone().unwrap_or_default(),
        difficulty: Some(query.difficulty.name().to_owned()),
        origin: query.origin.name().to_owned(),
        body: super::json(&QueryEntry::from(query)),
    }
}
