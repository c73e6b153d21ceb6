//! Plausibility checks of a result: values are in range, queries are unique, and the stated means
//! match the rows.

use rustc_hash::FxHashSet;

use super::{ResultError, number};
use crate::compare::{EvalResultKind, MeasureRole, ResultTable};
use crate::measure::Measure;
use crate::reading::json::Json;
use crate::reading::meter::ReadingMeter;

/// Tolerance between a stated mean and that of the rows: half of the fourth printed digit.
const ROUNDING: f64 = 5e-5 + 1e-9;

/// Measures with negative values.
const SIGNED: [&str; 1] = ["kendall_tau"];

fn malformed(name: &str, kind: EvalResultKind, reason: String) -> ResultError {
    ResultError::Malformed { name: name.to_owned(), kind, reason }
}

/// Refuses a value outside the range of its measure.
pub(super) fn check_values(
    measured: &ResultTable,
    meter: &ReadingMeter<'_>,
) -> Result<(), ResultError> {
    for row in &measured.rows {
        meter.check().map_err(|source| ResultError::interrupted(&measured.name, source))?;
        for (column, value) in measured.columns.iter().zip(&row.values) {
            let Some(value) = value else { continue };
            let (range, least, most) = match column.role {
                MeasureRole::Timing => ("0 or more", 0.0, f64::MAX),
                MeasureRole::Quality if SIGNED.contains(&column.measure.as_str()) => {
                    ("-1 to 1", -1.0, 1.0)
                }
                MeasureRole::Quality | MeasureRole::Binary => ("0 to 1", 0.0, 1.0),
            };
            // A sum of shares may exceed 1 by a rounding error.
            if !(least..=most).contains(value) && (value - 1.0).abs() > 1e-9 {
                let (measure, key) = (&column.measure, &row.key);
                let reason = format!("`{measure}` of `{key}` is {value}, expected {range}");
                return Err(malformed(&measured.name, measured.kind, reason));
            }
        }
    }
    Ok(())
}

/// Refuses duplicate ids or line numbers.
pub(super) fn check_unique<'j, 'a: 'j>(
    name: &str,
    kind: EvalResultKind,
    field: &str,
    ids: impl Iterator<Item = Option<&'j Json<'a>>>,
) -> Result<(), ResultError> {
    let mut seen = FxHashSet::default();
    for id in ids.flatten().filter(|id| !id.is_null()).map(Json::to_string) {
        if !seen.insert(id.clone()) {
            return Err(malformed(name, kind, format!("`{field}` {id} occurs twice")));
        }
    }
    Ok(())
}

/// Refuses a value that is not a number, a boolean or null.
pub(super) fn check_type(
    name: &str,
    kind: EvalResultKind,
    measure: &str,
    value: Option<&Json<'_>>,
) -> Result<(), ResultError> {
    let is_measured = value.is_none_or(|value| value.is_null() || number(Some(value)).is_some());
    if is_measured {
        return Ok(());
    }
    let found = value.map(Json::to_string).unwrap_or_default();
    Err(malformed(name, kind, format!("`{measure}` is {found}, which is not a number")))
}

/// Refuses a stated mean that differs from the mean of the rows; a missing mean is not checked.
pub(super) fn check_mean(
    measured: &ResultTable,
    measure: &str,
    stated: Option<&Json<'_>>,
    meter: &ReadingMeter<'_>,
) -> Result<(), ResultError> {
    meter.check().map_err(|source| ResultError::interrupted(&measured.name, source))?;
    let Some(at) = measured.columns.iter().position(|column| column.measure == measure) else {
        return Ok(());
    };
    let values = || measured.rows.iter().filter_map(|row| row.values[at]);
    let count = values().count();
    let mean = (count > 0).then(|| values().sum::<f64>() / count as f64);
    let stated = match stated {
        None => return Ok(()),
        Some(stated) => number(Some(stated)),
    };
    let is_same = match (stated, mean) {
        (Some(stated), Some(mean)) => (stated - mean).abs() <= ROUNDING,
        (None, None) => true,
        (_, _) => false,
    };
    if is_same {
        return Ok(());
    }
    let shown = |mean: Option<f64>| mean.map_or("none".to_owned(), |mean| format!("{mean:.4}"));
    let reason =
        format!("its summary says {measure} {}, and its rows give {}", shown(stated), shown(mean));
    Err(malformed(&measured.name, measured.kind, reason))
}

/// Whether a key names a ranking measure, whose values are shares.
pub(super) fn is_measure(name: &str) -> bool {
    name == "turn_recall" || name.parse::<Measure>().is_ok()
}
