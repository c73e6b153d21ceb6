//! The older JSON: a bare list, or `{version, queries}`, of `{id?, query, relevant, grades?}`.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::value::RawValue;

use super::entries::{self, QrelsText, TopFields, add_unknown_keys, unknown_keys};
use super::file::LegacyQrelsEntry;
use super::gate::bare_of;
use super::{
    JudgedQuery, Judgement, Qrels, QrelsError, QrelsFormat, QrelsLocation, QrelsWarning, doc_id,
    settled,
};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

/// The keys of an entry.
const KEYS: [&str; 4] = ["id", "query", "relevant", "grades"];

/// Memory of a relevant page while an entry is read: as a value, and as a judgement.
const PAGE_BYTES: usize = 150;

pub(super) fn parse_object<'a>(
    source: QrelsText<'a>,
    top: TopFields<'a>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Qrels, QrelsError> {
    let lints = unknown_keys("the file", top.unknown.iter().map(String::as_str));
    parse(source, top.queries, lints, meter)
}

pub(super) fn parse<'a>(
    source: QrelsText<'a>,
    list: Option<&'a RawValue>,
    mut lints: Vec<QrelsWarning>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Qrels, QrelsError> {
    let mut queries = Vec::with_capacity(source.count(list));
    source.for_each(list, meter, |at, entry, meter| {
        let before = lints.len();
        let query = query(at, entry, &mut lints, meter)?;
        entries::add(&mut queries, query, lints.len() - before, meter)
    })?;
    let queries = settled(queries, &mut lints, meter)?;
    Ok(Qrels { queries, shape: QrelsFormat::Legacy, lints })
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
    let pages = object.get("relevant").and_then(Json::as_array).map_or(0, <[_]>::len);
    entries::pass_pages(meter, object, pages * PAGE_BYTES)?;
    let grades = grades_of(object, place)?;
    let LegacyQrelsEntry { id, query, relevant } = object
        .typed(&["id", "query", "relevant"])
        .map_err(|error| QrelsError::malformed(place, error.to_string()))?;
    if query.trim().is_empty() {
        return Err(QrelsError::BlankQuery { place });
    }
    if relevant.is_empty() {
        return Err(QrelsError::NoRelevant { place });
    }
    let id = id.unwrap_or_else(|| format!("entry-{at}"));
    add_unknown_keys(lints, &id, object, &KEYS);
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

/// The grades of an entry, if it has any.
pub(super) fn grades_of<'j, 'a>(
    entry: &'j Object<'a>,
    place: QrelsLocation,
) -> Result<Option<&'j Object<'a>>, QrelsError> {
    match entry.get("grades") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(grades)) => Ok(Some(grades)),
        Some(_) => Err(QrelsError::malformed(place, "invalid type: `grades` is no object")),
    }
}

/// The judgements of listed pages: their grade where there is one, otherwise 1.
pub(super) fn graded(
    place: QrelsLocation,
    query: &str,
    relevant: Vec<String>,
    grades: Option<&Object<'_>>,
    lints: &mut Vec<QrelsWarning>,
) -> Result<Vec<Judgement>, QrelsError> {
    let listed: FxHashSet<&str> = match grades {
        Some(_) => relevant.iter().map(String::as_str).collect(),
        None => FxHashSet::default(),
    };
    let mut by_doc: FxHashMap<String, f64> = FxHashMap::default();
    let mut only_graded = Vec::new();
    for (slug, grade) in grades.into_iter().flat_map(Object::iter) {
        let doc = doc_id(None, slug).into_owned();
        let grade = number(place, &doc, grade)?;
        match by_doc.insert(doc.clone(), grade) {
            // A bare slug and its whole name are one page.
            Some(first) if first != grade => {
                let (query, grades) = (query.to_owned(), (first, grade));
                return Err(QrelsError::JudgedTwice { query, doc, grades });
            }
            None if !listed.contains(doc.as_str()) => {
                lints.push(QrelsWarning::OnlyGraded { query: query.to_owned(), doc: doc.clone() });
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
            lints.push(QrelsWarning::GradedAway { query: query.to_owned(), doc: doc.clone() });
        }
        judgements.push(Judgement { doc, grade: grade.unwrap_or(1.0) });
    }
    Ok(judgements)
}

fn number(place: QrelsLocation, doc: &str, grade: &Json<'_>) -> Result<f64, QrelsError> {
    if grade.is_number() {
        return super::whole_grade(&grade.to_string(), place, doc);
    }
    Err(QrelsError::BadGrade { place, doc: doc.to_owned(), grade: grade.to_string() })
}
