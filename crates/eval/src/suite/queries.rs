//! Canonical queries in the store: reading, and importing them scrubbed and without duplicates.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::format::suite::{QueryEntry, QueryError, WireSnippet};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, QueryState, is_scrubbed};
use gbrain_store::{NewQuery, OnDuplicate, QueryFilter, Store, StoreError, WriteKind};
use jiff::Timestamp;

/// Maximum number of queries in a workspace.
const MOST: usize = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct StoredQuery {
    pub number: i64,
    pub query: CanonicalQuery,
}

/// Errors of an import.
#[derive(Debug, thiserror::Error)]
pub enum QueryProblem {
    #[error("query {at}: {source}")]
    Query { at: usize, source: QueryError },
    /// Its id belongs to a query with another text.
    #[error("the id `{0}` is that of another query")]
    Id(String),
    /// Scrubbing changes its text, and without an identity key it could not be told from others.
    #[error(
        "query {at}: scrubbing changes its text, which takes an identity key to tell it from others, and \
         there is none (`gbrain doctor`)"
    )]
    NoIdentityKey { at: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedQuery {
    pub number: i64,
    pub id: String,
    /// Whether suites use it.
    pub state: QueryState,
    /// Added, changed or unchanged.
    pub kind: WriteKind,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct AllQueries {
    /// The readable queries, by number, including retired ones.
    pub read: Vec<StoredQuery>,
    pub unreadable: Vec<i64>,
}

pub fn all_queries(store: &Store, ws: &WorkspaceId) -> Result<AllQueries, StoreError> {
    let mut all = AllQueries::default();
    for row in store.canonical_queries(ws, &QueryFilter::default(), MOST)? {
        let entry = serde_json::from_str::<QueryEntry>(&row.body).ok();
        let query = entry.and_then(|entry| entry.read().ok());
        // The store's state overrides the one in the body.
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

/// The readable queries without their numbers.
pub fn stored(store: &Store, ws: &WorkspaceId) -> Result<Vec<CanonicalQuery>, StoreError> {
    Ok(all_queries(store, ws)?.read.into_iter().map(|one| one.query).collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryImport {
    /// Each query once, in the order of the entries.
    pub queries: Vec<ImportedQuery>,
    pub entries: usize,
    /// The number of queries whose text was scrubbed.
    pub scrubbed: usize,
    /// Ids of queries that stood for several originals and were retired, because one of the
    /// originals was imported now.
    pub retired: Vec<String>,
}

/// Imports queries, all or none: scrubbed, without thread names, and merged with stored queries of
/// the same text. Queries whose texts become equal by scrubbing stay distinct, by the hash of the
/// original.
pub fn import_queries(
    store: &Store,
    ws: &WorkspaceId,
    entries: Vec<QueryEntry>,
    scrubber: &Scrubber,
    identity: Option<&IdentityKey>,
    now: Timestamp,
) -> Result<QueryImport, QueryProblem> {
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
    let mut import = QueryImport { entries: entries.len(), ..QueryImport::default() };
    let mut obsolete: BTreeMap<i64, String> = BTreeMap::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let wrong = |source| QueryProblem::Query { at: at + 1, source };
        let entry = scrubbed(entry, scrubber, identity)
            .ok_or(QueryProblem::NoIdentityKey { at: at + 1 })?;
        let query = entry.read().map_err(wrong)?;
        let hash = query.identity_hash();
        if query.original_hash.is_some() {
            import.scrubbed += usize::from(!seen.contains(&hash));
            let whole = merged.get(&CanonicalQuery::normalized_text_hash(&query.text));
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
    let put = store.put_queries(ws, &rows, OnDuplicate::Replace, now)?;
    for (hash, put) in order.iter().zip(put) {
        let CanonicalQuery { id, state, .. } = &texts[hash];
        if candidates.contains(hash) && *state == QueryState::Active {
            store.set_query_state(ws, put.id, gbrain_store::QueryState::Active, now)?;
        }
        let imported =
            ImportedQuery { number: put.id, id: id.clone(), state: *state, kind: put.kind };
        import.queries.push(imported);
    }
    for (number, id) in obsolete {
        store.set_query_state(ws, number, gbrain_store::QueryState::Retired, now)?;
        import.retired.push(id);
    }
    Ok(import)
}

fn is_of(obsolete: &BTreeMap<i64, String>, id: &str) -> bool {
    obsolete.values().any(|one| one == id)
}

/// An entry with its text scrubbed, and with a hash that tells it from entries with the same
/// scrubbed text; `None` if that requires an identity key and there is none.
fn scrubbed(
    mut entry: QueryEntry,
    scrubber: &Scrubber,
    identity: Option<&IdentityKey>,
) -> Option<QueryEntry> {
    for snippet in &mut entry.expected_snippets {
        let (WireSnippet::Text(text) | WireSnippet::Placed { text, .. }) = snippet;
        *text = scrubber.scrub(text).text;
    }
    // A snippet that consists of markers only cannot be searched for.
    entry.expected_snippets.retain(|snippet| {
        let (WireSnippet::Text(text) | WireSnippet::Placed { text, .. }) = snippet;
        text.replace(MARKER, "").contains(char::is_alphanumeric)
    });
    let text = anonymous(&scrubber.scrub(&entry.query).text);
    if text != entry.query {
        let words: Vec<String> = entry.query.split_whitespace().map(str::to_lowercase).collect();
        let key = identity?;
        entry.original_hash =
            Some(format!("{}:{}", key.id(), key.keyed_text_hash(&words.join(" "))));
        entry.query = text;
    } else if !is_scrubbed(&text) {
        // The text is unchanged and identifies the query.
        entry.original_hash = None;
    } else if entry.original_hash.is_none() {
        // Scrubbed by another program: only the expected results tell such queries apart.
        let answers = super::json(&(&entry.expected, &entry.acceptable, &entry.entities));
        entry.original_hash = Some(format!("answers:{}", Hash::of(answers.as_bytes()).short()));
    }
    Some(entry)
}

/// A query as a row of the store.
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
