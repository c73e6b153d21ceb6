//! Entries of qrels as JSON, one after the other.
//!
//! A file may hold anything beside what is judged, and all of it as values would take many times its size.
//! Only one entry at a time is read into a [`Json`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{JudgedQuery, QrelsError, QrelsWarning};
use crate::reading::json::{Json, Object};
use crate::reading::meter::ReadingMeter;
use crate::reading::shape::Shape;

/// Memory of a value of an entry while the entry is read.
const VALUE_BYTES: usize = 64;
/// Memory of a judged query where ids and texts are compared, beside the query itself.
const COMPARED_BYTES: usize = 144;
/// Memory of a remark with its texts.
const LINT_BYTES: usize = 200;

/// A file with valid syntax.
#[derive(Clone, Copy)]
pub(super) struct QrelsText<'a>(pub(super) &'a str);

/// The fields of the object that a file is.
#[derive(Default)]
pub(super) struct TopFields<'a> {
    pub(super) schema_version: Option<&'a RawValue>,
    pub(super) version: Option<&'a RawValue>,
    pub(super) queries: Option<&'a RawValue>,
    /// Names of other fields, but for remarks (`_description`).
    pub(super) unknown: Vec<String>,
}

impl<'a> QrelsText<'a> {
    /// Checks the syntax of a file.
    pub(super) fn new(text: &'a str) -> Result<Self, QrelsError> {
        let broken = |error: serde_json::Error| QrelsError::Json {
            line: error.line(),
            reason: error.to_string(),
        };
        serde_json::from_str::<&RawValue>(text).map(|_| Self(text)).map_err(broken)
    }

    /// The fields of the object that it is.
    pub(super) fn top(self, meter: &mut ReadingMeter<'_>) -> Result<TopFields<'a>, QrelsError> {
        let mut interrupted = None;
        let mut note = |top: &mut TopFields<'a>, name: &str| {
            top.unknown.push(name.to_owned());
            meter.count_held(LINT_BYTES + 2 * name.len()).map_err(|error| interrupted = Some(error))
        };
        let visitor = TopVisitor { note: &mut note, top: TopFields::default() };
        let read = serde_json::Deserializer::from_str(self.0).deserialize_map(visitor);
        match interrupted {
            Some(error) => Err(QrelsError::Interrupted(error)),
            None => read.map_err(|error| self.broken(self.0, &error)),
        }
    }

    /// Reads every entry of a list and passes it on. Other values have no entries.
    pub(super) fn for_each(
        self,
        list: Option<&'a RawValue>,
        meter: &mut ReadingMeter<'_>,
        mut each: impl FnMut(usize, &Json<'a>, &mut ReadingMeter<'_>) -> Result<(), QrelsError>,
    ) -> Result<(), QrelsError> {
        let Some(list) = list.map(RawValue::get).filter(|list| list.starts_with('[')) else {
            return Err(QrelsError::NoQueries);
        };
        let mut failed = None;
        let mut one = |at: usize, entry: &'a RawValue| {
            let entry = entry.get();
            let done = self.entry(entry, meter).and_then(|json| each(at, &json, meter));
            done.map_err(|error| failed = Some(error))
        };
        let read = serde_json::Deserializer::from_str(list).deserialize_seq(ListVisitor(&mut one));
        match failed {
            Some(error) => Err(error),
            None => read.map_err(|error| self.broken(list, &error)),
        }
    }

    /// How many entries a list has.
    pub(super) fn count(self, list: Option<&'a RawValue>) -> usize {
        let mut count = 0;
        let mut one = |at: usize, _: &'a RawValue| {
            count = at + 1;
            Ok(())
        };
        let mut list = serde_json::Deserializer::from_str(list.map_or("", RawValue::get));
        // Unreadable entries are reported when they are read.
        let _ = list.deserialize_seq(ListVisitor(&mut one));
        count
    }

    fn entry(self, entry: &'a str, meter: &mut ReadingMeter<'_>) -> Result<Json<'a>, QrelsError> {
        let Shape { values, .. } = Shape::of(entry.as_bytes());
        meter
            .count_temporary(values.saturating_mul(VALUE_BYTES))
            .map_err(QrelsError::Interrupted)?;
        Json::read(entry).map_err(|error| self.broken(entry, &error))
    }

    /// An error of a part of the file, with its line in the file.
    fn broken(self, part: &str, error: &serde_json::Error) -> QrelsError {
        let start = part.as_ptr() as usize - self.0.as_ptr() as usize;
        let before = memchr::memchr_iter(b'\n', &self.0.as_bytes()[..start]).count();
        let message = error.to_string();
        let reason = message.split_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        QrelsError::Json { line: before + error.line(), reason: reason.to_owned() }
    }
}

/// Counts what the pages of an entry take while it is read, and what its values take.
pub(super) fn pass_pages(
    meter: &mut ReadingMeter<'_>,
    entry: &Object<'_>,
    pages: usize,
) -> Result<(), QrelsError> {
    /// A grade is kept by its page, and told where the page is not listed.
    const GRADE_BYTES: usize = 400;
    let grades = entry.get("grades").and_then(Json::as_object).map_or(0, Object::len);
    let values = entry.iter().map(|(_, value)| value.count() * VALUE_BYTES).sum::<usize>();
    let step = values + pages + grades * GRADE_BYTES;
    meter.count_temporary(step).map_err(QrelsError::Interrupted)
}

/// Adds a judged query, and counts its memory and that of the remarks about it.
pub(super) fn add(
    queries: &mut Vec<JudgedQuery>,
    query: JudgedQuery,
    lints: usize,
    meter: &mut ReadingMeter<'_>,
) -> Result<(), QrelsError> {
    let lints = lints * (LINT_BYTES + query.id.len());
    let taken = query.memory() + COMPARED_BYTES + lints;
    meter.count_held(taken).map_err(QrelsError::Interrupted)?;
    queries.push(query);
    Ok(())
}

/// Keys that mean nothing, but for remarks (`_description`).
pub(super) fn unknown_keys<'a>(
    place: &str,
    keys: impl Iterator<Item = &'a str>,
) -> Vec<QrelsWarning> {
    let unknown = keys.filter(|key| !key.starts_with('_'));
    unknown
        .map(|key| QrelsWarning::UnknownKey { place: place.to_owned(), key: key.to_owned() })
        .collect()
}

/// Adds the same of an entry to the remarks.
pub(super) fn add_unknown_keys(
    lints: &mut Vec<QrelsWarning>,
    query: &str,
    entry: &Object<'_>,
    known: &[&str],
) {
    let is_unknown = |key: &&str| !known.contains(key) && !key.starts_with('_');
    let place = format!("query `{query}`");
    let count = entry.keys().filter(is_unknown).count();
    lints.reserve_exact(count);
    lints.extend(
        entry
            .keys()
            .filter(is_unknown)
            .map(|key| QrelsWarning::UnknownKey { place: place.clone(), key: key.to_owned() }),
    );
}

type Note<'n, 'a> = &'n mut dyn FnMut(&mut TopFields<'a>, &str) -> Result<(), ()>;

struct TopVisitor<'n, 'a> {
    note: Note<'n, 'a>,
    top: TopFields<'a>,
}

impl<'de> Visitor<'de> for TopVisitor<'_, 'de> {
    type Value = TopFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TopFields<'de>, A::Error> {
        let Self { note, mut top } = self;
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let value: &'de RawValue = map.next_value()?;
            match name.as_ref() {
                "schema_version" => top.schema_version = Some(value),
                "version" => top.version = Some(value),
                "queries" => top.queries = Some(value),
                name if name.starts_with('_') => {}
                name => note(&mut top, name).map_err(|()| A::Error::custom("stopped"))?,
            }
        }
        Ok(top)
    }
}

struct ListVisitor<'n, 'a>(&'n mut dyn FnMut(usize, &'a RawValue) -> Result<(), ()>);

impl<'de> Visitor<'de> for ListVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(entry) = list.next_element::<&'de RawValue>()? {
            (self.0)(at, entry).map_err(|()| A::Error::custom("stopped"))?;
            at += 1;
        }
        Ok(())
    }
}
