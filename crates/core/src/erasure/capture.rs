//! Captures: the pages of a ranking, with their sources, and the numbers of their passages.

use serde_json::{Map, Value};

use super::ErasedPage;
use crate::capture::chunk_number;

/// A capture without the page's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureErasure {
    /// The capture does not name the page.
    Unnamed,
    /// A scrubbed name in it was hashed under another key, so it is unknown whether it is the page.
    AnotherKey,
    /// The page was in it, and no longer is.
    Erased,
}

impl ErasedPage {
    /// Erases the page from a capture: an object with the columns and the members of `extra`, or one line of an
    /// export.
    pub fn erase_from_capture(&self, row: &mut Map<String, Value>) -> CaptureErasure {
        let key_id = row.get("identity_key_id").and_then(Value::as_str);
        let own_id = self.hash.as_ref().map(|hash| hash.key_id.as_str());
        let is_own_key = key_id.is_some() && key_id == own_id;
        let is_by_slug = row.get("retrieved").is_none_or(|pages| !pages.is_array());
        let mut is_changed = false;
        let mut has_unknown = false;
        for name in ["retrieved", "scrubbed_retrieved"] {
            let pages = row.get_mut(name).and_then(Value::as_array_mut);
            for page in pages.into_iter().flatten().filter_map(Value::as_object_mut) {
                let is_hashed = page.get("key_hash").is_some_and(Value::is_string);
                if self.is_captured(page, is_own_key) {
                    page.insert("slug".to_owned(), self.pseudonym().into());
                    page.shift_remove("key_hash");
                    is_changed = true;
                } else {
                    has_unknown |= is_hashed && !is_own_key;
                }
            }
        }
        is_changed |= match is_by_slug {
            true => self.captured_slugs(row),
            false if is_changed => self.copy_slugs(row),
            false => false,
        };
        is_changed |= self.captured_chunks(row);
        match (is_changed, has_unknown) {
            (true, _) => CaptureErasure::Erased,
            (false, true) => CaptureErasure::AnotherKey,
            (false, false) => CaptureErasure::Unnamed,
        }
    }

    fn is_captured(&self, page: &Map<String, Value>, is_own_key: bool) -> bool {
        let text = |name: &str| page.get(name).and_then(Value::as_str);
        match text("key_hash") {
            Some(hash) => is_own_key && self.hash.as_ref().is_some_and(|own| own.hash == hash),
            None => {
                text("source_id") == Some(self.key.source.as_str())
                    && text("slug") == Some(self.key.slug.as_str())
            }
        }
    }

    /// The slugs of a row with sources: those of its pages, each once.
    fn copy_slugs(&self, row: &mut Map<String, Value>) -> bool {
        let slug = |page: &Value| page.get("slug").cloned();
        let pages = row.get("retrieved").and_then(Value::as_array);
        let mut slugs: Vec<Value> = Vec::new();
        for slug in pages.into_iter().flatten().filter_map(slug) {
            if !slugs.contains(&slug) {
                slugs.push(slug);
            }
        }
        row.insert("retrieved_slugs".to_owned(), slugs.into());
        true
    }

    /// The slugs of a row that does not say whose they are: the slug is the page's if its source is one of the row's
    /// and no other source of the row can have it.
    fn captured_slugs(&self, row: &mut Map<String, Value>) -> bool {
        let sources = row.get("source_ids").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_own = |source: &Value| source.as_str() == Some(self.key.source.as_str());
        let may_be_own = sources.is_empty() || sources.iter().any(is_own);
        let is_sole = sources.iter().all(is_own);
        if !may_be_own
            || !(is_sole && !sources.is_empty() || self.is_document(self.key.slug.as_str()))
        {
            return false;
        }
        let slugs = row.get_mut("retrieved_slugs").and_then(Value::as_array_mut);
        let mut is_changed = false;
        for slug in slugs.into_iter().flatten() {
            if slug.as_str() == Some(self.key.slug.as_str()) {
                *slug = self.pseudonym().into();
                is_changed = true;
            }
        }
        is_changed
    }

    /// Zero replaces the number of an erased passage.
    fn captured_chunks(&self, row: &mut Map<String, Value>) -> bool {
        let numbers: Vec<u64> = self.chunk_ids.iter().map(|id| chunk_number(id)).collect();
        let chunks = row.get_mut("retrieved_chunk_ids").and_then(Value::as_array_mut);
        let mut is_changed = false;
        for chunk in chunks.into_iter().flatten() {
            if chunk.as_u64().is_some_and(|number| numbers.contains(&number)) {
                *chunk = 0.into();
                is_changed = true;
            }
        }
        is_changed
    }
}
