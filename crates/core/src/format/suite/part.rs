//! A part of a file of suites: what it says, and on which lines.

use serde_json::{Map, Value};

use crate::yaml::{self, Node};

/// A table with the lines of its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) node: &'a Node,
    pub(super) value: &'a Map<String, Value>,
}

impl<'a> Part<'a> {
    /// What stands behind a key; the table itself where the key is not there.
    pub(super) fn node_of(&self, key: &str) -> &'a Node {
        self.node.get(&[key]).unwrap_or(self.node)
    }

    /// The line of a key; that of the table where it is not there.
    pub(super) fn line_of(&self, key: &str) -> usize {
        let yaml::Value::Map(entries) = &self.node.value else { return self.node.line };
        let is_it = |(name, _): &&(Node, Node)| name.text() == Some(key);
        entries.iter().find(is_it).map_or(self.node.line, |(name, _)| name.line)
    }

    /// The line of what a message about a key quotes: a key or a text below it, else the key itself.
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

/// Reads a table, or says what is wrong with it.
pub(super) type Reader<'a> = dyn Fn(&Map<String, Value>) -> Result<(), String> + 'a;

/// Something that a reader stumbled over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The key that it is in; none if something is missing.
    pub(super) key: Option<String>,
    pub(super) reason: String,
}

/// Everything that a reader stumbles over in a table. A key is to blame if the reader says something else
/// without it; then it is left out, or something good stands in for it, and the rest is read.
pub(super) fn faults(
    mut table: Map<String, Value>,
    stand_ins: &[(&str, Value)],
    read: &Reader<'_>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    // Each round takes a key away or puts one in.
    for _ in 0..table.len() + stand_ins.len() + 1 {
        let Err(reason) = read(&table) else { break };
        // What something stands in for is blamed last: without it much is otherwise.
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
        faults.push(Fault { key, reason });
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
