//! Credentials behind the word of an authentication scheme: `Basic`, `Token`, and every value of
//! the header.
//!
//! Only the credentials are claimed. Outside of a header these words are common in prose, so that
//! `Basic` needs base64 of a user, a colon and a password, and `Token` twenty characters with a
//! letter and a digit. `Bearer` is a family of its own.

use super::byte::{ends_with_word, is_english, is_url64};
use super::sink::Sink;
use super::text::{ScannedText, has};
use super::token::scheme_before;

/// The fewest characters of credentials in a header.
const FEWEST: usize = 10;
/// The fewest characters of a token outside of a header.
const FEWEST_BARE: usize = 20;
/// No user and password are longer in base64.
const LONGEST_BASIC: usize = 1024;
/// The longest scheme in a header: `AWS4-HMAC-SHA256`.
const LONGEST_SCHEME: usize = 20;
/// Between the name of a header and the scheme: `: "`.
const MOST_BETWEEN: usize = 4;

/// The name of the header; `Proxy-Authorization` ends with it too.
const HEADER: &str = "authorization";

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for word in text.words() {
        let start = word.start;
        let [.., last, blank] = text.bytes[..start] else { continue };
        if !blank.is_ascii_whitespace() {
            continue;
        }
        let may_be = |letter: u8| last | 0x20 == letter || last.is_ascii_whitespace();
        let end = text.end_of(start, is_credential);
        let value = &text.bytes[start..end];
        let is_secret = (may_be(b'c')
            && scheme_before(text, start, b"basic").is_some()
            && is_user_and_password(value))
            || (may_be(b'n') && scheme_before(text, start, b"token").is_some() && is_token(value))
            || (text.has(has::ASSIGN)
                && is_in_header(text, start)
                && value.len() >= FEWEST
                && !is_english(value));
        if is_secret {
            sink.offer(start, end);
        }
    }
}

/// Whether the name of the header, a sign and a scheme other than `Bearer` stand before the one blank
/// before a place.
fn is_in_header(text: &ScannedText<'_>, at: usize) -> bool {
    let window = text.window_before(at - 1, LONGEST_SCHEME + MOST_BETWEEN + HEADER.len());
    let length = window.iter().rev().take_while(|byte| is_url64(**byte)).count();
    let (rest, scheme) = window.split_at(window.len() - length);
    let is_between = |byte: &u8| matches!(byte, b':' | b'=' | b'"' | b'\'' | b' ' | b'\t');
    let between = rest.iter().rev().take_while(|byte| is_between(byte)).count();
    let (name, between) = rest.split_at(rest.len() - between);
    (1..=LONGEST_SCHEME).contains(&length)
        && between.len() <= MOST_BETWEEN
        && between.iter().any(|byte| matches!(byte, b':' | b'='))
        && ends_with_word(name, HEADER)
        && !scheme.eq_ignore_ascii_case(b"bearer")
}

fn is_credential(byte: u8) -> bool {
    is_url64(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn is_token(value: &[u8]) -> bool {
    value.len() >= FEWEST_BARE
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !value.iter().any(|byte| matches!(byte, b'/' | b'='))
}

/// Whether base64 says `user:password`, in printable characters.
fn is_user_and_password(value: &[u8]) -> bool {
    let digits = value.strip_suffix(b".").unwrap_or(value);
    let digits = match digits {
        [rest @ .., b'=', b'='] | [rest @ .., b'='] => rest,
        _ => digits,
    };
    if !(4..=LONGEST_BASIC).contains(&digits.len()) || is_english(digits) {
        return false;
    }
    let (mut bits, mut count, mut has_colon) = (0_u32, 0, false);
    for digit in digits {
        let Some(sextet) = sextet(*digit) else { return false };
        (bits, count) = ((bits << 6 | sextet) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            let byte = (bits >> count) as u8;
            has_colon |= byte == b':';
            if byte < b' ' || byte == 0x7f {
                return false;
            }
        }
    }
    has_colon
}

fn sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}
