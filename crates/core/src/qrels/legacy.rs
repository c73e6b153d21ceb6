//! The older JSON: a bare list, or `{version, queries}`, of `{id?, query, relevant, grades?}`.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use super::gate::{bare_of, unknown_keys};
use super::{JudgedQuery, Judgement, Lint, Place, Qrels, QrelsError, Shape, doc_id, settled};
use crate::format::json::{Json, Object};
use crate::format::qrels::LegacyEntry;

pub(super) fn parse_object(mut object: Object<'_>) -> Result<Qrels, QrelsError> {
    object.remove("version");
    match object.remove("queries") {
        Some(Json::Array(entries)) => parse(entries, unknown_keys("the file", object.keys())),
        _ => Err(QrelsError::NoQueries),
    }
}

pub(super) fn parse(entries: Vec<Json<'_>>, mut lints: Vec<Lint>) -> Result<Qrels, QrelsError> {
    let mut queries = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        queries.push(query(at, entry.to_value(), &mut lints)?);
    }
    let queries = settled(queries, &mut lints)?;
    Ok(Qrels { queries, shape: Shape::Legacy, lints })
}

fn query(at: usize, entry: Value, lints: &mut Vec<Lint>) -> Result<JudgedQuery, QrelsError> {
    let place = Place::Entry(at);
    let LegacyEntry { id, query, relevant, grades, rest } = serde_json::from_value(entry)
        .map_err(|error| QrelsError::malformed(place, error.to_string()))?;
    if query.trim().is_empty() {
        return Err(QrelsError::BlankQuery { place });
    }
    if relevant.is_empty() {
        return Err(QrelsError::NoRelevant { place });
    }
    let id = id.unwrap_or_else(|| format!("entry-{at}"));
    lints.extend(unknown_keys(&format!("query `{id}`"), rest.keys().map(String::as_str)));
    let bare = bare_of(&relevant);
    let relevant = relevant.iter().map(|slug| doc_id(None, slug).into_owned()).collect();
    let judgements = graded(place, &id, relevant, grades, lints)?;
    Ok(JudgedQuery {
        id,
        text: Some(query),
        judgements,
        expected_top1: None,
        bare,
        segment: None,
        embedding_dim: None,
    })
}

/// The judgements of listed pages: their grade where there is one, otherwise 1.
pub(super) fn graded(
    place: Place,
    query: &str,
    relevant: Vec<String>,
    grades: Option<Map<String, Value>>,
    lints: &mut Vec<Lint>,
) -> Result<Vec<Judgement>, QrelsError> {
    let listed: FxHashSet<&str> = relevant.iter().map(String::as_str).collect();
    let mut by_doc: FxHashMap<String, f64> = FxHashMap::default();
    let mut only_graded = Vec::new();
    for (slug, grade) in grades.unwrap_or_default() {
        let doc = doc_id(None, &slug).into_owned();
        let grade = number(place, &doc, &grade)?;
        match by_doc.insert(doc.clone(), grade) {
            // A bare slug and its whole name are one page.
            Some(first) if first != grade => {
                let (query, grades) = (query.to_owned(), (first, grade));
                return Err(QrelsError::JudgedTwice { query, doc, grades });
            }
            None if !listed.contains(doc.as_str()) => {
                lints.push(Lint::OnlyGraded { query: query.to_owned(), doc: doc.clone() });
                only_graded.push(doc);
            }
            _ => (),
        }
    }
    let mut judgements = Vec::with_capacity(relevant.len() + only_graded.len());
    for doc in relevant.into_iter().chain(only_graded) {
        if doc.ends_with("::") {
            return Err(QrelsError::malformed(place, "a relevant page has a blank slug"));
        }
        let grade = by_doc.get(&doc).copied();
        if grade.is_some_and(|grade| grade <= 0.0) {
            lints.push(Lint::GradedAway { query: query.to_owned(), doc: doc.clone() });
        }
        judgements.push(Judgement { doc, grade: grade.unwrap_or(1.0) });
    }
    Ok(judgements)
}

fn number(place: Place, doc: &str, grade: &Value) -> Result<f64, QrelsError> {
    if grade.is_number() {
        return super::whole_grade(&grade.to_string(), place, doc);
    }
    Err(QrelsError::BadGrade { place, doc: doc.to_owned(), grade: grade.to_string() })
}
