//! How many values the long lists of a document have, known before it is read.

use std::cell::Cell;

/// Lists of fewer values are not remembered: they take little while they grow.
const LONG: usize = 64;

/// No reader goes deeper.
const DEEPEST: usize = 128;

/// The lengths of lists and objects, in the order in which these begin. Of bytes that are no JSON they
/// mean nothing.
pub(super) struct Lengths {
    /// Long ones: which one of all, and how many values it has.
    long: Vec<(usize, usize)>,
    /// Number of values that the reader has begun.
    begun: Cell<usize>,
    /// Number of the long ones among them.
    begun_long: Cell<usize>,
}

/// A list that was not closed yet.
struct Open {
    number: usize,
    values: usize,
}

impl Lengths {
    pub(super) fn of(document: &[u8]) -> Self {
        let mut long = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let (mut count, mut last) = (0, 0);
        let mut rest = document.iter();
        while let Some(&byte) = rest.next() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => continue,
                b'"' => crate::reading::shape::skip_text(&mut rest),
                b',' => open.iter_mut().last().into_iter().for_each(|list| list.values += 1),
                b'[' | b'{' if open.len() == DEEPEST => break,
                b'[' | b'{' => {
                    open.push(Open { number: count, values: 1 });
                    count += 1;
                }
                b']' | b'}' => {
                    let is_empty = matches!(last, b'[' | b'{');
                    let closed = open.pop().filter(|list| list.values >= LONG && !is_empty);
                    long.extend(closed.map(|list| (list.number, list.values)));
                }
                _ => {}
            }
            last = byte;
        }
        long.sort_unstable();
        Self { long, begun: Cell::new(0), begun_long: Cell::new(0) }
    }

    /// The length of the list or object that begins now, if it is a long one, otherwise 0.
    pub(super) fn of_next(&self) -> usize {
        let number = self.begun.replace(self.begun.get() + 1);
        match self.long.get(self.begun_long.get()) {
            Some(&(known, values)) if known == number => {
                self.begun_long.set(self.begun_long.get() + 1);
                values
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_known_in_the_order_they_begin() {
        let inner = format!("[{}0]", "0,".repeat(99));
        let outer = format!("{{{}\"z\":{inner}}}", "\"a,[\":[],".repeat(70));
        let lengths = Lengths::of(outer.as_bytes());
        let found: Vec<usize> = (0..72).map(|_| lengths.of_next()).collect();
        let expected: Vec<usize> =
            [71].into_iter().chain(std::iter::repeat_n(0, 70)).chain([100]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn invalid_json_has_lengths() {
        for text in ["", "]]]", "[[[", "\"", ",,,", &"[".repeat(1000)] {
            Lengths::of(text.as_bytes()).of_next();
        }
    }
}
