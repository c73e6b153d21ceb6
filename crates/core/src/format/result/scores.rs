//! Scores of a run.

use super::check::{check_mean, check_type, check_unique};
use super::{ResultError, number, role, text};
use crate::compare::{Column, Kind, Measured, Row};
use crate::format::json::{Json, Object};

/// What says that two files of scores are about the same judgements.
const CONDITIONS: [&str; 2] = ["judged_queries", "judgements"];

pub(super) fn read(name: &str, object: &Object<'_>) -> Result<Measured, ResultError> {
    let Some(queries) = object.get("per_query").and_then(Json::as_array) else {
        let (name, kind) = (name.to_owned(), Kind::Scores);
        return Err(ResultError::NoRows { name, kind, flag: "--per-query" });
    };
    let names: Vec<String> = match object.get("summary").and_then(Json::as_object) {
        Some(summary) => summary.keys().map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let kind = Kind::Scores;
    check_unique(name, kind, "query_id", queries.iter().map(|query| query.get("query_id")))?;
    for (query, measure) in queries.iter().flat_map(|query| names.iter().map(move |n| (query, n))) {
        let score = query.get("scores").and_then(|scores| scores.get(measure));
        check_type(name, kind, measure, score)?;
    }
    let row = |query: &Json<'_>| {
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
    let measured = Measured {
        name: name.to_owned(),
        kind,
        conditions,
        notes: Vec::new(),
        rows: queries.iter().map(row).collect(),
        columns: names
            .iter()
            .map(|name| Column { measure: name.clone(), role: role(name) })
            .collect(),
    };
    for measure in &names {
        check_mean(&measured, measure, object.get("summary").and_then(|all| all.get(measure)))?;
    }
    Ok(measured)
}
