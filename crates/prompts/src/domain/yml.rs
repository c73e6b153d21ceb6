//! Reads the prompts' YAML files: known keys only, and scalars as text.

use gbrain_core::yaml::{self, Node, Value};

/// The reason that a file of inputs is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct FlatError {
    /// The line number, from 1.
    pub line: usize,
    pub reason: String,
}

impl FlatError {
    pub(super) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

/// Parses `key: scalar` pairs. An empty file has none; a nested value is an error.
pub fn flat(text: &str) -> Result<Vec<(String, String)>, FlatError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    flat_map(&parse(text)?)
}

pub(super) fn parse(text: &str) -> Result<Node, FlatError> {
    yaml::parse(text).map_err(|error| FlatError::new(error.line, error.reason))
}

/// The pairs of a map of scalars.
pub(super) fn flat_map(node: &Node) -> Result<Vec<(String, String)>, FlatError> {
    let entries = map(node, "inputs")?;
    entries.iter().map(|(key, value)| Ok((key.clone(), scalar(value, key)?))).collect()
}

/// The entries of a map, with keys that are texts.
pub(super) fn map<'n>(node: &'n Node, what: &str) -> Result<Vec<(String, &'n Node)>, FlatError> {
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| match key.text() {
                Some(name) => Ok((name.to_owned(), value)),
                None => Err(FlatError::new(key.line, format!("a key of {what} is not a text"))),
            })
            .collect(),
        _ => Err(FlatError::new(node.line, format!("{what} is a map of keys to values"))),
    }
}

/// The text of a scalar; a missing value is an empty text.
pub(super) fn scalar(node: &Node, key: &str) -> Result<String, FlatError> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        _ => {
            Err(FlatError::new(node.line, format!("`{key}` is nested; only plain values are read")))
        }
    }
}

/// The items of a list; a missing value is an empty list.
pub(super) fn items<'n>(node: &'n Node, key: &str) -> Result<&'n [Node], FlatError> {
    match &node.value {
        Value::Null => Ok(&[]),
        Value::List(items) => Ok(items),
        _ => Err(FlatError::new(node.line, format!("`{key}` is a list"))),
    }
}

/// A list of texts.
pub(super) fn texts(node: &Node, key: &str) -> Result<Vec<String>, FlatError> {
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => items.iter().map(|item| scalar(item, key)).collect(),
        _ => Err(FlatError::new(node.line, format!("`{key}` is a list of texts"))),
    }
}

pub(super) fn number(node: &Node, key: &str) -> Result<u64, FlatError> {
    let text = scalar(node, key)?;
    text.parse()
        .map_err(|_| FlatError::new(node.line, format!("`{key}` is a whole number, not `{text}`")))
}

/// A boolean, in the spellings of YAML 1.1.
pub(super) fn truth(node: &Node, key: &str) -> Result<bool, FlatError> {
    let text = scalar(node, key)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(FlatError::new(node.line, format!("`{key}` is true or false, not `{text}`"))),
    }
}

/// The error for an unknown key.
pub(super) fn unknown(node: &Node, key: &str, known: &[&str]) -> FlatError {
    FlatError::new(node.line, format!("unknown key `{key}`; known are {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_spelling() {
        let pairs = flat("a: 1.10\nb: no\nc: |\n  two\n  lines\nd:\n").unwrap();
        let expected = [("a", "1.10"), ("b", "no"), ("c", "two\nlines\n"), ("d", "")];
        assert_eq!(pairs, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(flat(" \n").unwrap(), []);
        assert_eq!(flat("# nothing\n").unwrap(), []);
    }

    #[test]
    fn nested_values_are_refused() {
        let check = |text: &str| flat(text).unwrap_err().to_string();
        assert_eq!(check("a:\n  b: 1\n"), "line 2: `a` is nested; only plain values are read");
        assert_eq!(check("a: [1]\n"), "line 1: `a` is nested; only plain values are read");
        assert_eq!(check("- a\n"), "line 1: inputs is a map of keys to values");
        assert!(flat("a: 1\na: 2\n").is_err());
    }
}
