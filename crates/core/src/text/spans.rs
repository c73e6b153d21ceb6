//! Where a text says what a query asks for.

use rustc_hash::FxHashSet;

use super::{QueryTerms, analyse};

/// The character ranges of the tokens of `text` that match a term by its stem or exact form, in
/// order; ranges that touch or overlap are one.
pub fn spans(text: &str, terms: &QueryTerms) -> Vec<(usize, usize)> {
    let wanted: FxHashSet<&str> = terms.terms.iter().map(|t| t.stem.as_str()).collect();
    let mut found = Vec::new();
    analyse(text, &mut |token| {
        if wanted.contains(token.stem) {
            found.push((token.start, token.end));
        }
    });
    found.sort_unstable();
    in_chars(text, &joined(found))
}

fn joined(sorted: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::with_capacity(sorted.len());
    for (start, end) in sorted {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

/// Byte ranges, sorted and apart, as character ranges.
fn in_chars(text: &str, ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    if text.is_ascii() {
        return ranges.to_vec();
    }
    let (mut byte, mut char) = (0, 0);
    let mut char_of = |target: usize| {
        char += text[byte..target].chars().count();
        byte = target;
        char
    };
    ranges.iter().map(|(start, end)| (char_of(*start), char_of(*end))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_are_in_characters() {
        let terms = QueryTerms::of("café berths");
        assert_eq!(spans("Ünser Cafés Berth", &terms), [(6, 11), (12, 17)]);
        assert_eq!(spans("東京都", &QueryTerms::of("東京都")), [(0, 3)]);
        assert_eq!(spans("nothing here", &terms), []);
    }

    proptest! {
        #[test]
        fn spans_are_ordered_and_inside(text in any::<String>()) {
            let terms = QueryTerms::of(&text);
            let found = spans(&text, &terms);
            let length = text.chars().count();
            prop_assert!(found.iter().all(|(start, end)| start < end && *end <= length));
            prop_assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
