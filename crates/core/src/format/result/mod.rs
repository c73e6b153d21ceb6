//! Reads result files for a comparison: detects the kind of a file and returns the values of each
//! query by measure.
//!
//! Kinds: replays, gates and scores as gbrain prints them with every row, runs (TREC lines or NDJSON)
//! with their qrels, and rows of benchmarks. Guarantees: a file of another kind, without its rows or
//! with impossible values is an error that names the kind and the remedy.

mod benchmark;
mod check;
mod gate;
mod replay;
mod scores;
mod table;

use crate::compare::{EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable};
use crate::measure::{Evaluation, Measure, MissingQueries, evaluate};
use crate::qrels::Qrels;
use crate::reading::json::{Json, Object};
use crate::reading::meter::{ReadingMeter, ReadingMeterError};
use crate::report::json::NO_JUDGED_HIT;
use crate::run::{Run, RunError};
use rustc_hash::FxHashMap;
use table::{hold_table, hold_texts};

/// Maximum number of measures in a file.
pub(crate) const MAX_COLUMNS: usize = 1_000;

/// Why a file cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ResultError {
    /// The file is not a known kind of result.
    #[error(
        "`{name}` is {found}; compare takes a replay (`eval replay --json --verbose`), a gate (`eval \
         gate --json`), scores (`eval score --json --per-query`), a run with --qrels, or rows of a \
         benchmark"
    )]
    Unknown {
        name: String,
        /// Description of the content.
        found: String,
    },
    /// The file has means only.
    #[error("`{name}` is {kind} output without its rows; make it again with {flag}")]
    NoRows {
        name: String,
        kind: EvalResultKind,
        /// The flag that adds the rows.
        flag: &'static str,
    },
    /// A run without qrels.
    #[error("`{name}` is a run; add its relevance judgements with --qrels")]
    NoQrels { name: String },
    /// A run that cannot be parsed.
    #[error("`{name}` is not a run")]
    Run { name: String, source: RunError },
    /// Rows or means with impossible values.
    #[error("`{name}` is not valid {kind} output: {reason}; create it again")]
    Malformed {
        name: String,
        /// The kind of result that was expected.
        kind: EvalResultKind,
        /// Why the file is invalid.
        reason: String,
    },
    /// More measures or distinct keys than the limit.
    #[error("`{name}` has {found} {what}, at most {most} are read")]
    TooMany {
        name: String,
        /// The things that were counted.
        what: &'static str,
        /// Number in the file.
        found: usize,
        /// The maximum number allowed.
        most: usize,
    },
    /// No memory for the table.
    #[error("`{name}` has {rows} rows and {columns} measures")]
    Table { name: String, rows: usize, columns: usize, source: ReadingMeterError },
    /// Reading was cancelled, or would need too much memory.
    #[error("`{name}` was not read to its end")]
    Interrupted { name: String, source: ReadingMeterError },
    /// An unknown schema version.
    #[error("`{name}` is {kind} output of schema_version {found}; this program reads 1")]
    Version { name: String, kind: EvalResultKind, found: String },
}

impl ResultError {
    fn interrupted(name: &str, source: ReadingMeterError) -> Self {
        Self::Interrupted { name: name.to_owned(), source }
    }

    /// Why reading was interrupted, if it was.
    pub fn meter_error(&self) -> Option<ReadingMeterError> {
        match self {
            Self::Table { source, .. } | Self::Interrupted { source, .. } => Some(*source),
            Self::Run { source: RunError::Interrupted(source), .. } => Some(*source),
            _ => None,
        }
    }
}

/// The qrels and measures that score a run.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    pub qrels: &'a Qrels,
    pub measures: &'a [Measure],
}

/// Reads a result of any kind.
///
/// Refuses files with values out of range, duplicate queries, or means that contradict the rows.
pub fn read(
    name: &str,
    bytes: &[u8],
    judge: Option<Judge<'_>>,
) -> Result<ResultTable, ResultError> {
    read_metered(name, bytes, judge, &mut ReadingMeter::unlimited())
}

/// [`read`] within limits. The meter counts the memory of the result; the caller counts that of the
/// document itself, as a [`Json`].
pub fn read_metered(
    name: &str,
    bytes: &[u8],
    judge: Option<Judge<'_>>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    meter.check().map_err(|source| ResultError::interrupted(name, source))?;
    let measured = read_any(name, bytes, judge, meter)?;
    check::check_values(&measured, meter)?;
    Ok(measured)
}

fn read_any(
    name: &str,
    bytes: &[u8],
    judge: Option<Judge<'_>>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let unknown =
        |found: &str| ResultError::Unknown { name: name.to_owned(), found: found.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| unknown("not text"))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(unknown("empty"));
    }
    if !text.starts_with(['{', '[']) {
        return run(name, bytes, judge, meter);
    }
    let Ok(json) = Json::read(text) else { return lines(name, bytes, text, judge, meter) };
    match json {
        Json::Object(object) if is_run_row(&object) => {
            // A run is parsed from its text again; keeping both would double the memory.
            drop(object);
            run(name, bytes, judge, meter)
        }
        Json::Object(object) => document(name, &object, meter),
        Json::Array(rows) => benchmark::rows(name, &rows, &Object::default(), meter),
        _ => Err(unknown("a JSON value")),
    }
}

fn document(
    name: &str,
    object: &Object<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    if object.contains_key("regression_gate") || object.contains_key("correctness_gate") {
        return version(name, EvalResultKind::Gate, object)
            .and_then(|()| gate::read(name, object, meter));
    }
    if object.get("summary").is_some_and(|summary| summary.get("rows_replayed").is_some()) {
        return version(name, EvalResultKind::Replay, object)
            .and_then(|()| replay::read(name, object, meter));
    }
    let has_counts =
        object.get("counts").is_some_and(|counts| counts.get("judged_queries").is_some());
    if has_counts || object.contains_key("per_query") {
        return version(name, EvalResultKind::Scores, object)
            .and_then(|()| scores::read(name, object, meter));
    }
    benchmark::document(name, object, meter)
}

fn version(name: &str, kind: EvalResultKind, object: &Object<'_>) -> Result<(), ResultError> {
    match object.get("schema_version") {
        Some(found) if found.as_u64() == Some(1) => Ok(()),
        found => {
            let found = found.map_or("none".to_owned(), Json::to_string);
            Err(ResultError::Version { name: name.to_owned(), kind, found })
        }
    }
}

fn lines(
    name: &str,
    bytes: &[u8],
    text: &str,
    judge: Option<Judge<'_>>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        meter.check().map_err(|source| ResultError::interrupted(name, source))?;
        match Json::read(line) {
            Ok(Json::Object(object)) => rows.push(Json::Object(object)),
            Ok(_) | Err(_) => {
                let found = format!("neither JSON nor NDJSON: line {} is not an object", at + 1);
                return Err(ResultError::Unknown { name: name.to_owned(), found });
            }
        }
    }
    if rows.iter().any(|row| row.as_object().is_some_and(is_run_row)) {
        drop(rows);
        return run(name, bytes, judge, meter);
    }
    benchmark::rows(name, &rows, &Object::default(), meter)
}

fn is_run_row(object: &Object<'_>) -> bool {
    object.contains_key("query_id") && object.get("retrieved").is_some_and(Json::is_array)
}

/// Scores a run. Judged queries that the run does not rank count as 0 and are reported in a note.
fn run(
    name: &str,
    bytes: &[u8],
    judge: Option<Judge<'_>>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultTable, ResultError> {
    // A run without qrels is still parsed, so that errors in it are reported first.
    let run = Run::parse_metered(bytes, meter)
        .map_err(|source| ResultError::Run { name: name.to_owned(), source })?;
    let Some(Judge { qrels, measures }) = judge else {
        return Err(ResultError::NoQrels { name: name.to_owned() });
    };
    let evaluating = run.memory() + evaluation_memory(qrels, &run, measures.len());
    meter.count_temporary(evaluating).map_err(|source| ResultError::interrupted(name, source))?;
    hold_table(meter, name, qrels.queries.len(), measures.len())?;
    let evaluation = evaluate(qrels, &run, measures, MissingQueries::Zero);
    let texts: FxHashMap<&str, Option<&str>> =
        qrels.queries.iter().map(|query| (query.id.as_str(), query.text.as_deref())).collect();
    let rows = evaluation.per_query.iter().map(|query| ResultRow {
        key: query.query_id.clone(),
        label: texts
            .get(query.query_id.as_str())
            .copied()
            .flatten()
            .unwrap_or(&query.query_id)
            .to_owned(),
        against: None,
        is_answered: true,
        values: query.scores.iter().copied().map(Some).collect(),
    });
    let column = |measure: &Measure| MeasureColumn {
        measure: measure.to_string(),
        role: role(&measure.to_string()),
    };
    let measured = ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Run,
        conditions: Vec::new(),
        notes: notes(&evaluation),
        columns: measures.iter().map(column).collect(),
        rows: rows.collect(),
    };
    hold_texts(meter, &measured)?;
    Ok(measured)
}

/// Memory for scoring a run, without the run and the resulting table: the scores of every query,
/// queries missing on one side, and a copy of judgements that name pages by bare slugs.
fn evaluation_memory(qrels: &Qrels, run: &Run<'_>, measures: usize) -> usize {
    let of_query = |query: &crate::qrels::JudgedQuery| {
        let copied = if query.bare.is_empty() { 0 } else { query.memory() };
        const SCORES: usize = 400;
        SCORES + 8 * measures + 2 * query.id.len() + copied
    };
    let judged: usize = qrels.queries.iter().map(of_query).sum();
    judged + run.rankings().map(|(query, _)| 48 + query.len()).sum::<usize>()
}

fn notes(evaluation: &Evaluation) -> Vec<String> {
    let mut notes = Vec::new();
    if evaluation.judged_hits == 0 {
        notes.push(NO_JUDGED_HIT.to_owned());
    }
    if !evaluation.missing_in_run.is_empty() {
        notes.push(format!(
            "{} judged queries are not ranked and count 0",
            evaluation.missing_in_run.len()
        ));
    }
    if !evaluation.missing_in_qrels.is_empty() {
        notes.push(format!(
            "{} ranked queries are not judged and count nothing",
            evaluation.missing_in_qrels.len()
        ));
    }
    notes
}

/// The role of a ranking measure, by its name.
fn role(measure: &str) -> MeasureRole {
    let binary = ["recall_any", "recall_all", "hit", "Success", "success"];
    if binary.iter().any(|name| measure.starts_with(name)) {
        MeasureRole::Binary
    } else {
        MeasureRole::Quality
    }
}

/// A number, or a boolean as 0 or 1.
fn number(value: Option<&Json<'_>>) -> Option<f64> {
    match value? {
        Json::Bool(yes) => Some(f64::from(u8::from(*yes))),
        Json::Number(number) => number.as_f64().filter(|number| number.is_finite()),
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// A string, or a number as a string.
fn text(value: Option<&Json<'_>>) -> Option<String> {
    match value? {
        Json::String(text) => Some(text.clone().into_owned()),
        Json::Number(number) => Some(number.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Numbers duplicate keys, so that the n-th of one file is compared with the n-th of the other.
fn number_repeats(rows: &mut [ResultRow]) {
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    for row in rows {
        let times = seen.entry(row.key.clone()).or_default();
        *times += 1;
        if *times > 1 {
            row.key = format!("{}#{times}", row.key);
        }
    }
}

#[cfg(test)]
mod tests;
