//! Scores of a run.

use serde_json::{Map, Value};

use super::{ResultError, number, role, text};
use crate::compare::{Column, Kind, Measured, Row};

/// What says that two files of scores are about the same judgements.
const CONDITIONS: [&str; 2] = ["judged_queries", "judgements"];

pub(super) fn read(name: &str, object: &Map<String, Value>) -> Result<Measured, ResultError> {
    let Some(queries) = object.get("per_query").and_then(Value::as_array) else {
        let (name, kind) = (name.to_owned(), Kind::Scores);
        return Err(ResultError::NoRows { name, kind, flag: "--per-query" });
    };
    let names: Vec<String> = match object.get("summary").and_then(Value::as_object) {
        Some(summary) => summary.keys().cloned().collect(),
        None => Vec::new(),
    };
    let row = |query: &Value| {
        let id = text(query.get("query_id")).unwrap_or_default();
        let score = |name: &String| number(query.get("scores").and_then(|scores| scores.get(name)));
        Row {
            key: id.clone(),
            label: id,
            against: None,
            is_answered: true,
            values: names.iter().map(score).collect(),
        }
    };
    let counts = object.get("counts");
    let condition = |name: &str| Some((name.to_owned(), text(counts?.get(name))?));
    let mut conditions: Vec<(String, String)> =
        CONDITIONS.into_iter().filter_map(condition).collect();
    conditions.extend(text(object.get("qrels_hash")).map(|hash| ("qrels_hash".to_owned(), hash)));
    Ok(Measured {
        name: name.to_owned(),
        kind: Kind::Scores,
        conditions,
        notes: Vec::new(),
        rows: queries.iter().map(row).collect(),
        columns: names
            .iter()
            .map(|name| Column { measure: name.clone(), role: role(name) })
            .collect(),
    })
}
