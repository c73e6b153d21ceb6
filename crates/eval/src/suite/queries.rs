//! Canonical queries in the store: read whole, and taken in scrubbed, each text once.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::format::suite::{QueryEntry, QueryError, WireSnippet};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, QueryState, is_scrubbed};
use gbrain_store::{Known, NewQuery, QueryFilter, Store, StoreError, WriteKind};
use jiff::Timestamp;

/// The most that a workspace has.
const MOST: usize = 1_000_000;

/// A query of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredQuery {
    pub number: i64,
    pub query: CanonicalQuery,
}

/// Why queries are not taken in.
#[derive(Debug, thiserror::Error)]
pub enum QueryProblem {
    /// One of them is none.
    #[error("query {at}: {source}")]
    Query { at: usize, source: QueryError },
    /// Another text has its id.
    #[error("the id `{0}` is that of another query")]
    Id(String),
    /// Scrubbing changes its text, and nothing could tell it from others any more.
    #[error(
        "query {at}: scrubbing changes its text, which takes an identity key to tell it from others, and \
         there is none (`gbrain doctor`)"
    )]
    NoIdentityKey { at: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a query that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub number: i64,
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
pub fn all_queries(store: &Store, ws: &WorkspaceId) -> Result<AllQueries, StoreError> {
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
pub fn stored(store: &Store, ws: &WorkspaceId) -> Result<Vec<CanonicalQuery>, StoreError> {
    Ok(all_queries(store, ws)?.read.into_iter().map(|one| one.query).collect())
}

/// What becomes of queries that are taken in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenIn {
    /// Each query once, in the order in which they came.
    pub queries: Vec<Taken>,
    /// How many entries came.
    pub entries: usize,
    /// How many of the queries have a scrubbed text.
    pub scrubbed: usize,
    /// Ids of queries that stood for several originals and were retired, because one of these came now.
    pub retired: Vec<String>,
}

/// Takes queries in, all or none: scrubbed, without the names of threads, and joined with what is there of
/// the same text. Texts that scrubbing makes the same stay different queries, by the hash of the original.
pub fn take_in(
    store: &Store,
    ws: &WorkspaceId,
    entries: Vec<QueryEntry>,
    scrubber: &Scrubber,
    identity: Option<&IdentityKey>,
    now: Timestamp,
) -> Result<TakenIn, QueryProblem> {
    let known = all_queries(store, ws)?.read;
    let candidates: BTreeSet<Hash> = known
        .iter()
        .filter(|one| one.query.state == QueryState::Candidate)
        .map(|one| one.query.identity_hash())
        .collect();
    let merged: BTreeMap<Hash, (i64, String)> = known
        .iter()
        .filter(|one| one.query.is_merged() && one.query.state != QueryState::Retired)
        .map(|one| (one.query.identity_hash(), (one.number, one.query.id.clone())))
        .collect();
    let mut texts: BTreeMap<Hash, CanonicalQuery> =
        known.into_iter().map(|one| (one.query.identity_hash(), one.query)).collect();
    let mut ids: BTreeMap<String, Hash> =
        texts.iter().map(|(hash, one)| (one.id.clone(), *hash)).collect();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    let mut taken_in = TakenIn { entries: entries.len(), ..TakenIn::default() };
    let mut obsolete: BTreeMap<i64, String> = BTreeMap::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let wrong = |source| QueryProblem::Query { at: at + 1, source };
        let entry = scrubbed(entry, scrubber, identity)
            .ok_or(QueryProblem::NoIdentityKey { at: at + 1 })?;
        let query = entry.read().map_err(wrong)?;
        let hash = query.identity_hash();
        if query.original_hash.is_some() {
            taken_in.scrubbed += usize::from(!seen.contains(&hash));
            let whole = merged.get(&CanonicalQuery::text_hash(&query.text));
            obsolete.extend(whole.cloned());
        }
        if ids.get(&query.id).is_some_and(|other| *other != hash && !is_of(&obsolete, &query.id)) {
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
    for (hash, put) in order.iter().zip(put) {
        let CanonicalQuery { id, state, .. } = &texts[hash];
        if candidates.contains(hash) && *state == QueryState::Active {
            store.set_query_state(ws, put.id, gbrain_store::QueryState::Active, now)?;
        }
        let taken = Taken { number: put.id, id: id.clone(), state: *state, kind: put.kind };
        taken_in.queries.push(taken);
    }
    for (number, id) in obsolete {
        store.set_query_state(ws, number, gbrain_store::QueryState::Retired, now)?;
        taken_in.retired.push(id);
    }
    Ok(taken_in)
}

fn is_of(obsolete: &BTreeMap<i64, String>, id: &str) -> bool {
    obsolete.values().any(|one| one == id)
}

/// An entry with its text scrubbed, and with what tells it from others that look the same then; none if
/// that takes a key which is not there.
fn scrubbed(
    mut entry: QueryEntry,
    scrubber: &Scrubber,
    identity: Option<&IdentityKey>,
) -> Option<QueryEntry> {
    for snippet in &mut entry.expected_snippets {
        let (WireSnippet::Text(text) | WireSnippet::Placed { text, .. }) = snippet;
        *text = scrubber.scrub(text).text;
    }
    // Nothing is left of such a text to look for.
    entry.expected_snippets.retain(|snippet| {
        let (WireSnippet::Text(text) | WireSnippet::Placed { text, .. }) = snippet;
        text.replace(MARKER, "").contains(char::is_alphanumeric)
    });
    let text = anonymous(&scrubber.scrub(&entry.query).text);
    if text != entry.query {
        let words: Vec<String> = entry.query.split_whitespace().map(str::to_lowercase).collect();
        let key = identity?;
        entry.original_hash = Some(format!("{}:{}", key.id(), key.text_hash(&words.join(" "))));
        entry.query = text;
    } else if !is_scrubbed(&text) {
        // Nothing was taken out: the text tells all.
        entry.original_hash = None;
    } else if entry.original_hash.is_none() {
        // Scrubbed elsewhere: what must be found is all that tells such queries apart.
        let answers = super::json(&(&entry.expected, &entry.acceptable, &entry.entities));
        entry.original_hash = Some(format!("answers:{}", Hash::of(answers.as_bytes()).short()));
    }
    Some(entry)
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
