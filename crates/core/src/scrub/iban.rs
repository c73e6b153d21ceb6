//! International bank account numbers: a country, as many characters as that country has, and a
//! remainder of 1 modulo 97 (ISO 13616). Blanks or dashes may stand behind every fourth character.

use super::byte::is_word;
use super::sink::Sink;
use super::text::Text;

/// The countries of the register and how long their numbers are.
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

const LONGEST: usize = 34;

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    for run in text.runs() {
        if run.start < 2 || run.len() < 2 {
            continue;
        }
        let start = run.start - 2;
        if let Some(end) = number_end(text, start).filter(|_| !is_word(text.before(start))) {
            sink.offer(start, end);
        }
    }
}

fn number_end(text: &Text<'_>, start: usize) -> Option<usize> {
    let country = &text.bytes[start..start + 2];
    let known = |(name, _): &&(&str, usize)| country.eq_ignore_ascii_case(name.as_bytes());
    let (_, length) = LENGTHS.iter().find(known)?;
    let mut characters = [0; LONGEST];
    let mut at = start;
    for (count, character) in characters[..*length].iter_mut().enumerate() {
        let may_break = count > 0 && count % 4 == 0 && matches!(text.at(at), b' ' | b'-');
        at += usize::from(may_break);
        *character = text.at(at);
        at += 1;
    }
    let characters = &characters[..*length];
    let is_whole = characters.iter().all(u8::is_ascii_alphanumeric) && !is_word(text.at(at));
    (is_whole && has_one_case(characters) && remainder(characters) == 1).then_some(at)
}

fn has_one_case(characters: &[u8]) -> bool {
    !(characters.iter().any(u8::is_ascii_uppercase)
        && characters.iter().any(u8::is_ascii_lowercase))
}

/// Modulo 97, the first four characters moved to the end and letters being 10 to 35.
fn remainder(characters: &[u8]) -> u32 {
    let moved = characters[4..].iter().chain(&characters[..4]);
    moved.fold(0, |sum, character| match character {
        b'0'..=b'9' => (sum * 10 + u32::from(character - b'0')) % 97,
        _ => (sum * 100 + u32::from(character.to_ascii_lowercase() - b'a') + 10) % 97,
    })
}
