//! Canonical queries: a key of the page goes, the query stays while it has another.

use serde_json::{Map, Value};

use super::ErasedPage;

/// A canonical query without the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryErasure {
    /// The query without the page, as JSON.
    pub body: String,
    /// Whether it has no key left: then suites can't ask it.
    pub is_retired: bool,
}

impl ErasedPage {
    /// A canonical query without the page's keys and snippets. `is_in_page` says whether a snippet stands in a page that
    /// one of the given keys names. `None` if the query does not name the page.
    pub fn erase_from_query(
        &self,
        body: &str,
        is_in_page: &dyn Fn(&[String], &str) -> bool,
    ) -> Option<QueryErasure> {
        let mut query: Value = serde_json::from_str(body).ok()?;
        let fields = query.as_object_mut()?;
        let mut is_changed = false;
        for name in ["expected", "acceptable"] {
            is_changed |= retain(fields, name, |key| !self.is_answer_key(key));
        }
        is_changed |= retain(fields, "entities", |entity| {
            !entity.as_str().is_some_and(|entity| self.is_own_name(entity))
        });
        if !is_changed {
            return None;
        }
        let left = documents(fields);
        let is_retired =
            !["expected", "acceptable", "entities"].iter().any(|name| has(fields, name));
        retain(fields, "expected_snippets", |snippet| {
            let text = snippet.as_str().or_else(|| snippet.get("text").and_then(Value::as_str));
            let text = text.unwrap_or_default();
            !is_retired && (!self.contains_text(text) || is_in_page(&left, text))
        });
        if is_retired && fields.contains_key("state") {
            fields.insert("state".to_owned(), "retired".into());
        }
        Some(QueryErasure { body: query.to_string(), is_retired })
    }

    fn is_answer_key(&self, key: &Value) -> bool {
        let kind = key.get("kind").and_then(Value::as_str).unwrap_or("document");
        let id = key.as_str().or_else(|| key.get("id").and_then(Value::as_str));
        id.is_some_and(|id| match kind {
            "document" => self.is_document(id),
            _ => self.identifier(id).is_some(),
        })
    }
}

/// Whether a list of a query has anything in it.
fn has(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Drops what is not to be kept of a list; whether there was any. A list that was there stays, if empty.
fn retain(fields: &mut Map<String, Value>, name: &str, keep: impl Fn(&Value) -> bool) -> bool {
    let Some(list) = fields.get_mut(name).and_then(Value::as_array_mut) else { return false };
    let before = list.len();
    list.retain(keep);
    list.len() < before
}

/// The documents that are still keys of a query.
fn documents(fields: &Map<String, Value>) -> Vec<String> {
    let lists =
        ["expected", "acceptable"].into_iter().filter_map(|name| fields.get(name)?.as_array());
    let id = |key: &Value| key.as_str().or_else(|| key.get("id")?.as_str()).map(str::to_owned);
    lists.flatten().filter_map(id).collect()
}
