//! Changes to files: of bytes, of lines, of fields, and of the values inside of JSON.

use fastrand::Rng;
use serde_json::{Map, Value};

/// Values that readers of numbers, times and names stumble over, as JSON.
const VALUES: [&str; 44] = [
    "null",
    "true",
    "0",
    "-0.0",
    "-1",
    "1",
    "2",
    "0.30000000000000004",
    "5e-324",
    "1e-7",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "123456789012345678901234567890",
    "\"\"",
    "\" \"",
    "\"NaN\"",
    "\"inf\"",
    "\"1e400\"",
    "\"\\u0000\"",
    "\"a\\nb\"",
    "\"\\u2028\"",
    "\"\\ufeffx\"",
    "\"default::notes/x\"",
    "\"::\"",
    "\"a::b::c\"",
    "\"-9999-01-01\"",
    "\"9999-12-31T23:59:59.999999999Z\"",
    "\"-009999-01-02T01:59:59Z\"",
    "\"2026-02-30\"",
    "\"query\"",
    "\"search\"",
    "\"baseline_metadata\"",
    "\"</td><script>alert(1)</script>\"",
    "\"]]>&\\u001b[31m\"",
    "\"::error::%0A|`\"",
    "\"\u{202e}gnp\"",
    "[]",
    "{}",
    "[null]",
    "[[[[]]]]",
    "{\"\":{}}",
];

/// Fields of lines that readers of tables stumble over.
const FIELDS: [&str; 22] = [
    "",
    "#",
    "{",
    "[",
    "0",
    "-0",
    "1e308",
    "1e-320",
    "1e999",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "0x1p3",
    "+1",
    "1_000",
    "Q0",
    "\u{feff}q",
    "a\u{a0}b",
    "a\u{85}b",
    "q\u{b}q",
    "::",
];

/// Bytes that mean something to some reader.
const BYTES: &[u8] = b"\n\r\t \"'\\{}[]:,#@()=-+.0eE\x00\x0b\x0c\x1b\x7f\x85\xbf\xc0\xef\xfe\xff";

/// The largest file that is tried.
const MAX_BYTES: usize = 300_000;

/// A file with a few changes of any kind.
pub(super) fn mutated(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..rng.usize(1..5) {
        out = match rng.u8(..10) {
            0..=4 => in_json(&out, rng),
            5 => in_field(&out, rng),
            6 | 7 => in_lines(&out, rng),
            _ => edited(&out, rng),
        };
    }
    out.truncate(MAX_BYTES);
    out
}

/// A file that was never valid.
pub(super) fn raw(rng: &mut Rng) -> Vec<u8> {
    let size = 1usize << rng.u32(0..14);
    match rng.u8(..6) {
        0 => (0..size).map(|_| rng.u8(..)).collect(),
        1 => (0..size).map(|_| BYTES[rng.usize(..BYTES.len())]).collect(),
        2 => "[".repeat(size).into_bytes(),
        3 => "{\"queries\":[".repeat(size / 12).into_bytes(),
        4 => FIELDS[rng.usize(..FIELDS.len())].repeat(size / 4).into_bytes(),
        _ => VALUES[rng.usize(..VALUES.len())].repeat(size / 8).into_bytes(),
    }
}

/// One edit, as somebody makes it by hand or a disk by accident: a byte is changed, goes or comes, a
/// line is doubled, goes or moves, a part goes, the end is cut off.
pub(super) fn edited(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = file.to_vec();
    if out.is_empty() {
        return vec![rng.u8(..)];
    }
    let at = rng.usize(..out.len());
    match rng.u8(..8) {
        0 => out[at] ^= 1 << rng.u8(..8),
        1 => out[at] = BYTES[rng.usize(..BYTES.len())],
        2 => drop(out.remove(at)),
        3 => out.insert(at, BYTES[rng.usize(..BYTES.len())]),
        4 => out.insert(at, rng.u8(..)),
        5 => out.truncate(at),
        6 => drop(out.drain(at..(at + rng.usize(1..60)).min(file.len()))),
        _ => return in_lines(&out, rng),
    }
    out
}

/// A line doubled, taken out, moved or cut.
fn in_lines(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let (at, to) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
    match rng.u8(..5) {
        0 => lines.insert(to, lines[at]),
        1 => drop(lines.remove(at)),
        2 => lines.swap(at, to),
        3 => lines[at] = &lines[at][..rng.usize(..=lines[at].len())],
        _ => lines.insert(at, b"\r\n"),
    }
    lines.concat()
}

/// A field of a line replaced.
fn in_field(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut fields: Vec<&[u8]> =
        file.split_inclusive(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b',')).collect();
    if fields.is_empty() {
        return Vec::new();
    }
    let at = rng.usize(..fields.len());
    let end = fields[at].last().copied().filter(u8::is_ascii_whitespace);
    let field = [FIELDS[rng.usize(..FIELDS.len())].as_bytes(), end.as_slice()].concat();
    fields[at] = &field;
    fields.concat()
}

/// A value inside of a JSON document, or of one of the lines of NDJSON, replaced, taken out or
/// doubled. What is no JSON stays as it is.
fn in_json(file: &[u8], rng: &mut Rng) -> Vec<u8> {
    if let Ok(mut whole) = serde_json::from_slice::<Value>(file) {
        change(&mut whole, rng);
        return whole.to_string().into_bytes();
    }
    let mut lines: Vec<Vec<u8>> =
        file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let at = rng.usize(..lines.len());
    if let Ok(mut value) = serde_json::from_slice::<Value>(&lines[at]) {
        change(&mut value, rng);
        lines[at] = format!("{value}\n").into_bytes();
    }
    lines.concat()
}

fn change(value: &mut Value, rng: &mut Rng) {
    let stop = rng.u8(..4) == 0;
    match value {
        Value::Object(object) if !object.is_empty() && !stop => in_object(object, rng),
        Value::Array(items) if !items.is_empty() && !stop => {
            let at = rng.usize(..items.len());
            match rng.u8(..6) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => change(&mut items[at], rng),
            }
        }
        other => *other = hostile(rng),
    }
}

fn in_object(object: &mut Map<String, Value>, rng: &mut Rng) {
    let keys: Vec<String> = object.keys().cloned().collect();
    let key = &keys[rng.usize(..keys.len())];
    match rng.u8(..8) {
        0 => drop(object.shift_remove(key)),
        1 => drop(object.insert(format!("{key}_"), hostile(rng))),
        2 => {
            let other = keys[rng.usize(..keys.len())].clone();
            let value = object[key].clone();
            object.insert(other, value);
        }
        _ => {
            if let Some(value) = object.get_mut(key) {
                change(value, rng);
            }
        }
    }
}

fn hostile(rng: &mut Rng) -> Value {
    match rng.u8(..8) {
        0 => Value::from(f64::from_bits(rng.u64(..))),
        1 => Value::from((0..rng.usize(..60)).map(|_| rng.char(..)).collect::<String>()),
        2 => Value::from("x".repeat(1 << rng.u32(..16))),
        _ => serde_json::from_str(VALUES[rng.usize(..VALUES.len())]).unwrap_or(Value::Null),
    }
}
