//! Rows of a benchmark: one object per question, with yes-or-no answers and scores.
//!
//! A measure is a key whose values are all yes or no, all numbers from 0 to 1, or anything below
//! `scores`. Other numbers, such as a rank or a count, are none.

use std::collections::BTreeMap;

use super::check::{check_mean, check_unique, is_measure};
use super::{ResultError, number, text};
use crate::compare::{Column, Kind, Measured, Role, Row};
use crate::format::json::{Json, Object};

const IDS: [&str; 3] = ["question_id", "query_id", "id"];
const LABELS: [&str; 2] = ["question", "query"];
const LISTS: [&str; 4] = ["per_question", "questions", "results", "rows"];
/// Numbers that say what was measured, not how well.
const NOT_MEASURES: [&str; 9] = [
    "schema_version",
    "id",
    "line",
    "weight",
    "seed",
    "k",
    "score_version",
    "temperature",
    "haystack",
];
const CONDITIONS: [&str; 8] = [
    "k",
    "top_k",
    "dataset",
    "dataset_hash",
    "dataset_sha256",
    "qrels_hash",
    "metric_version",
    "granularity",
];

pub(super) fn document(name: &str, object: &Object<'_>) -> Result<Measured, ResultError> {
    match LISTS.iter().find_map(|list| object.get(list)?.as_array()) {
        Some(list) => rows(name, list, object),
        None => {
            let keys: Vec<String> = object.keys().take(5).map(|key| format!("`{key}`")).collect();
            let found = format!("a JSON object of {}", keys.join(", "));
            Err(ResultError::Unknown { name: name.to_owned(), found })
        }
    }
}

pub(super) fn rows(
    name: &str,
    objects: &[Json<'_>],
    about: &Object<'_>,
) -> Result<Measured, ResultError> {
    let unknown =
        |found: &str| ResultError::Unknown { name: name.to_owned(), found: found.to_owned() };
    let is_remark = |row: &&Json<'_>| row.get("_kind").is_some() || row.get("kind").is_some();
    let mut conditions = conditions(about);
    if let Some(label) = about.get("label").and_then(Json::as_object) {
        conditions.extend(self::conditions(label));
    }
    for remark in objects.iter().filter(is_remark).filter_map(Json::as_object) {
        conditions.extend(self::conditions(remark));
    }
    let questions: Vec<&Json<'_>> = objects.iter().filter(|row| !is_remark(row)).collect();
    if questions
        .iter()
        .any(|row| row.get("captured_slugs").is_none() && row.get("retrieved_slugs").is_some())
    {
        return Err(unknown("captures or a baseline, which are not measured yet"));
    }
    let columns = columns(&questions);
    if columns.is_empty() {
        return Err(unknown("rows without a measure"));
    }
    let kind = Kind::Benchmark;
    let ids = questions.iter().map(|row| IDS.iter().find_map(|id| row.get(id)));
    check_unique(name, kind, "question_id", ids)?;
    let rows = questions
        .iter()
        .map(|row| self::row(row, &columns))
        .collect::<Option<Vec<Row>>>()
        .ok_or_else(|| unknown("rows without `question_id` or `query_id`"))?;
    let (name, notes) = (name.to_owned(), Vec::new());
    let measured = Measured { name, kind, conditions, notes, columns, rows };
    // Errors and questions without an answer are in no mean of a benchmark's own summary.
    let is_whole = measured.rows.iter().all(|row| row.is_answered);
    if let Some(summary) = about.get("summary").and_then(Json::as_object).filter(|_| is_whole) {
        for (measure, mean) in summary.iter().filter(|(name, _)| is_measure(name)) {
            check_mean(&measured, measure, Some(mean))?;
        }
    }
    Ok(measured)
}

fn conditions(about: &Object<'_>) -> Vec<(String, String)> {
    let one = |name: &&str| Some(((*name).to_owned(), text(about.get(name))?));
    CONDITIONS.iter().filter_map(one).collect()
}

fn row(object: &Json<'_>, columns: &[Column]) -> Option<Row> {
    let key = IDS.iter().find_map(|id| text(object.get(id)))?;
    let label = LABELS.iter().find_map(|label| text(object.get(label)));
    let value = |column: &Column| {
        let name = column.measure.as_str();
        number(object.get(name)).or_else(|| number(object.get("scores")?.get(name)))
    };
    let is_answered = object.get("error").is_none_or(Json::is_null);
    let values = columns.iter().map(value).collect();
    Some(Row {
        label: label.unwrap_or_else(|| key.clone()),
        key,
        against: None,
        is_answered,
        values,
    })
}

/// What is measured, by the values that all rows have; in the order of their names.
fn columns(rows: &[&Json<'_>]) -> Vec<Column> {
    let mut roles: BTreeMap<&str, Option<Role>> = BTreeMap::new();
    for object in rows.iter().filter_map(|row| row.as_object()) {
        let nested = object.get("scores").and_then(Json::as_object);
        for (name, value) in nested.into_iter().flat_map(Object::iter) {
            note(&mut roles, name, role(value, true));
        }
        for (name, value) in object.iter().filter(|(name, _)| !NOT_MEASURES.contains(name)) {
            if !value.is_null() {
                // A measure out of its range is an error, and not a number of something else.
                note(&mut roles, name, role(value, is_measure(name)));
            }
        }
    }
    let column =
        |(name, role): (&str, Option<Role>)| Some(Column { measure: name.to_owned(), role: role? });
    roles.into_iter().filter_map(column).collect()
}

fn note<'a>(roles: &mut BTreeMap<&'a str, Option<Role>>, name: &'a str, role: Option<Role>) {
    let known = roles.entry(name).or_insert(role);
    *known = match (*known, role) {
        (Some(known), Some(found)) if known == found => Some(known),
        (Some(_), Some(_)) => Some(Role::Quality),
        (_, _) => None,
    };
}

fn role(value: &Json<'_>, is_score: bool) -> Option<Role> {
    match value {
        Json::Bool(_) => Some(Role::Binary),
        Json::Number(number) => {
            let fits = number.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
            (is_score || fits).then_some(Role::Quality)
        }
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}
