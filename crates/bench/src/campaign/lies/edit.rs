//! Edits of files: a seed draws which row, which place and which value.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

pub type EditValue = fn(&mut Value);

/// The rows of a file of lines.
pub fn read_rows(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub fn write_rows(path: &Path, rows: &[Value]) -> Result<()> {
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// Another value of the same type.
pub fn changed(value: &Value, rng: &mut Rng) -> Value {
    match value {
        Value::Null => json!(rng.u32(1..100)),
        Value::Bool(is) => json!(!is),
        Value::Number(number) if number.is_f64() => {
            let old = number.as_f64().unwrap_or_default();
            json!(if old == 0.0 { 0.5 } else { old * (0.25 + 0.5 * rng.f64()) })
        }
        Value::Number(number) => json!(number.as_u64().unwrap_or_default() + rng.u64(1..9)),
        Value::String(text) => json!(changed_text(text, rng)),
        Value::Array(items) if items.is_empty() => json!(["notes/n00"]),
        Value::Array(items) => changed_items(items, rng),
        Value::Object(members) if members.is_empty() => json!({ "forged": true }),
        Value::Object(members) => {
            let mut members = members.clone();
            let at = rng.usize(..members.len());
            if let Some((_, value)) = members.iter_mut().nth(at) {
                *value = changed(value, rng);
            }
            Value::Object(members)
        }
    }
}

/// A text with one letter or digit changed to another.
fn changed_text(text: &str, rng: &mut Rng) -> String {
    let places: Vec<usize> =
        text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
    if places.is_empty() {
        return format!("{text}x");
    }
    let at = places[rng.usize(..places.len())];
    let old = text.as_bytes()[at];
    let new = match old {
        b'0'..=b'8' => old + 1,
        b'9' => b'0',
        b'a'..=b'y' | b'A'..=b'Y' => old + 1,
        _ => b'a',
    };
    format!("{}{}{}", &text[..at], char::from(new), &text[at + 1..])
}

/// Items with one gone, two in each other's place, or one changed.
fn changed_items(items: &[Value], rng: &mut Rng) -> Value {
    let mut items = items.to_vec();
    let (one, two) = (rng.usize(..items.len()), rng.usize(..items.len()));
    match rng.u8(..3) {
        0 => {
            items.remove(one);
        }
        1 if items[one] != items[two] => items.swap(one, two),
        _ => items[one] = changed(&items[one], rng),
    }
    Value::Array(items)
}

/// Edits the value at a path of names and numbers; the path must be there.
pub fn edit_at(document: &mut Value, path: &[String], rng: &mut Rng) -> Result<()> {
    let pointer: String = path.iter().map(|part| format!("/{}", escaped(part))).collect();
    let place = document.pointer_mut(&pointer).with_context(|| format!("no {pointer}"))?;
    let old = place.clone();
    // A drawn change may happen to give the same value again.
    for _ in 0..20 {
        *place = changed(&old, rng);
        if *place != old {
            return Ok(());
        }
    }
    ensure!(*place != old, "{pointer} stays the same");
    Ok(())
}

fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// The names in an object.
pub fn keys(value: &Value) -> Vec<String> {
    value.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
}

/// Removes a name from an object, and says whether it was there.
pub fn remove(value: &mut Value, name: &str) -> bool {
    value.as_object_mut().is_some_and(|members| members.shift_remove(name).is_some())
}

pub fn keep_only(value: &mut Value, names: &[&str]) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| names.contains(&name.as_str()));
    }
}
