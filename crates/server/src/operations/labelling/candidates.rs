//! The queries of the queue before they are ranked: those with labels, canonical queries, and
//! captured ones.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::hash::Hash;
use gbrain_core::id::PageKey;
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, QueryState, ResultKey, is_scrubbed};
use gbrain_eval::suite::all_queries;
use gbrain_store::{CaptureFilter, LabelReview, StoredLabel};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::OperationCall;
use crate::operations::labels::{MAX_QRELS, exist};
use crate::operations::pages::parse_page_name;

/// Captures that are read to find captured queries, the newest.
const MAX_CAPTURES: u64 = 2_000;
/// Most judgements that are read: several for each label.
pub(super) const MAX_REVIEWS: usize = 4 * MAX_QRELS;

/// Where a query of the queue is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QueueOrigin {
    Labelled,
    Canonical,
    Captured,
}

/// A label with the judgements of its reviewers.
#[derive(Debug, Clone)]
pub(super) struct ReviewedLabel {
    pub(super) label: StoredLabel,
    pub(super) reviews: Vec<LabelReview>,
}

/// A query that may be in the queue.
#[derive(Debug)]
pub(super) struct CandidateQuery {
    pub(super) text: String,
    pub(super) origins: Vec<QueueOrigin>,
    /// How often it was captured.
    pub(super) captured: u64,
    /// Its labels, by page.
    pub(super) labels: Vec<ReviewedLabel>,
}

impl CandidateQuery {
    /// Names the query in URLs.
    pub(super) fn id(&self) -> String {
        query_id(&self.text)
    }
}

pub(super) fn query_id(text: &str) -> String {
    Hash::of(text.as_bytes()).short()
}

/// The queries of the queue.
pub(super) struct Candidates {
    /// At most as many as asked for: labelled ones, then canonical ones, then captured ones with the
    /// most frequent first; ties by text.
    pub(super) queries: Vec<CandidateQuery>,
    /// Queries beyond that number.
    pub(super) left_out: usize,
    /// Queries that scrubbing changed: their text stands for several.
    pub(super) scrubbed: usize,
}

pub(super) fn candidates(call: &OperationCall<'_>, limit: usize) -> Result<Candidates, Fault> {
    let mut all = CandidateSet::default();
    for reviewed in reviewed_labels(call)? {
        if let Some(one) = all.add(&reviewed.label.query, QueueOrigin::Labelled) {
            one.labels.push(reviewed);
        }
    }
    for text in canonical(call)? {
        all.add(&text, QueueOrigin::Canonical);
    }
    let captured = captured(call)?;
    let unread = captured.len().saturating_sub(limit);
    let scrubber = &call.registry.suites().scrubber;
    for (text, count) in captured.into_iter().take(limit) {
        let text = anonymous(&scrubber.scrub(&text).text);
        if let Some(one) = all.add(&text, QueueOrigin::Captured) {
            one.captured += count;
        }
    }
    let (scrubbed, mut queries): (Vec<_>, Vec<_>) =
        all.0.into_values().partition(|one| is_scrubbed(&one.text));
    queries.sort_by_key(|one| (one.origins[0], std::cmp::Reverse(one.captured)));
    let left_out = queries.len().saturating_sub(limit) + unread;
    queries.truncate(limit);
    Ok(Candidates { queries, left_out, scrubbed: scrubbed.len() })
}

/// Queries by text.
#[derive(Default)]
struct CandidateSet(BTreeMap<String, CandidateQuery>);

impl CandidateSet {
    /// The query with this text, which comes from there; `None` for a blank text.
    fn add(&mut self, text: &str, origin: QueueOrigin) -> Option<&mut CandidateQuery> {
        if text.trim().is_empty() {
            return None;
        }
        let one = self.0.entry(text.to_owned()).or_insert_with(|| CandidateQuery {
            text: text.to_owned(),
            origins: Vec::new(),
            captured: 0,
            labels: Vec::new(),
        });
        if !one.origins.contains(&origin) {
            one.origins.push(origin);
        }
        Some(one)
    }
}

/// All labels of pages that the caller may see, scrubbed, with their judgements.
pub(super) fn reviewed_labels(call: &OperationCall<'_>) -> Result<Vec<ReviewedLabel>, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let mut labels = store.labels(ws, None, MAX_QRELS + 1)?;
    if labels.len() > MAX_QRELS {
        return Err(Fault::too_large(format!("there are more than {MAX_QRELS} labels")));
    }
    let seen = seen_pages(call, labels.iter().map(|label| label.key.clone()))?;
    labels.retain(|label| seen.contains(&label.key));
    let mut reviews = store.label_reviews(ws, 1..=i64::MAX, MAX_REVIEWS)?.into_iter().peekable();
    let scrubber = &call.registry.suites().scrubber;
    let with_reviews = |mut label: StoredLabel| {
        super::super::labels::scrub(&mut label, scrubber);
        let mut own = Vec::new();
        while let Some(review) = reviews.next_if(|review| review.label <= label.id) {
            if review.label == label.id {
                own.push(review);
            }
        }
        ReviewedLabel { label, reviews: own }
    };
    Ok(labels.into_iter().map(with_reviews).collect())
}

/// The texts of canonical queries whose pages the caller may see. A query about a private page may
/// say what is on it.
fn canonical(call: &OperationCall<'_>) -> Result<Vec<String>, Fault> {
    let stored = all_queries(call.registry.store(), &call.principal.workspace)?.read;
    let queries = stored.into_iter().map(|stored| stored.query);
    let keyed: Vec<(String, Vec<PageKey>)> = queries
        .filter(|query| query.state != QueryState::Retired && !query.expected.is_empty())
        .filter_map(|query| Some((query.text.clone(), pages_of(&query)?)))
        .collect();
    let seen = seen_pages(call, keyed.iter().flat_map(|(_, keys)| keys.iter().cloned()))?;
    let are_seen = |keys: &[PageKey]| keys.iter().all(|key| seen.contains(key));
    Ok(keyed.into_iter().filter_map(|(text, keys)| are_seen(&keys).then_some(text)).collect())
}

/// The pages among these that the caller may see. Many labels and queries are of few pages, and
/// each page is read once.
fn seen_pages(
    call: &OperationCall<'_>,
    keys: impl Iterator<Item = PageKey>,
) -> Result<BTreeSet<PageKey>, Fault> {
    let keys: BTreeSet<PageKey> = keys.collect();
    let keys: Vec<PageKey> = keys.into_iter().collect();
    let exist = exist(call, &keys)?;
    Ok(keys.into_iter().zip(exist).filter_map(|(key, exists)| exists.then_some(key)).collect())
}

/// The pages of a canonical query; `None` if one of its keys names no page.
fn pages_of(query: &CanonicalQuery) -> Option<Vec<PageKey>> {
    let page = |key: &ResultKey| {
        let name = match &query.source {
            Some(source) if !key.id.contains("::") => format!("{source}::{}", key.id),
            _ => key.id.clone(),
        };
        parse_page_name(&name).ok()
    };
    query.expected.iter().chain(&query.acceptable).map(page).collect()
}

/// The texts of captured queries with how often each was asked, the most frequent first, for
/// callers who may read captures.
fn captured(call: &OperationCall<'_>) -> Result<Vec<(String, u64)>, Fault> {
    if call.principal.scope < Scope::Admin {
        return Ok(Vec::new());
    }
    let filter =
        CaptureFilter { remote: Some(true), limit: Some(MAX_CAPTURES), ..CaptureFilter::default() };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    call.registry.store().captures(&call.principal.workspace, &filter, &mut |row| {
        *counts.entry(row.fields.query).or_default() += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let mut texts: Vec<(String, u64)> = counts.into_iter().collect();
    texts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(texts)
}
