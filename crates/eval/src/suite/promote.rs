//! Proposes candidates for canonical queries from captured queries: judged ones first, then the
//! most frequent, with their results as suggested keys. A person accepts or rejects them.
//!
//! An answer that was voted up suggests its first result. A query whose answer was voted down is
//! proposed without a suggestion. Without votes, the page that was returned first most often is
//! suggested, and no other: a query that accepts any result could not fail.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use gbrain_core::capture::CaptureFields;
use gbrain_core::format::suite::{FilterEntry, QueryEntry, RetrievalBody, Signal, WireKey};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, Difficulty, QueryOrigin, QueryState, is_scrubbed};
use gbrain_store::{CaptureFilter, RetrievalFilter, RetrievalOrigin, Store, StoreError};

use super::queries::stored;

/// Number of labels read per batch.
const LABELS: usize = 10_000;

/// A query proposed as canonical.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryProposal {
    /// The query, as a candidate.
    pub entry: QueryEntry,
    /// The number of times it was asked.
    pub asked: u64,
    /// Whether a person labelled its keys or voted on an answer to it.
    pub is_labelled: bool,
}

/// The captures, labels and votes of one query text.
#[derive(Default)]
struct QueryUsage {
    text: String,
    asked: u64,
    /// How often each page was returned first, and how often at any rank.
    pages: BTreeMap<String, (u64, u64)>,
    labelled: Vec<String>,
    /// First results of answers that were voted up.
    liked: Vec<String>,
    is_disliked: bool,
}

impl QueryUsage {
    /// Whether a person labelled or voted on it.
    fn is_judged(&self) -> bool {
        !self.labelled.is_empty() || !self.liked.is_empty() || self.is_disliked
    }
}

/// The most frequent texts of captures and labels that are not canonical queries yet.
pub fn propose(
    store: &Store,
    workspace: &WorkspaceId,
    scrubber: &Scrubber,
    limit: usize,
) -> Result<Vec<QueryProposal>, StoreError> {
    let mut seen: BTreeMap<Hash, QueryUsage> = BTreeMap::new();
    let clean = |text: &str| anonymous(&scrubber.scrub(text).text);
    store.captures(workspace, &CaptureFilter::default(), &mut |capture| {
        let fields = capture.fields;
        let text = clean(&fields.query);
        let one = seen.entry(CanonicalQuery::normalized_text_hash(&text)).or_default();
        one.text = text;
        one.asked += 1;
        let found = pages(&fields).into_iter().enumerate();
        for (at, page) in found.filter(|(_, page)| !page.contains(MARKER)) {
            let counts = one.pages.entry(page).or_default();
            counts.0 += u64::from(at == 0);
            counts.1 += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut after = None;
    loop {
        let labels = store.labels(workspace, after, LABELS)?;
        let Some(last) = labels.last() else { break };
        after = Some(last.id);
        let keys: Vec<PageKey> = labels.iter().map(|label| label.key.clone()).collect();
        let pages = store.pages(workspace, &keys)?;
        // A label of a missing page is ignored: the page cannot be found.
        let labels =
            labels.iter().zip(pages).filter(|(label, page)| label.grade > 0 && page.is_some());
        for (label, _) in labels {
            let text = clean(&label.query);
            let one = seen.entry(CanonicalQuery::normalized_text_hash(&text)).or_default();
            one.text = text;
            one.labelled.push(label.key.to_string());
        }
    }
    for (text, liked) in votes(store, workspace)? {
        let text = clean(&text);
        let one = seen.entry(CanonicalQuery::normalized_text_hash(&text)).or_default();
        one.text = text;
        match liked {
            Some(first) => one.liked.push(first),
            None => one.is_disliked = true,
        }
    }
    let known = stored(store, workspace)?;
    let is_known = |hash: &Hash| {
        known.iter().any(|one| CanonicalQuery::normalized_text_hash(&one.text) == *hash)
    };
    let mut fresh: Vec<QueryUsage> =
        seen.into_iter().filter(|(hash, _)| !is_known(hash)).map(|(_, one)| one).collect();
    // Queries that a person judged come before frequent ones.
    fresh.sort_by(|a, b| {
        let order =
            |one: &QueryUsage| (std::cmp::Reverse((one.is_judged(), one.asked)), one.text.clone());
        order(a).cmp(&order(b))
    });
    Ok(fresh
        .into_iter()
        // A scrubbed text stands for several originals with different answers, so it is not
        // proposed.
        .filter(|one| !one.text.trim().is_empty() && !is_scrubbed(&one.text))
        .take(limit)
        .map(proposal)
        .collect())
}

/// The pages of a capture by their full names; a bare slug would match any source.
fn pages(fields: &CaptureFields) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Extra {
        retrieved: Vec<RetrievedName>,
    }
    #[derive(serde::Deserialize)]
    struct RetrievedName {
        source_id: String,
        slug: String,
    }
    match serde_json::from_str::<Extra>(&fields.extra) {
        Ok(Extra { retrieved }) => {
            let name = |RetrievedName { source_id, slug }| format!("{source_id}::{slug}");
            retrieved.into_iter().map(name).collect()
        }
        Err(_) => serde_json::from_str(&fields.retrieved_slugs).unwrap_or_default(),
    }
}

/// Live queries with votes, each with the first result of the answer if it was voted up.
fn votes(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let filter = RetrievalFilter {
        traffic: Some(RetrievalOrigin::Live),
        signal_type: Some(Signal::UserVote.name().to_owned()),
        ..RetrievalFilter::default()
    };
    let logs = store.retrieval_logs(workspace, &filter)?;
    let ids: Vec<i64> = logs.iter().map(|log| log.id).collect();
    let feedback = store.feedback(workspace, &ids)?;
    let mut votes = Vec::new();
    for (log, signals) in logs.into_iter().zip(feedback) {
        let last = signals.iter().rev().find(|one| one.signal_type == Signal::UserVote.name());
        let Some(vote) = last.and_then(|one| one.score) else { continue };
        let body = log.fields.body.as_deref();
        let body: Option<RetrievalBody> = body.and_then(|body| serde_json::from_str(body).ok());
        let first = body.and_then(|body| body.result_ids.into_iter().next());
        match first.filter(|page| !page.contains(MARKER)) {
            Some(first) if vote > 0.0 => votes.push((log.fields.query_text, Some(first))),
            _ if vote < 0.0 => votes.push((log.fields.query_text, None)),
            _ => (),
        }
    }
    Ok(votes)
}

fn proposal(seen: QueryUsage) -> QueryProposal {
    let is_labelled = seen.is_judged();
    let mut keys = match (seen.labelled.is_empty(), seen.liked.is_empty()) {
        (false, _) => seen.labelled.clone(),
        (true, false) => seen.liked.clone(),
        (true, true) if seen.is_disliked => Vec::new(),
        (true, true) => most_returned(&seen.pages).into_iter().collect(),
    };
    let mut known = BTreeSet::new();
    keys.retain(|key| known.insert(key.clone()));
    let document = |page: &String| WireKey::Document(page.clone());
    let entry = QueryEntry {
        schema_version: gbrain_core::format::suite::QUERY_VERSION,
        id: None,
        query: seen.text,
        original_hash: None,
        source: keys.first().and_then(|page| Some(page.split_once("::")?.0.to_owned())),
        difficulty: Difficulty::default(),
        retrieval_mode: None,
        filter: FilterEntry::default(),
        family: None,
        expected: keys.first().map(document).into_iter().collect(),
        acceptable: keys.iter().skip(1).map(document).collect(),
        expected_snippets: Vec::new(),
        entities: Vec::new(),
        answer_end: None,
        tags: Vec::new(),
        origin: if is_labelled { QueryOrigin::Feedback } else { QueryOrigin::Analytics },
        state: QueryState::Candidate,
    };
    QueryProposal { entry, asked: seen.asked, is_labelled }
}

/// The page that was returned first most often; ties are broken by how often it was returned.
fn most_returned(pages: &BTreeMap<String, (u64, u64)>) -> Option<String> {
    let most = pages.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
    most.map(|(page, _)| page.clone())
}
