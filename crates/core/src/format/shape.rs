//! How much memory reading a document may take, known before anything is read.
//!
//! Two bytes of JSON can become a hundred in memory. A scan of the bytes counts values and depth without
//! keeping anything; what a document would take is its bytes, as often as its reader copies them, and
//! a price for each value. A document that would take more than [`allowance`] is refused.

/// How deep values may lie in each other. The reader's own limit is 128.
pub const MAX_DEPTH: usize = 64;

const MIB: usize = 1 << 20;

/// The most that reading a document of so many bytes may take: 1 MiB and ten times its bytes, and never
/// more than 256 MiB.
pub fn allowance(bytes: usize) -> usize {
    bytes.saturating_mul(10).saturating_add(MIB).min(256 * MIB)
}

/// What a reader takes for a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingCost {
    /// How often the bytes are in memory at once, the body itself included.
    pub copies: usize,
    /// Bytes for each value.
    pub per_value: usize,
}

impl ReadingCost {
    /// A document that is read into the fields of a struct.
    pub const TYPED: Self = Self { copies: 3, per_value: 128 };
    /// A document that is read into a [`Json`](super::json::Json).
    pub const JSON: Self = Self { copies: 3, per_value: 56 };
    /// A document that is read into a `serde_json::Value`, by a reader that tries several shapes.
    pub const VALUE: Self = Self { copies: 5, per_value: 512 };

    /// What reading a document takes, or why it is refused.
    pub fn of(self, shape: Shape) -> Result<usize, ShapeError> {
        let Shape { bytes, values, depth } = shape;
        if depth > MAX_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        let copied = bytes.saturating_mul(self.copies);
        let memory = values.saturating_mul(self.per_value).saturating_add(copied);
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
        /// How many values it has.
        values: usize,
        /// How large it is.
        bytes: usize,
    },
}

/// What a scan of a document's bytes counts. Bytes that are no JSON are counted in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its length.
    pub bytes: usize,
    /// No fewer than the values in it: scalars, lists and objects.
    pub values: usize,
    /// How deep lists and objects lie in each other.
    pub depth: usize,
}

impl Shape {
    /// Scans a document, or documents on lines of their own.
    pub fn of(document: &[u8]) -> Self {
        let (mut values, mut depth, mut deepest) = (1, 0_usize, 0);
        let mut rest = document.iter();
        while let Some(byte) = rest.next() {
            match byte {
                b'"' => skip_text(&mut rest),
                b',' => values += 1,
                b'[' | b'{' => {
                    values += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'\n' if depth == 0 => values += 1,
                _ => {}
            }
        }
        Self { bytes: document.len(), values, depth: deepest }
    }
}

/// Goes to the end of a text whose opening quote was read.
fn skip_text(rest: &mut std::slice::Iter<'_, u8>) {
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
        let check = |document: &str, values: usize, depth: usize| {
            let expected = Shape { bytes: document.len(), values, depth };
            assert_eq!(Shape::of(document.as_bytes()), expected, "{document}");
        };
        check("", 1, 0);
        check("7", 1, 0);
        check("[]", 2, 1);
        check("[1,2]", 3, 1);
        check(r#"{"a":{"b":[1]}}"#, 4, 3);
        check(r#"{"a,[{\"":"]],\\","b":1}"#, 3, 1);
        check(r#""never ends, [[["#, 1, 0);
        check("\"a\\", 1, 0);
        check("{}\n{}\n", 5, 1);
        check("]]]][", 2, 1);
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
