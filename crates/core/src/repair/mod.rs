//! JSON out of a model's reply, for models that can't be held to a schema.
//!
//! A reply is searched for its one object or array. What can be put right in one way only is put right
//! and told: prose or a fence around it, comments, commas at the end, quotes of other kinds, keys
//! without quotes, line breaks in strings, the literals of Python. What could mean two things is an
//! error: a reply that stops in the middle, two different objects, a key that stands twice.
//!
//! Promises: never panics; a text without mistakes gives what a strict parser gives and no repairs; time
//! grows with the length of the text, whatever it holds.
//!
//! Deliberately absent: filling in what is missing. A score that was cut off is no score.

mod parse;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::named;
use parse::{Failure, Parser};

/// How deep a reply may nest.
pub const DEPTH: usize = 64;

/// How often a text may be read over again in search of an object, on average.
const PASSES: usize = 64;

/// Something that was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// A Markdown fence around it.
    Fence,
    /// Words before or after it.
    Prose,
    /// A byte order mark or a blank that JSON does not know.
    Blank,
    Comment,
    /// A comma before a closing bracket.
    TrailingComma,
    SingleQuotes,
    SmartQuotes,
    /// A key without quotes.
    UnquotedKey,
    /// A line break, a tab or another control character inside a string.
    RawControl,
    /// A backslash before what needs none.
    Escape,
    /// `True`, `False` or `None`.
    PythonLiteral,
}

named! { Repair {
    Fence = "fence",
    Prose = "prose",
    Blank = "blank",
    Comment = "comment",
    TrailingComma = "trailing_comma",
    SingleQuotes = "single_quotes",
    SmartQuotes = "smart_quotes",
    UnquotedKey = "unquoted_key",
    RawControl = "raw_control",
    Escape = "escape",
    PythonLiteral = "python_literal",
} }

/// A reply that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// What it says: an object or an array.
    pub value: Value,
    /// What was put right, each once.
    pub repairs: BTreeSet<Repair>,
}

/// Why a reply can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// There is none in it.
    #[error("the reply holds no JSON object")]
    NoObject,
    /// It stops before it is whole.
    #[error("the reply is cut off: {what} that begins at byte {at} does not end")]
    Truncated {
        /// What has no end.
        what: &'static str,
        at: usize,
    },
    /// It is broken in a way that has more than one repair.
    #[error("the reply is not JSON: expected {expected} at byte {at}")]
    Malformed {
        /// What should stand there.
        expected: &'static str,
        at: usize,
    },
    /// Two objects that say different things.
    #[error("the reply holds different objects, at bytes {first} and {second}")]
    Ambiguous { first: usize, second: usize },
    /// An object with one key twice.
    #[error("the reply has the key {key:?} twice in one object, at byte {at}")]
    DuplicateKey {
        key: String,
        /// Where it stands again.
        at: usize,
    },
    /// It nests deeper than [`DEPTH`].
    #[error("the reply nests deeper than {DEPTH} levels at byte {at}")]
    TooDeep { at: usize },
    /// So many beginnings and no object.
    #[error("the reply begins too many objects that it does not go on with")]
    TooManyBeginnings,
}

/// The object or array of a reply.
pub fn json_object(text: &str) -> Result<Value, RepairError> {
    repair(text).map(|repaired| repaired.value)
}

/// The object or array of a reply, with what had to be put right.
pub fn repair(text: &str) -> Result<Repaired, RepairError> {
    let candidates = candidates(text)?;
    let chosen = choose(&candidates)?;
    let mut repairs = chosen.repairs.clone();
    repairs.extend(around(&text[..chosen.start]));
    repairs.extend(around(&text[chosen.end..]));
    Ok(Repaired { value: chosen.value.clone(), repairs })
}

/// A whole object or array of the text.
struct Candidate {
    start: usize,
    end: usize,
    value: Value,
    repairs: BTreeSet<Repair>,
}

impl Candidate {
    /// Whether it may be a part of the prose: a reference such as `[1]`, or a pair of brackets.
    fn is_weak(&self) -> bool {
        match &self.value {
            Value::Array(items) => !items.iter().any(|item| item.is_object() || item.is_array()),
            Value::Object(entries) => entries.is_empty(),
            _ => true,
        }
    }
}

/// Everything in the text that is an object or an array and not inside of another.
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

/// The one that is meant. Brackets of the prose count only if there is nothing else, and to say the
/// same twice is no contradiction.
fn choose(candidates: &[Candidate]) -> Result<&Candidate, RepairError> {
    let is_all_weak = candidates.iter().all(Candidate::is_weak);
    let mut meant = candidates.iter().filter(|candidate| is_all_weak || !candidate.is_weak());
    let first = meant.next().ok_or(RepairError::NoObject)?;
    match meant.find(|other| other.value != first.value) {
        Some(other) => Err(RepairError::Ambiguous { first: first.start, second: other.start }),
        None => Ok(first),
    }
}

/// What stands around an object.
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
