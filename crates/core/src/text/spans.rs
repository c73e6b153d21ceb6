//! Finds the matches of a query in a text.

use rustc_hash::FxHashMap;

use super::{QueryTerms, analyse};

/// A token of a text that matches a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchSpan {
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Which term of the query it matches.
    pub term: u32,
}

/// The matches of a query in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Matching tokens in order, none overlapping another; the longest of several stays.
    pub spans: Vec<MatchSpan>,
    /// How many distinct terms match.
    pub terms: usize,
}

/// The tokens of `text` that match a term by its stem.
pub fn matches(text: &str, terms: &QueryTerms) -> Matches {
    let wanted: FxHashMap<&str, u32> =
        terms.terms.iter().zip(0..).map(|(term, at)| (term.stem.as_str(), at)).collect();
    let openings = TermOpenings::of(wanted.keys());
    let mut found = Vec::new();
    openings.each_piece(text, |at, piece| {
        analyse(piece, &mut |token| {
            if let Some(term) = wanted.get(token.stem) {
                found.push((at + token.start, at + token.end, *term));
            }
        });
    });
    let mut distinct: Vec<u32> = found.iter().map(|(_, _, term)| *term).collect();
    distinct.sort_unstable();
    distinct.dedup();
    found.sort_unstable_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    Matches { spans: in_chars(text, &apart(found)), terms: distinct.len() }
}

/// How the wanted terms begin: most of a text can be passed over by the first letters of its words,
/// which stemming leaves alone but for a `y` that becomes an `i` (`dying`, `die`).
struct TermOpenings {
    pairs: [bool; 32 * 32],
    /// A term begins with something else than two plain letters: everything is looked at.
    is_open: bool,
}

impl TermOpenings {
    fn of<'a>(terms: impl Iterator<Item = &'a &'a str>) -> Self {
        let mut openings = Self { pairs: [false; 32 * 32], is_open: false };
        for term in terms {
            match pair(term.as_bytes()) {
                Some(pair) => openings.pairs[pair] = true,
                None => openings.is_open = true,
            }
        }
        openings
    }

    /// Calls `each` with the runs between blanks that may hold a match, and where they start. No
    /// token crosses a blank, so analysing them one by one gives the tokens of the whole.
    fn each_piece(&self, text: &str, mut each: impl FnMut(usize, &str)) {
        let bytes = text.as_bytes();
        let is_blank = |byte: &u8| byte.is_ascii_whitespace();
        let mut at = 0;
        while let Some(next) = self.next_opening(bytes, at) {
            let back = bytes[at..next].iter().rev().position(is_blank);
            let start = next - back.unwrap_or(next - at);
            let ahead = bytes[next..].iter().position(is_blank);
            let end = next + ahead.unwrap_or(bytes.len() - next);
            each(start, &text[start..end]);
            at = end;
        }
    }

    /// Where a word begins, from `at` on, that may match.
    fn next_opening(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let mut after_word = false;
        for (ahead, byte) in bytes[at..].iter().enumerate() {
            let next = at + ahead;
            let is_word = byte.is_ascii_alphanumeric();
            if !byte.is_ascii() && !self.is_open && is_foreign(&bytes[next..]) {
                after_word = false;
                continue;
            }
            if !byte.is_ascii() || is_word && !after_word && self.may_open(&bytes[next..]) {
                return Some(next);
            }
            if self.is_open && !byte.is_ascii_whitespace() {
                return Some(next);
            }
            after_word = is_word;
        }
        None
    }

    fn may_open(&self, word: &[u8]) -> bool {
        // An apostrophe is dropped by folding, so what follows it moves up.
        word.get(1) == Some(&b'\'') || pair(word).is_some_and(|pair| self.pairs[pair])
    }
}

/// Whether a byte belongs to a character of a script that folding never turns into plain letters:
/// Greek to Georgian and the Indic scripts, kana and Han, Hangul. No wanted term begins with one,
/// unless everything is looked at.
fn is_foreign(bytes: &[u8]) -> bool {
    match bytes {
        // The rest of a character whose beginning was passed over.
        [0x80..=0xbf, ..] => true,
        // U+0370 to U+07FF.
        [0xcd, second, ..] => *second >= 0xb0,
        [0xce..=0xdf, ..] => true,
        // U+0800 to U+0FFF, U+1000 to U+1CFF.
        [0xe0, ..] => true,
        [0xe1, second, ..] => *second < 0xb4,
        // U+3000 to U+31FF, and U+3400 to U+9FFF: between them are squared Latin letters.
        [0xe3, second, ..] => (0x80..0x88).contains(second) || *second >= 0x90,
        [0xe4..=0xe9, ..] => true,
        // U+AC00 to U+D7A3.
        [0xea, second, ..] => *second >= 0xb0,
        [0xeb..=0xec, ..] => true,
        [0xed, second, ..] => *second < 0x9f,
        _ => false,
    }
}

/// The first two letters of a word, as a number.
fn pair(word: &[u8]) -> Option<usize> {
    let letter = |byte: &u8| byte.is_ascii_alphabetic().then(|| usize::from(byte & 31));
    let (first, second) = (letter(word.first()?)?, letter(word.get(1)?)?);
    let second = if second == usize::from(b'y' & 31) { usize::from(b'i' & 31) } else { second };
    Some(first * 32 + second)
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
fn in_chars(text: &str, ranges: &[(usize, usize, u32)]) -> Vec<MatchSpan> {
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
        MatchSpan { start, end: char_of(end), term }
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

    /// The definition: every token of the text, none passed over.
    fn plainly(text: &str, terms: &QueryTerms) -> usize {
        let mut matching = 0;
        analyse(text, &mut |token| {
            matching += usize::from(terms.terms.iter().any(|term| term.stem == token.stem));
        });
        matching
    }

    #[test]
    fn irregular_stems_are_not_passed_over() {
        for (text, query) in [
            ("they were dying", "die"),
            ("blue skies", "sky"),
            ("o'clock", "oclock"),
            ("#482 and C++", "#482 c++"),
        ] {
            assert!(!ranges(text, query).is_empty(), "{text} / {query}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_matches_is_passed_over(
            text in "([a-zA-Z'#+0-9é漢яひ한㎏Ωक\u{301}.:/_-]{1,9}[ \\n]){0,40}", query in "[a-z#é漢яひ한㎏Ω0-9' -]{1,30}",
        ) {
            let words: Vec<&str> = text.split_whitespace().step_by(3).collect();
            for query in [query, words.join(" ")] {
                let terms = QueryTerms::of(&query);
                let found = !matches(&text, &terms).spans.is_empty();
                prop_assert_eq!(found, plainly(&text, &terms) > 0, "{:?}", query);
            }
        }

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
