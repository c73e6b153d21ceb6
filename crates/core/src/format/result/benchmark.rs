//! Rows of a benchmark: one object per question, with booleans and scores.
//!
//! A measure is a key whose values are all booleans, all numbers from 0 to 1, or any key under
//! `scores`. Other numbers, such as ranks and counts, are not measures.

use std::collections::BTreeMap;

use super::check::{check_mean, check_unique, is_measure};
use super::table::{Places, hold_row, hold_table, places};
use super::{MAX_COLUMNS, ResultError, number, text};
use crate::compare::{EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

const IDS: [&str; 3] = ["question_id", "query_id", "id"];
const LABELS: [&str; 2] = ["question", "query"];
const LISTS: [&str; 4] = ["per_question", "questions", "results", "rows"];
/// Maximum number of distinct keys over all rows of a file.
const MAX_KEYS: usize = 10_000;
/// Maximum number of conditions of a file.
const MAX_CONDITIONS: usize = 100;
/// Numeric keys that describe the configuration, not the quality.
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

pub(super) fn document(
    name: &str,
    object: &Object<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    match LISTS.iter().find_map(|list| object.get(list)?.as_array()) {
        Some(list) => rows(name, list, object, meter),
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
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let unknown =
        |found: &str| ResultError::Unknown { name: name.to_owned(), found: found.to_owned() };
    let is_remark = |row: &&Json<'_>| row.get("_kind").is_some() || row.get("kind").is_some();
    let label = about.get("label").and_then(Json::as_object);
    let remarks = objects.iter().filter(is_remark).filter_map(Json::as_object);
    let conditions = conditions(name, [about].into_iter().chain(label).chain(remarks))?;
    let questions: Vec<&Json<'_>> = objects.iter().filter(|row| !is_remark(row)).collect();
    if questions
        .iter()
        .any(|row| row.get("captured_slugs").is_none() && row.get("retrieved_slugs").is_some())
    {
        return Err(unknown("captures or a baseline, which are not measured yet"));
    }
    let columns = columns(name, &questions, meter)?;
    if columns.is_empty() {
        return Err(unknown("rows without a measure"));
    }
    let kind = EvalResultKind::Benchmark;
    hold_table(meter, name, questions.len(), columns.len())?;
    let ids = questions.iter().map(|row| IDS.iter().find_map(|id| row.get(id)));
    check_unique(name, kind, "question_id", ids)?;
    let places = places(columns.iter().map(|column| column.measure.as_str()));
    let mut rows = Vec::with_capacity(questions.len());
    for question in &questions {
        let row = self::row(question, &places);
        let row = row.ok_or_else(|| unknown("rows without `question_id` or `query_id`"))?;
        hold_row(meter, name, &row)?;
        rows.push(row);
    }
    let (name, notes) = (name.to_owned(), Vec::new());
    let measured = ResultTable { name, kind, conditions, notes, columns, rows };
    // A benchmark's own summary excludes errors and unanswered questions from its means.
    let is_whole = measured.rows.iter().all(|row| row.is_answered);
    if let Some(summary) = about.get("summary").and_then(Json::as_object).filter(|_| is_whole) {
        for (measure, mean) in summary.iter().filter(|(name, _)| is_measure(name)) {
            check_mean(&measured, measure, Some(mean), meter)?;
        }
    }
    Ok(measured)
}

/// The distinct conditions of measurement that a file states.
fn conditions<'j, 'a: 'j>(
    name: &str,
    parts: impl Iterator<Item = &'j Object<'a>>,
) -> Result<Vec<(String, String)>, ResultError> {
    let mut all: Vec<(String, String)> = Vec::new();
    for part in parts {
        for condition in CONDITIONS {
            let Some(value) = text(part.get(condition)) else { continue };
            let one = (condition.to_owned(), value);
            if all.contains(&one) {
                continue;
            }
            if all.len() == MAX_CONDITIONS {
                let reason = format!("it states more than {MAX_CONDITIONS} conditions");
                let (name, kind) = (name.to_owned(), EvalResultKind::Benchmark);
                return Err(ResultError::Malformed { name, kind, reason });
            }
            all.push(one);
        }
    }
    Ok(all)
}

fn row(object: &Json<'_>, places: &Places<'_>) -> Option<ResultRow> {
    let key = IDS.iter().find_map(|id| text(object.get(id)))?;
    let label = LABELS.iter().find_map(|label| text(object.get(label)));
    let is_answered = object.get("error").is_none_or(Json::is_null);
    let mut values = vec![None; places.len()];
    let own = object.as_object();
    let nested = object.get("scores").and_then(Json::as_object);
    // Keys of the row take precedence over keys under `scores`.
    for fields in [own, nested].into_iter().flatten() {
        for (name, value) in fields.iter() {
            if let Some(&at) = places.get(name) {
                values[at] = values[at].or_else(|| number(Some(value)));
            }
        }
    }
    Some(ResultRow {
        label: label.unwrap_or_else(|| key.clone()),
        key,
        against: None,
        is_answered,
        values,
    })
}

/// The measures, derived from the values of all rows, sorted by name.
fn columns(
    name: &str,
    rows: &[&Json<'_>],
    meter: &ReadingMeter<'_>,
) -> Result<Vec<MeasureColumn>, ResultError> {
    let too_many =
        |what, found, most| Err(ResultError::TooMany { name: name.to_owned(), what, found, most });
    let mut roles: BTreeMap<&str, Option<MeasureRole>> = BTreeMap::new();
    for object in rows.iter().filter_map(|row| row.as_object()) {
        meter.check().map_err(|source| ResultError::interrupted(name, source))?;
        let nested = object.get("scores").and_then(Json::as_object);
        let nested =
            nested.into_iter().flat_map(Object::iter).map(|(key, value)| (key, role(value, true)));
        let own =
            object.iter().filter(|(key, value)| !NOT_MEASURES.contains(key) && !value.is_null());
        // A known measure out of range is an error, not some other number.
        let own = own.map(|(key, value)| (key, role(value, is_measure(key))));
        for (key, role) in nested.chain(own) {
            note(&mut roles, key, role);
            if roles.len() > MAX_KEYS {
                return too_many("different keys", roles.len(), MAX_KEYS);
            }
        }
    }
    let column = |(name, role): (&str, Option<MeasureRole>)| {
        Some(MeasureColumn { measure: name.to_owned(), role: role? })
    };
    let columns: Vec<MeasureColumn> = roles.into_iter().filter_map(column).collect();
    match columns.len() {
        found if found > MAX_COLUMNS => too_many("measures", found, MAX_COLUMNS),
        _ => Ok(columns),
    }
}

fn note<'a>(
    roles: &mut BTreeMap<&'a str, Option<MeasureRole>>,
    name: &'a str,
    role: Option<MeasureRole>,
) {
    let known = roles.entry(name).or_insert(role);
    *known = match (*known, role) {
        (Some(known), Some(found)) if known == found => Some(known),
        (Some(_), Some(_)) => Some(MeasureRole::Quality),
        (_, _) => None,
    };
}

fn role(value: &Json<'_>, is_score: bool) -> Option<MeasureRole> {
    match value {
        Json::Bool(_) => Some(MeasureRole::Binary),
        Json::Number(number) => {
            let fits = number.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
            (is_score || fits).then_some(MeasureRole::Quality)
        }
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}
