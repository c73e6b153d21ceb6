//! Stop words. They are indexed like any other word and left out of queries.

/// Lucene's list, the words of questions, and the persons, auxiliaries and contractions that
/// questions are put in. `who` is not among them: texts about people say it too. Sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "im",
    "in", "into", "is", "it", "ive", "me", "my", "no", "not", "of", "on", "or", "our", "should",
    "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "us", "was",
    "we", "were", "what", "when", "where", "which", "why", "will", "with", "would", "you", "your",
];

/// Whether a folded word is one that queries leave out.
pub fn is_stop_word(exact: &str) -> bool {
    STOP_WORDS.binary_search(&exact).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(
            is_stop_word("what")
                && is_stop_word("a")
                && is_stop_word("your")
                && !is_stop_word("acme")
        );
    }
}
