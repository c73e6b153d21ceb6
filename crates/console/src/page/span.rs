//! Places of rows in the text of a report.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Places of the elements of an array, as addresses in the text that is read.
#[derive(Debug, Default)]
pub(crate) struct Spans(Vec<(usize, usize)>);

impl Spans {
    /// The ranges of the elements in `text`, which must be the text that was read.
    pub(crate) fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let start = text.as_ptr() as usize;
        self.0.iter().map(|(at, len)| at - start..at - start + len).collect()
    }
}

impl<'de> Deserialize<'de> for Spans {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Places;
        impl<'de> Visitor<'de> for Places {
            type Value = Spans;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list of rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Spans, A::Error> {
                let mut places = Vec::new();
                while let Some(row) = rows.next_element::<&'de RawValue>()? {
                    places.push((row.get().as_ptr() as usize, row.get().len()));
                }
                Ok(Spans(places))
            }

            fn visit_unit<E>(self) -> Result<Spans, E> {
                Ok(Spans::default())
            }
        }
        deserializer.deserialize_any(Places)
    }
}

/// A text that is borrowed where it has no escapes.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Names by number: at most 64, so that a set of them is one word. Later names share the last number.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn bit(&mut self, name: &str) -> u64 {
        let at = self.0.iter().position(|one| one == name).unwrap_or_else(|| {
            if self.0.len() < 64 {
                self.0.push(name.to_owned());
            }
            self.0.len() - 1
        });
        1 << at
    }

    /// The bit of a known name; every row lacks an unknown one.
    pub(crate) fn bit_of(&self, name: &str) -> u64 {
        self.0.iter().position(|one| one == name).map_or(0, |at| 1 << at)
    }

    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut names = self.0.clone();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_the_elements() {
        #[derive(serde::Deserialize)]
        struct RowsDocument {
            rows: Spans,
        }
        let text = r#"{"a":1,"rows":[{"b":"]"}, [2] ,3]}"#;
        let document: RowsDocument = serde_json::from_str(text).unwrap();
        let rows: Vec<&str> =
            document.rows.ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(rows, [r#"{"b":"]"}"#, "[2]", "3"]);
    }

    #[test]
    fn names_are_bits() {
        let mut names = Names::default();
        assert_eq!((names.bit("a"), names.bit("b"), names.bit("a")), (1, 2, 1));
        assert_eq!((names.bit_of("b"), names.bit_of("c")), (2, 0));
        for at in 0..100 {
            names.bit(&at.to_string());
        }
        assert_eq!(names.bit("another"), 1 << 63);
    }
}
