//! Values that are assigned to the name of a secret: `password=...`, `"api_key": "..."`.
//!
//! Only the value is claimed. It must have a letter, a digit and eight characters, which keeps prose
//! (`password: the usual one`), variables and the places of secrets apart from secrets. What is written
//! as an assignment to a password (`password=hunter`, `"password": "swordfish"`) needs no digit.

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

/// Those that are assigned nothing but secrets.
const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "pwd", "secret"];

/// What stands where a password would, lower-case.
const PLACES: [&str; 24] = [
    "required",
    "optional",
    "string",
    "undefined",
    "redacted",
    "hidden",
    "masked",
    "prompt",
    "empty",
    "false",
    "value",
    "input",
    "field",
    "reset",
    "change",
    "expired",
    "unknown",
    "missing",
    "invalid",
    "incorrect",
    "wrong",
    "disabled",
    "enabled",
    "default",
];

/// What only the place of a password has in it.
const PLACE_PARTS: [&str; 6] = ["xxxx", "_here", "fake", "dummy", "example", "placeholder"];

const LONGEST_NAME: usize = 32;
const FEWEST: usize = 8;
/// The fewest characters of what is assigned to a password.
const FEWEST_ASSIGNED: usize = 5;
/// Blanks on either side of the sign.
const MOST_BLANKS: usize = 4;

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    let mut from = 0;
    for sign in memchr2_iter(b'=', b':', text.bytes) {
        if sign < from {
            continue;
        }
        let name = name(text, sign);
        if name.is_empty() || !NAMES.iter().any(|known| ends_with_word(&name, known)) {
            continue;
        }
        let start = value_start(text, sign);
        let end = text.end_of(start, is_value);
        // A value that is refused is not looked at again from a sign within it.
        from = end;
        let value = &text.bytes[start..end];
        let is_password = || PASSWORDS.iter().any(|known| ends_with_word(&name, known));
        if is_secret(value)
            || (is_assigned(text, sign, start, end) && is_password() && is_own(value, &name))
        {
            sink.offer(start, end);
        }
    }
}

/// Whether a value is assigned and not just written behind a sign: no blank before it, or quotes
/// around it. A call or an index is an expression and not a value.
fn is_assigned(text: &Text<'_>, sign: usize, start: usize, end: usize) -> bool {
    let is_expression = matches!(text.at(end), b'(' | b'[' | b'{');
    let quote = text.before(start);
    let is_quoted = matches!(quote, b'"' | b'\'' | b'`') && text.at(end) == quote;
    let touches = text.at(sign) == b'=' && start == sign + 1;
    !is_expression && (is_quoted || touches)
}

/// Whether a value without a digit is a password and not the place, the name or the path of one.
fn is_own(value: &[u8], name: &[u8]) -> bool {
    let last = value.iter().rposition(|byte| !byte.is_ascii_punctuation());
    let value = &value[..last.map_or(0, |last| last + 1)];
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let is_path = value.contains(&b'.')
        && value.split(|byte| *byte == b'.').all(|part| {
            part.first().is_some_and(u8::is_ascii_alphabetic) && part.iter().all(|b| is_word(*b))
        });
    let names_itself = PASSWORDS.iter().any(|known| has_part(value, known))
        || (!name.is_empty() && value.eq_ignore_ascii_case(name));
    value.len() >= FEWEST_ASSIGNED
        && !is_place(value[0])
        && value.iter().any(is_letter)
        && !is_path
        && !names_itself
        && !PLACES.iter().any(|place| value.eq_ignore_ascii_case(place.as_bytes()))
        && !PLACE_PARTS.iter().any(|part| has_part(value, part))
}

fn has_part(value: &[u8], part: &str) -> bool {
    value.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// The name before a sign, without separators.
fn name(text: &Text<'_>, sign: usize) -> Vec<u8> {
    let window = text.window_before(sign, LONGEST_NAME + MOST_BLANKS);
    let window = window.trim_ascii_end();
    let window = match window {
        [rest @ .., b'"' | b'\'' | b'`'] => rest,
        _ => window,
    };
    // No other letter ends the name of a secret, and most signs stand behind something else.
    let is_last = |byte: &u8| matches!(byte | 0x20, b'd' | b'e' | b't' | b'y' | b'n' | b'l');
    if !window.last().is_some_and(|byte| is_last(byte) || matches!(byte, b'_' | b'-')) {
        return Vec::new();
    }
    let name: Vec<u8> = window
        .iter()
        .rev()
        .take_while(|byte| is_word(**byte) || **byte == b'-')
        .filter(|byte| !matches!(byte, b'_' | b'-'))
        .copied()
        .collect();
    name.into_iter().rev().collect()
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

/// What the place of a secret begins with.
fn is_place(byte: u8) -> bool {
    matches!(byte, b'$' | b'%' | b'*' | b'/')
}

fn is_secret(value: &[u8]) -> bool {
    value.len() >= FEWEST
        && value.first().is_some_and(|byte| !is_place(*byte))
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}
