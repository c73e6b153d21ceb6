//! YAML as a tree of text with line numbers: the parts that frontmatter, suites files and prompts
//! need.
//!
//! Scalars keep the author's spelling (`1.10` is not `1.1`, `no` is not `false`), because every
//! key decides for itself how to read them. Aliases, depth and events are bounded, so that a small
//! text can't grow into a large one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::NonFiniteFloatPolicy;

/// A value with its line number, counted from 1 in its own text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub line: usize,
    pub value: Value,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, or the word `null`.
    Null,
    /// The text of a scalar, unchanged.
    Text(String),
    List(Vec<Node>),
    /// Keys and values in their order.
    Map(Vec<(Node, Node)>),
}

/// Why a text is not YAML that we accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The line, counted from 1.
    pub line: usize,
    pub reason: String,
}

/// Reads one YAML document.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let text = &*readable(text);
    let raw: Raw = read(text)?;
    Ok(raw.into_node(text, &LineNumbers::new(text)))
}

/// Reads one YAML document into a form.
pub fn read_typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    read(&readable(text))
}

/// A text that YAML reads back as it is.
pub fn quoted(text: &str) -> String {
    json_as_yaml(&serde_json::to_string(text).expect("a text is JSON")).into_owned()
}

/// JSON that YAML reads as JSON does. YAML refuses a few characters that may stand in the texts of JSON: they are escaped.
pub(crate) fn json_as_yaml(json: &str) -> Cow<'_, str> {
    if !json.contains(is_refused) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        match is_refused(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Characters that JSON allows inside strings and YAML (`c-printable`, and this reader's rule on
/// byte order marks) does not.
fn is_refused(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A JSON document is read with any characters in its strings; any other text is left as it is.
fn readable(text: &str) -> Cow<'_, str> {
    let may_be_json = text.trim_start().starts_with(['{', '[']) && text.contains(is_refused);
    match may_be_json && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        true => json_as_yaml(text),
        false => Cow::Borrowed(text),
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 200_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_depth: 32,
            max_recorded_anchor_events: 100_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 20_000 },
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        YamlError { line: LineNumbers::new(text).of(line), reason: reason(&error.to_string()) }
    })
}

/// The lines of YAML as lines that end with a line feed. YAML also ends a line at a lone carriage return, and an error at
/// the end of a text is on a line of its own there: here it is on the last line.
struct LineNumbers(Vec<usize>);

impl LineNumbers {
    fn new(text: &str) -> Self {
        let last = text.lines().count().max(1);
        let mut line = 1;
        let mut lines = vec![line];
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\n' => {
                    line = (line + 1).min(last);
                    lines.push(line);
                }
                b'\r' if bytes.peek() != Some(&b'\n') => lines.push(line),
                _ => (),
            }
        }
        Self(lines)
    }

    fn of(&self, yaml: u64) -> usize {
        let at = usize::try_from(yaml).unwrap_or(usize::MAX).saturating_sub(1);
        self.0.get(at).or(self.0.last()).copied().unwrap_or(1)
    }
}

impl Node {
    /// A scalar's text; none for lists, maps and nothing.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members of a list, or the value itself as the only one; nothing has none.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Null => &[],
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, keys: &[&str]) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        keys.iter().find_map(|key| {
            entries.iter().find(|(name, _)| name.text() == Some(*key)).map(|(_, value)| value)
        })
    }
}

/// Keeps the first line: a page's error says where, so the location is not repeated.
fn reason(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let (what, _) = first.rsplit_once(" at line ").unwrap_or((first, ""));
    what.trim().to_owned()
}

struct Raw(Spanned<Shape>);

enum Shape {
    Null,
    /// A scalar that YAML resolved to a number or a boolean; the source says how it was spelt.
    Resolved(String),
    Text(String),
    List(Vec<Raw>),
    Map(Vec<(Raw, Raw)>),
}

impl Raw {
    fn into_node(self, source: &str, lines: &LineNumbers) -> Node {
        let Spanned { value, defined, referenced } = self.0;
        let span = defined.span();
        let value = match value {
            Shape::Null => Value::Null,
            Shape::Text(text) => Value::Text(text),
            Shape::Resolved(text) => Value::Text(spelling(source, span).unwrap_or(text)),
            Shape::List(items) => {
                Value::List(items.into_iter().map(|item| item.into_node(source, lines)).collect())
            }
            Shape::Map(entries) => {
                let both = |(key, value): (Raw, Raw)| {
                    (key.into_node(source, lines), value.into_node(source, lines))
                };
                Value::Map(entries.into_iter().map(both).collect())
            }
        };
        Node { line: lines.of(referenced.line()), value }
    }
}

fn spelling(source: &str, span: serde_saphyr::Span) -> Option<String> {
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    let text = source.get(start..start + length)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Raw)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Shape::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        Ok(Shape::Resolved(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Shape, E> {
        Ok(Shape::Text(value))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Shape, E> {
        Ok(Shape::Text(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Shape::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Shape::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_keep_their_spelling() {
        let node =
            parse("a: 1.10\nb: no\nc: 007\nd: 2021-06-15\ne:\nf: \"x: y\"\ng: [0x1F, .nan]\n")
                .unwrap();
        for (key, text) in
            [("a", "1.10"), ("b", "no"), ("c", "007"), ("d", "2021-06-15"), ("f", "x: y")]
        {
            assert_eq!(node.get(&[key]).unwrap().text(), Some(text), "{key}");
        }
        assert_eq!(node.get(&["e"]).unwrap().value, Value::Null);
        let items: Vec<_> =
            node.get(&["g"]).unwrap().items().iter().map(|n| n.text().unwrap()).collect();
        assert_eq!(items, ["0x1F", ".nan"]);
        assert_eq!(node.get(&["f"]).unwrap().line, 6);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, line) in [("a: 1\nb: [1, 2\nc: 3\n", 3), ("a: 1\na: 2\n", 2), ("a: 'x\n", 1)] {
            let error = parse(text).unwrap_err();
            assert!(!error.reason.is_empty() && !error.reason.contains("at line"), "{error:?}");
            assert!(error.line.abs_diff(line) <= 1, "{error:?}");
        }
    }

    #[test]
    fn a_line_is_one_of_the_text() {
        let line = |text: &str| parse(text).unwrap_err().line;
        assert_eq!(line("- a: 'x"), 1);
        assert_eq!(line("- a\n- b: \"x\n"), 2);
        assert_eq!(line("a: 1\r\nb: [1, 2\r\n"), 2);
        assert_eq!(line("a: [1,\r2]\nb: 'x"), 2);
        let node = parse("a: [1,\r2]\nb: 3\r\nc: 4").unwrap();
        let lines = ["a", "b", "c"].map(|key| node.get(&[key]).unwrap().line);
        assert_eq!(lines, [1, 2, 3]);
    }

    #[test]
    fn texts_of_json_hold_any_character() {
        let text = "a\u{7f}\u{80}\u{85}\u{9f}\u{2028}\u{feff}\u{ffff}\\\"\u{1f600}";
        assert_eq!(parse(&quoted(text)).unwrap().text(), Some(text));
        let json = serde_json::json!({ "k": [text] }).to_string();
        assert_eq!(read_typed::<serde_json::Value>(&json).unwrap()["k"][0], text);
        assert_eq!(parse(&json).unwrap().get(&["k"]).unwrap().items()[0].text(), Some(text));
        assert!(parse("{a: \u{7f}}").is_err());
    }

    #[test]
    fn alias_bombs_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert!(parse(&text).is_err());
        assert!(parse(&"[".repeat(10_000)).is_err());
    }
}
