//! Splits a page into its compiled truth and its timeline.

use std::ops::Range;

use super::block::{self, FenceTracker, heading_level, heading_text, is_break, item_text};
use super::date;

/// The parts of a body, in order, as byte ranges. The separator belongs to neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyParts {
    pub(crate) truth: Range<usize>,
    pub(crate) timeline: Range<usize>,
    /// The text after a timeline section that ends before the page does.
    pub(crate) rest: Range<usize>,
}

struct BodyLine {
    range: Range<usize>,
    fenced: bool,
}

/// Splits a body at its first sentinel: `<!-- timeline -->`, `--- timeline ---`, a rule before a
/// `Timeline` or `History` heading or before nothing but dated bullets, or such a heading over
/// nothing but dated bullets (then only that section moves). Never inside a fenced block.
pub(crate) fn split(text: &str, body: Range<usize>) -> BodyParts {
    let mut fences = FenceTracker::default();
    let lines: Vec<BodyLine> = block::lines(text, body.clone())
        .map(|range| BodyLine { fenced: fences.holds(&text[range.clone()]), range })
        .collect();
    let dated_to_the_end = dated_tail(text, &lines);
    let mut prior = false;
    for at in 0..lines.len() {
        let line = text[lines[at].range.clone()].trim();
        if lines[at].fenced || line.is_empty() {
            prior |= lines[at].fenced;
            continue;
        }
        let separator = is_marker(line)
            || (is_break(line) && prior && opens_timeline(text, &lines, at + 1, dated_to_the_end));
        if separator {
            let start = lines.get(at + 1).map_or(body.end, |next| next.range.start);
            return BodyParts {
                truth: body.start..lines[at].range.start,
                timeline: start..body.end,
                rest: body.end..body.end,
            };
        }
        if is_timeline_heading(line)
            && let Some(end) = dated_section(text, &lines, at)
        {
            let start = lines[at].range.start;
            let end = lines.get(end).map_or(body.end, |next| next.range.start);
            return BodyParts {
                truth: body.start..start,
                timeline: start..end,
                rest: end..body.end,
            };
        }
        prior = true;
    }
    BodyParts { truth: body.clone(), timeline: body.end..body.end, rest: body.end..body.end }
}

fn is_marker(line: &str) -> bool {
    let comment = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
    let decorated = line.strip_prefix("---").and_then(|rest| rest.strip_suffix("---"));
    comment.or(decorated).is_some_and(|inner| inner.trim().eq_ignore_ascii_case("timeline"))
}

fn is_timeline_heading(line: &str) -> bool {
    heading_level(line) == Some(2) && {
        let name = heading_text(line).to_lowercase();
        name.starts_with("timeline") || name.starts_with("history")
    }
}

/// A list item that starts with a day: `- **2021-06-15** | text`.
pub(crate) fn item_day(line: &str) -> Option<jiff::civil::Date> {
    let text = item_text(line)?.trim_start_matches(['*', '_', '[', '`']);
    date::leading_day(text).map(|(day, _)| day)
}

/// The first line from which on there are only dated bullets with their continuation lines.
fn dated_tail(text: &str, lines: &[BodyLine]) -> usize {
    let mut first = lines.len();
    for (at, line) in lines.iter().enumerate().rev() {
        let content = &text[line.range.clone()];
        if !line.fenced && item_day(content).is_some() {
            first = at;
        } else if line.fenced || !(content.trim().is_empty() || content.starts_with([' ', '\t'])) {
            break;
        }
    }
    first
}

fn opens_timeline(text: &str, lines: &[BodyLine], from: usize, dated_to_the_end: usize) -> bool {
    let next = lines[from..].iter().position(|line| !text[line.range.clone()].trim().is_empty());
    let Some(next) = next.map(|ahead| from + ahead) else { return false };
    is_timeline_heading(&text[lines[next].range.clone()]) || next == dated_to_the_end
}

/// The line after a section that holds dated bullets and nothing else.
fn dated_section(text: &str, lines: &[BodyLine], heading: usize) -> Option<usize> {
    let mut bullets = 0;
    let mut at = heading + 1;
    while let Some(line) = lines.get(at) {
        let content = &text[line.range.clone()];
        if line.fenced {
            return None;
        }
        if heading_level(content).is_some_and(|level| level <= 2) {
            break;
        }
        if item_day(content).is_some() {
            bullets += 1;
        } else if !(content.trim().is_empty() || bullets > 0 && content.starts_with([' ', '\t'])) {
            return None;
        }
        at += 1;
    }
    (bullets > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: [&str; 3]) {
        let BodyParts { truth, timeline, rest } = split(text, 0..text.len());
        assert_eq!([truth, timeline, rest].map(|range| text[range].trim()), expected, "{text:?}");
    }

    #[test]
    fn splits_at_each_sentinel() {
        check("a\n<!-- timeline -->\nb", ["a", "b", ""]);
        check("a\n--- Timeline ---\nb", ["a", "b", ""]);
        check("a\n\n---\n\n## History of it\nb", ["a", "## History of it\nb", ""]);
        check(
            "a\n\n---\n\n- **2021-06-15** | b\n- 2022-01-01: c\n  more\n",
            ["a", "- **2021-06-15** | b\n- 2022-01-01: c\n  more", ""],
        );
        check(
            "a\n## Timeline\n- 2021-06-15 b\n\n## Next\nc",
            ["a", "## Timeline\n- 2021-06-15 b", "## Next\nc"],
        );
    }

    #[test]
    fn leaves_other_rules_alone() {
        for text in [
            "a\n\n---\n\nb",
            "a\n\n---\n\n- plain bullet",
            "a\n\n---\n\n- 2021-06-15 b\n\nand a paragraph",
            "## Timeline\nprose",
            "---\n\n## Timeline\nx",
            "```\n<!-- timeline -->\n---\n- 2021-06-15 b\n```",
        ] {
            check(text, [text.trim(), "", ""]);
        }
    }
}
