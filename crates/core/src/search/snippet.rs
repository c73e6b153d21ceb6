//! The part of a passage worth showing: the window that holds the most distinct matching words.

use crate::text::MatchSpan;

/// A window of a passage with its matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The text of the window, with blanks collapsed.
    pub text: String,
    /// Matching words, as character ranges into `text`.
    pub highlights: Vec<(u32, u32)>,
}

/// Cuts a window of about `width` characters out of a passage.
pub fn snippet(passage: &str, spans: &[MatchSpan], width: usize) -> Snippet {
    let chars: Vec<char> = passage.chars().collect();
    let (from, to) = window(&chars, spans, width);
    let mut text = String::with_capacity(to - from);
    let mut places = Vec::with_capacity(to - from + 1);
    let mut written = 0u32;
    let mut blank = true;
    for &c in &chars[from..to] {
        let is_blank = c.is_whitespace();
        if !(is_blank && blank) {
            text.push(if is_blank { ' ' } else { c });
            written += 1;
        }
        blank = is_blank;
        places.push(written);
    }
    let kept = text.trim_end().chars().count() as u32;
    text.truncate(text.trim_end().len());
    let highlights = spans
        .iter()
        .filter(|span| {
            span.start as usize >= from && span.end as usize <= to && span.start < span.end
        })
        .map(|span| {
            let first = places[span.start as usize - from] - 1;
            (first, places[span.end as usize - 1 - from].min(kept))
        })
        .collect();
    Snippet { text, highlights }
}

/// The window with the most distinct terms, then the most matches, then the earliest; moved to start at a sentence, or
/// at a word where no sentence starts before the first match.
fn window(chars: &[char], spans: &[MatchSpan], width: usize) -> (usize, usize) {
    if chars.len() <= width {
        return (0, chars.len());
    }
    let best = best_start(spans, width as u32);
    let lead = width / 6;
    let mut from = best.map_or(0, |start| (start as usize).saturating_sub(lead));
    from = from.min(chars.len() - width);
    let last = best.map_or(from, |start| start as usize);
    match (from..=last).find(|at| starts_sentence(chars, *at)) {
        Some(start) => from = start,
        None => {
            while from > 0 && !chars[from - 1].is_whitespace() && from < last {
                from += 1;
            }
        }
    }
    let mut to = (from + width).min(chars.len());
    let floor = from + width / 2;
    while to < chars.len() && to > floor && !chars[to].is_whitespace() {
        to -= 1;
    }
    (from, to)
}

/// Whether a sentence, a list item, a heading or a paragraph starts here.
fn starts_sentence(chars: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| chars[before]) else { return true };
    if !before.is_whitespace() || chars.get(at).is_none_or(|c| c.is_whitespace()) {
        return false;
    }
    let blanks = chars[..at].iter().rev().take_while(|c| c.is_whitespace());
    let line_ends = blanks.filter(|c| **c == '\n').count();
    let is_block = line_ends > 0 && matches!(chars[at], '-' | '*' | '#' | '>' | '|' | '0'..='9');
    let previous = chars[..at].iter().rev().find(|c| !c.is_whitespace());
    line_ends > 1
        || is_block
        || previous.is_none_or(|c| matches!(c, '.' | '!' | '?' | '。' | '！' | '？'))
}

fn best_start(spans: &[MatchSpan], width: u32) -> Option<u32> {
    let reach = width - width / 6;
    let most = spans.iter().map(|span| span.term).max()?;
    let mut inside = vec![0u32; most as usize + 1];
    let (mut distinct, mut end) = (0usize, 0);
    let mut best = ((0, 0), 0);
    for (at, first) in spans.iter().enumerate() {
        while let Some(span) = spans.get(end).filter(|span| span.end <= first.start + reach) {
            distinct += usize::from(inside[span.term as usize] == 0);
            inside[span.term as usize] += 1;
            end += 1;
        }
        let value = (distinct, end.saturating_sub(at));
        if value > best.0 {
            best = (value, at);
        }
        if end > at {
            inside[first.term as usize] -= 1;
            distinct -= usize::from(inside[first.term as usize] == 0);
        } else {
            end = at + 1;
        }
    }
    Some(spans[best.1].start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32, term: u32) -> MatchSpan {
        MatchSpan { start, end, term }
    }

    #[test]
    fn a_short_passage_is_shown_whole() {
        let cut = snippet("two  words\nhere", &[span(5, 10, 0)], 100);
        assert_eq!(cut.text, "two words here");
        assert_eq!(cut.highlights, [(4, 9)]);
    }

    #[test]
    fn the_window_holds_the_most_terms() {
        let passage = format!("alpha {} alpha beta {}", "x ".repeat(200), "y ".repeat(200));
        let at = passage.find("alpha beta").unwrap() as u32;
        let cut =
            snippet(&passage, &[span(0, 5, 0), span(at, at + 5, 0), span(at + 6, at + 10, 1)], 60);
        assert!(cut.text.contains("alpha beta"), "{}", cut.text);
        let shown: Vec<char> = cut.text.chars().collect();
        for (start, end) in cut.highlights {
            let word: String = shown[start as usize..end as usize].iter().collect();
            assert!(word == "alpha" || word == "beta", "{word:?}");
        }
    }

    #[test]
    fn a_window_starts_at_a_sentence_where_one_starts_before_the_match() {
        let filler = "word ".repeat(60);
        let passage = format!("{filler}end. The quay lost power. {filler}");
        let at = passage.find("power").unwrap() as u32;
        let cut = snippet(&passage, &[span(at, at + 5, 0)], 180);
        assert!(cut.text.starts_with("The quay lost power."), "{}", cut.text);
        let list = format!("{filler}\n- first item\n- the power item {filler}");
        let at = list.find("power").unwrap() as u32;
        let cut = snippet(&list, &[span(at, at + 5, 0)], 120);
        assert!(cut.text.starts_with("- first item - the power item"), "{}", cut.text);
    }

    proptest::proptest! {
        #[test]
        fn highlights_are_the_words_they_stand_for(
            words in proptest::collection::vec("[a-zé漢]{1,8}", 1..80), width in 10usize..80,
        ) {
            let passage = words.join("  ");
            let mut at = 0u32;
            let spans: Vec<MatchSpan> = words.iter().enumerate().map(|(term, word)| {
                let length = word.chars().count() as u32;
                let span = span(at, at + length, term as u32);
                at += length + 2;
                span
            }).collect();
            let cut = snippet(&passage, &spans, width);
            let shown: Vec<char> = cut.text.chars().collect();
            for (start, end) in cut.highlights {
                let word: String = shown[start as usize..end as usize].iter().collect();
                proptest::prop_assert!(words.contains(&word), "{word:?}");
            }
        }
    }
}
