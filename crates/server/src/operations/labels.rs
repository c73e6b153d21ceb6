//! Labels: relevance judgements of reviewers, and the qrels built from them.

use std::collections::BTreeMap;

use gbrain_brain::wire;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::{
    LabelRemovedBody, NewLabelBody, NewLabelsBody, StoredLabelsBody,
};
use gbrain_core::id::PageKey;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::scrub::Scrubber;
use gbrain_store::{NewLabel, StoredLabel, Withdrawal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bounds::at_most;
use super::pages::parse_page_name;
use crate::http::{NoParameters, OperationCall, Reply};

/// Most labels per request and response.
const MAX_LABELS: usize = 1_000;
/// Most labels in one set of qrels.
pub(super) const MAX_QRELS: usize = 100_000;

/// Which labels to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListLabels {
    /// Labels with a higher id than this.
    after: Option<i64>,
    /// The maximum number of labels; 100 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// Labels in the order of their ids.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LabelsBody {
    /// The labels with a higher id than `after`.
    labels: Vec<StoredLabel>,
    /// Where the next page of the list starts: labels with a higher id than this.
    next_after: Option<i64>,
}

/// A label to remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveLabel {
    /// The id of the label, as returned when it was stored.
    #[schemars(range(min = 1))]
    id: i64,
    /// Whether to withdraw the caller's own judgement only: the latest judgement of another reviewer
    /// counts then. By default the label is removed with the judgements of all reviewers.
    #[serde(default)]
    own: bool,
}

pub(crate) fn add(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: NewLabelsBody,
) -> Result<Reply, Fault> {
    if body.labels.is_empty() || body.labels.len() > MAX_LABELS {
        return Err(Fault::usage("`labels` must have 1 to 1000 entries"));
    }
    let scrubber = &call.registry.suites().scrubber;
    let label = |body| label(body, scrubber);
    let labels = body.labels.iter().map(label).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<PageKey> = labels.iter().map(|label| label.key.clone()).collect();
    if let Some((key, _)) = keys.iter().zip(exist(call, &keys)?).find(|(_, exists)| !exists) {
        return Err(Fault::not_found(format!("there is no page `{key}` to label"))
            .hint("write the page first, or label the page that answers"));
    }
    let store = call.registry.store();
    let ids =
        store.put_labels(&call.principal.workspace, &labels, &call.principal.name, call.now)?;
    Reply::json(&StoredLabelsBody { ids })
}

/// Whether each page exists for remote callers: private pages do not.
pub(super) fn exist(call: &OperationCall<'_>, keys: &[PageKey]) -> Result<Vec<bool>, Fault> {
    let pages = call.registry.store().pages(&call.principal.workspace, keys)?;
    let is_seen = |page: &Option<StoredPage>| {
        page.as_ref().is_some_and(|stored| stored.page.visibility == Visibility::World)
    };
    Ok(pages.iter().map(is_seen).collect())
}

/// A label to store, with scrubbed texts like those of captures.
fn label(body: &NewLabelBody, scrubber: &Scrubber) -> Result<NewLabel, Fault> {
    let NewLabelBody { query, page, grade, note, span, borderline } = body;
    if query.trim().is_empty() || query.len() > 51_200 {
        return Err(Fault::usage("the query of a label must have 1 to 51200 bytes"));
    }
    if !(0..=10).contains(grade) {
        return Err(Fault::usage("a grade must be from 0 to 10"));
    }
    if note.as_ref().is_some_and(|note| note.chars().count() > 2_000) {
        return Err(Fault::usage("a note must have at most 2000 characters"));
    }
    at_most("`span`", span.as_deref(), 4_000)?;
    let key = parse_page_name(page)?;
    let scrub = |text: &String| scrubber.scrub(text).text;
    Ok(NewLabel {
        query: scrub(query),
        key,
        grade: *grade,
        note: note.as_ref().map(scrub),
        span: span.as_ref().filter(|span| !span.trim().is_empty()).map(scrub),
        borderline: *borderline,
    })
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListLabels) -> Result<Reply, Fault> {
    let limit = usize::from(input.limit.unwrap_or(100));
    if !(1..=MAX_LABELS).contains(&limit) {
        return Err(Fault::usage("`limit` must be from 1 to 1000"));
    }
    let mut labels =
        call.registry.store().labels(&call.principal.workspace, input.after, limit + 1)?;
    let next_after = wire::truncate_page(&mut labels, limit).map(|label| label.id);
    let scrubber = &call.registry.suites().scrubber;
    for label in &mut labels {
        scrub(label, scrubber);
    }
    Reply::json(&LabelsBody { labels, next_after })
}

/// Scrubs a label for display: earlier versions stored labels unscrubbed.
pub(super) fn scrub(label: &mut StoredLabel, scrubber: &Scrubber) {
    for text in [Some(&mut label.query), label.note.as_mut()].into_iter().flatten() {
        *text = scrubber.scrub(text).text;
    }
}

pub(crate) fn remove(call: &OperationCall<'_>, input: RemoveLabel) -> Result<Reply, Fault> {
    let RemoveLabel { id, own } = input;
    let (store, ws, name) =
        (call.registry.store(), &call.principal.workspace, &call.principal.name);
    let outcome = match own {
        true => store.withdraw_review(ws, id, name)?,
        false if store.delete_label(ws, id)? => Withdrawal::Removed,
        false => Withdrawal::NotFound,
    };
    let outcome = match outcome {
        Withdrawal::NotFound if own => {
            return Err(Fault::not_found(format!("{name} has not judged label {id}")));
        }
        Withdrawal::NotFound => return Err(no_label(id)),
        Withdrawal::Kept => "withdrawn",
        Withdrawal::Removed => "removed",
    };
    Reply::json(&LabelRemovedBody { id, outcome })
}

pub(super) fn no_label(id: i64) -> Fault {
    Fault::not_found(format!("there is no label {id}"))
}

/// All labels as qrels for `eval --qrels` and the gate. Labels of missing pages are omitted and
/// counted, and so are queries without a relevant page: no measure can be taken of them.
pub(crate) fn qrels(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let labels = call.registry.store().labels(&call.principal.workspace, None, MAX_QRELS + 1)?;
    if labels.len() > MAX_QRELS {
        return Err(Fault::too_large("there are too many labels for one set of qrels"));
    }
    let scrubber = &call.registry.suites().scrubber;
    let keys: Vec<PageKey> = labels.iter().map(|label| label.key.clone()).collect();
    let mut queries: BTreeMap<String, Vec<&StoredLabel>> = BTreeMap::new();
    let mut left_out = 0_usize;
    for (label, exists) in labels.iter().zip(exist(call, &keys)?) {
        match exists {
            true => queries.entry(scrubber.scrub(&label.query).text).or_default().push(label),
            false => left_out += 1,
        }
    }
    let labelled = queries.len();
    queries.retain(|_, labels| labels.iter().any(|label| label.grade > 0));
    let queries: Vec<Value> = queries.iter().map(|(query, labels)| judged(query, labels)).collect();
    Reply::json(&json!({
        "schema_version": 1,
        "queries_left_out": labelled - queries.len(),
        "queries": queries,
        "labels_left_out": left_out,
    }))
}

fn judged(query: &str, labels: &[&StoredLabel]) -> Value {
    let relevant = labels.iter().filter(|label| label.grade > 0);
    let grades: serde_json::Map<String, Value> =
        labels.iter().map(|label| (label.key.to_string(), label.grade.into())).collect();
    json!({
        "query": query,
        "relevant": relevant.map(|label| page_ref(&label.key)).collect::<Vec<_>>(),
        "grades": grades,
    })
}

fn page_ref(key: &PageKey) -> Value {
    json!({ "source_id": key.source.as_str(), "slug": key.slug.as_str() })
}
