//! Rows and judged queries of a gate.

use serde_json::{Map, Value};

use super::replay::{columns, rows};
use super::{ResultError, number, text};
use crate::compare::{Column, Kind, Measured, Role, Row};

const JUDGED: [(&str, Role); 3] = [
    ("recall_at_k", Role::Quality),
    ("first_relevant_hit", Role::Binary),
    ("expected_top1_hit", Role::Binary),
];

pub(super) fn read(name: &str, object: &Map<String, Value>) -> Result<Measured, ResultError> {
    let part =
        |key: &str| object.get(key).filter(|part| part.get("ran") == Some(&Value::Bool(true)));
    let (regression, correctness) = (part("regression_gate"), part("correctness_gate"));
    let results = |part: Option<&Value>| part?.get("results")?.as_array().cloned();
    let (replayed, judged) = (results(regression), results(correctness));
    if replayed.is_none() && judged.is_none() {
        let (name, kind) = (name.to_owned(), Kind::Gate);
        return Err(ResultError::NoRows { name, kind, flag: "a gbrain that prints `results`" });
    }
    let mut measured = Measured {
        name: name.to_owned(),
        kind: Kind::Gate,
        conditions: Vec::new(),
        notes: Vec::new(),
        columns: Vec::new(),
        rows: Vec::new(),
    };
    if let Some(replayed) = replayed {
        measured.columns = columns("", false);
        measured.rows = rows(&replayed, false);
    }
    if let Some(judged) = judged {
        add_judged(&mut measured, &judged);
    }
    let k = correctness.and_then(|part| text(part.get("summary")?.get("k")));
    let pipeline = correctness.and_then(|part| text(part.get("pipeline")));
    let conditions = [("k", k), ("pipeline", pipeline)];
    measured.conditions = conditions
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    Ok(measured)
}

fn add_judged(measured: &mut Measured, judged: &[Value]) {
    let before = measured.columns.len();
    for row in &mut measured.rows {
        row.values.extend([None; JUDGED.len()]);
    }
    let column =
        |(measure, role): &(&str, Role)| Column { measure: (*measure).to_owned(), role: *role };
    measured.columns.extend(JUDGED.iter().map(column));
    measured.rows.extend(judged.iter().map(|query| {
        let id = text(query.get("query_id")).unwrap_or_default();
        let values = JUDGED.iter().map(|(key, _)| number(query.get(*key)));
        Row {
            label: text(query.get("query"))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| id.clone()),
            key: format!("judged {id}"),
            against: query.get("relevant").map(Value::to_string),
            is_answered: query.get("recall_at_k").is_some_and(Value::is_number),
            values: vec![None; before].into_iter().chain(values).collect(),
        }
    }));
}
