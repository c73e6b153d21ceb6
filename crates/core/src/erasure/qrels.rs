//! Stored qrels: the judgement of the page goes; a query that has no other relevant page keeps a pseudonym in its
//! place, so that it can't pass before a person has edited it.

use serde_json::{Map, Value};

use super::ErasedPage;
use crate::qrels::DEFAULT_SOURCE;

/// Qrels without the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QrelsErasure {
    pub text: String,
    /// Queries that have no relevant page left.
    pub without_answer: u64,
}

/// The lists of an entry that name pages, and how.
const LISTS: [&str; 2] = ["relevant", "relevant_slugs"];
const FIRSTS: [&str; 2] = ["expected_top1", "first_relevant_slug"];

impl ErasedPage {
    /// Qrels of any shape without the page. `None` if they do not judge it.
    pub fn erase_from_qrels(&self, text: &str) -> Option<QrelsErasure> {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.json_qrels(value, text.trim_end().contains('\n')),
            Err(_) => self.table_qrels(text),
        }
    }

    fn json_qrels(&self, mut value: Value, is_pretty: bool) -> Option<QrelsErasure> {
        let entries = match &mut value {
            Value::Array(entries) => Some(entries),
            Value::Object(file) => file.get_mut("queries").and_then(Value::as_array_mut),
            _ => None,
        }?;
        let mut is_changed = false;
        let mut without_answer = 0;
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            let (was_named, is_unanswered) = self.entry(entry);
            is_changed |= was_named;
            without_answer += u64::from(is_unanswered);
        }
        let write = if is_pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        let text = write(&value).ok().filter(|_| is_changed)?;
        Some(QrelsErasure { text, without_answer })
    }

    /// Whether an entry judged the page, and whether it has no other answer.
    fn entry(&self, entry: &mut Map<String, Value>) -> (bool, bool) {
        let (mut is_changed, mut is_unanswered) = (false, false);
        for name in LISTS {
            let Some(list) = entry.get_mut(name).and_then(Value::as_array_mut) else { continue };
            let named: Vec<Value> =
                list.iter().filter(|page| self.is_judged(page)).cloned().collect();
            let Some(first) = named.first() else { continue };
            list.retain(|page| !self.is_judged(page));
            if list.is_empty() {
                list.push(self.pseudonym_value(first));
                is_unanswered = true;
            }
            is_changed = true;
        }
        if let Some(grades) = entry.get_mut("grades").and_then(Value::as_object_mut) {
            let before = grades.len();
            grades.retain(|page, _| !self.is_judged(&Value::from(page.as_str())));
            is_changed |= grades.len() < before;
        }
        for name in FIRSTS {
            let Some(first) = entry.get(name).filter(|page| self.is_judged(page)) else { continue };
            let pseudonym_value = self.pseudonym_value(first);
            match is_unanswered {
                true => entry.insert(name.to_owned(), pseudonym_value),
                false => entry.shift_remove(name),
            };
            is_changed = true;
        }
        (is_changed, is_unanswered)
    }

    /// A judged page is `{source_id, slug}`, a whole key, or a slug of the default source.
    fn is_judged(&self, page: &Value) -> bool {
        match page {
            Value::String(name) => self.is_named_in(DEFAULT_SOURCE, name),
            Value::Object(page) => {
                let text = |name: &str| page.get(name).and_then(Value::as_str);
                text("source_id") == Some(self.key.source.as_str())
                    && text("slug") == Some(self.key.slug.as_str())
            }
            _ => false,
        }
    }

    fn pseudonym_value(&self, page: &Value) -> Value {
        match page {
            Value::Object(page) => {
                let mut page = page.clone();
                page.insert("slug".to_owned(), self.pseudonym().into());
                page.into()
            }
            _ => self.pseudonym_key().into(),
        }
    }

    /// Lines of TREC qrels (`query iteration document grade`) or of BEIR's table (`query document grade`).
    fn table_qrels(&self, text: &str) -> Option<QrelsErasure> {
        let rows: Vec<(&str, Option<QrelsLine<'_>>)> =
            text.split_inclusive('\n').map(|line| (line, QrelsLine::read(line))).collect();
        let is_own = |row: &QrelsLine<'_>| self.is_named_in(DEFAULT_SOURCE, row.document);
        let has_other = |query: &str| {
            let others = rows.iter().filter_map(|(_, row)| row.as_ref());
            others.into_iter().any(|row| row.query == query && row.is_relevant && !is_own(row))
        };
        let (mut erased, mut without_answer, mut is_changed) = (String::new(), 0, false);
        for (line, row) in &rows {
            let Some(row) = row.as_ref().filter(|row| is_own(row)) else {
                erased.push_str(line);
                continue;
            };
            is_changed = true;
            if row.is_relevant && !has_other(row.query) {
                without_answer += 1;
                let at = row.document.as_ptr() as usize - line.as_ptr() as usize;
                erased.push_str(&line[..at]);
                erased.push_str(&self.pseudonym_key());
                erased.push_str(&line[at + row.document.len()..]);
            }
        }
        is_changed.then_some(QrelsErasure { text: erased, without_answer })
    }
}

/// A judgement on a line.
struct QrelsLine<'a> {
    query: &'a str,
    document: &'a str,
    is_relevant: bool,
}

impl<'a> QrelsLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let tabs: Vec<&str> = line.trim_end().split('\t').map(str::trim).collect();
        let blanks: Vec<&str> = line.split_whitespace().collect();
        let (query, document, grade) = match (tabs.as_slice(), blanks.as_slice()) {
            ([query, document, grade], _) | (_, [query, _, document, grade]) => {
                (*query, *document, *grade)
            }
            _ => return None,
        };
        let is_relevant = grade.parse::<f64>().is_ok_and(|grade| grade > 0.0);
        Some(Self { query, document, is_relevant })
    }
}
