//! Markdown as plain text, for a reader who sees a snippet on a terminal or a page.
//!
//! Link syntax, heading marks, fences, emphasis and comments are removed; their text stays. Highlights keep marking the
//! same words. It works on windows cut out of a page, so half a construct at either end is removed too. The wire format
//! keeps the text as the page has it.

use super::snippet::Snippet;

/// A snippet without markdown syntax.
pub fn plain(snippet: &str, highlights: &[(u32, u32)]) -> Snippet {
    let chars: Vec<char> = snippet.chars().collect();
    let mut text = String::with_capacity(snippet.len());
    // For each character of the source, how many characters were written before it.
    let mut written_before = Vec::with_capacity(chars.len() + 1);
    let mut written = 0u32;
    let removed = removed(&chars);
    for (at, c) in chars.iter().enumerate() {
        written_before.push(written);
        let is_doubled_blank = *c == ' ' && (text.is_empty() || text.ends_with(' '));
        if !removed[at] && !is_doubled_blank {
            text.push(*c);
            written += 1;
        }
    }
    written_before.push(written);
    let kept = text.trim_end().chars().count() as u32;
    text.truncate(text.trim_end().len());
    let place = |at: u32| written_before.get(at as usize).copied().unwrap_or(written).min(kept);
    let highlights = highlights
        .iter()
        .map(|&(start, end)| (place(start), place(end)))
        .filter(|(start, end)| start < end)
        .collect();
    Snippet { text, highlights }
}

/// The characters that are syntax.
fn removed(chars: &[char]) -> Vec<bool> {
    let mut removed = vec![false; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let end = comment(chars, at)
            .or_else(|| fence(chars, at))
            .or_else(|| heading(chars, at))
            .or_else(|| quote(chars, at))
            .or_else(|| emphasis(chars, at));
        if let Some(end) = end {
            removed[at..end].fill(true);
            at = end;
            continue;
        }
        if let Some((label, end)) = wiki_link(chars, at).or_else(|| inline_link(chars, at)) {
            removed[at..label.0].fill(true);
            removed[label.1..end].fill(true);
            // The label may hold emphasis: go on within it.
            for (offset, is_removed) in
                self::removed(&chars[label.0..label.1]).into_iter().enumerate()
            {
                removed[label.0 + offset] = is_removed;
            }
            at = end;
            continue;
        }
        if starts(chars, at, "[[") || starts(chars, at, "]]") {
            removed[at..at + 2].fill(true);
            at += 2;
            continue;
        }
        at += 1;
    }
    removed
}

fn starts(chars: &[char], at: usize, text: &str) -> bool {
    let mut rest = chars[at..].iter();
    text.chars().all(|c| rest.next() == Some(&c))
}

/// Where `text` begins at or after `from`.
fn find(chars: &[char], from: usize, text: &str) -> Option<usize> {
    (from..chars.len()).find(|at| starts(chars, *at, text))
}

fn is_line_start(chars: &[char], at: usize) -> bool {
    at == 0 || chars[at - 1].is_whitespace()
}

/// The end of an HTML comment that begins here, closed or not.
fn comment(chars: &[char], at: usize) -> Option<usize> {
    starts(chars, at, "<!--")
        .then(|| find(chars, at + 4, "-->").map_or(chars.len(), |end| end + "-->".len()))
}

/// The end of a fence with its language, or of a single backtick.
fn fence(chars: &[char], at: usize) -> Option<usize> {
    if chars[at] != '`' {
        return None;
    }
    let ticks = chars[at..].iter().take_while(|c| **c == '`').count();
    let language = chars[at + ticks..].iter().take_while(|c| c.is_alphanumeric()).count();
    Some(if ticks >= 3 { at + ticks + language } else { at + ticks })
}

/// The end of `##` and the blank behind it. Blanks of a snippet are collapsed, so a heading may follow any blank.
fn heading(chars: &[char], at: usize) -> Option<usize> {
    if !is_line_start(chars, at) {
        return None;
    }
    let marks = chars[at..].iter().take_while(|c| **c == '#').count();
    let is_heading = (1..=6).contains(&marks) && chars.get(at + marks).is_none_or(|c| *c == ' ');
    is_heading.then(|| (at + marks + 1).min(chars.len()))
}

fn quote(chars: &[char], at: usize) -> Option<usize> {
    let is_quote = is_line_start(chars, at) && starts(chars, at, "> ");
    is_quote.then_some(at + 2)
}

/// The end of `**`, `__`, or of a `*` that touches a word on one side.
fn emphasis(chars: &[char], at: usize) -> Option<usize> {
    if starts(chars, at, "**") || starts(chars, at, "__") {
        return Some(at + 2);
    }
    let is_word = |c: Option<&char>| c.is_some_and(|c| !c.is_whitespace());
    let before = at.checked_sub(1).and_then(|at| chars.get(at));
    let touches_one = is_word(before) != is_word(chars.get(at + 1));
    (chars[at] == '*' && touches_one).then_some(at + 1)
}

/// The label of `[[target|label]]` or `[[target]]`, and the end of the link.
fn wiki_link(chars: &[char], at: usize) -> Option<((usize, usize), usize)> {
    if !starts(chars, at, "[[") {
        return None;
    }
    let close = find(chars, at + 2, "]]")?;
    let label = chars[at + 2..close].iter().position(|c| *c == '|');
    let from = label.map_or(at + 2, |bar| at + 2 + bar + 1);
    Some(((from, close), close + 2))
}

/// The label of `[label](address)` or `![label](address)`, and the end of the link.
fn inline_link(chars: &[char], at: usize) -> Option<((usize, usize), usize)> {
    let open = if starts(chars, at, "![") { at + 1 } else { at };
    if chars.get(open) != Some(&'[') {
        return None;
    }
    let close = find(chars, open + 1, "](")?;
    if chars[open + 1..close].contains(&'[') {
        return None;
    }
    let end = find(chars, close + 2, ")")?;
    Some(((open + 1, close), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(plain(source, &[]).text, expected, "{source:?}");
    }

    #[test]
    fn syntax_goes_and_text_stays() {
        check("see [[people/ada|Ada Byron]] and [[teams/quay]]", "see Ada Byron and teams/quay");
        check("## Actions - fix it", "Actions - fix it");
        check("before. ### Next step", "before. Next step");
        check("a [page](docs/a.md) and ![a boat](boat.png)", "a page and a boat");
        check("**bold** __strong__ *soft* `code`", "bold strong soft code");
        check("```rust fn main() {} ```", "fn main() {}");
        check("> quoted <!-- hidden --> shown", "quoted shown");
        check("2 * 3 is 6, item #5, a_b_c, C# code", "2 * 3 is 6, item #5, a_b_c, C# code");
        check("[[people/ada|**Ada**]]", "Ada");
    }

    #[test]
    fn half_a_link_loses_its_brackets() {
        check("ada|Ada]] said so, see [[people/bo", "ada|Ada said so, see people/bo");
        check("cut off <!-- in a comment", "cut off");
    }

    #[test]
    fn highlights_mark_the_same_words() {
        let source = "see [[people/ada|Ada Byron]] in **Wrenmouth**";
        let at = |word: &str| {
            let start = source.find(word).unwrap() as u32;
            (start, start + word.len() as u32)
        };
        let shown = plain(source, &[at("Byron"), at("people"), at("Wrenmouth")]);
        let words: Vec<&str> =
            shown.highlights.iter().map(|(a, b)| &shown.text[*a as usize..*b as usize]).collect();
        assert_eq!(words, ["Byron", "Wrenmouth"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_ordered_highlights_within_it(
            source in "[\\[\\]|()*_#`<>!a-c \\-漢]{0,60}",
            spans in proptest::collection::vec((0u32..60, 0u32..60), 0..5),
        ) {
            let length = source.chars().count() as u32;
            let spans: Vec<(u32, u32)> =
                spans.into_iter().map(|(a, b)| (a.min(b).min(length), a.max(b).min(length))).collect();
            let shown = plain(&source, &spans);
            let shown_length = shown.text.chars().count() as u32;
            for (start, end) in shown.highlights {
                proptest::prop_assert!(start < end && end <= shown_length);
            }
        }
    }
}
