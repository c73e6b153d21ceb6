//! Labels: judgements of people, and the qrels they make.

use std::collections::BTreeMap;

use gbrain_brain::wire;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::{LabelRemovedBody, LabelledBody, NewLabelBody, NewLabelsBody};
use gbrain_core::id::PageKey;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::scrub::Scrubber;
use gbrain_store::{Label, NewLabel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pages::named;
use crate::http::{Call, NoParameters, Reply};

/// The most labels that one answer holds.
const MOST: usize = 1_000;
/// The most labels that make one set of qrels.
const MOST_QRELS: usize = 100_000;

/// Which labels to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListLabels {
    /// Labels with a higher number than this.
    after: Option<i64>,
    /// How many.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// Judgements, by number.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LabelsBody {
    /// The judgements.
    labels: Vec<Label>,
    /// Where the rest of the list begins: judgements with a higher number than this.
    next_after: Option<i64>,
}

/// A label by its number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelNumber {
    /// The label's number.
    #[schemars(range(min = 1))]
    id: i64,
}

pub(crate) fn add(call: &Call<'_>, _: NoParameters, body: NewLabelsBody) -> Result<Reply, Fault> {
    if body.labels.is_empty() || body.labels.len() > MOST {
        return Err(Fault::usage("1 to 1000 labels at once"));
    }
    let scrubber = &call.house.suites().scrubber;
    let label = |body| label(body, scrubber);
    let labels = body.labels.iter().map(label).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<PageKey> = labels.iter().map(|label| label.key.clone()).collect();
    if let Some((key, _)) = keys.iter().zip(exist(call, &keys)?).find(|(_, exists)| !exists) {
        return Err(Fault::not_found(format!("there is no page `{key}` to label"))
            .hint("write the page first, or label the page that answers"));
    }
    let store = call.house.store();
    let ids = store.put_labels(&call.who.workspace, &labels, &call.who.name, call.now)?;
    Reply::json(&LabelledBody { ids })
}

/// Whether each page is there for callers over a wire: a private page is not.
fn exist(call: &Call<'_>, keys: &[PageKey]) -> Result<Vec<bool>, Fault> {
    let pages = call.house.store().pages(&call.who.workspace, keys)?;
    let is_seen = |page: &Option<StoredPage>| {
        page.as_ref().is_some_and(|stored| stored.page.visibility == Visibility::World)
    };
    Ok(pages.iter().map(is_seen).collect())
}

/// A label as it is kept: its texts scrubbed as those of captures are.
fn label(body: &NewLabelBody, scrubber: &Scrubber) -> Result<NewLabel, Fault> {
    let NewLabelBody { query, page, grade, note } = body;
    if query.trim().is_empty() || query.len() > 51_200 {
        return Err(Fault::usage("a label's query is a text of at most 51200 bytes"));
    }
    if !(0..=10).contains(grade) {
        return Err(Fault::usage("a grade is 0 to 10"));
    }
    if note.as_ref().is_some_and(|note| note.chars().count() > 2_000) {
        return Err(Fault::usage("a note is at most 2000 characters"));
    }
    let key = named(page)?;
    let scrub = |text: &String| scrubber.scrub(text).text;
    Ok(NewLabel { query: scrub(query), key, grade: *grade, note: note.as_ref().map(scrub) })
}

pub(crate) fn list(call: &Call<'_>, input: ListLabels) -> Result<Reply, Fault> {
    let limit = usize::from(input.limit.unwrap_or(100));
    if !(1..=MOST).contains(&limit) {
        return Err(Fault::usage("a limit is 1 to 1000"));
    }
    let mut labels = call.house.store().labels(&call.who.workspace, input.after, limit + 1)?;
    let next_after = wire::cut(&mut labels, limit).map(|label| label.id);
    let scrubber = &call.house.suites().scrubber;
    for label in &mut labels {
        scrub(label, scrubber);
    }
    Reply::json(&LabelsBody { labels, next_after })
}

/// A label as it is served. Labels of earlier versions were kept as they came: they are scrubbed here.
fn scrub(label: &mut Label, scrubber: &Scrubber) {
    for text in [Some(&mut label.query), label.note.as_mut()].into_iter().flatten() {
        *text = scrubber.scrub(text).text;
    }
}

pub(crate) fn remove(call: &Call<'_>, input: LabelNumber) -> Result<Reply, Fault> {
    let id = input.id;
    if !call.house.store().delete_label(&call.who.workspace, id)? {
        return Err(Fault::not_found(format!("there is no label {id}")));
    }
    Reply::json(&LabelRemovedBody { id, outcome: "removed" })
}

/// All labels as qrels that `eval --qrels` and the gate read. A page that is not there can't be found: labels of
/// such pages are left out, and counted.
pub(crate) fn qrels(call: &Call<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let labels = call.house.store().labels(&call.who.workspace, None, MOST_QRELS + 1)?;
    if labels.len() > MOST_QRELS {
        return Err(Fault::too_large("there are too many labels for one set of qrels"));
    }
    let scrubber = &call.house.suites().scrubber;
    let keys: Vec<PageKey> = labels.iter().map(|label| label.key.clone()).collect();
    let mut queries: BTreeMap<String, Vec<&Label>> = BTreeMap::new();
    let mut left_out = 0_usize;
    for (label, exists) in labels.iter().zip(exist(call, &keys)?) {
        match exists {
            true => queries.entry(scrubber.scrub(&label.query).text).or_default().push(label),
            false => left_out += 1,
        }
    }
    let queries: Vec<Value> = queries.iter().map(|(query, labels)| judged(query, labels)).collect();
    let body = json!({ "schema_version": 1, "queries": queries, "labels_left_out": left_out });
    Reply::json(&body)
}

fn judged(query: &str, labels: &[&Label]) -> Value {
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
