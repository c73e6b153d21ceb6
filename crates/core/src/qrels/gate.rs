//! The gate's JSON: `{schema_version: 1, queries: [...]}`.
//!
//! A page is `{source_id, slug}` in the federated keys (`relevant`, `expected_top1`) and a slug of
//! the default source in the older ones (`relevant_slugs`, `first_relevant_slug`). The federated
//! keys win where both stand.

use serde_json::value::RawValue;

use super::entries::{self, QrelsText, TopFields, add_unknown_keys, unknown_keys};
use super::file::{PageRef, QrelsQueryEntry};
use super::legacy::{graded, grades_of};
use super::{
    JudgedQuery, Qrels, QrelsError, QrelsFormat, QrelsLocation, QrelsWarning, QuerySegment, doc_id,
    settled,
};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

/// The keys of an entry.
const KEYS: [&str; 13] = [
    "query_id",
    "query",
    "relevant",
    "expected_top1",
    "relevant_slugs",
    "first_relevant_slug",
    "grades",
    "embedding_dim",
    "label",
    "source",
    "intent",
    "mode",
    "tags",
];

/// Memory of a relevant page while an entry is read: as a value, and as a judgement.
const PAGE_BYTES: usize = 200;

/// Whether an object is meant as the gate's: it has a version, or entries in its spelling.
pub(super) fn is_gate<'a>(
    source: QrelsText<'a>,
    top: &TopFields<'a>,
    meter: &mut ReadingMeter<'_>,
) -> Result<bool, QrelsError> {
    if top.schema_version.is_some() {
        return Ok(true);
    }
    let is_gate_entry = |entry: &Json<'_>| {
        let relevant = entry.get("relevant").and_then(Json::as_array);
        entry.get("relevant_slugs").is_some()
            || relevant.is_some_and(|refs| matches!(refs.first(), Some(Json::Object(_))))
    };
    let mut is_gate = false;
    let read = source.for_each(top.queries, meter, |_, entry, _| {
        is_gate |= is_gate_entry(entry);
        Ok(())
    });
    match read {
        // The reader of the older format reports values that are not a list of entries.
        Err(QrelsError::NoQueries) => Ok(false),
        read => read.map(|()| is_gate),
    }
}

pub(super) fn parse<'a>(
    source: QrelsText<'a>,
    top: TopFields<'a>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Qrels, QrelsError> {
    let version = top.schema_version.map(RawValue::get);
    if version != Some("1") {
        let found = version.unwrap_or("missing").to_owned();
        return Err(QrelsError::SchemaVersion { found });
    }
    // A key of the older shape.
    let unknown =
        top.version.iter().map(|_| "version").chain(top.unknown.iter().map(String::as_str));
    let mut lints = unknown_keys("the file", unknown);
    let mut queries = Vec::with_capacity(source.count(top.queries));
    source.for_each(top.queries, meter, |at, entry, meter| {
        let before = lints.len();
        let query = query(at, entry, &mut lints, meter)?;
        entries::add(&mut queries, query, lints.len() - before, meter)
    })?;
    let queries = settled(queries, &mut lints, meter)?;
    Ok(Qrels { queries, shape: QrelsFormat::Gate, lints })
}

fn query(
    at: usize,
    entry: &Json<'_>,
    lints: &mut Vec<QrelsWarning>,
    meter: &mut ReadingMeter<'_>,
) -> Result<JudgedQuery, QrelsError> {
    let place = QrelsLocation::Entry(at);
    let Json::Object(object) = entry else {
        return Err(QrelsError::malformed(place, format!("invalid type: {entry} is no object")));
    };
    check_pages(object, place)?;
    let length = |key: &str| object.get(key).and_then(Json::as_array).map_or(0, <[_]>::len);
    let pages = length("relevant") + length("relevant_slugs") + length("tags");
    entries::pass_pages(meter, object, pages * PAGE_BYTES)?;
    let grades = grades_of(object, place)?;
    let names: Vec<&str> = KEYS.into_iter().filter(|key| *key != "grades").collect();
    let entry: QrelsQueryEntry =
        object.typed(&names).map_err(|error| QrelsError::malformed(place, error.to_string()))?;
    if entry.query.trim().is_empty() {
        return Err(QrelsError::BlankQuery { place });
    }
    let id = entry.query_id.unwrap_or_else(|| format!("entry-{at}"));
    let mut bare = Vec::new();
    let relevant: Vec<String> = match (entry.relevant, entry.relevant_slugs) {
        (Some(refs), _) => refs.into_iter().map(|page| name(&page)).collect(),
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
        lints.push(QrelsWarning::TopNotRelevant { query: id.clone(), doc: doc.clone() });
    }
    add_unknown_keys(lints, &id, object, &KEYS);
    let judgements = graded(place, &id, relevant, grades, lints)?;
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
fn check_pages(entry: &Object<'_>, place: QrelsLocation) -> Result<(), QrelsError> {
    let relevant = entry.get("relevant").and_then(Json::as_array).into_iter().flatten();
    let pages = relevant.chain(entry.get("expected_top1")).filter_map(Json::as_object);
    for page in pages {
        let source = page.get("source_id").and_then(Json::as_str).unwrap_or_default();
        if source.trim().is_empty() {
            let slug = page.get("slug").map(Json::to_string).unwrap_or_default();
            return Err(QrelsError::NoSource { place, slug });
        }
        if let Some(key) = GRADE_KEYS.into_iter().find(|key| page.contains_key(key)) {
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

fn segment(segment: QuerySegment) -> Option<Box<QuerySegment>> {
    (segment != QuerySegment::default()).then(|| Box::new(segment))
}
