//! The terms of a query.

use rustc_hash::FxHashMap;

use super::{Token, TokenKind, analyse};

/// Maximum number of characters that are read of a query.
pub(crate) const MAX_QUERY_CHARS: usize = 64_000;
/// Distinct terms of a query that are searched: the first ones.
pub(crate) const MAX_QUERY_TERMS: usize = 256;

/// One term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    pub stem: String,
    /// The form that was typed, where it differs from the stem.
    pub exact: Option<String>,
    pub kind: TokenKind,
    /// How often the query says it.
    pub count: u32,
}

/// The terms of a query, distinct by stem, in order of first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryTerms {
    /// The terms to search for.
    pub terms: Vec<QueryTerm>,
    /// Stop words that were left out, in order of first appearance.
    pub dropped: Vec<String>,
}

impl QueryTerms {
    /// The terms of a text. Stop words are left out unless there is nothing else.
    pub fn of(text: &str) -> Self {
        let text = first_chars(text, MAX_QUERY_CHARS);
        let (mut content, mut stops) = (TermCollector::default(), TermCollector::default());
        analyse(text, &mut |token| {
            if token.kind == TokenKind::Stop { stops.add(&token) } else { content.add(&token) }
        });
        if content.terms.is_empty() {
            return Self { terms: stops.terms, dropped: Vec::new() };
        }
        let dropped = stops.terms.into_iter().map(|t| t.exact.unwrap_or(t.stem)).collect();
        Self { terms: content.terms, dropped }
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

#[derive(Default)]
struct TermCollector {
    terms: Vec<QueryTerm>,
    places: FxHashMap<String, usize>,
}

impl TermCollector {
    fn add(&mut self, token: &Token<'_>) {
        if let Some(place) = self.places.get(token.stem) {
            self.terms[*place].count += 1;
            return;
        }
        if self.terms.len() == MAX_QUERY_TERMS {
            return;
        }
        self.places.insert(token.stem.to_owned(), self.terms.len());
        self.terms.push(QueryTerm {
            stem: token.stem.to_owned(),
            exact: (token.exact != token.stem).then(|| token.exact.to_owned()),
            kind: token.kind,
            count: 1,
        });
    }
}

fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let terms = QueryTerms::of(text);
        let stems: Vec<_> = terms.terms.iter().map(|t| t.stem.as_str()).collect();
        assert_eq!(stems, expected, "{text}");
    }

    #[test]
    fn query_text_is_only_text() {
        check("C++", &["c++"]);
        check("don't AND", &["dont"]);
        check("\"open quote", &["open", "quot"]);
        check("*", &[]);
        check("", &[]);
        check("title:foo", &["titl", "foo", "title:foo"]);
    }

    #[test]
    fn stop_words_are_left_out_unless_they_are_all() {
        check("what works at Acme?", &["work", "acm"]);
        check("what are they", &["what", "are", "they"]);
        assert_eq!(QueryTerms::of("where is Ada").dropped, ["where", "is"]);
    }

    #[test]
    fn repeated_words_are_counted() {
        let terms = QueryTerms::of("berth berths berth quay");
        assert_eq!(terms.terms[0].count, 3);
        assert_eq!(terms.terms[1].count, 1);
    }

    #[test]
    fn long_queries_are_bounded() {
        let many: String = (0..1000).map(|n| format!("w{n} ")).collect();
        assert_eq!(QueryTerms::of(&many).terms.len(), MAX_QUERY_TERMS);
        let long = format!("{} tail", " ".repeat(MAX_QUERY_CHARS));
        assert!(QueryTerms::of(&long).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_gives_bounded_distinct_terms(text in any::<String>()) {
            let terms = QueryTerms::of(&text).terms;
            let mut stems: Vec<_> = terms.iter().map(|t| &t.stem).collect();
            stems.sort();
            stems.dedup();
            prop_assert_eq!(stems.len(), terms.len());
            prop_assert!(terms.len() <= MAX_QUERY_TERMS);
        }
    }
}
