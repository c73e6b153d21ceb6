//! Reads replay output: the overlap of each row with its captured ranking.

use super::check::{check_mean, check_type, check_unique};
use super::table::{hold_table, hold_texts};
use super::{ResultError, number, number_repeats, text};
use crate::compare::{EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;

/// The measures of a replayed row with their roles.
const COLUMNS: [(&str, MeasureRole); 5] = [
    ("jaccard", MeasureRole::Quality),
    ("top1Match", MeasureRole::Binary),
    ("rbo", MeasureRole::Quality),
    ("kendall_tau", MeasureRole::Quality),
    ("current_latency_ms", MeasureRole::Timing),
];

/// Keys of the means in a summary, by column.
const MEANS: [(&str, &str); 4] = [
    ("jaccard", "mean_jaccard"),
    ("top1Match", "top1_stability_rate"),
    ("rbo", "mean_rbo"),
    ("kendall_tau", "mean_kendall_tau"),
];

pub(super) fn read(
    name: &str,
    object: &Object<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let Some(results) = object.get("results").and_then(Json::as_array) else {
        let (name, kind) = (name.to_owned(), EvalResultKind::Replay);
        return Err(ResultError::NoRows { name, kind, flag: "--verbose" });
    };
    hold_table(meter, name, results.len(), COLUMNS.len())?;
    check_rows(name, EvalResultKind::Replay, results)?;
    let measured = ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Replay,
        conditions: Vec::new(),
        notes: Vec::new(),
        columns: columns("", true),
        rows: rows(results, true),
    };
    hold_texts(meter, &measured)?;
    check_means(&measured, object.get("summary"), meter)?;
    Ok(measured)
}

/// Refuses duplicate lines and values that are not numbers. A query may occur several times, a line
/// of the captures only once.
pub(super) fn check_rows(
    name: &str,
    kind: EvalResultKind,
    results: &[Json<'_>],
) -> Result<(), ResultError> {
    check_unique(name, kind, "line", results.iter().map(|row| row.get("line")))?;
    for (row, (key, _)) in results.iter().flat_map(|row| COLUMNS.iter().map(move |c| (row, c))) {
        check_type(name, kind, key, row.get(key))?;
    }
    Ok(())
}

/// Refuses a summary whose means contradict the rows.
pub(super) fn check_means(
    measured: &ResultTable,
    summary: Option<&Json<'_>>,
    meter: &ReadingMeter<'_>,
) -> Result<(), ResultError> {
    for (measure, mean) in MEANS {
        check_mean(measured, measure, summary.and_then(|summary| summary.get(mean)), meter)?;
    }
    Ok(())
}

/// The columns of a replay, with prefixed names.
pub(super) fn columns(prefix: &str, with_latency: bool) -> Vec<MeasureColumn> {
    let wanted = COLUMNS.iter().filter(|(_, role)| with_latency || *role != MeasureRole::Timing);
    wanted
        .map(|(name, role)| MeasureColumn { measure: format!("{prefix}{name}"), role: *role })
        .collect()
}

/// The rows of a replay. A row with two empty rankings has no values, so that no mean counts it.
pub(super) fn rows(results: &[Json<'_>], with_latency: bool) -> Vec<ResultRow> {
    let mut rows: Vec<ResultRow> = results.iter().map(|result| row(result, with_latency)).collect();
    number_repeats(&mut rows);
    rows
}

fn row(result: &Json<'_>, with_latency: bool) -> ResultRow {
    let hash =
        text(result.get("query_hash")).or_else(|| text(result.get("query"))).unwrap_or_default();
    let tool = text(result.get("tool_name")).unwrap_or_default();
    let pages = |key: &str| result.get(key).and_then(Json::as_array);
    let captured = pages("captured_slugs");
    let is_both_empty = captured.is_some_and(<[_]>::is_empty)
        && pages("current_slugs").is_some_and(<[_]>::is_empty);
    let value = |(key, role): &(&str, MeasureRole)| {
        let counts = !is_both_empty || *role == MeasureRole::Timing;
        number(result.get(key)).filter(|_| counts)
    };
    let wanted = COLUMNS.iter().filter(|(_, role)| with_latency || *role != MeasureRole::Timing);
    ResultRow {
        key: format!("{tool} {hash}"),
        label: text(result.get("query")).unwrap_or(hash),
        against: captured.and_then(|pages| serde_json::to_string(pages).ok()),
        is_answered: result.get("jaccard").is_some_and(Json::is_number),
        values: wanted.map(value).collect(),
    }
}
