//! The gate's JSON: `{schema_version: 1, queries: [...]}`.
//!
//! A page is `{source_id, slug}` in the federated keys (`relevant`, `expected_top1`) and a slug of
//! the default source in the older ones (`relevant_slugs`, `first_relevant_slug`). The federated
//! keys win where both stand.

use serde_json::Value;

use super::legacy::graded;
use super::{JudgedQuery, Lint, Place, Qrels, QrelsError, Segment, Shape, doc_id, settled};
use crate::format::json::{Json, Object};
use crate::format::qrels::{GateEntry, PageRef, SegmentKeys};

/// Whether an object is meant as the gate's: it has a version, or entries in its spelling.
pub(super) fn is_gate(object: &Object<'_>) -> bool {
    let entries = object.get("queries").and_then(Json::as_array);
    let is_gate_entry = |entry: &Json<'_>| {
        let relevant = entry.get("relevant").and_then(Json::as_array);
        entry.get("relevant_slugs").is_some()
            || relevant.is_some_and(|refs| matches!(refs.first(), Some(Json::Object(_))))
    };
    object.contains_key("schema_version")
        || entries.is_some_and(|entries| entries.iter().any(is_gate_entry))
}

pub(super) fn parse(mut object: Object<'_>) -> Result<Qrels, QrelsError> {
    let version = object.remove("schema_version");
    if version != Some(Json::Number(1.into())) {
        let found = version.map_or("missing".to_owned(), |version| version.to_string());
        return Err(QrelsError::SchemaVersion { found });
    }
    let Some(Json::Array(entries)) = object.remove("queries") else {
        return Err(QrelsError::NoQueries);
    };
    let mut lints = unknown_keys("the file", object.keys());
    let mut queries = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        // One at a time: all of them as values would take many times the memory of the file.
        queries.push(query(at, entry.to_value(), &mut lints)?);
    }
    let queries = settled(queries, &mut lints)?;
    Ok(Qrels { queries, shape: Shape::Gate, lints })
}

/// Keys that mean nothing, but for remarks (`_description`).
pub(super) fn unknown_keys<'a>(place: &str, keys: impl Iterator<Item = &'a str>) -> Vec<Lint> {
    let unknown = keys.filter(|key| !key.starts_with('_'));
    unknown.map(|key| Lint::UnknownKey { place: place.to_owned(), key: key.to_owned() }).collect()
}

fn query(at: usize, entry: Value, lints: &mut Vec<Lint>) -> Result<JudgedQuery, QrelsError> {
    let place = Place::Entry(at);
    check_pages(&entry, place)?;
    let entry: GateEntry = serde_json::from_value(entry)
        .map_err(|error| QrelsError::malformed(place, error.to_string()))?;
    if entry.query.trim().is_empty() {
        return Err(QrelsError::BlankQuery { place });
    }
    let id = entry.query_id.unwrap_or_else(|| format!("entry-{at}"));
    let mut bare = Vec::new();
    let relevant: Vec<String> = match (entry.relevant, entry.relevant_slugs) {
        (Some(refs), _) => refs.iter().map(name).collect(),
        (None, slugs) => {
            let slugs = slugs.unwrap_or_default();
            bare = bare_of(&slugs);
            slugs.iter().map(|slug| doc_id(None, slug).into_owned()).collect()
        }
    };
    if relevant.is_empty() {
        return Err(QrelsError::NoRelevant { place });
    }
    let expected_top1 = match (entry.expected_top1, entry.first_relevant_slug) {
        (Some(page), _) => Some(name(&page)),
        (None, slug) => slug.map(|slug| doc_id(None, &slug).into_owned()),
    };
    if let Some(doc) = expected_top1.as_ref().filter(|doc| !relevant.contains(doc)) {
        lints.push(Lint::TopNotRelevant { query: id.clone(), doc: doc.clone() });
    }
    lints.extend(unknown_keys(&format!("query `{id}`"), entry.rest.keys().map(String::as_str)));
    let judgements = graded(place, &id, relevant, entry.grades, lints)?;
    Ok(JudgedQuery {
        id,
        text: Some(entry.query),
        judgements,
        expected_top1,
        bare,
        segment: segment(entry.segment),
        embedding_dim: entry.embedding_dim,
    })
}

/// Keys that would say how relevant a page is. In `relevant` every page is.
const GRADE_KEYS: [&str; 4] = ["grade", "relevance", "rel", "score"];

/// Refuses a page of the explicit shape without its source, because a hit from the wrong source would
/// count, and one with a grade, because a page graded 0 would count as relevant.
fn check_pages(entry: &Value, place: Place) -> Result<(), QrelsError> {
    let relevant = entry.get("relevant").and_then(Value::as_array).into_iter().flatten();
    let pages = relevant.chain(entry.get("expected_top1")).filter_map(Value::as_object);
    for page in pages {
        let source = page.get("source_id").and_then(Value::as_str).unwrap_or_default();
        if source.trim().is_empty() {
            let slug = page.get("slug").map(Value::to_string).unwrap_or_default();
            return Err(QrelsError::NoSource { place, slug });
        }
        if let Some(key) = GRADE_KEYS.into_iter().find(|key| page.contains_key(*key)) {
            let why = format!(
                "`{key}` inside a page of `relevant`, where every page is relevant; put grades into `grades`"
            );
            return Err(QrelsError::malformed(place, why));
        }
    }
    Ok(())
}

/// The pages of slugs without a source.
pub(super) fn bare_of(slugs: &[String]) -> Vec<String> {
    let bare = slugs.iter().filter(|slug| !slug.contains("::"));
    bare.map(|slug| doc_id(None, slug).into_owned()).collect()
}

fn name(page: &PageRef) -> String {
    let PageRef { source_id, slug } = page;
    doc_id(Some(source_id), slug).into_owned()
}

fn segment(keys: SegmentKeys) -> Option<Box<Segment>> {
    let SegmentKeys { label, source, intent, mode, tags } = keys;
    let segment = Segment { label, source, intent, mode, tags: tags.unwrap_or_default() };
    (segment != Segment::default()).then(|| Box::new(segment))
}
