//! Assertions about an answer.

use gbrain_core::yaml::{Node, Value};
use regex::Regex;

use super::words::words;
use super::yml::{self, FlatError, map, number, scalar, texts};

/// One requirement for an answer.
#[derive(Debug, Clone)]
pub enum Assertion {
    /// The answer contains the text.
    Contains(String),
    /// The answer does not contain the text.
    NotContains(String),
    /// The answer contains at least one of the texts.
    ContainsAny(Vec<String>),
    /// The answer contains all of the texts.
    ContainsAll(Vec<String>),
    /// The answer matches the pattern.
    Matches(Regex),
    /// The answer does not match the pattern.
    NotMatches(Regex),
    /// The answer has at least this many words.
    MinTokens(u64),
    /// The answer has at most this many words.
    MaxTokens(u64),
}

/// A message about a requirement that was not met.
pub type Failure = String;

const OPS: [&str; 8] = [
    "contains",
    "not_contains",
    "contains_any",
    "contains_all",
    "matches",
    "not_matches",
    "min_tokens",
    "max_tokens",
];

impl Assertion {
    /// Parses a map of requirements, or a list of such maps.
    pub(super) fn parse_all(node: &Node) -> Result<Vec<Self>, FlatError> {
        let maps = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut assertions = Vec::new();
        for node in maps {
            for (op, value) in map(node, "assert")? {
                assertions.push(Self::parse(&op, value)?);
            }
        }
        match assertions.is_empty() {
            true => Err(FlatError::new(node.line, "`assert` demands nothing")),
            false => Ok(assertions),
        }
    }

    fn parse(op: &str, node: &Node) -> Result<Self, FlatError> {
        let text = || match scalar(node, op)? {
            // Every answer contains the empty text, so the assertion could never fail, or never
            // pass.
            text if text.is_empty() => {
                Err(FlatError::new(node.line, format!("`{op}` has no text")))
            }
            text => Ok(text),
        };
        Ok(match op {
            "contains" => Self::Contains(text()?),
            "not_contains" => Self::NotContains(text()?),
            "contains_any" => Self::ContainsAny(some_texts(node, op)?),
            "contains_all" => Self::ContainsAll(some_texts(node, op)?),
            "matches" => Self::Matches(pattern(&text()?, node)?),
            "not_matches" => Self::NotMatches(pattern(&text()?, node)?),
            "min_tokens" => Self::MinTokens(number(node, op)?),
            "max_tokens" => Self::MaxTokens(number(node, op)?),
            "json_schema" => {
                return Err(FlatError::new(node.line, "`json_schema` is not implemented"));
            }
            _ => return Err(yml::unknown(node, op, &OPS)),
        })
    }

    /// Describes how an answer fails; `None` if it passes.
    pub fn check(&self, answer: &str) -> Option<Failure> {
        let has = |text: &String| answer.contains(text.as_str());
        let (holds, demand) = match self {
            Self::Contains(text) => (has(text), format!("does not contain `{text}`")),
            Self::NotContains(text) => (!has(text), format!("contains `{text}`")),
            Self::ContainsAny(texts) => {
                (texts.iter().any(has), format!("contains none of `{}`", texts.join("`, `")))
            }
            Self::ContainsAll(texts) => {
                let missing: Vec<&str> =
                    texts.iter().filter(|text| !has(text)).map(String::as_str).collect();
                (missing.is_empty(), format!("does not contain `{}`", missing.join("`, `")))
            }
            Self::Matches(pattern) => {
                (pattern.is_match(answer), format!("does not match /{pattern}/"))
            }
            Self::NotMatches(pattern) => {
                (!pattern.is_match(answer), format!("matches /{pattern}/"))
            }
            Self::MinTokens(least) => {
                let count = words(answer.as_bytes());
                (count >= *least, format!("has {count} words, fewer than {least}"))
            }
            Self::MaxTokens(most) => {
                let count = words(answer.as_bytes());
                (count <= *most, format!("has {count} words, more than {most}"))
            }
        };
        (!holds).then(|| format!("the answer {demand}"))
    }
}

fn some_texts(node: &Node, op: &str) -> Result<Vec<String>, FlatError> {
    let texts = texts(node, op)?;
    match texts.is_empty() || texts.iter().any(String::is_empty) {
        true => Err(FlatError::new(node.line, format!("`{op}` is a list of texts, none empty"))),
        false => Ok(texts),
    }
}

fn pattern(text: &str, node: &Node) -> Result<Regex, FlatError> {
    Regex::new(text).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        FlatError::new(node.line, format!("`{text}` is not a pattern: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Assertion>, FlatError> {
        Assertion::parse_all(&yml::parse(text).unwrap())
    }

    #[track_caller]
    fn check(text: &str, answer: &str, expected: Option<&str>) {
        let failures: Vec<_> =
            parse(text).unwrap().iter().filter_map(|assertion| assertion.check(answer)).collect();
        assert_eq!(failures.first().map(String::as_str), expected, "{text}");
    }

    #[test]
    fn each_demand() {
        check("contains: Ada", "Hello Ada", None);
        check("contains: ada", "Hello Ada", Some("the answer does not contain `ada`"));
        check("not_contains: Ada", "Hello Ada", Some("the answer contains `Ada`"));
        check("contains_any: [x, Ada]", "Hello Ada", None);
        check("contains_any: [x, y]", "Hello", Some("the answer contains none of `x`, `y`"));
        check("contains_all: [Hello, y]", "Hello", Some("the answer does not contain `y`"));
        check("matches: '^H.*a$'", "Hello Ada", None);
        check("not_matches: H", "Hello", Some("the answer matches /H/"));
        check("min_tokens: 3", "two words", Some("the answer has 2 words, fewer than 3"));
        check(
            "- max_tokens: 1\n- contains: two",
            "two words",
            Some("the answer has 2 words, more than 1"),
        );
    }

    #[test]
    fn assertions_that_cannot_fail_are_refused() {
        for text in [
            "{}",
            "[]",
            "contains: ''",
            "contains_any: []",
            "matches: '('",
            "json_schema: {}",
            "contain: x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("json_schema: {}").unwrap_err().to_string(),
            "line 1: `json_schema` is not implemented"
        );
    }
}
