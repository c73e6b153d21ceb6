//! Formats one event as one line.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::Level;

use super::{LogFields, LogFormat};

pub(super) enum LogLine {
    Text { head: String, spans: String },
    Json { object: Map<String, Value>, spans: Vec<Value> },
}

impl LogLine {
    pub(super) fn new(format: LogFormat, at: Timestamp, level: Level, target: &str) -> Self {
        match format {
            LogFormat::Text => {
                let head = format!("{at:.6} {level:>5} {}:", escaped(target));
                Self::Text { head, spans: String::new() }
            }
            LogFormat::Json => {
                let mut object = Map::new();
                object.insert("timestamp".to_owned(), format!("{at:.6}").into());
                object.insert("level".to_owned(), level.as_str().to_ascii_lowercase().into());
                object.insert("target".to_owned(), target.into());
                Self::Json { object, spans: Vec::new() }
            }
        }
    }

    pub(super) fn fields(&mut self, fields: &LogFields) {
        match self {
            Self::Text { head, .. } => {
                if let Some(message) = &fields.message {
                    let _ = write!(head, " {}", escaped(message));
                }
                write_pairs(head, " ", fields);
            }
            Self::Json { object, .. } => {
                if let Some(message) = &fields.message {
                    object.insert("message".to_owned(), message.as_str().into());
                }
                if !fields.named.is_empty() {
                    object.insert("fields".to_owned(), object_of(fields).into());
                }
            }
        }
    }

    /// Adds an enclosing span; called outermost first.
    pub(super) fn span(&mut self, name: &str, fields: &LogFields) {
        match self {
            Self::Text { spans, .. } => {
                let _ = write!(spans, " {}{{", escaped(name));
                write_pairs(spans, "", fields);
                spans.push('}');
            }
            Self::Json { spans, .. } => {
                let mut object = Map::new();
                object.insert("name".to_owned(), name.into());
                object.extend(object_of(fields));
                spans.push(object.into());
            }
        }
    }

    /// The finished line with its newline.
    pub(super) fn finish(self) -> String {
        match self {
            Self::Text { head, spans } if spans.is_empty() => format!("{head}\n"),
            Self::Text { head, spans } => format!("{head} in{spans}\n"),
            Self::Json { mut object, spans } => {
                if !spans.is_empty() {
                    object.insert("spans".to_owned(), spans.into());
                }
                format!("{}\n", ascii_controls(&Value::from(object).to_string()))
            }
        }
    }
}

fn object_of(fields: &LogFields) -> Map<String, Value> {
    fields.named.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn write_pairs(out: &mut String, before: &str, fields: &LogFields) {
    for (n, (name, value)) in fields.named.iter().enumerate() {
        let before = if n == 0 { before } else { " " };
        let _ = write!(out, "{before}{name}=");
        match value.as_str() {
            Some(text) if is_a_word(text) => out.push_str(text),
            Some(text) => write_quoted(out, text),
            None => out.push_str(&value.to_string()),
        }
    }
}

/// Whether a value is unambiguous without quotes.
fn is_a_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.:/+@%".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c => push_escaped(out, c),
        }
    }
    out.push('"');
}

/// Escapes text so that it stays on one line and sends no control sequence to a terminal.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(&mut out, c));
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if moves_the_cursor(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Escapes control characters that JSON allows; they occur only inside strings.
fn ascii_controls(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match moves_the_cursor(c) {
            true => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            false => out.push(c),
        }
    }
    out
}

/// Control characters, line and paragraph separators, and bidirectional marks. All are below
/// U+10000, so four hex digits suffice.
fn moves_the_cursor(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
