//! Extracts JSON from the replies of models that do not enforce a schema.
//!
//! A reply is searched for its only object or array. Mistakes with exactly one plausible repair are
//! repaired and reported: prose or a fence around the JSON, comments, trailing commas, other kinds
//! of quotes, unquoted keys, raw line breaks in strings, Python literals. Ambiguous replies are
//! errors: a truncated reply, two different objects, a duplicate key.
//!
//! Guarantees: never panics; valid JSON gives the same value as a strict parser and no repairs; run
//! time is linear in the length of the text.
//!
//! Not here: filling in missing values. A truncated score is not a score.

mod parse;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::named;
use parse::{Failure, Parser};

/// Maximum depth of nested values.
pub const DEPTH: usize = 64;

/// Average number of times a text may be scanned in search of an object.
const PASSES: usize = 64;

named! {
    /// A repair that was applied.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Repair {
        /// A Markdown fence around the JSON.
        Fence = "fence",
        /// Words before or after the JSON.
        Prose = "prose",
        /// A byte order mark, or whitespace that JSON does not allow.
        Blank = "blank",
        Comment = "comment",
        /// A comma before a closing bracket.
        TrailingComma = "trailing_comma",
        SingleQuotes = "single_quotes",
        SmartQuotes = "smart_quotes",
        /// A key without quotes.
        UnquotedKey = "unquoted_key",
        /// A line break, a tab or another control character inside a string.
        RawControl = "raw_control",
        /// An unnecessary backslash was removed.
        Escape = "escape",
        /// `True`, `False` or `None`.
        PythonLiteral = "python_literal",
    }
}

/// The JSON of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairedJson {
    /// An object or an array.
    pub value: Value,
    /// The repairs that were applied.
    pub repairs: BTreeSet<Repair>,
}

/// Why a reply gives no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    #[error("the reply contains no JSON object")]
    NoObject,
    #[error("the reply is cut off: {what} that begins at byte {at} does not end")]
    Truncated { what: &'static str, at: usize },
    /// Invalid JSON without an unambiguous repair.
    #[error("the reply is not JSON: expected {expected} at byte {at}")]
    Malformed { expected: &'static str, at: usize },
    /// The reply contains two different objects.
    #[error("the reply contains different objects, at bytes {first} and {second}")]
    Ambiguous { first: usize, second: usize },
    #[error("the reply has the key {key:?} twice in one object, at byte {at}")]
    DuplicateKey {
        key: String,
        /// Position of the second occurrence.
        at: usize,
    },
    /// The nesting is deeper than [`DEPTH`].
    #[error("the reply nests deeper than {DEPTH} levels at byte {at}")]
    TooDeep { at: usize },
    /// Too many opening brackets without an object.
    #[error("the reply opens too many objects that it does not complete")]
    TooManyBeginnings,
}

/// Extracts the object or array of a reply.
pub fn json_object(text: &str) -> Result<Value, RepairError> {
    repair(text).map(|repaired| repaired.value)
}

/// Extracts the object or array of a reply, with the repairs that were applied.
pub fn repair(text: &str) -> Result<RepairedJson, RepairError> {
    let candidates = candidates(text)?;
    let chosen = choose(&candidates)?;
    let mut repairs = chosen.repairs.clone();
    repairs.extend(around(&text[..chosen.start]));
    repairs.extend(around(&text[chosen.end..]));
    Ok(RepairedJson { value: chosen.value.clone(), repairs })
}

/// A complete object or array in the text.
struct Candidate {
    start: usize,
    end: usize,
    value: Value,
    repairs: BTreeSet<Repair>,
}

impl Candidate {
    /// Whether it may be part of the prose: a reference such as `[1]`, or an empty pair of
    /// brackets.
    fn is_weak(&self) -> bool {
        match &self.value {
            Value::Array(items) => !items.iter().any(|item| item.is_object() || item.is_array()),
            Value::Object(entries) => entries.is_empty(),
            _ => true,
        }
    }
}

/// All objects and arrays of the text that are not inside another.
fn candidates(text: &str) -> Result<Vec<Candidate>, RepairError> {
    let mut found = Vec::new();
    let mut cut_off = None;
    let (mut from, mut read) = (0, 0);
    while let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) {
        let mut parser = Parser::new(text, start);
        match parser.container() {
            Ok(value) => {
                let (end, repairs) = parser.finish();
                found.push(Candidate { start, end, value, repairs });
                from = end;
            }
            Err(Failure::Prose) => from = start + 1,
            Err(Failure::ProseToTheEnd) => {
                cut_off.get_or_insert(start);
                from = start + 1;
            }
            Err(Failure::Broken(error)) => return Err(error),
        }
        read += parser.position() - start;
        if read > PASSES * (text.len() + PASSES) {
            return Err(RepairError::TooManyBeginnings);
        }
    }
    match cut_off {
        Some(at) if found.is_empty() => Err(RepairError::Truncated { what: "an object", at }),
        _ => Ok(found),
    }
}

/// Chooses the intended candidate. Weak candidates count only if there is no other, and equal
/// candidates are not ambiguous.
fn choose(candidates: &[Candidate]) -> Result<&Candidate, RepairError> {
    let is_all_weak = candidates.iter().all(Candidate::is_weak);
    let mut meant = candidates.iter().filter(|candidate| is_all_weak || !candidate.is_weak());
    let first = meant.next().ok_or(RepairError::NoObject)?;
    match meant.find(|other| other.value != first.value) {
        Some(other) => Err(RepairError::Ambiguous { first: first.start, second: other.start }),
        None => Ok(first),
    }
}

/// The repairs that skipping the text around an object amounts to.
fn around(text: &str) -> BTreeSet<Repair> {
    let mut repairs = BTreeSet::new();
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    if text.chars().any(|c| is_blank(c) && !parse::is_json_blank(c)) {
        repairs.insert(Repair::Blank);
    }
    let mut lines = text.lines().map(|line| line.trim_matches(is_blank)).filter(|l| !l.is_empty());
    if text.contains("```") {
        repairs.insert(Repair::Fence);
    }
    if lines.any(|line| !line.starts_with("```")) {
        repairs.insert(Repair::Prose);
    }
    repairs
}

#[cfg(test)]
mod tests;
