//! Where a text says what a query asks for.

use rustc_hash::FxHashMap;

use super::{QueryTerms, analyse};

/// A token of a text that matches a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First character.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Which term of the query it matches.
    pub term: u32,
}

/// What a text says of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Matching tokens in order, none overlapping another; the longest of several stays.
    pub spans: Vec<Span>,
    /// How many distinct terms match.
    pub terms: usize,
}

/// The tokens of `text` that match a term by its stem.
pub fn matches(text: &str, terms: &QueryTerms) -> Matches {
    let wanted: FxHashMap<&str, u32> =
        terms.terms.iter().zip(0..).map(|(term, at)| (term.stem.as_str(), at)).collect();
    let mut found = Vec::new();
    analyse(text, &mut |token| {
        if let Some(term) = wanted.get(token.stem) {
            found.push((token.start, token.end, *term));
        }
    });
    let mut distinct: Vec<u32> = found.iter().map(|(_, _, term)| *term).collect();
    distinct.sort_unstable();
    distinct.dedup();
    found.sort_unstable_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    Matches { spans: in_chars(text, &apart(found)), terms: distinct.len() }
}

fn apart(sorted: Vec<(usize, usize, u32)>) -> Vec<(usize, usize, u32)> {
    let mut out: Vec<(usize, usize, u32)> = Vec::with_capacity(sorted.len());
    for (start, end, term) in sorted {
        match out.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end, term)),
        }
    }
    out
}

/// Byte ranges, sorted and apart, as character ranges.
fn in_chars(text: &str, ranges: &[(usize, usize, u32)]) -> Vec<Span> {
    let is_ascii = text.is_ascii();
    let (mut byte, mut char) = (0, 0);
    let mut char_of = |target: usize| {
        if is_ascii {
            return target as u32;
        }
        char += text[byte..target].chars().count();
        byte = target;
        char as u32
    };
    let span = |&(start, end, term): &(usize, usize, u32)| {
        let start = char_of(start);
        Span { start, end: char_of(end), term }
    };
    ranges.iter().map(span).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(text: &str, query: &str) -> Vec<(u32, u32)> {
        let found = matches(text, &QueryTerms::of(query));
        found.spans.iter().map(|span| (span.start, span.end)).collect()
    }

    #[test]
    fn spans_are_in_characters() {
        assert_eq!(ranges("Ünser Cafés Berth", "café berths"), [(6, 11), (12, 17)]);
        assert_eq!(ranges("東京都", "東京都"), [(0, 3)]);
        assert_eq!(ranges("nothing here", "café berths"), []);
    }

    #[test]
    fn distinct_terms_are_counted() {
        let found = matches("berth, berths and a planner", &QueryTerms::of("berth planner ferry"));
        assert_eq!(found.terms, 2);
        assert_eq!(found.spans.len(), 3);
    }

    proptest! {
        #[test]
        fn spans_stay_inside(text in "\\PC{0,200}", query in "\\PC{0,40}") {
            let length = text.chars().count() as u32;
            let mut last = 0;
            for span in matches(&text, &QueryTerms::of(&query)).spans {
                prop_assert!(span.start >= last && span.start < span.end && span.end <= length);
                last = span.end;
            }
        }
    }
}
