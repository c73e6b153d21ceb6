//! A mapping of a suites file with the lines of its keys.

use serde_json::{Map, Value};

use crate::yaml::{self, Node};

/// A table with the lines of its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) node: &'a Node,
    pub(super) value: &'a Map<String, Value>,
}

impl<'a> Part<'a> {
    /// The value of a key, or the mapping itself if the key is missing.
    pub(super) fn node_of(&self, key: &str) -> &'a Node {
        self.node.get(&[key]).unwrap_or(self.node)
    }

    /// The line of a key, or that of the mapping if the key is missing.
    pub(super) fn line_of(&self, key: &str) -> usize {
        let yaml::Value::Map(entries) = &self.node.value else { return self.node.line };
        let is_it = |(name, _): &&(Node, Node)| name.text() == Some(key);
        entries.iter().find(is_it).map_or(self.node.line, |(name, _)| name.line)
    }

    /// The line of the key or text that a message quotes below a key, else the line of the key
    /// itself.
    pub(super) fn line_in(&self, key: &str, message: &str) -> usize {
        let Some(below) = self.node.get(&[key]) else { return self.node.line };
        let quoted = message.split('`').skip(1).step_by(2);
        let mut lines =
            quoted.filter(|word| *word != key).filter_map(|word| line_of_word(below, word));
        lines.next().unwrap_or_else(|| self.line_of(key))
    }
}

fn line_of_word(node: &Node, word: &str) -> Option<usize> {
    match &node.value {
        yaml::Value::Null => None,
        yaml::Value::Text(text) => (text == word).then_some(node.line),
        yaml::Value::List(items) => items.iter().find_map(|item| line_of_word(item, word)),
        yaml::Value::Map(entries) => entries.iter().find_map(|(key, value)| {
            if key.text() == Some(word) { Some(key.line) } else { line_of_word(value, word) }
        }),
    }
}

/// Parses a mapping, or says what is wrong with it.
pub(super) type ParseMapping<'a> = dyn Fn(&Map<String, Value>) -> Result<(), String> + 'a;

/// A parse error with the key that caused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyError {
    /// The key at fault; none if something is missing.
    pub(super) key: Option<String>,
    pub(super) reason: String,
}

/// All errors in a mapping. A key is at fault if the error changes without it. It is then removed,
/// or replaced by a valid value, and the rest is parsed again.
pub(super) fn faults(
    mut table: Map<String, Value>,
    stand_ins: &[(&str, Value)],
    read: &ParseMapping<'_>,
) -> Vec<KeyError> {
    let mut faults = Vec::new();
    // Each iteration removes a key or replaces one.
    for _ in 0..table.len() + stand_ins.len() + 1 {
        let Err(reason) = read(&table) else { break };
        // Keys with a replacement value are tested last, because many other errors depend on them.
        let mut keys: Vec<String> = table.keys().cloned().collect();
        keys.sort_by_key(|key| stand_ins.iter().any(|(name, _)| name == key));
        let is_other = |tried: &Map<String, Value>| read(tried).err().as_ref() != Some(&reason);
        let blamed = keys.into_iter().find_map(|key| {
            let tried = without(&table, &key, stand_ins);
            is_other(&tried).then_some((Some(key), tried))
        });
        let found = blamed.or_else(|| {
            stand_ins.iter().find_map(|(key, value)| {
                let mut tried = table.clone();
                tried.insert((*key).to_owned(), value.clone());
                is_other(&tried).then_some((None, tried))
            })
        });
        let (key, rest) = match found {
            Some((key, rest)) => (key, Some(rest)),
            None => (None, None),
        };
        faults.push(KeyError { key, reason });
        match rest {
            Some(rest) => table = rest,
            None => break,
        }
    }
    faults
}

fn without(
    table: &Map<String, Value>,
    key: &str,
    stand_ins: &[(&str, Value)],
) -> Map<String, Value> {
    let mut rest = table.clone();
    match stand_ins.iter().find(|(name, _)| *name == key) {
        Some((_, value)) => rest.insert(key.to_owned(), value.clone()),
        None => rest.shift_remove(key),
    };
    rest
}
