//! Phone numbers with a country code: `+` or `00`, then groups of digits.
//!
//! The country code must be one that is assigned, and the digits as many as E.164 allows; numbers
//! of the codes 1 and 7 have exactly ten digits behind them. Matches that the North American family
//! finds with the same bytes are left to it.

use super::byte::is_word;
use super::context;
use super::phone;
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

/// E.164's limit, with the country code.
const MOST_DIGITS: usize = 15;
const FEWEST_DIGITS: usize = 7;
/// Without separators there is less to tell a number from a quantity or an id.
const FEWEST_BARE_BEHIND_PLUS: usize = 8;
const FEWEST_BARE_BEHIND_ZEROS: usize = 10;
const LONGEST_EXTENSION: usize = 6;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for at in 0..text.runs().len() {
        let Some((start, end)) = number(text, at, sink) else { continue };
        let end = extension_end(text, end).unwrap_or(end);
        if phone_at(text, at, sink) != Some((start, end)) {
            sink.offer(start, end);
        }
    }
}

/// The end of ` x123` or ` ext. 123` behind a number.
pub(super) fn extension_end(text: &ScannedText<'_>, number: usize) -> Option<usize> {
    let blank = |at: usize| at + usize::from(text.at(at) == b' ');
    let word = blank(number);
    let rest = &text.bytes[word.min(text.bytes.len())..];
    let name = ["ext.", "ext", "x"].iter().find(|name| {
        rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    })?;
    let start = blank(word + name.len());
    let end = text.end_of(start, |byte| byte.is_ascii_digit());
    let fits = (1..=LONGEST_EXTENSION).contains(&(end - start));
    (fits && !is_word(text.at(end))).then_some(end)
}

/// Whether the bytes between two groups may stand there.
pub(super) fn joins(between: &[u8]) -> bool {
    matches!(
        between,
        b" " | b"-" | b"." | b"/" | b"\xc2\xa0" | b"(" | b" (" | b"-(" | b")" | b") " | b")-"
    )
}

fn number(text: &ScannedText<'_>, at: usize, sink: &Sink) -> Option<(usize, usize)> {
    let runs = text.runs();
    let run = runs[at];
    let zeros = text.bytes[run.start..].starts_with(b"00") && run.len() > 2;
    let (start, skip, bare) = match text.before(run.start) {
        b'+' => (run.start - 1, 0, FEWEST_BARE_BEHIND_PLUS),
        b'-' | b'.' | b'/' => return None,
        _ if zeros => (run.start, 2, FEWEST_BARE_BEHIND_ZEROS),
        _ => return None,
    };
    let before = text.before(start);
    let is_fraction = before == b',' && text.before(start - 1).is_ascii_digit();
    let touches = is_word(before) || is_fraction || before == b'+';
    if touches && !sink.ends_at(start) {
        return None;
    }
    let has_zeros = skip > 0;
    if has_zeros && goes_on_a_row(text, &runs[..at], start, sink) {
        return None;
    }
    let end = longest(text, &runs[at..], skip, bare)?;
    let is_other = || context::is_code(text, start, end) || context::is_counted(text, end);
    (!has_zeros || !is_other()).then_some((start, end))
}

/// Whether zeros stand behind a group of four digits that nothing claimed, as in the middle of a card.
fn goes_on_a_row(text: &ScannedText<'_>, before: &[ByteRun], start: usize, sink: &Sink) -> bool {
    before.last().is_some_and(|last| {
        let is_joined = last.end + 1 == start && text.at(last.end) == b' ';
        is_joined && last.len() == 4 && !sink.ends_at(last.end)
    })
}

/// Where the longest valid number ends that begins with the first run.
fn longest(text: &ScannedText<'_>, runs: &[ByteRun], skip: usize, bare: usize) -> Option<usize> {
    let mut code = [0; 3];
    let (mut count, mut best) = (0, None);
    for (at, run) in runs.iter().enumerate() {
        if at > 0 && !joins(&text.bytes[runs[at - 1].end..run.start]) {
            break;
        }
        let digits = &text.bytes[run.start + if at == 0 { skip } else { 0 }..run.end];
        if count + digits.len() > MOST_DIGITS {
            break;
        }
        for (place, digit) in code[count.min(3)..].iter_mut().zip(digits) {
            *place = *digit;
        }
        count += digits.len();
        let fewest = if at == 0 { bare } else { FEWEST_DIGITS };
        if count >= fewest && fits(code, count) && !is_word_but_x(text.at(run.end)) {
            best = Some(run.end);
        }
    }
    best
}

/// Whether a country code is assigned and may have this many digits, its own included.
fn fits(code: [u8; 3], count: usize) -> bool {
    match code {
        [b'1' | b'7', ..] => count == 11,
        [b'2', b'8', _] | [b'8', b'3' | b'9', _] | [b'0', ..] => false,
        _ => true,
    }
}

/// A letter behind the digits makes them something else, unless it begins an extension.
fn is_word_but_x(byte: u8) -> bool {
    is_word(byte) && byte != b'x'
}

/// The match of the North American family from a run on: the area code is in it or in the next one.
fn phone_at(text: &ScannedText<'_>, run: usize, sink: &Sink) -> Option<(usize, usize)> {
    let next =
        || (run + 1 < text.runs().len()).then(|| phone::number(text, run + 1, sink)).flatten();
    phone::number(text, run, sink).or_else(next)
}
