//! Payment cards: digits with blanks, dashes, dots, slashes or underscores between them that pass Luhn's check.
//!
//! A chain of runs joined by single blanks or dashes is a card if it has 13 to 19 digits as a whole.
//! Of another chain (a card with its expiry date behind it) a part is one if it is a run by itself or
//! grouped as cards are. No part of a run is: one in ten of them would pass.

use super::byte::is_word;
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

const DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// How cards are grouped.
const GROUPINGS: [&[usize]; 6] =
    [&[4, 4, 4, 4], &[4, 4, 4, 4, 3], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 1], &[4, 4, 5]];

/// Prefixes of Maestro cards with 12 digits.
const MAESTRO: [&[u8]; 13] = [
    b"5018", b"5020", b"5038", b"56", b"57", b"58", b"6304", b"6390", b"6759", b"6761", b"6762",
    b"6763", b"0604",
];

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut rest = text.runs();
    while !rest.is_empty() {
        let (chain, after) = rest.split_at(chain_length(text, rest));
        if !is_card(text, chain) || !sink.offer(chain[0].start, chain[chain.len() - 1].end) {
            find_parts(text, chain, sink);
        }
        rest = after;
    }
}

/// Cards with dots, slashes or underscores between their groups. Versions, paths and names have them
/// too, so that the groups must be those of a card, and nothing may go on with the same sign.
pub(super) fn find_joined(text: &ScannedText<'_>, sink: &mut Sink) {
    let runs = text.runs();
    for from in 0..runs.len() {
        let begins_as_cards_do = matches!(text.at(runs[from].start), b'3'..=b'6');
        if runs[from].len() != 4 || !begins_as_cards_do {
            continue;
        }
        let sign = text.at(runs[from].end);
        let goes_on = text.before(runs[from].start) == sign;
        if !matches!(sign, b'.' | b'/' | b'_') || (sign != b'.' && goes_on) {
            continue;
        }
        let joined =
            |pair: &[ByteRun]| pair[1].start == pair[0].end + 1 && text.at(pair[0].end) == sign;
        let is_grouped = |grouping: &&[usize]| {
            let groups = runs.get(from..from + grouping.len());
            groups.is_some_and(|groups| {
                groups.iter().map(|run| run.len()).eq(grouping.iter().copied())
                    && groups.windows(2).all(joined)
                    && (sign == b'.' || text.at(groups[groups.len() - 1].end) != sign)
                    && is_card(text, groups)
            })
        };
        let lengths = GROUPINGS.iter().copied().filter(is_grouped).map(<[usize]>::len);
        if let Some(length) = lengths.max() {
            sink.offer(runs[from].start, runs[from + length - 1].end);
        }
    }
}

/// Maestro cards of 12 digits without separators.
pub(super) fn find_maestro(text: &ScannedText<'_>, sink: &mut Sink) {
    for run in text.runs().iter().filter(|run| run.len() == 12) {
        let digits = &text.bytes[run.start..run.end];
        let is_issued = MAESTRO.iter().any(|prefix| digits.starts_with(prefix));
        let touches = |byte| is_word(byte) || matches!(byte, b'-' | b'.');
        let alone = !touches(text.before(run.start)) && !is_word(text.at(run.end));
        if is_issued && alone && luhn(digits) {
            sink.offer(run.start, run.end);
        }
    }
}

fn find_parts(text: &ScannedText<'_>, chain: &[ByteRun], sink: &mut Sink) {
    let mut from = 0;
    while from < chain.len() {
        let taken = part(text, &chain[from..])
            .filter(|length| sink.offer(chain[from].start, chain[from + length - 1].end));
        from += taken.unwrap_or(1);
    }
}

/// How many of the first runs are a card.
fn part(text: &ScannedText<'_>, chain: &[ByteRun]) -> Option<usize> {
    let grouped = GROUPINGS.iter().filter(|grouping| {
        let lengths = chain.iter().map(|run| run.len());
        let begins_as_cards_do = matches!(text.at(chain[0].start), b'3'..=b'6');
        begins_as_cards_do && lengths.take(grouping.len()).eq(grouping.iter().copied())
    });
    let lengths = grouped.map(|grouping| grouping.len()).chain([1]);
    lengths.filter(|length| is_card(text, &chain[..*length])).max()
}

fn chain_length(text: &ScannedText<'_>, runs: &[ByteRun]) -> usize {
    let joined = |pair: &[ByteRun]| {
        pair[1].start == pair[0].end + 1 && matches!(text.at(pair[0].end), b' ' | b'-')
    };
    1 + runs.windows(2).take_while(|pair| joined(pair)).count()
}

fn is_card(text: &ScannedText<'_>, runs: &[ByteRun]) -> bool {
    let count = runs.iter().try_fold(0, |sum, run| {
        let sum = sum + run.len();
        (sum <= *DIGITS.end()).then_some(sum)
    });
    if !count.is_some_and(|count| DIGITS.contains(&count)) {
        return false;
    }
    let (start, end) = (runs[0].start, runs[runs.len() - 1].end);
    let is_fraction = text.before(start) == b'.' && text.before(start - 1).is_ascii_digit();
    let has_fraction = text.at(end) == b'.' && text.at(end + 1).is_ascii_digit();
    let alone = !is_word(text.before(start)) && !is_word(text.at(end));
    alone && !is_fraction && !has_fraction && luhn(&text.bytes[start..end])
}

/// Luhn's check over the digits among the bytes.
fn luhn(bytes: &[u8]) -> bool {
    let digits = bytes.iter().rev().filter(|byte| byte.is_ascii_digit());
    let sum: u32 = digits
        .enumerate()
        .map(|(at, byte)| {
            let digit = u32::from(byte - b'0');
            if at % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 }
        })
        .sum();
    sum.is_multiple_of(10)
}
