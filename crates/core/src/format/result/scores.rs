//! Reads score output: the measures of a run by query.

use super::check::{check_mean, check_type, check_unique};
use super::table::{Places, hold_row, hold_table, places};
use super::{MAX_COLUMNS, ResultError, number, role, text};
use crate::compare::{EvalResultKind, MeasureColumn, ResultRow, ResultTable};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

/// Counts that must be equal for two score files to use the same judgements.
const CONDITIONS: [&str; 2] = ["judged_queries", "judgements"];

pub(super) fn read(
    name: &str,
    object: &Object<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let Some(queries) = object.get("per_query").and_then(Json::as_array) else {
        let (name, kind) = (name.to_owned(), EvalResultKind::Scores);
        return Err(ResultError::NoRows { name, kind, flag: "--per-query" });
    };
    let summary = object.get("summary").and_then(Json::as_object);
    let found = summary.map_or(0, Object::len);
    if found > MAX_COLUMNS {
        let (name, what, most) = (name.to_owned(), "measures", MAX_COLUMNS);
        return Err(ResultError::TooMany { name, what, found, most });
    }
    let means: Vec<(&str, &Json<'_>)> = summary.into_iter().flat_map(Object::iter).collect();
    let kind = EvalResultKind::Scores;
    hold_table(meter, name, queries.len(), means.len())?;
    check_unique(name, kind, "query_id", queries.iter().map(|query| query.get("query_id")))?;
    let places = places(means.iter().map(|(measure, _)| *measure));
    let mut rows = Vec::with_capacity(queries.len());
    for query in queries {
        let row = self::row(name, query, &places)?;
        hold_row(meter, name, &row)?;
        rows.push(row);
    }
    let column =
        |(name, _): &(&str, _)| MeasureColumn { measure: (*name).to_owned(), role: role(name) };
    let measured = ResultTable {
        name: name.to_owned(),
        kind,
        conditions: conditions(object),
        notes: Vec::new(),
        columns: means.iter().map(column).collect(),
        rows,
    };
    for (measure, mean) in means {
        check_mean(&measured, measure, Some(mean), meter)?;
    }
    Ok(measured)
}

fn row(name: &str, query: &Json<'_>, places: &Places<'_>) -> Result<ResultRow, ResultError> {
    let id = text(query.get("query_id")).unwrap_or_default();
    let mut values = vec![None; places.len()];
    let scores = query.get("scores").and_then(Json::as_object);
    for (measure, score) in scores.into_iter().flat_map(Object::iter) {
        if let Some(&at) = places.get(measure) {
            check_type(name, EvalResultKind::Scores, measure, Some(score))?;
            values[at] = number(Some(score));
        }
    }
    Ok(ResultRow { key: id.clone(), label: id, against: None, is_answered: true, values })
}

fn conditions(object: &Object<'_>) -> Vec<(String, String)> {
    let counts = object.get("counts");
    let condition = |name: &str| Some((name.to_owned(), text(counts?.get(name))?));
    let mut conditions: Vec<(String, String)> =
        CONDITIONS.into_iter().filter_map(condition).collect();
    conditions.extend(text(object.get("qrels_hash")).map(|hash| ("qrels_hash".to_owned(), hash)));
    conditions
}
