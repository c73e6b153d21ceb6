//! Compares highlights with the expected text and detects fabricated highlights.
//!
//! Texts are normalised first: composed, lower case, single spaces, without emphasis marks. A
//! highlight is right if it contains an expected text, or is part of one and has at least five
//! words. If the key gives a character range, the overlap must be at least half of the union.

use unicode_normalization::UnicodeNormalization as _;

use super::query::ExpectedSnippet;
use crate::named;
use crate::scrub::MARKER;

/// Minimum number of words of a partial match.
const PART_WORDS: usize = 5;
/// Minimum overlap of two spans, as a share of their union.
const SHARED: f64 = 0.5;

named! {
    /// The assessment of a highlight.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Highlight {
        /// It shows an expected text.
        Right = "right",
        /// It shows another text.
        Wrong = "wrong",
        Missing = "missing",
    }
}

/// Compares a highlight with the expected texts. `at` is its character range in the document, if
/// known.
pub fn judge(
    highlight: Option<&str>,
    at: Option<(u32, u32)>,
    expected: &[ExpectedSnippet],
) -> Highlight {
    let shown = normal(highlight.unwrap_or_default());
    if shown.is_empty() {
        return Highlight::Missing;
    }
    let is_right = |snippet: &ExpectedSnippet| match (at, snippet.at) {
        (Some(shown), Some(wanted)) => overlap(shown, wanted) >= SHARED,
        _ => shows(&shown, &normal(&snippet.text)),
    };
    if expected.iter().any(is_right) { Highlight::Right } else { Highlight::Wrong }
}

/// Whether a highlight is fabricated: none of its parts between ellipses occurs in the text.
pub fn is_made_up(highlight: &str, text: &str) -> bool {
    let text = normal(text);
    let shown = normal(highlight);
    let parts = shown.split(['…', '\u{2026}']).flat_map(|part| part.split("...")).map(str::trim);
    parts.filter(|part| !part.is_empty()).any(|part| !text.contains(part))
}

fn shows(shown: &str, wanted: &str) -> bool {
    if wanted.contains(&normal(MARKER)) {
        return shows_around(shown, wanted);
    }
    let is_part = wanted.contains(shown) && shown.split(' ').count() >= PART_WORDS;
    !wanted.is_empty() && (shown.contains(wanted) || is_part)
}

/// Whether a highlight contains the remaining parts of a scrubbed text, in order.
fn shows_around(shown: &str, wanted: &str) -> bool {
    let marker = normal(MARKER);
    let mut rest = Some(shown);
    let mut parts = wanted.split(&marker).map(str::trim).filter(|part| !part.is_empty()).peekable();
    let is_empty = parts.peek().is_none();
    for part in parts {
        rest = rest.and_then(|text| text.split_once(part)).map(|(_, after)| after);
    }
    !is_empty && rest.is_some()
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> f64 {
    let shared = a.1.min(b.1).saturating_sub(a.0.max(b.0));
    let all = a.1.max(b.1).saturating_sub(a.0.min(b.0));
    if all == 0 { 0.0 } else { f64::from(shared) / f64::from(all) }
}

/// Normalises a text for comparison.
fn normal(text: &str) -> String {
    let plain: String = text
        .nfc()
        .filter(|c| !matches!(c, '*' | '_' | '`' | '~'))
        .collect::<String>()
        .replace("<em>", "")
        .replace("</em>", "")
        .replace("<mark>", "")
        .replace("</mark>", "");
    plain.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_scrubbed_snippet_is_searched() {
        let expected = |text: &str| [ExpectedSnippet { text: text.to_owned(), at: None }];
        let check = |shown: &str, wanted: &str, right: bool| {
            let found = judge(Some(shown), None, &expected(wanted));
            assert_eq!(found == Highlight::Right, right, "{shown} / {wanted}");
        };
        check("write to ada@example.com about billing", "write to [REDACTED] about billing", true);
        check(
            "about billing, write to ada@example.com",
            "write to [REDACTED] about billing",
            false,
        );
        check("write to ada@example.com", "[REDACTED]", false);
    }

    #[track_caller]
    fn check(highlight: &str, expected: &str, found: Highlight) {
        let snippet = ExpectedSnippet { text: expected.to_owned(), at: None };
        assert_eq!(judge(Some(highlight), None, &[snippet]), found, "{highlight}");
    }

    #[test]
    fn highlights_by_their_words() {
        use Highlight::{Missing, Right, Wrong};
        check("The **berth planner** is owned by  Ada.", "berth planner is owned", Right);
        check("plans forty berths an hour", "It plans forty berths an hour, at most.", Right);
        check("plans forty berths", "It plans forty berths an hour, at most.", Wrong);
        check("something else entirely here now", "berth planner", Wrong);
        check(" \n", "berth planner", Missing);
        check("caf\u{e9}", "cafe\u{301}", Right);
        assert_eq!(judge(None, None, &[]), Missing);
        assert_eq!(judge(Some("x"), None, &[]), Wrong);
    }

    #[test]
    fn highlights_by_their_place() {
        let at = |from, to| ExpectedSnippet { text: "x".to_owned(), at: Some((from, to)) };
        let check = |shown, wanted: (u32, u32), found| {
            assert_eq!(judge(Some("y"), Some(shown), &[at(wanted.0, wanted.1)]), found);
        };
        check((10, 20), (10, 20), Highlight::Right);
        check((10, 20), (10, 30), Highlight::Right);
        check((10, 20), (10, 31), Highlight::Wrong);
        check((0, 5), (5, 10), Highlight::Wrong);
        check((3, 3), (3, 3), Highlight::Wrong);
    }

    #[test]
    fn snippets_missing_in_the_text_are_made_up() {
        let text = "The planner was shipped in May. It plans forty berths an hour.";
        assert!(!is_made_up("planner was *shipped*", text));
        assert!(!is_made_up("… shipped in May … forty berths ...", text));
        assert!(is_made_up("planner was cancelled", text));
        assert!(is_made_up("shipped in May … fifty berths", text));
    }
}
