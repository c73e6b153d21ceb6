//! Erasing one page's name and text from records that hold other things too.
//!
//! A purged page is named in captures, logs, reports, judgements and baselines. These records stay: they are
//! evidence of what was measured. In them the name of the page becomes a pseudonym that no page can have and that
//! is the same everywhere, so ranks, counts and verdicts are what they were.
//!
//! Promises: names are compared as identifiers, never as parts of words: a page whose slug is a
//! word, a letter or the beginning of another slug takes nothing else along. A record that does not
//! name the page gives `None` and stays unchanged.
//!
//! Deliberately absent: reading and writing the records, and the texts that people typed as
//! questions.

mod baseline;
mod capture;
mod contradictions;
mod counts;
mod names;
mod qrels;
mod query;

use serde_json::Value;

pub use baseline::{BaselineErasure, BaselineSeal};
pub use capture::CaptureErasure;
pub use counts::ErasureCounts;
pub use names::{ErasedPage, ErasedPageParts, IdentityHash, PURGED};
pub use qrels::QrelsErasure;
pub use query::QueryErasure;

impl ErasedPage {
    /// A record without the page's name: a JSON text in which every string is looked at, or a plain text. `None` if it
    /// does not name the page.
    pub fn record(&self, text: &str) -> Option<String> {
        match serde_json::from_str::<Value>(text) {
            Ok(mut value) => self.replace_in_strings(&mut value).then(|| value.to_string()),
            Err(_) => self.replace_name(text),
        }
    }

    /// Replaces the name in every string of a value; whether there was one.
    fn replace_in_strings(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.replace_name(text) {
                Some(erased) => {
                    *text = erased;
                    true
                }
                None => false,
            },
            Value::Array(values) => {
                values.iter_mut().fold(false, |found, value| self.replace_in_strings(value) | found)
            }
            Value::Object(fields) => {
                let is_named = |key: &&String| self.identifier(key).is_some();
                let named: Vec<String> = fields.keys().filter(is_named).cloned().collect();
                for key in &named {
                    if let (Some(erased), Some(value)) =
                        (self.identifier(key), fields.shift_remove(key))
                    {
                        fields.insert(erased, value);
                    }
                }
                let values = fields.values_mut();
                values
                    .fold(!named.is_empty(), |found, value| self.replace_in_strings(value) | found)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Whether the specification of an import brings the page.
    pub fn is_in_import(&self, spec: &str) -> bool {
        let spec: Value = serde_json::from_str(spec).unwrap_or_default();
        let source = spec.get("source").and_then(Value::as_str).unwrap_or("default");
        let pages = spec.get("pages").and_then(Value::as_array);
        let slug = |page: &Value| page.get("slug").and_then(Value::as_str).map(str::to_owned);
        pages.into_iter().flatten().filter_map(slug).any(|slug| self.is_named_in(source, &slug))
    }
}

#[cfg(test)]
mod tests;
