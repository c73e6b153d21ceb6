//! Sentences: where one ends.
//!
//! Closing quotes and brackets after a mark belong to its sentence. `!`, `?` and `…` end a sentence
//! if white space or the end of the text follows. `.` ends one at the end of the text, and before
//! white space unless the next character after it is a lower-case letter, or the word before the
//! mark is an abbreviation or a single capital letter. `。`, `！`, `？` and `｡` end a sentence
//! whatever follows.

use std::ops::Range;

/// Words that carry a full stop in mid-sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "cf", "approx", "inc", "ltd",
    "co", "corp", "fig", "jr", "sr",
];

/// The sentences of a range as byte ranges, without the white space between them.
pub(crate) fn sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = range.start;
    let slice = &text[range.clone()];
    for (at, mark) in slice.char_indices() {
        let at_once = matches!(mark, '。' | '！' | '？' | '｡');
        if !at_once && !matches!(mark, '.' | '!' | '?' | '…') {
            continue;
        }
        let after = closing(slice, at + mark.len_utf8());
        let stop = range.start + after;
        if stop > start && (at_once || ends_here(slice, at, after, mark)) {
            push(text, start..stop, &mut found);
            start = stop;
        }
    }
    push(text, start..range.end, &mut found);
    found
}

/// Skips the closing quotes and brackets after a sentence's mark.
fn closing(slice: &str, mut at: usize) -> usize {
    for next in slice[at..].chars() {
        if !matches!(next, '"' | '\'' | ')' | ']' | '”' | '’' | '」' | '』' | '»' | '*' | '_')
        {
            break;
        }
        at += next.len_utf8();
    }
    at
}

fn ends_here(slice: &str, at: usize, after: usize, mark: char) -> bool {
    let rest = &slice[after..];
    if !rest.starts_with(char::is_whitespace) {
        return rest.is_empty();
    }
    if mark != '.' {
        return true;
    }
    if rest.trim_start().chars().next().is_some_and(char::is_lowercase) {
        return false;
    }
    let before = &slice[..at];
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"')).next();
    let word = word.unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let is_short = word.len() <= 6
        && ABBREVIATIONS.iter().any(|abbreviation| abbreviation.eq_ignore_ascii_case(word));
    !is_initial && !is_short
}

fn push(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    let end = range.start + slice.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = sentences(text, 0..text.len()).into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn ends_where_a_reader_would() {
        check("One. Two! Three?", &["One.", "Two!", "Three?"]);
        check(
            "Dr. Ada raised $2.3M at Acme Inc. in 2021. Then left.",
            &["Dr. Ada raised $2.3M at Acme Inc. in 2021.", "Then left."],
        );
        check(
            "She said \"no.\" Then (later.) J. Doe came",
            &["She said \"no.\"", "Then (later.)", "J. Doe came"],
        );
        check("今日は。明日も！ はい", &["今日は。", "明日も！", "はい"]);
        check("  ... \n", &["..."]);
        check("", &[]);
    }
}
