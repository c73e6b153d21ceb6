//! North American phone numbers, as the reference finds them.
//!
//! An optional `+` with one to three digits, an area of three digits (in parentheses, or followed by
//! a blank, a dot or a dash), three digits, an optional separator, four digits; no digit on either
//! side. Ten bare digits are none: too many other things have ten digits. Unlike the reference's, a
//! number that counts something or belongs to a thing (`123 456 7890 rows`, `SKU 123-456-7890`) is none.

use super::byte::{is_blank, is_word};
use super::context;
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for area in 0..text.runs().len() {
        if let Some((start, end)) = number(text, area, sink)
            && !is_other(text, start, end)
        {
            sink.offer(start, end);
        }
    }
}

/// Whether digits without a country code count something or name a thing.
fn is_other(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    let has_blanks =
        || text.bytes[start..end].iter().all(|byte| *byte == b' ' || byte.is_ascii_digit());
    let is_bare = text.at(start).is_ascii_digit();
    is_bare
        && (is_version(text, start, end)
            || context::is_code(text, start, end)
            || (has_blanks()
                && context::is_counted(text, end)
                && !context::is_dialled(text, start)))
}

/// Whether dots make the digits part of a version: `1.415.555.0132`, `v415.555.0132`.
fn is_version(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    let before = text.before(start);
    let goes_on = before == b'.' && text.before(start - 1).is_ascii_digit();
    let is_v = matches!(before, b'v' | b'V') && !is_word(text.before(start - 1));
    text.bytes[start..end].contains(&b'.') && (goes_on || is_v)
}

/// The number whose area code is or ends a run.
pub(super) fn number(text: &ScannedText<'_>, area: usize, sink: &Sink) -> Option<(usize, usize)> {
    let runs = text.runs();
    let run = runs[area];
    let has_plus = text.before(run.start) == b'+';
    let (start, after) = match run.len() {
        3 if text.before(run.start) == b'(' && text.at(run.end) == b')' => {
            let after = run.end + 1;
            (run.start - 1, after + usize::from(is_separator(text.at(after))))
        }
        3 if is_separator(text.at(run.end)) => (run.start, run.end + 1),
        4..=6 if has_plus && is_separator(text.at(run.end)) => (run.start, run.end + 1),
        _ => return None,
    };
    let end = subscriber_end(text, &runs[area + 1..], after)?;
    let alone = |start: &usize| !text.before(*start).is_ascii_digit() || sink.ends_at(*start);
    let with_country = match run.len() {
        3 => country_start(text, &runs[..area], start),
        _ => Some(start - 1),
    };
    let without_country = Some(start).filter(|_| run.len() == 3);
    let start = with_country.filter(alone).or(without_country).filter(alone)?;
    Some((start, end))
}

/// Three digits, an optional separator and four digits that begin at a place.
fn subscriber_end(text: &ScannedText<'_>, runs: &[ByteRun], at: usize) -> Option<usize> {
    let first = runs.first().filter(|run| run.start == at)?;
    if first.len() == 7 {
        return Some(first.end);
    }
    let last = runs.get(1).filter(|run| run.start == first.end + 1 && run.len() == 4)?;
    (first.len() == 3 && is_separator(text.at(first.end))).then_some(last.end)
}

/// Where the country code before a number begins.
fn country_start(text: &ScannedText<'_>, runs: &[ByteRun], number: usize) -> Option<usize> {
    let code = runs.last().filter(|run| run.len() <= 3)?;
    let joined = code.end == number || (code.end + 1 == number && is_separator(text.at(code.end)));
    let has_plus = text.before(code.start) == b'+';
    (joined && has_plus).then(|| code.start - 1)
}

fn is_separator(byte: u8) -> bool {
    is_blank(byte) || byte == b'.' || byte == b'-'
}
