//! Values that are assigned to the name of a secret: `password=...`, `"api_key": "..."`.
//!
//! Only the value is claimed. It must have a letter, a digit and eight characters, which keeps prose
//! (`password: the usual one`), variables and the places of secrets apart from secrets.

use memchr::memchr2_iter;

use super::byte::{ends_with_word, is_blank, is_word};
use super::sink::Sink;
use super::text::Text;

/// What the names of secrets end with, lower-case, without separators.
const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "privatekey",
    "token",
    "credential",
];

const LONGEST_NAME: usize = 32;
const FEWEST: usize = 8;
/// Blanks on either side of the sign.
const MOST_BLANKS: usize = 4;

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    let mut from = 0;
    for sign in memchr2_iter(b'=', b':', text.bytes) {
        if sign < from || !is_named(text, sign) {
            continue;
        }
        let start = value_start(text, sign);
        let end = text.end_of(start, is_value);
        // A value that is refused is not looked at again from a sign within it.
        from = end;
        if is_secret(&text.bytes[start..end]) {
            sink.offer(start, end);
        }
    }
}

/// Whether the name of a secret stands before a sign.
fn is_named(text: &Text<'_>, sign: usize) -> bool {
    let window = text.window_before(sign, LONGEST_NAME + MOST_BLANKS);
    let window = window.trim_ascii_end();
    let window = match window {
        [rest @ .., b'"' | b'\'' | b'`'] => rest,
        _ => window,
    };
    let name: Vec<u8> = window
        .iter()
        .rev()
        .take_while(|byte| is_word(**byte) || **byte == b'-')
        .filter(|byte| !matches!(byte, b'_' | b'-'))
        .copied()
        .collect();
    let name: Vec<u8> = name.into_iter().rev().collect();
    NAMES.iter().any(|known| ends_with_word(&name, known))
}

/// Where the value behind a sign begins: `:=`, `=>`, blanks and a quote are skipped.
fn value_start(text: &Text<'_>, sign: usize) -> usize {
    let mut at = sign + 1;
    at += usize::from(matches!(text.at(at), b'=' | b'>'));
    for _ in 0..MOST_BLANKS {
        at += usize::from(is_blank(text.at(at)) && at < text.bytes.len());
    }
    at + usize::from(matches!(text.at(at), b'"' | b'\'' | b'`'))
}

fn is_value(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'<' | b'>' | b'(' | b')')
        && !matches!(byte, b'[' | b']' | b'{' | b'}' | b'|')
}

fn is_secret(value: &[u8]) -> bool {
    let is_place = value.first().is_some_and(|byte| matches!(byte, b'$' | b'%' | b'*' | b'/'));
    value.len() >= FEWEST
        && !is_place
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}
