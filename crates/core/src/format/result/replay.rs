//! Rows of a replay: overlap with what was captured.

use super::check::{check_mean, check_type, check_unique};
use super::table::{hold_table, hold_texts};
use super::{ResultError, number, number_repeats, text};
use crate::compare::{Column, Kind, Measured, Role, Row};
use crate::reading::json::{Json, Object};
use crate::reading::meter::Meter;

/// What a row of a replay holds: its key on the wire, its name here and what it says.
const COLUMNS: [(&str, Role); 5] = [
    ("jaccard", Role::Quality),
    ("top1Match", Role::Binary),
    ("rbo", Role::Quality),
    ("kendall_tau", Role::Quality),
    ("current_latency_ms", Role::Timing),
];

/// The means of a summary, by the column they are the means of.
const MEANS: [(&str, &str); 4] = [
    ("jaccard", "mean_jaccard"),
    ("top1Match", "top1_stability_rate"),
    ("rbo", "mean_rbo"),
    ("kendall_tau", "mean_kendall_tau"),
];

pub(super) fn read(
    name: &str,
    object: &Object<'_>,
    meter: &mut Meter<'_>,
) -> Result<Measured, ResultError> {
    let Some(results) = object.get("results").and_then(Json::as_array) else {
        let (name, kind) = (name.to_owned(), Kind::Replay);
        return Err(ResultError::NoRows { name, kind, flag: "--verbose" });
    };
    hold_table(meter, name, results.len(), COLUMNS.len())?;
    check_rows(name, Kind::Replay, results)?;
    let measured = Measured {
        name: name.to_owned(),
        kind: Kind::Replay,
        conditions: Vec::new(),
        notes: Vec::new(),
        columns: columns("", true),
        rows: rows(results, true),
    };
    hold_texts(meter, &measured)?;
    check_means(&measured, object.get("summary"), meter)?;
    Ok(measured)
}

/// Refuses rows that repeat and values that are no numbers. A query may be replayed more than once, a
/// line of the captures may not.
pub(super) fn check_rows(name: &str, kind: Kind, results: &[Json<'_>]) -> Result<(), ResultError> {
    check_unique(name, kind, "line", results.iter().map(|row| row.get("line")))?;
    for (row, (key, _)) in results.iter().flat_map(|row| COLUMNS.iter().map(move |c| (row, c))) {
        check_type(name, kind, key, row.get(key))?;
    }
    Ok(())
}

/// Refuses a summary whose means are not those of the rows.
pub(super) fn check_means(
    measured: &Measured,
    summary: Option<&Json<'_>>,
    meter: &Meter<'_>,
) -> Result<(), ResultError> {
    for (measure, mean) in MEANS {
        check_mean(measured, measure, summary.and_then(|summary| summary.get(mean)), meter)?;
    }
    Ok(())
}

/// The columns of a replay, with a prefix before their names.
pub(super) fn columns(prefix: &str, with_latency: bool) -> Vec<Column> {
    let wanted = COLUMNS.iter().filter(|(_, role)| with_latency || *role != Role::Timing);
    wanted.map(|(name, role)| Column { measure: format!("{prefix}{name}"), role: *role }).collect()
}

/// The rows of a replay. A row where neither side found anything is in no mean.
pub(super) fn rows(results: &[Json<'_>], with_latency: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = results.iter().map(|result| row(result, with_latency)).collect();
    number_repeats(&mut rows);
    rows
}

fn row(result: &Json<'_>, with_latency: bool) -> Row {
    let hash =
        text(result.get("query_hash")).or_else(|| text(result.get("query"))).unwrap_or_default();
    let tool = text(result.get("tool_name")).unwrap_or_default();
    let pages = |key: &str| result.get(key).and_then(Json::as_array);
    let captured = pages("captured_slugs");
    let is_both_empty = captured.is_some_and(<[_]>::is_empty)
        && pages("current_slugs").is_some_and(<[_]>::is_empty);
    let value = |(key, role): &(&str, Role)| {
        let counts = !is_both_empty || *role == Role::Timing;
        number(result.get(key)).filter(|_| counts)
    };
    let wanted = COLUMNS.iter().filter(|(_, role)| with_latency || *role != Role::Timing);
    Row {
        key: format!("{tool} {hash}"),
        label: text(result.get("query")).unwrap_or(hash),
        against: captured.and_then(|pages| serde_json::to_string(pages).ok()),
        is_answered: result.get("jaccard").is_some_and(Json::is_number),
        values: wanted.map(value).collect(),
    }
}
