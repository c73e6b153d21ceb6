//! Phone numbers in national notation, in groups.
//!
//! Three signs are good enough: a trunk zero in front (`0490 75 40 81`), an area in parentheses
//! (`(37) 788-063`), or a word about phoning shortly before (`call me at 467 3395`). Every one of them
//! needs groups of two digits or more with the same separator between all but the first two.
//!
//! Deliberately absent: digits without separators, and dates, ZIP+4 codes and decimals.

use super::byte::is_word;
use super::context;
use super::phone_international::{extension_end, joins};
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

const MOST_DIGITS: usize = 12;
const MOST_GROUPS: usize = 5;
/// How far before or behind a number a word about phoning may stand.
const NEAR_BEFORE: usize = 32;
const NEAR_BEHIND: usize = 10;

/// Words about phoning before a number, lower-case.
const WORDS_BEFORE: [&str; 18] = [
    "phone",
    "telephone",
    "call",
    "called",
    "calling",
    "tel",
    "mobile",
    "cell",
    "fax",
    "whatsapp",
    "dial",
    "sms",
    "office",
    "desk",
    "contact",
    "reach",
    "answering",
    "messages",
];
/// Words about phoning behind a number.
const WORDS_BEHIND: [&str; 6] = ["office", "fax", "mobile", "cell", "home", "desk"];

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut rest = text.runs();
    while !rest.is_empty() {
        let (chain, after) = rest.split_at(chain_length(text, rest));
        find_in(text, chain, sink);
        rest = after;
    }
}

/// A number begins where a chain does or where a group says so, and ends before one of these places.
/// Other places would depend on what else was found in the chain.
fn find_in(text: &ScannedText<'_>, chain: &[ByteRun], sink: &mut Sink) {
    // Four groups of four are a card, or a mistyped one, and no number begins within it.
    if chain.len() == 4 && chain.iter().all(|run| run.len() == 4) {
        return;
    }
    let begins = |at: usize| at == 0 || at == chain.len() || begins_number(text, chain[at]);
    let mut from = 0;
    while from < chain.len() {
        let ends = (from + 2..=chain.len().min(from + MOST_GROUPS)).rev().filter(|at| begins(*at));
        let starts = if begins(from) { Some(ends) } else { None };
        let claimed = starts.into_iter().flatten().find(|end| {
            let number = NationalNumber::new(text, &chain[from..*end]);
            number.filter(|number| number.is_likely(sink)).is_some_and(|number| {
                let end = extension_end(text, number.end).unwrap_or(number.end);
                sink.offer(number.start, end)
            })
        });
        from = claimed.unwrap_or(from + 1);
    }
}

/// How many runs from the first on are joined.
fn chain_length(text: &ScannedText<'_>, runs: &[ByteRun]) -> usize {
    let joined = |pair: &[ByteRun]| joins(&text.bytes[pair[0].end..pair[1].start]);
    1 + runs.windows(2).take_while(|pair| joined(pair)).count()
}

/// A trunk zero and an area behind it, or an area in parentheses.
fn begins_number(text: &ScannedText<'_>, run: ByteRun) -> bool {
    let zero = text.at(run.start) == b'0' && matches!(text.at(run.start + 1), b'1'..=b'9');
    let in_parentheses = text.before(run.start) == b'(' && text.at(run.end) == b')';
    (zero && run.len() >= 3) || (in_parentheses && run.len() >= 2)
}

struct NationalNumber<'a> {
    text: &'a ScannedText<'a>,
    groups: &'a [ByteRun],
    start: usize,
    end: usize,
    in_parentheses: bool,
    digits: usize,
}

impl<'a> NationalNumber<'a> {
    fn new(text: &'a ScannedText<'a>, groups: &'a [ByteRun]) -> Option<Self> {
        let (first, last) = (groups.first()?, groups.last()?);
        let in_parentheses = text.before(first.start) == b'(' && text.at(first.end) == b')';
        let start = first.start - usize::from(in_parentheses);
        let digits = groups.iter().map(|run| run.len()).sum();
        Some(Self { text, groups, start, end: last.end, in_parentheses, digits })
    }

    fn is_likely(&self, sink: &Sink) -> bool {
        let digits = self.digits;
        (2..=MOST_GROUPS).contains(&self.groups.len())
            && digits <= MOST_DIGITS
            && self.stands_alone(sink)
            && self.is_regular()
            && !self.is_other()
            && ((self.has_trunk_zero() && digits >= 9)
                || (self.in_parentheses && digits >= 8)
                || (digits >= 7 && self.is_phoned()))
    }

    fn stands_alone(&self, sink: &Sink) -> bool {
        let text = self.text;
        let (before, after) = (text.before(self.start), text.at(self.end));
        let is_fraction = before == b',' && text.before(self.start - 1).is_ascii_digit();
        let touches = is_word(before)
            || is_fraction
            || matches!(before, b'-' | b'.' | b'/' | b':' | b'+' | b'#' | b'$');
        let goes_on = matches!(after, b'.' | b',' | b'-' | b':' | b'/')
            && text.at(self.end + 1).is_ascii_digit();
        let is_part = goes_on || after == b'%' || is_word(after);
        let has_extension = extension_end(text, self.end).is_some();
        (!touches || sink.ends_at(self.start)) && (!is_part || has_extension)
    }

    /// Groups of two digits or more, the same separator from the second on.
    fn is_regular(&self) -> bool {
        let separators: Vec<&[u8]> = self
            .groups
            .windows(2)
            .map(|pair| &self.text.bytes[pair[0].end..pair[1].start])
            .collect();
        let plain = separators.iter().skip(1).all(|separator| *separator == separators[1])
            && separators.iter().skip(usize::from(self.in_parentheses)).all(|s| s.len() == 1);
        let single = [b" ".as_slice(), b"-", b".", b"/"];
        let plain = plain && separators[1..].iter().all(|separator| single.contains(separator));
        plain && self.groups.iter().all(|run| run.len() >= 2)
    }

    /// Counts and codes of things, decimals and versions, ZIP+4 codes, dates and years.
    fn is_other(&self) -> bool {
        let has_blanks = self.text.at(self.groups[0].end) == b' ';
        let is_counted = has_blanks && context::is_counted(self.text, self.end);
        if is_counted || context::is_code(self.text, self.start, self.end) {
            return true;
        }
        let lengths: Vec<usize> = self.groups.iter().map(|run| run.len()).collect();
        let dots = self.text.at(self.groups[0].end) == b'.';
        let year = |run: &ByteRun| {
            let digits = &self.text.bytes[run.start..run.end];
            digits.len() == 4 && (digits.starts_with(b"19") || digits.starts_with(b"20"))
        };
        (dots && lengths.len() < 4)
            || matches!(lengths[..], [5, 4] | [2, 2, 4] | [3, 2, 4])
            || (year(&self.groups[0]) && !self.in_parentheses)
    }

    fn has_trunk_zero(&self) -> bool {
        let first = self.groups[0];
        self.text.at(first.start) == b'0' && matches!(self.text.at(first.start + 1), b'1'..=b'9')
    }

    fn is_phoned(&self) -> bool {
        let bytes = self.text.bytes;
        let before = self.text.window_before(self.start, NEAR_BEFORE);
        let behind = &bytes[self.end..bytes.len().min(self.end + NEAR_BEHIND)];
        has_word(before, &WORDS_BEFORE) || has_word(behind, &WORDS_BEHIND)
    }
}

fn has_word(window: &[u8], known: &[&str]) -> bool {
    let words = window.split(|byte| !is_word(*byte));
    words.into_iter().any(|word| known.iter().any(|k| word.eq_ignore_ascii_case(k.as_bytes())))
}
