//! Escapes untrusted text for each format.
//!
//! All untrusted text passes through [`visible`] first: it is truncated and invisible characters
//! are escaped, so that a report contains no control character, line break or direction mark other
//! than its own.

use std::fmt::Write as _;

/// A text on one line, truncated to `max` characters, with invisible characters escaped.
pub fn visible(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for (at, c) in text.chars().enumerate() {
        if at == max {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string succeeds");
            }
            c => out.push(c),
        }
    }
    out
}

/// Control characters, direction marks, and characters that XML forbids.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}')
}

/// Escapes text and attribute values of HTML and XML.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Truncates and escapes untrusted text for HTML or XML.
pub(super) fn visible_markup(text: &str, max: usize) -> String {
    markup(&visible(text, max))
}

/// Formats untrusted text as Markdown code. It is an element, not a code span, so that backticks
/// need no care, and punctuation is written as entities, so that it cannot format, link or mention
/// users.
pub(super) fn markdown_code(text: &str, max: usize) -> String {
    let text: Vec<char> = visible(text, max).chars().collect();
    let mut out = String::from("<code>");
    for (at, c) in text.iter().enumerate() {
        let before = at.checked_sub(1).map_or(' ', |at| text[at]);
        let after = text.get(at + 1).copied().unwrap_or(' ');
        if is_plain(before, *c, after) {
            out.push(*c);
        } else {
            write!(out, "&#{};", u32::from(*c)).expect("writing to a string succeeds");
        }
    }
    out.push_str("</code>");
    out
}

/// Whether a character has no meaning in Markdown between these neighbours.
fn is_plain(before: char, c: char, after: char) -> bool {
    match c {
        '-' | ',' | '/' | '?' | '=' | ';' | '%' | '(' | ')' => true,
        '.' => !matches!(before, 'w' | 'W'),
        ':' => after != '/',
        '_' => before.is_alphanumeric() && after.is_alphanumeric(),
        c => !c.is_ascii_punctuation(),
    }
}

/// Escapes the message of a workflow command.
pub(super) fn annotation(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
pub(super) fn annotation_property(text: &str) -> String {
    annotation(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(visible("a\nb\0c\u{1b}[31m\u{202e}x", 99), "a\\nb\\u{0}c\\u{1b}[31m\\u{202e}x");
        assert_eq!(visible("ابجد 👩‍💻", 99), "ابجد 👩‍💻");
        assert_eq!(visible("abcdef", 3), "abc…");
        assert_eq!(visible("abc", 3), "abc");
    }

    #[test]
    fn markdown_neither_formats_nor_mentions() {
        assert_eq!(markdown_code("a|`b`", 9), "<code>a&#124;&#96;b&#96;</code>");
        assert_eq!(markdown_code("@ada www.x.y", 99), "<code>&#64;ada www&#46;x.y</code>");
        assert_eq!(markdown_code("</code>", 9), "<code>&#60;/code&#62;</code>");
    }

    #[test]
    fn annotations_stay_on_one_line() {
        assert_eq!(annotation("50%\r\n"), "50%25%0D%0A");
        assert_eq!(annotation_property("a:b,c"), "a%3Ab%2Cc");
    }
}
