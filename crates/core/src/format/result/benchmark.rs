//! Rows of a benchmark: one object per question, with yes-or-no answers and scores.
//!
//! A measure is a key whose values are all yes or no, all numbers from 0 to 1, or anything below
//! `scores`. Other numbers, such as a rank or a count, are none.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::check::{check_mean, check_unique, is_measure};
use super::{ResultError, number, text};
use crate::compare::{Column, Kind, Measured, Role, Row};

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

pub(super) fn document(name: &str, object: &Map<String, Value>) -> Result<Measured, ResultError> {
    match LISTS.iter().find_map(|list| object.get(*list)?.as_array()) {
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
    objects: &[Value],
    about: &Map<String, Value>,
) -> Result<Measured, ResultError> {
    let unknown =
        |found: &str| ResultError::Unknown { name: name.to_owned(), found: found.to_owned() };
    let is_remark = |row: &&Value| row.get("_kind").is_some() || row.get("kind").is_some();
    let mut conditions = conditions(about);
    if let Some(label) = about.get("label").and_then(Value::as_object) {
        conditions.extend(self::conditions(label));
    }
    for remark in objects.iter().filter(is_remark).filter_map(Value::as_object) {
        conditions.extend(self::conditions(remark));
    }
    let questions: Vec<&Value> = objects.iter().filter(|row| !is_remark(row)).collect();
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
    let ids = questions.iter().map(|row| IDS.iter().find_map(|id| row.get(*id)));
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
    if let Some(summary) = about.get("summary").and_then(Value::as_object).filter(|_| is_whole) {
        for (measure, mean) in summary.iter().filter(|(name, _)| is_measure(name)) {
            check_mean(&measured, measure, Some(mean))?;
        }
    }
    Ok(measured)
}

fn conditions(about: &Map<String, Value>) -> Vec<(String, String)> {
    let one = |name: &&str| Some(((*name).to_owned(), text(about.get(*name))?));
    CONDITIONS.iter().filter_map(one).collect()
}

fn row(object: &Value, columns: &[Column]) -> Option<Row> {
    let key = IDS.iter().find_map(|id| text(object.get(*id)))?;
    let label = LABELS.iter().find_map(|label| text(object.get(*label)));
    let value = |column: &Column| {
        let name = column.measure.as_str();
        number(object.get(name)).or_else(|| number(object.get("scores")?.get(name)))
    };
    let is_answered = object.get("error").is_none_or(Value::is_null);
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
fn columns(rows: &[&Value]) -> Vec<Column> {
    let mut roles: BTreeMap<&str, Option<Role>> = BTreeMap::new();
    for object in rows.iter().filter_map(|row| row.as_object()) {
        let nested = object.get("scores").and_then(Value::as_object);
        for (name, value) in nested.into_iter().flatten() {
            note(&mut roles, name, role(value, true));
        }
        for (name, value) in
            object.iter().filter(|(name, _)| !NOT_MEASURES.contains(&name.as_str()))
        {
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

fn role(value: &Value, is_score: bool) -> Option<Role> {
    match value {
        Value::Bool(_) => Some(Role::Binary),
        Value::Number(number) => {
            let fits = number.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
            (is_score || fits).then_some(Role::Quality)
        }
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
