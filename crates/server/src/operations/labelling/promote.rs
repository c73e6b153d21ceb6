//! Uses of labels beside qrels: canonical queries, and borderline pairs for the calibration of a
//! reranker.

use std::collections::BTreeMap;

use gbrain_brain::search_settings;
use gbrain_core::calibrate::{LabelCounts, PairLabel};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::calibration::{PairCollectionBody, PairEntry};
use gbrain_core::format::suite::{FilterEntry, QUERY_VERSION, QueryEntry, WireKey, WireSnippet};
use gbrain_core::replay::LiveContext;
use gbrain_core::request::Viewer;
use gbrain_core::suite::query::{Difficulty, QueryOrigin, QueryState, is_scrubbed};
use gbrain_eval::calibrate::{PairCollector, PairSources, Passages};
use gbrain_eval::suite::import_queries;
use gbrain_eval::{LocalOptions, LocalRetriever};
use gbrain_store::WriteKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{ReviewedLabel, reviewed_labels};
use crate::http::{NDJSON, NoParameters, OperationCall, Reply};
use crate::operations::bounds::at_most;

/// Most expected snippets of one query.
const MAX_SNIPPETS: usize = 20;

/// What became of borderline labels, and of the same feedback on answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PairsMadeBody {
    /// New calibration pairs.
    added: usize,
    /// Pairs whose label or text changed.
    changed: usize,
    unchanged: usize,
    /// Pages whose text is not available, and pairs that a more trusted one overrides.
    left_out: usize,
    /// Number of stored pairs by label.
    pairs: LabelCounts,
    /// Number of borderline pairs still needed for a calibration.
    missing: usize,
}

/// How to promote labelled queries.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromoteLabels {
    /// Only this query; all labelled ones by default.
    #[serde(default)]
    #[schemars(length(max = 51_200))]
    query: Option<String>,
    /// Whether suites ask the queries from now on. By default they are candidates, which a person
    /// accepts with `gbrain queries promote --accept`.
    #[serde(default)]
    active: bool,
}

/// What became of labelled queries.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PromotedLabelsBody {
    /// New canonical queries.
    added: usize,
    /// Canonical queries that got more keys or snippets.
    joined: usize,
    unchanged: usize,
    /// Queries without a relevant page, and scrubbed ones.
    left_out: usize,
}

/// Borderline labels as lines of `gbrain calibrate collect --from`.
pub(crate) fn borderline(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let mut bytes = Vec::new();
    for pair in pairs(&reviewed_labels(call)?) {
        serde_json::to_writer(&mut bytes, &pair)
            .map_err(|error| Fault::internal(error.to_string()))?;
        bytes.push(b'\n');
    }
    Ok(Reply::Text { content_type: NDJSON, bytes })
}

fn pairs(labels: &[ReviewedLabel]) -> Vec<PairEntry> {
    let is_borderline = |one: &&ReviewedLabel| one.reviews.iter().any(|review| review.borderline);
    let pair = |one: &ReviewedLabel| PairEntry {
        query: one.label.query.clone(),
        document: one.label.key.to_string(),
        chunk: None,
        label: PairLabel::Borderline,
        text: None,
    };
    labels.iter().filter(is_borderline).map(pair).collect()
}

/// Makes calibration pairs of borderline labels, as `gbrain calibrate collect` does.
pub(crate) fn promote_pairs(
    call: &OperationCall<'_>,
    _: NoParameters,
    _: NoParameters,
) -> Result<Reply, Fault> {
    let entries = pairs(&reviewed_labels(call)?);
    let ws = &call.principal.workspace;
    let service = call.registry.query_service(ws)?;
    let brain = service.brain();
    let settings = search_settings(&brain.config()?)?;
    let options = LocalOptions {
        live: LiveContext { settings, now: call.now },
        viewer: Viewer::Untrusted,
        assistants: None,
    };
    let retriever = LocalRetriever::newest(brain, options, &|_, _| ())?;
    let collector = PairCollector {
        store: call.registry.store(),
        workspace: ws,
        passages: Passages { target: &retriever, local: Some((brain, retriever.snapshot())) },
        scrubber: &call.registry.suites().scrubber,
        progress: &|_, _| (),
        now: call.now,
    };
    // What is passed over and what is left to review may be from answers to the owner.
    let PairCollectionBody { added, changed, unchanged, passed_over, pairs, missing, review: _ } =
        collector.collect(&PairSources { entries, canonical: false })?;
    let left_out = passed_over.len();
    Reply::json(&PairsMadeBody { added, changed, unchanged, left_out, pairs, missing })
}

/// Makes canonical queries of labelled ones: the pages with the highest grade must be found, the
/// other relevant ones are as good, and marked spans are expected snippets.
pub(crate) fn promote_queries(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: PromoteLabels,
) -> Result<Reply, Fault> {
    at_most("`query`", body.query.as_deref(), 51_200)?;
    let mut queries: BTreeMap<String, Vec<ReviewedLabel>> = BTreeMap::new();
    for one in reviewed_labels(call)? {
        if body.query.as_ref().is_none_or(|query| *query == one.label.query) {
            queries.entry(one.label.query.clone()).or_default().push(one);
        }
    }
    let all = queries.len();
    if all == 0 && body.query.is_some() {
        return Err(Fault::not_found("no label is of this query"));
    }
    let entries: Vec<QueryEntry> = queries
        .into_iter()
        .filter(|(text, _)| !is_scrubbed(text))
        .filter_map(|(text, labels)| entry(text, labels, body.active))
        .collect();
    let left_out = all - entries.len();
    let (suites, ws) = (call.registry.suites(), &call.principal.workspace);
    let identity = suites.identity.as_ref().map(|key| key.for_workspace(ws));
    let store = call.registry.store();
    let made = import_queries(store, ws, entries, &suites.scrubber, identity.as_ref(), call.now)
        .map_err(|error| Fault::new(FaultKind::Input, error.to_string()))?
        .queries;
    let count = |kind| made.iter().filter(|one| one.kind == kind).count();
    let (added, joined) = (count(WriteKind::Added), count(WriteKind::Changed));
    let unchanged = made.len() - added - joined;
    Reply::json(&PromotedLabelsBody { added, joined, unchanged, left_out })
}

/// A labelled query as a canonical one; `None` without a relevant page.
fn entry(text: String, mut labels: Vec<ReviewedLabel>, is_active: bool) -> Option<QueryEntry> {
    labels.retain(|one| one.label.grade > 0);
    labels.sort_by_key(|one| (std::cmp::Reverse(one.label.grade), one.label.key.clone()));
    let best = labels.first()?.label.grade;
    let keys = |is_best: bool| -> Vec<WireKey> {
        let of = labels.iter().filter(|one| (one.label.grade == best) == is_best);
        of.map(|one| WireKey::Document(one.label.key.to_string())).collect()
    };
    let mut snippets: Vec<&String> =
        labels.iter().flat_map(|one| &one.reviews).filter_map(|one| one.span.as_ref()).collect();
    snippets.sort();
    snippets.dedup();
    Some(QueryEntry {
        schema_version: QUERY_VERSION,
        id: None,
        original_hash: None,
        source: Some(labels[0].label.key.source.to_string()),
        difficulty: Difficulty::default(),
        retrieval_mode: None,
        filter: FilterEntry::default(),
        family: None,
        expected: keys(true),
        acceptable: keys(false),
        expected_snippets: snippets
            .into_iter()
            .take(MAX_SNIPPETS)
            .map(|text| WireSnippet::Text(text.clone()))
            .collect(),
        entities: Vec::new(),
        answer_end: None,
        tags: Vec::new(),
        origin: QueryOrigin::Feedback,
        state: if is_active { QueryState::Active } else { QueryState::Candidate },
        query: text,
    })
}
