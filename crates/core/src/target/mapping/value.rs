//! Values of an answer, each read as the expected type.

use serde_json::Value;

use crate::target::TargetError;
use crate::target::path::{Path, kind_of};

/// A value of the wrong type.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypeMismatch {
    pub(super) found: &'static str,
    pub(super) wanted: &'static str,
}

impl TypeMismatch {
    pub(super) fn at(self, path: &Path) -> TargetError {
        let Self { found, wanted } = self;
        TargetError::malformed(format!("{path} is {found}, not {wanted}"))
    }
}

pub(super) type ReadValue<T> = fn(&Value) -> Result<T, TypeMismatch>;

/// The value that a path leads to, if it is not null.
pub(super) fn one<T>(
    value: &Value,
    path: Option<&Path>,
    read: ReadValue<T>,
) -> Result<Option<T>, TargetError> {
    let Some(path) = path else { return Ok(None) };
    let found = path.first(value).map(|found| read(found).map_err(|wrong| wrong.at(path)));
    found.transpose()
}

/// All values that a path leads to, with the items of lists.
pub(super) fn list<T>(
    value: &Value,
    path: Option<&Path>,
    read: ReadValue<T>,
) -> Result<Vec<T>, TargetError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for found in path.find(value) {
        let items = match found {
            Value::Null => &[][..],
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            all.push(read(item).map_err(|wrong| wrong.at(path))?);
        }
    }
    Ok(all)
}

pub(super) fn text(value: &Value) -> Result<String, TypeMismatch> {
    let wrong = TypeMismatch { found: kind_of(value), wanted: "a text" };
    value.as_str().map(str::to_owned).ok_or(wrong)
}

pub(super) fn text_or_null(value: &Value) -> Result<Option<String>, TypeMismatch> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) if !number.is_f64() => Ok(Some(number.to_string())),
        other => text(other).map(Some),
    }
}

/// An id: a text that says something, or a whole number.
pub(super) fn id(value: &Value) -> Result<String, TypeMismatch> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::String(_) => Err(TypeMismatch { found: "blank", wanted: "an id" }),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        other => Err(TypeMismatch { found: kind_of(other), wanted: "an id" }),
    }
}

/// A chunk: its id, or an object that has it.
pub(super) fn chunk(value: &Value) -> Result<String, TypeMismatch> {
    match value {
        Value::Object(fields) => {
            let named = ["chunkId", "chunk_id", "id"].iter().find_map(|name| fields.get(*name));
            named.map_or(
                Err(TypeMismatch { found: "an object without an id", wanted: "a chunk" }),
                id,
            )
        }
        other => id(other),
    }
}

pub(super) fn number(value: &Value) -> Result<f64, TypeMismatch> {
    let wrong = TypeMismatch { found: kind_of(value), wanted: "a number" };
    value.as_f64().filter(|number| number.is_finite()).ok_or(wrong)
}

pub(super) fn number_or_null(value: &Value) -> Result<Option<f64>, TypeMismatch> {
    if value.is_null() { Ok(None) } else { number(value).map(Some) }
}

pub(super) fn time(value: &Value) -> Result<f64, TypeMismatch> {
    let time = number(value)?;
    if time < 0.0 { Err(TypeMismatch { found: "below zero", wanted: "a time" }) } else { Ok(time) }
}

pub(super) fn count(value: &Value) -> Result<u64, TypeMismatch> {
    value.as_u64().ok_or(TypeMismatch { found: kind_of(value), wanted: "a count" })
}

pub(super) fn flag(value: &Value) -> Result<bool, TypeMismatch> {
    value.as_bool().ok_or(TypeMismatch { found: kind_of(value), wanted: "true or false" })
}

/// Reads a required value, or fails.
pub(super) fn must(value: &Value, path: &Path) -> Result<String, TargetError> {
    let found = path.first(value);
    let found = found.ok_or_else(|| TargetError::malformed(format!("there is no {path}")))?;
    id(found).map_err(|wrong| wrong.at(path))
}

/// The values of a path that must have one value per result; none without a path.
pub(super) fn column<T>(
    answer: &Value,
    path: Option<&Path>,
    length: usize,
    read: ReadValue<T>,
) -> Result<Vec<T>, TargetError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let values = path.find(answer);
    if values.len() != length {
        return Err(TargetError::malformed(format!(
            "there are {length} ids and {} values of {path}: they can't be told apart",
            values.len()
        )));
    }
    values.into_iter().map(|value| read(value).map_err(|wrong| wrong.at(path))).collect()
}
