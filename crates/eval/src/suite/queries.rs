//! Canonical queries in the store: read whole, and taken in scrubbed, each text once.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Whether suites ask it.
    pub state: QueryState,
    /// Added, changed or left alone.
    pub kind: WriteKind,
}

/// The queries of a workspace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AllQueries {
    /// Those that can be read, by number, retired ones too.
    pub read: Vec<StoredQuery>,
    /// Numbers of those that can't.
    pub unreadable: Vec<i64>,
}

/// Every query of a workspace.
pub fn all_queries(store: &dyn Store, ws: &WorkspaceId) -> Result<AllQueries, StoreError> {
    let mut all = AllQueries::default();
    for row in store.canonical_queries(ws, &QueryFilter::default(), MOST)? {
        let entry = serde_json::from_str::<QueryEntry>(&row.body).ok();
        let query = entry.and_then(|entry| entry.read().ok());
        // Where it is, is the store's to say.
        let state = QueryState::from_name(row.state.name());
        match query.zip(state) {
            Some((query, state)) => all
                .read
                .push(StoredQuery { number: row.id, query: CanonicalQuery { state, ..query } }),
            None => all.unreadable.push(row.id),
        }
    }
    Ok(all)
}

/// The queries themselves.
pub fn stored(store: &dyn Store, ws: &WorkspaceId) -> Result<Vec<CanonicalQuery>, StoreError> {
    Ok(all_queries(store, ws)?.read.into_iter().map(|one| one.query).collect())
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
    let candidates: BTreeSet<Hash> = known
        .iter()
        .filter(|one| one.state == QueryState::Candidate)
        .map(|one| CanonicalQuery::text_hash(&one.text))
        .collect();
    let mut texts: BTreeMap<Hash, CanonicalQuery> =
        known.into_iter().map(|one| (CanonicalQuery::text_hash(&one.text), one)).collect();
    let mut ids: BTreeMap<String, Hash> =
        texts.iter().map(|(hash, one)| (one.id.clone(), *hash)).collect();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for (at, mut entry) in entries.into_iter().enumerate() {
        entry.query = anonymous(&scrubber.scrub(&entry.query).text);
        let query = entry.read().map_err(|source| QueryProblem::Query { at: at + 1, source })?;
        let hash = CanonicalQuery::text_hash(&query.text);
        if ids.get(&query.id).is_some_and(|other| *other != hash) {
            return Err(QueryProblem::Id(query.id));
        }
        let joined = match texts.remove(&hash) {
            Some(there) => there.join(query),
            None => query,
        };
        ids.insert(joined.id.clone(), hash);
        texts.insert(hash, joined);
        if seen.insert(hash) {
            order.push(hash);
        }
    }
    let rows: Vec<NewQuery> = order.iter().map(|hash| row(*hash, &texts[hash])).collect();
    let put = store.put_queries(ws, &rows, Known::Replace, now)?;
    let mut taken = Vec::new();
    for (hash, put) in order.iter().zip(put) {
        let CanonicalQuery { id, state, .. } = &texts[hash];
        if candidates.contains(hash) && *state == QueryState::Active {
            store.set_query_state(ws, put.id, gbrain_store::QueryState::Active, now)?;
        }
        taken.push(Taken { number: put.id, id: id.clone(), state: *state, kind: put.kind });
    }
    Ok(taken)
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
