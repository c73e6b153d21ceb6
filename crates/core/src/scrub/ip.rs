//! IP addresses, except those that mean no machine or this one (`0.0.0.0`, `127.0.0.1`, `::1`).
//!
//! Private addresses count: within a company they tell whose machine it is. Four numbers behind a
//! `v` or the word version are a version.

use std::net::{Ipv4Addr, Ipv6Addr};

use memchr::memchr_iter;

use super::byte::{ends_with_word, is_word};
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

/// The longest address of version 6, with one of version 4 at its end.
const LONGEST: usize = 45;

pub(super) fn find_v4(text: &ScannedText<'_>, sink: &mut Sink) {
    for runs in text.runs().windows(4) {
        let (start, end) = (runs[0].start, runs[3].end);
        let dots =
            |pair: &[ByteRun]| pair[1].start == pair[0].end + 1 && text.at(pair[0].end) == b'.';
        if !runs.windows(2).all(dots) || !stands_alone(text, start, end) {
            continue;
        }
        let address: Option<Ipv4Addr> = text.str[start..end].parse().ok();
        let names_one = |address: &Ipv4Addr| {
            !address.is_loopback() && !address.is_unspecified() && !address.is_broadcast()
        };
        if address.as_ref().is_some_and(names_one) {
            sink.offer(start, end);
        }
    }
}

pub(super) fn find_v6(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut from = 0;
    for colon in memchr_iter(b':', text.bytes) {
        if colon < from {
            continue;
        }
        let start = text.start_of(colon, from, is_v6);
        let end = text.end_of(colon, is_v6);
        from = end;
        if let Some(end) = v6_end(text, start, end) {
            sink.offer(start, end);
        }
    }
}

fn v6_end(text: &ScannedText<'_>, start: usize, end: usize) -> Option<usize> {
    let shown = text.str[start..end].trim_end_matches(['.', ':']);
    let first = shown.split(':').next()?;
    let is_likely = first.len() >= 3 && shown.bytes().any(|byte| byte.is_ascii_digit());
    let alone =
        !is_word(text.before(start)) && (shown.len() < end - start || !is_word(text.at(end)));
    if shown.len() > LONGEST || !is_likely || !alone {
        return None;
    }
    shown.parse::<Ipv6Addr>().ok().map(|_| start + shown.len())
}

fn is_v6(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b':' || byte == b'.'
}

fn stands_alone(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    let (before, after, next) = (text.before(start), text.at(end), text.at(end + 1));
    let window = text.window_before(start, "version ".len());
    let is_version =
        ["version ", "version", "ver ", "v. "].iter().any(|w| ends_with_word(window, w));
    let goes_on =
        (after == b'.' && next.is_ascii_digit()) || (after == b'-' && next.is_ascii_alphabetic());
    !is_word(before) && !matches!(before, b'.' | b'-') && !is_word(after) && !goes_on && !is_version
}
