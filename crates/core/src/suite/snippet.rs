//! Whether a highlight shows the right span, and whether it shows anything that is not there.
//!
//! Texts are compared as a reader sees them: composed, in lower case, with single blanks and without
//! marks of emphasis. A highlight is right if it contains an expected text, or is a part of one of five
//! words or more. Where the key gives a place, half of the characters of both together must be shared.

use unicode_normalization::UnicodeNormalization as _;

use super::query::Snippet;
use crate::named;
use crate::scrub::MARKER;

/// As many words a part of an expected text must have to be one.
const PART_WORDS: usize = 5;
/// What the shared characters must be of all characters of both spans.
const SHARED: f64 = 0.5;

/// What a highlight is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Highlight {
    /// It shows what it should.
    Right,
    /// It shows something else.
    Wrong,
    Missing,
}

named! { Highlight { Right = "right", Wrong = "wrong", Missing = "missing" } }

/// What a highlight is, against the texts that it may show. `at` is where it stands in its document, in
/// characters, where that is known.
pub fn judge(highlight: Option<&str>, at: Option<(u32, u32)>, expected: &[Snippet]) -> Highlight {
    let shown = normal(highlight.unwrap_or_default());
    if shown.is_empty() {
        return Highlight::Missing;
    }
    let is_right = |snippet: &Snippet| match (at, snippet.at) {
        (Some(shown), Some(wanted)) => overlap(shown, wanted) >= SHARED,
        _ => shows(&shown, &normal(&snippet.text)),
    };
    if expected.iter().any(is_right) { Highlight::Right } else { Highlight::Wrong }
}

/// Whether a highlight is made up: none of its parts, between ellipses, is in the text it is said to be of.
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

/// Whether a highlight shows what is left of a scrubbed text, in its order.
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

/// A text as a reader sees it.
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
    fn what_is_left_of_a_scrubbed_text_is_looked_for() {
        let expected = |text: &str| [Snippet { text: text.to_owned(), at: None }];
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
        let snippet = Snippet { text: expected.to_owned(), at: None };
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
        let at = |from, to| Snippet { text: "x".to_owned(), at: Some((from, to)) };
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
    fn what_is_not_in_the_text_is_made_up() {
        let text = "The planner was shipped in May. It plans forty berths an hour.";
        assert!(!is_made_up("planner was *shipped*", text));
        assert!(!is_made_up("… shipped in May … forty berths ...", text));
        assert!(is_made_up("planner was cancelled", text));
        assert!(is_made_up("shipped in May … fifty berths", text));
    }
}
