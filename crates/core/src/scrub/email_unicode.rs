//! E-mail addresses with a local part or domain beyond ASCII (RFC 6531).
//!
//! Only what has a character beyond ASCII; the rest is left to the ASCII family. In scripts that are
//! written without blanks an ASCII address touches the words around it, so a word does not change
//! between such a script and another one: `请联系ada@example.com` has an ASCII address.

use memchr::memchr_iter;

use super::email::is_local;
use super::sink::Sink;
use super::text::ScannedText;

/// The role of a character in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressChar {
    Other,
    /// `.`, `-` and their kind, which stand between words of any script.
    Joint,
    /// A letter or digit of a script with blanks between its words.
    Spaced,
    /// A letter of a script without them, or whose particles touch foreign words.
    Unspaced,
}

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut from = 0;
    for at in memchr_iter(b'@', text.bytes) {
        let start = at - length(text.str[from..at].chars().rev());
        from = at + 1;
        if start == at {
            continue;
        }
        let domain = &text.str[at + 1..];
        let domain = &domain[..length(domain.chars())];
        if let Some(length) = domain_length(domain) {
            let end = at + 1 + length;
            from = end;
            if !text.str[start..end].is_ascii() {
                sink.offer(start, end);
            }
        }
    }
}

/// The bytes of the characters that can belong to an address.
fn length(characters: impl Iterator<Item = char>) -> usize {
    let mut last = AddressChar::Joint;
    let mut length = 0;
    for character in characters {
        let kind = kind(character);
        let changes = kind != last && kind != AddressChar::Joint && last != AddressChar::Joint;
        if kind == AddressChar::Other || changes {
            break;
        }
        (last, length) = (kind, length + character.len_utf8());
    }
    length
}

/// The length of a domain up to the last label that can be a top level.
fn domain_length(domain: &str) -> Option<usize> {
    let mut tail = domain;
    while let Some(dot) = tail.rfind('.').filter(|dot| *dot > 0) {
        let label = &domain[dot + 1..];
        let letters = |c: &char| kind(*c) != AddressChar::Joint && !c.is_ascii_digit();
        let (count, bytes) = label
            .chars()
            .take_while(letters)
            .fold((0, 0), |(count, bytes), c| (count + 1, bytes + c.len_utf8()));
        if count >= 2 {
            return Some(dot + 1 + bytes);
        }
        tail = &domain[..dot];
    }
    None
}

fn kind(character: char) -> AddressChar {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => AddressChar::Spaced,
        _ if character.is_ascii() && is_local(character as u8) => AddressChar::Joint,
        '\0'..='\u{a9}' | '\u{ab}'..='\u{b4}' | '\u{b6}'..='\u{b9}' => AddressChar::Other,
        '\u{bb}'..='\u{bf}' | '×' | '÷' => AddressChar::Other,
        '\u{200c}' | '\u{200d}' => AddressChar::Joint,
        '\u{1680}' | '\u{2000}'..='\u{2bff}' | '\u{2e00}'..='\u{2e7f}' => AddressChar::Other,
        '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}' => AddressChar::Other,
        '\u{e000}'..='\u{f8ff}' | '\u{fe10}'..='\u{fe6f}' | '\u{feff}' => AddressChar::Other,
        '\u{ff01}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}' => {
            AddressChar::Other
        }
        '\u{fff0}'..='\u{ffff}' | '\u{1f000}'..='\u{1faff}' | '\u{e0000}'.. => AddressChar::Other,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' => {
            AddressChar::Unspaced
        }
        '\u{3005}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => {
            AddressChar::Unspaced
        }
        '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}' => {
            AddressChar::Unspaced
        }
        _ => AddressChar::Spaced,
    }
}
