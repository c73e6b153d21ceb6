//! Paths into JSON: the part of JSONPath (RFC 9535) that says where a field is.
//!
//! `$.a.b[*].c`, `[3]`, `['any name']`. A path that is no path is refused when the settings are read.
//!
//! Deliberately absent: filters, slices, descent (`..`), functions. Where a field is must not depend on
//! what an answer holds.

use std::fmt;

use serde_json::Value;

/// The most steps a path has; no answer that is read is nested deeper.
const MOST_STEPS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Index(usize),
    All,
}

/// The path of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    steps: Vec<PathStep>,
}

impl Default for Path {
    /// `$`: the whole value.
    fn default() -> Self {
        Self { text: "$".to_owned(), steps: Vec::new() }
    }
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is no path: {reason}")]
pub struct PathError {
    pub path: String,
    /// The reason why the path is invalid.
    pub reason: String,
}

/// The error of a path lookup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Nothing has this name or number.
    #[error("there is no {0}")]
    Missing(String),
    /// The path goes through a value that is no object or list.
    #[error("{at} is {found}, not {wanted}")]
    Other { at: String, found: &'static str, wanted: &'static str },
}

impl Path {
    /// Parses a path such as `data.results[].id`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let failed = |reason: String| PathError { path: text.to_owned(), reason };
        let Some(mut rest) = text.strip_prefix('$') else {
            return Err(failed("it begins with `$`, which is the whole answer".to_owned()));
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest).map_err(failed)?;
            if steps.len() == MOST_STEPS {
                return Err(failed(format!("it has more than {MOST_STEPS} steps")));
            }
            steps.push(step);
            rest = after;
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The values that the path leads to, in order. Missing values are left out.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| go(step, value)).collect();
        }
        found
    }

    /// The first value it leads to that is not null.
    pub fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.find(value).into_iter().find(|found| !found.is_null())
    }

    /// The values that the path leads to, where all of them are required: a list may be empty, but
    /// not missing.
    pub fn all<'v>(&self, value: &'v Value) -> Result<Vec<&'v Value>, LookupError> {
        let mut found = vec![value];
        let mut at = "$".to_owned();
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                next.extend(must_go(step, value, &at)?);
            }
            at.push_str(&step.to_string());
            found = next;
        }
        Ok(found)
    }
}

fn go<'v>(step: &PathStep, value: &'v Value) -> Vec<&'v Value> {
    match step {
        PathStep::Name(name) => value.get(name).into_iter().collect(),
        PathStep::Index(index) => value.get(index).into_iter().collect(),
        PathStep::All => value.as_array().map(|items| items.iter().collect()).unwrap_or_default(),
    }
}

fn must_go<'v>(step: &PathStep, value: &'v Value, at: &str) -> Result<Vec<&'v Value>, LookupError> {
    let (is_right, wanted) = match step {
        PathStep::Name(_) => (value.is_object(), "an object"),
        PathStep::Index(_) | PathStep::All => (value.is_array(), "a list"),
    };
    if !is_right {
        return Err(LookupError::Other { at: at.to_owned(), found: kind_of(value), wanted });
    }
    let found = go(step, value);
    if found.is_empty() && *step != PathStep::All {
        return Err(LookupError::Missing(format!("{at}{step}")));
    }
    Ok(found)
}

/// The type of a value, in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The first step of a text that is not empty, and the rest.
fn step(text: &str) -> Result<(PathStep, &str), String> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '$');
        return match name {
            "" => Err("a name is missing after `.`".to_owned()),
            "*" => Ok((PathStep::All, after)),
            name if name.chars().all(is_plain) => Ok((PathStep::Name(name.to_owned()), after)),
            name => Err(format!("`{name}` must be written as ['{name}']")),
        };
    }
    let Some(rest) = text.strip_prefix('[') else {
        return Err(format!("`{text}` is no step; steps are .name, ['name'], [0] and [*]"));
    };
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, after) = quoted(&rest[1..], quote)?;
        let after = after.strip_prefix(']').ok_or("`]` is missing after a name")?;
        return Ok((PathStep::Name(name), after));
    }
    let (inside, after) = rest.split_once(']').ok_or("`]` is missing")?;
    match inside {
        "*" => Ok((PathStep::All, after)),
        digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let index = digits.parse().map_err(|_| format!("{digits} is too large"))?;
            Ok((PathStep::Index(index), after))
        }
        other => Err(format!("[{other}] is no step; in brackets are 'name', a number or *")),
    }
}

/// A name up to its closing quote; `\` takes the meaning from the next character.
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            c if c == quote => return Ok((name, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, escaped)) => name.push(escaped),
                None => break,
            },
            c => name.push(c),
        }
    }
    Err(format!("the closing {quote} is missing"))
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, ".{name}"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::All => f.write_str("[*]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(path: &str, expected: Value) {
        let answer = json!({
            "a": { "b": [{ "c": 1 }, { "c": null }, { "d": 2 }, { "c": 3 }] },
            "e": [[1, 2], [3]], "with space": 5, "it's": 6, "": 7, "ü": 8, "n": null,
        });
        let found: Vec<Value> =
            Path::parse(path).unwrap().find(&answer).into_iter().cloned().collect();
        assert_eq!(Value::Array(found), expected, "{path}");
    }

    #[test]
    fn paths_lead_to_values() {
        check("$.a.b[*].c", json!([1, null, 3]));
        check("$.a.b[3].c", json!([3]));
        check("$.a.b[9].c", json!([]));
        check("$.e[*][*]", json!([1, 2, 3]));
        check("$.e.*", json!([[1, 2], [3]]));
        check("$.e[1][0]", json!([3]));
        check("$['with space']", json!([5]));
        check("$[\"it's\"]", json!([6]));
        check(r"$['it\'s']", json!([6]));
        check("$['']", json!([7]));
        check("$.ü", json!([8]));
        check("$.nowhere.at.all", json!([]));
        check("$.n.x", json!([]));
    }

    #[test]
    fn invalid_paths_are_refused() {
        for bad in [
            "",
            "a",
            ".a",
            "$a",
            "$.",
            "$..a",
            "$.a.",
            "$[",
            "$[]",
            "$['a'",
            "$['a",
            "$[-1]",
            "$[1:2]",
            "$[?(@.x)]",
            "$.a b",
            "$ .a",
            "$[99999999999999999999]",
            r"$['a\",
            "$.a]",
        ] {
            assert!(Path::parse(bad).is_err(), "{bad}");
        }
        assert!(Path::parse(&format!("${}", ".a".repeat(65))).is_err());
        let error = Path::parse("$.my field").unwrap_err();
        assert_eq!(
            error.to_string(),
            r#""$.my field" is no path: `my field` must be written as ['my field']"#
        );
    }

    #[test]
    fn required_and_empty_fields_are_distinguished() {
        let check = |path: &str, answer: Value, expected: &str| {
            let path = Path::parse(path).unwrap();
            let found = path.all(&answer);
            let found = found.map_or_else(|error| error.to_string(), |all| all.len().to_string());
            assert_eq!(found, expected);
        };
        check("$.data[*]", json!({ "data": [] }), "0");
        check("$.data[*]", json!({ "data": [1, null] }), "2");
        check("$.data[*]", json!({}), "there is no $.data");
        check("$.data[*]", json!({ "data": null }), "$.data is null, not a list");
        check("$.data[*]", json!({ "data": { "x": 1 } }), "$.data is an object, not a list");
        check("$.data[*]", json!([]), "$ is a list, not an object");
        check("$.ids[0][*]", json!({ "ids": [] }), "there is no $.ids[0]");
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in "[$.\\[\\]'\"*a-c0-9 \\\\?]{0,24}") {
            let answer = json!({ "a": [{ "b": 1 }], "b": { "a": [2] } });
            if let Ok(path) = Path::parse(&text) {
                prop_assert_eq!(path.to_string(), text);
                let found = path.find(&answer);
                if let Ok(all) = path.all(&answer) {
                    prop_assert_eq!(all, found);
                }
            }
        }

        #[test]
        fn every_name_can_be_written(name in ".{0,12}") {
            let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
            let path = Path::parse(&format!("$['{escaped}']")).unwrap();
            let answer = json!({ name: true });
            prop_assert_eq!(path.find(&answer), vec![&Value::Bool(true)]);
        }
    }
}
