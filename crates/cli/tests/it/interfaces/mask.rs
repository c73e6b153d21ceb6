//! Placeholders for values that differ from run to run. A placeholder keeps the shape of its value.
//!
//! Times are recognized by their value: a time between the start of the test and now. Random values that were read
//! before (an id, a directory) are replaced wherever they occur. Everything else is masked only where a rule names
//! its place.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Clocks of files and databases are cut off to milliseconds or seconds.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(2);

pub(super) struct Mask {
    started: Timestamp,
    /// Texts and their placeholders, in the order in which they are replaced.
    texts: Vec<(String, String)>,
    /// The ends of paths such as `timings_us` or `details.id`; everything below is masked.
    rules: Vec<&'static str>,
}

impl Mask {
    /// A mask for what happens from now on.
    pub(super) fn new(rules: &[&'static str]) -> Self {
        Self { started: Timestamp::now(), texts: Vec::new(), rules: rules.to_vec() }
    }

    /// Replaces a text, such as a directory, wherever it occurs.
    pub(super) fn replace(&mut self, text: &str, placeholder: &str) {
        self.texts.push((text.to_owned(), placeholder.to_owned()));
    }

    /// A JSON document with placeholders.
    pub(super) fn json(&self, value: &Value) -> Value {
        self.json_at(&mut Vec::new(), value)
    }

    fn json_at<'a>(&self, path: &mut Vec<&'a str>, value: &'a Value) -> Value {
        if self.has_rule(path) {
            return shape(value);
        }
        match value {
            Value::Object(fields) => {
                let is_duration = is_duration(value);
                let masked = fields.iter().map(|(key, value)| {
                    path.push(key);
                    let masked = match is_duration && key == "value" {
                        true => shape(value),
                        false => self.json_at(path, value),
                    };
                    path.pop();
                    (self.text(key), masked)
                });
                Value::Object(masked.collect())
            }
            Value::Array(values) => values.iter().map(|value| self.json_at(path, value)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if number.as_i64().is_some_and(|n| self.is_time(n)) => {
                Value::String("<time>".to_owned())
            }
            other => other.clone(),
        }
    }

    /// Whether a rule names a place: its last keys are those of the rule.
    pub(super) fn has_rule(&self, path: &[&str]) -> bool {
        let is_end = |rule: &&str| {
            let keys: Vec<&str> = rule.split('.').collect();
            path.ends_with(&keys)
        };
        self.rules.iter().any(is_end)
    }

    /// A text with placeholders.
    pub(super) fn text(&self, text: &str) -> String {
        let replaced =
            self.texts.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        self.times(&without_tags(&replaced))
    }

    /// Lines of JSON, each with placeholders; other lines are masked as text.
    pub(super) fn lines(&self, text: &str) -> String {
        text.lines().map(|line| self.line_at(&[], line) + "\n").collect()
    }

    /// A JSON document in one line, or a text, that stands at a place.
    pub(super) fn line_at(&self, place: &[&str], line: &str) -> String {
        match document(line) {
            Some(value) => self.json_at(&mut place.to_vec(), &value).to_string(),
            _ if self.has_rule(place) => shape_of_text(line),
            _ => self.text(line),
        }
    }

    /// Whether a number is a time of this test, in any unit.
    pub(super) fn is_time(&self, number: i64) -> bool {
        let from = (self.started - TOLERANCE).as_second();
        let until = (Timestamp::now() + TOLERANCE).as_second();
        [1, 1_000, 1_000_000, 1_000_000_000]
            .iter()
            .any(|unit| (from..=until).contains(&(number / unit)))
    }

    /// Replaces times of this test that are written out, and the number of a process that follows one.
    fn times(&self, text: &str) -> String {
        let mut masked = String::new();
        let mut rest = text;
        while let Some((before, time, after)) = next_time(rest) {
            masked += before;
            let is_now = time >= self.started - TOLERANCE && time <= Timestamp::now() + TOLERANCE;
            let written = &rest[before.len()..rest.len() - after.len()];
            masked += if is_now { "<time>" } else { written };
            rest = after;
            if let Some(digits) = after.strip_prefix(['-', ':']).filter(|_| is_now) {
                let others = digits.trim_start_matches(|c: char| c.is_ascii_digit());
                if others.len() < digits.len() {
                    masked += &format!("{}<pid>", &after[..1]);
                    rest = others;
                }
            }
        }
        masked + rest
    }
}

/// An object or a list, if it is written as serde writes it: spaces and the order of keys are pinned too, so what is
/// written another way stays as it is.
fn document(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).ok()?;
    let printed = value.to_string();
    (printed == line && (value.is_object() || value.is_array())).then_some(value)
}

/// The first time in a text such as `2026-05-14T12:00:00.123Z`, with what is before and after it.
fn next_time(text: &str) -> Option<(&str, Timestamp, &str)> {
    let starts = text.match_indices('T').filter_map(|(at, _)| at.checked_sub(10));
    starts.filter(|start| text.is_char_boundary(*start)).find_map(|start| {
        let end = start + text[start..].find('Z')? + 1;
        let time = text[start..end].parse().ok()?;
        Some((&text[..start], time, &text[end..]))
    })
}

/// A slug that was scrubbed carries a tag that depends on the key of the home.
fn without_tags(text: &str) -> String {
    const SCRUBBED: &str = "[REDACTED]#";
    let mut parts = text.split(SCRUBBED);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        masked += &format!("{SCRUBBED}<{} hex digits>{rest}", part.len() - rest.len());
    }
    masked
}

/// A measure of a suite that is a duration.
fn is_duration(value: &Value) -> bool {
    value["measure"].as_str().is_some_and(|measure| measure.ends_with("_ms"))
}

/// A value as its shape: the same keys and types, without what they hold.
pub(super) fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), shape(value))).collect())
        }
        Value::Array(values) => values.iter().map(shape).collect(),
        Value::Number(number) if number.is_f64() => "<number>".into(),
        Value::Number(_) => "<integer>".into(),
        Value::String(text) => shape_of_text(text).into(),
        other => other.clone(),
    }
}

fn shape_of_text(text: &str) -> String {
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (is_hex, text.parse::<Timestamp>()) {
        (true, _) => format!("<{} hex digits>", text.len()),
        (false, Ok(_)) => "<time>".to_owned(),
        (false, Err(_)) => "<text>".to_owned(),
    }
}

#[test]
fn only_what_differs_is_masked() {
    let mut mask = Mask::new(&["timings", "details.id"]);
    mask.replace("/tmp/x", "HOME");
    let now = Timestamp::now();
    let value = serde_json::json!({
        "id": "a", "at": now.as_microsecond(), "old": "2020-01-01T00:00:00Z", "n": 7,
        "key": format!("manual:{now}-77"), "timings": { "a": 1, "b": [2.5, null] },
        "details": { "id": "0f", "path": "/tmp/x/y" },
        "measures": [{ "measure": "latency_p95_ms", "value": 1.5, "target": 9 }],
    });
    let expected = serde_json::json!({
        "id": "a", "at": "<time>", "old": "2020-01-01T00:00:00Z", "n": 7,
        "key": "manual:<time>-<pid>", "timings": { "a": "<integer>", "b": ["<number>", null] },
        "details": { "id": "<2 hex digits>", "path": "HOME/y" },
        "measures": [{ "measure": "latency_p95_ms", "value": "<number>", "target": 9 }],
    });
    assert_eq!(mask.json(&value), expected);
}
