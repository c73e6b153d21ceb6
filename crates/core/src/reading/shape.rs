//! Limits the memory of reading a document, before it is read.
//!
//! Two bytes of JSON can become a hundred in memory. A scan of the bytes counts values, objects and
//! depth without keeping anything; what a document would take is its bytes, as often as its reader
//! copies them, and a price for each value and each object. A document that would take more than
//! [`allowance`] is refused. Memory that depends on more than these counts is counted while it is
//! allocated, by a [`ReadingMeter`](super::meter::ReadingMeter).

/// Maximum nesting depth. The reader's own limit is 128.
pub(crate) const MAX_DEPTH: usize = 64;

const MIB: usize = 1 << 20;

/// The most that reading a document of so many bytes may take: 1 MiB and ten times its bytes, and never
/// more than 256 MiB.
pub fn allowance(bytes: usize) -> usize {
    bytes.saturating_mul(10).saturating_add(MIB).min(256 * MIB)
}

/// The memory that a reader needs for a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingCost {
    /// Number of copies of the bytes in memory at once, including the body itself.
    pub copies: usize,
    /// Bytes for each value.
    pub per_value: usize,
    /// Bytes per object, in addition to those of a value.
    pub per_object: usize,
}

impl ReadingCost {
    /// A document that is read into the fields of a struct.
    pub const TYPED: Self = Self { copies: 3, per_value: 128, per_object: 0 };
    /// A document that is read into a [`Json`](super::json::Json).
    pub const JSON: Self = Self { copies: 3, per_value: 56, per_object: 0 };
    /// A document that is read into a `serde_json::Value`, by a reader that tries several shapes.
    pub const VALUE: Self = Self { copies: 5, per_value: 512, per_object: 0 };

    /// The memory that reading a document needs, or the reason why it is refused.
    pub fn of(self, shape: Shape) -> Result<usize, ShapeError> {
        let Shape { bytes, values, objects, depth } = shape;
        if depth > MAX_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        let memory = bytes
            .saturating_mul(self.copies)
            .saturating_add(values.saturating_mul(self.per_value))
            .saturating_add(objects.saturating_mul(self.per_object));
        if memory > allowance(bytes) {
            return Err(ShapeError::TooDense { values, bytes });
        }
        Ok(memory)
    }
}

/// Why a document is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Values lie too deep in each other.
    #[error("values lie more than {MAX_DEPTH} deep in each other")]
    TooDeep,
    /// Reading it would take too much memory for its size.
    #[error(
        "it has {values} values in {bytes} bytes, more than can be read in the memory for one body"
    )]
    TooDense {
        /// Number of values in the document.
        values: usize,
        /// Size of the document in bytes.
        bytes: usize,
    },
}

/// The counts that a scan of a document's bytes produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub bytes: usize,
    /// No fewer than the values in it: scalars, lists and objects. Of a text that is no JSON, its lines.
    pub values: usize,
    /// Number of objects among the values.
    pub objects: usize,
    /// Nesting depth of lists and objects.
    pub depth: usize,
}

impl Shape {
    /// Scans a document, documents on lines of their own, or a text of lines.
    pub fn of(document: &[u8]) -> Self {
        if is_json(document) { Self::of_json(document) } else { Self::of_lines(document) }
    }

    fn of_json(document: &[u8]) -> Self {
        let (mut values, mut objects, mut depth, mut deepest) = (1, 0, 0_usize, 0);
        let mut rest = document.iter();
        while let Some(byte) = rest.next() {
            match byte {
                b'"' => skip_text(&mut rest),
                b',' => values += 1,
                b'[' | b'{' => {
                    values += 1;
                    objects += usize::from(*byte == b'{');
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'\n' if depth == 0 => values += 1,
                _ => {}
            }
        }
        Self { bytes: document.len(), values, objects, depth: deepest }
    }

    /// A quote means nothing here: it must not hide the lines after it.
    fn of_lines(document: &[u8]) -> Self {
        let values = 1 + memchr::memchr_iter(b'\n', document).count();
        Self { bytes: document.len(), values, objects: 0, depth: 0 }
    }
}

/// Whether bytes begin like a list or an object of JSON, as the readers of several formats judge it.
pub(crate) fn is_json(document: &[u8]) -> bool {
    let text = document.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['[', '{'])
}

/// Skips to the end of a string whose opening quote was read.
pub(super) fn skip_text(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_slice()) {
        match rest.nth(at) {
            // The byte after a backslash ends nothing.
            Some(b'\\') => drop(rest.next()),
            _ => return,
        }
    }
    *rest = [].iter();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_depth_are_counted() {
        let check = |document: &str, values: usize, objects: usize, depth: usize| {
            let expected = Shape { bytes: document.len(), values, objects, depth };
            assert_eq!(Shape::of(document.as_bytes()), expected, "{document}");
        };
        check("", 1, 0, 0);
        check("7", 1, 0, 0);
        check("[]", 2, 0, 1);
        check("[1,2]", 3, 0, 1);
        check(r#"{"a":{"b":[1]}}"#, 4, 2, 3);
        check(r#"{"a,[{\"":"]],\\","b":1}"#, 3, 1, 1);
        check(" [\"never ends, [[[", 2, 0, 1);
        check("[\"a\\", 2, 0, 1);
        check("{}\n{}\n", 5, 2, 1);
        check("\u{feff}\n[]]]]][", 4, 0, 1);
    }

    #[test]
    fn lines_are_counted_whatever_they_hold() {
        let values = |text: &str| Shape::of(text.as_bytes()).values;
        assert_eq!(values("q 0 \"d 1\nq 0 e 1\nq 0 f 1\n"), 4);
        assert_eq!(values("q 0 a,b,[c],{d 1\n"), 2);
        assert_eq!(Shape::of(b"q [[[[").depth, 0);
    }

    #[test]
    fn a_dense_document_is_refused_before_it_is_read() {
        let hostile = "{\"\":0},".repeat(2 << 20);
        for cost in [ReadingCost::TYPED, ReadingCost::JSON, ReadingCost::VALUE] {
            let refused = cost.of(Shape::of(hostile.as_bytes()));
            assert!(matches!(refused, Err(ShapeError::TooDense { .. })), "{refused:?}");
        }
        let text = format!("{{\"content\":\"{}\"}}", "a".repeat(16 << 20));
        let shape = Shape::of(text.as_bytes());
        for cost in [ReadingCost::TYPED, ReadingCost::JSON, ReadingCost::VALUE] {
            assert!(cost.of(shape).unwrap() <= allowance(text.len()));
        }
        let deep = "[".repeat(MAX_DEPTH + 1);
        assert_eq!(ReadingCost::TYPED.of(Shape::of(deep.as_bytes())), Err(ShapeError::TooDeep));
    }

    #[test]
    fn an_import_of_the_most_pages_is_read() {
        let page = r#"{"slug":"notes/1","content":"one line"}"#;
        let body = format!(r#"{{"kind":"import","pages":[{}]}}"#, vec![page; 10_000].join(","));
        assert!(ReadingCost::TYPED.of(Shape::of(body.as_bytes())).is_ok());
    }
}
