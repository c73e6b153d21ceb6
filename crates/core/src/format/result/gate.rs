//! Reads gate output: replayed rows and judged queries.

use super::check::{check_mean, check_type, check_unique};
use super::replay::{check_means, check_rows, columns, rows};
use super::table::{hold_table, hold_texts};
use super::{ResultError, number, text};
use crate::compare::{EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

const JUDGED: [(&str, MeasureRole); 3] = [
    ("recall_at_k", MeasureRole::Quality),
    ("first_relevant_hit", MeasureRole::Binary),
    ("expected_top1_hit", MeasureRole::Binary),
];

/// Maximum number of columns: those of a replay and those of judged queries.
const COLUMNS: usize = 4 + JUDGED.len();

/// Keys of the means in a summary, by column.
const JUDGED_MEANS: [(&str, &str); 3] = [
    ("recall_at_k", "mean_recall_at_k"),
    ("first_relevant_hit", "first_relevant_hit_rate"),
    ("expected_top1_hit", "expected_top1_hit_rate"),
];

pub(super) fn read(
    name: &str,
    object: &Object<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let part =
        |key: &str| object.get(key).filter(|part| part.get("ran") == Some(&Json::Bool(true)));
    let (regression, correctness) = (part("regression_gate"), part("correctness_gate"));
    let (replayed, judged) = (results(regression), results(correctness));
    if replayed.is_none() && judged.is_none() {
        let (name, kind) = (name.to_owned(), EvalResultKind::Gate);
        return Err(ResultError::NoRows { name, kind, flag: "a gbrain that prints `results`" });
    }
    let rows_of = |part: Option<&[Json<'_>]>| part.map_or(0, <[_]>::len);
    hold_table(meter, name, rows_of(replayed) + rows_of(judged), COLUMNS)?;
    let mut measured = ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Gate,
        conditions: Vec::new(),
        notes: Vec::new(),
        columns: Vec::new(),
        rows: Vec::new(),
    };
    if let Some(replayed) = replayed {
        check_rows(name, EvalResultKind::Gate, replayed)?;
        measured.columns = columns("", false);
        measured.rows = rows(replayed, false);
        check_means(&measured, regression.and_then(|part| part.get("summary")), meter)?;
    }
    if let Some(judged) = judged {
        check_judged(name, judged)?;
        add_judged(&mut measured, judged);
        let summary = correctness.and_then(|part| part.get("summary"));
        for (measure, mean) in JUDGED_MEANS {
            check_mean(&measured, measure, summary.and_then(|summary| summary.get(mean)), meter)?;
        }
    }
    hold_texts(meter, &measured)?;
    let k = correctness.and_then(|part| text(part.get("summary")?.get("k")));
    let pipeline = correctness.and_then(|part| text(part.get("pipeline")));
    let conditions = [("k", k), ("pipeline", pipeline)];
    measured.conditions = conditions
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    Ok(measured)
}

/// The rows of one part of a gate.
fn results<'j, 'a>(part: Option<&'j Json<'a>>) -> Option<&'j [Json<'a>]> {
    part?.get("results")?.as_array()
}

/// Refuses duplicate queries and values that are not numbers.
fn check_judged(name: &str, judged: &[Json<'_>]) -> Result<(), ResultError> {
    let kind = EvalResultKind::Gate;
    check_unique(name, kind, "query_id", judged.iter().map(|query| query.get("query_id")))?;
    for (query, (key, _)) in judged.iter().flat_map(|query| JUDGED.iter().map(move |c| (query, c)))
    {
        check_type(name, kind, key, query.get(key))?;
    }
    Ok(())
}

fn add_judged(measured: &mut ResultTable, judged: &[Json<'_>]) {
    let before = measured.columns.len();
    for row in &mut measured.rows {
        row.values.extend([None; JUDGED.len()]);
    }
    let column = |(measure, role): &(&str, MeasureRole)| MeasureColumn {
        measure: (*measure).to_owned(),
        role: *role,
    };
    measured.columns.extend(JUDGED.iter().map(column));
    measured.rows.extend(judged.iter().map(|query| {
        let id = text(query.get("query_id")).unwrap_or_default();
        let values = JUDGED.iter().map(|(key, _)| number(query.get(key)));
        ResultRow {
            label: text(query.get("query"))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| id.clone()),
            key: format!("judged {id}"),
            against: query.get("relevant").map(Json::to_string),
            is_answered: query.get("recall_at_k").is_some_and(Json::is_number),
            values: vec![None; before].into_iter().chain(values).collect(),
        }
    }));
}
