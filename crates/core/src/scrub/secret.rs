//! Values that are assigned to the name of a secret: `password=...`, `"api_key": "..."`.
//!
//! Only the value is claimed. It must have a letter, a digit and eight characters, which keeps
//! prose (`password: the usual one`), variables and the places of secrets apart from secrets. An
//! assignment to a password (`password=hunter`, `"password": "swordfish"`) needs no digit; neither
//! does one word behind `Password:` at the end of a line, a few words in quotes, or the value of a
//! flag (`--password swordfish`).

use memchr::{memchr2_iter, memmem};

use super::byte::{ends_with_word, is_blank, is_word};
use super::sink::Sink;
use super::text::ScannedText;

/// Suffixes of the names of secrets, lower-case, without separators.
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

/// Suffixes of names that are assigned nothing but secrets.
const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "pwd", "secret"];

/// Placeholders for a password, lower-case.
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

/// Words after a flag in prose, lower-case.
const FLAG_WORDS: [&str; 12] = [
    "option",
    "options",
    "argument",
    "parameter",
    "switch",
    "instead",
    "which",
    "where",
    "these",
    "without",
    "either",
    "because",
];

/// Words of sentences in quotes, lower-case.
const SENTENCE_WORDS: [&str; 24] = [
    "a", "an", "and", "at", "be", "by", "can", "enter", "for", "from", "in", "is", "must", "no",
    "not", "of", "or", "please", "that", "the", "to", "with", "you", "your",
];

/// Parts that occur only in a placeholder for a password.
const PLACE_PARTS: [&str; 6] = ["xxxx", "_here", "fake", "dummy", "example", "placeholder"];

const LONGEST_NAME: usize = 32;
const FEWEST: usize = 8;
/// The fewest characters of a value that is assigned to a password.
const FEWEST_ASSIGNED: usize = 5;
/// The longest passphrase in quotes, and its most words.
const LONGEST_PHRASE: usize = 80;
const MOST_WORDS: usize = 6;
/// Blanks on either side of the sign.
const MOST_BLANKS: usize = 4;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
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
        let is_password = || PASSWORDS.iter().any(|known| ends_with_word(&name, known));
        let end = text.end_of(start, is_value);
        if let Some(end) = phrase_end(text, start, end).filter(|_| is_password_alone(&name)) {
            from = end;
            sink.offer(start, end);
            continue;
        }
        // A value that is refused is not looked at again from a sign within it.
        from = end;
        let value = &text.bytes[start..end];
        let is_stated = || {
            is_assigned(text, sign, start, end)
                || (is_password_alone(&name) && is_last_word(text, end))
        };
        if is_secret(value) || (is_password() && is_stated() && is_own(value, &name)) {
            sink.offer(start, end);
        }
    }
}

/// Whether a name is the word for a password and nothing else, as people write it.
fn is_password_alone(name: &[u8]) -> bool {
    PASSWORDS.iter().any(|known| *known != "secret" && name.eq_ignore_ascii_case(known.as_bytes()))
}

/// The values of flags: `--password swordfish`, `--db-password 'swordfish'`.
pub(super) fn find_flags(text: &ScannedText<'_>, sink: &mut Sink) {
    for dashes in memmem::find_iter(text.bytes, b"--") {
        let limit = text.bytes.len().min(dashes + 2 + LONGEST_NAME);
        let rest = &text.bytes[dashes + 2..limit];
        let length =
            rest.iter().position(|byte| !is_word(*byte) && *byte != b'-').unwrap_or(rest.len());
        let is_flag = PASSWORDS.iter().any(|known| ends_with_word(&rest[..length], known))
            && !is_word(text.before(dashes));
        let blank = dashes + 2 + length;
        if !is_flag || !is_blank(text.at(blank)) || blank >= text.bytes.len() {
            continue;
        }
        let start = blank + 1 + usize::from(matches!(text.at(blank + 1), b'"' | b'\'' | b'`'));
        let end = text.end_of(start, is_value);
        let end = phrase_end(text, start, end).unwrap_or(end);
        let value = &text.bytes[start..end];
        let is_prose = |word: &&str| value.eq_ignore_ascii_case(word.as_bytes());
        let is_stated = !FLAG_WORDS.iter().any(is_prose);
        if is_stated && !value.starts_with(b"-") && is_own(value, &rest[..length]) {
            sink.offer(start, end);
        }
    }
}

/// Where a few words in quotes end, if they may be a passphrase and no sentence.
fn phrase_end(text: &ScannedText<'_>, start: usize, first_end: usize) -> Option<usize> {
    let quote = text.before(start);
    if !matches!(quote, b'"' | b'\'' | b'`') || !is_blank(text.at(first_end)) {
        return None;
    }
    let window = &text.bytes[start..text.bytes.len().min(start + LONGEST_PHRASE)];
    let length = window.iter().position(|byte| *byte == quote || *byte == b'\n')?;
    let phrase = &window[..length];
    let mut words = phrase.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let is_prose = |word: &[u8]| {
        SENTENCE_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    let is_phrase = window[length] == quote
        && phrase.iter().all(|byte| is_value(*byte) || is_blank(*byte))
        && words.clone().count() <= MOST_WORDS
        && !words.any(is_prose)
        && is_own(phrase, b"");
    is_phrase.then_some(start + length)
}

/// Whether nothing but the end of the line or a sign stands behind a value: more words would make it
/// prose (`password: the usual one`).
fn is_last_word(text: &ScannedText<'_>, end: usize) -> bool {
    end >= text.bytes.len() || matches!(text.at(end), b'\n' | b'\r' | b',' | b';')
}

/// Whether a value is assigned and not just written behind a sign: no blank before it, or quotes
/// around it. A call or an index is an expression and not a value.
fn is_assigned(text: &ScannedText<'_>, sign: usize, start: usize, end: usize) -> bool {
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
fn name(text: &ScannedText<'_>, sign: usize) -> Vec<u8> {
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
fn value_start(text: &ScannedText<'_>, sign: usize) -> usize {
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

/// Prefixes of placeholders for a secret.
fn is_place(byte: u8) -> bool {
    matches!(byte, b'$' | b'%' | b'*' | b'/')
}

fn is_secret(value: &[u8]) -> bool {
    value.len() >= FEWEST
        && value.first().is_some_and(|byte| !is_place(*byte))
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}
