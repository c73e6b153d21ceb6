//! The table that a result becomes: rows by columns, and the memory that it takes.

use rustc_hash::FxHashMap;

use super::ResultError;
use crate::compare::{Measured, Row};
use crate::reading::meter::Meter;

/// What a row takes beside its texts and its values: itself, and what looking for repeats and rounding of
/// small texts takes.
const ROW_BYTES: usize = size_of::<Row>() + 80;

/// The places of columns, by their names.
pub(super) type Places<'a> = FxHashMap<&'a str, usize>;

pub(super) fn places<'a>(names: impl Iterator<Item = &'a str>) -> Places<'a> {
    names.enumerate().map(|(at, name)| (name, at)).collect()
}

/// Counts the memory of a table before it is made.
pub(super) fn hold_table(
    meter: &mut Meter<'_>,
    name: &str,
    rows: usize,
    columns: usize,
) -> Result<(), ResultError> {
    let row = ROW_BYTES.saturating_add(columns.saturating_mul(size_of::<Option<f64>>()));
    let held = meter.hold(rows.saturating_mul(row));
    held.map_err(|source| ResultError::Table { name: name.to_owned(), rows, columns, source })
}

/// Counts the memory of a row's texts.
pub(super) fn hold_row(meter: &mut Meter<'_>, name: &str, row: &Row) -> Result<(), ResultError> {
    let Row { key, label, against, .. } = row;
    let texts = key.len() + label.len() + against.as_ref().map_or(0, String::len);
    meter.hold(texts).map_err(|source| ResultError::interrupted(name, source))
}

/// The same of a table that was made from rows one by one.
pub(super) fn hold_texts(meter: &mut Meter<'_>, measured: &Measured) -> Result<(), ResultError> {
    measured.rows.iter().try_for_each(|row| hold_row(meter, &measured.name, row))
}
