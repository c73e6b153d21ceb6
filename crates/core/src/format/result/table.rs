//! The table of a result, rows by columns, and its memory.

use rustc_hash::FxHashMap;

use super::ResultError;
use crate::compare::{ResultRow, ResultTable};
use crate::reading::meter::ReadingMeter;

/// Memory of a row without its texts and values: the struct, the duplicate check, and rounding of
/// small allocations.
const ROW_BYTES: usize = size_of::<ResultRow>() + 80;

/// Column indices by name.
pub(super) type Places<'a> = FxHashMap<&'a str, usize>;

pub(super) fn places<'a>(names: impl Iterator<Item = &'a str>) -> Places<'a> {
    names.enumerate().map(|(at, name)| (name, at)).collect()
}

/// Counts the memory of a table before it is allocated.
pub(super) fn hold_table(
    meter: &mut ReadingMeter<'_>,
    name: &str,
    rows: usize,
    columns: usize,
) -> Result<(), ResultError> {
    let row = ROW_BYTES.saturating_add(columns.saturating_mul(size_of::<Option<f64>>()));
    let held = meter.count_held(rows.saturating_mul(row));
    held.map_err(|source| ResultError::Table { name: name.to_owned(), rows, columns, source })
}

/// Counts the memory of a row's strings.
pub(super) fn hold_row(
    meter: &mut ReadingMeter<'_>,
    name: &str,
    row: &ResultRow,
) -> Result<(), ResultError> {
    let ResultRow { key, label, against, .. } = row;
    let texts = key.len() + label.len() + against.as_ref().map_or(0, String::len);
    meter.count_held(texts).map_err(|source| ResultError::interrupted(name, source))
}

/// Counts the memory of all strings of a table.
pub(super) fn hold_texts(
    meter: &mut ReadingMeter<'_>,
    measured: &ResultTable,
) -> Result<(), ResultError> {
    measured.rows.iter().try_for_each(|row| hold_row(meter, &measured.name, row))
}
