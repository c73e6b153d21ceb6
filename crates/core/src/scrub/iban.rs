//! International bank account numbers: a country, as many characters as that country has, and a
//! remainder of 1 modulo 97 (ISO 13616). Blanks or dashes may stand behind every fourth character.

use super::byte::is_word;
use super::sink::Sink;
use super::text::ScannedText;

/// The countries of the register and how long their numbers are.
const LENGTHS: &str = "\
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 \
    DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 \
    HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 \
    MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 \
    RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 \
    VG24 XK20 YE30";

const LONGEST: usize = 34;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    for run in text.runs() {
        if run.start < 2 || run.len() < 2 {
            continue;
        }
        let start = run.start - 2;
        let begins = text.bytes[start..run.start].iter().all(u8::is_ascii_alphabetic)
            && !is_word(text.before(start));
        if let Some(end) = begins.then(|| number_end(text, start)).flatten() {
            sink.offer(start, end);
        }
    }
}

fn number_end(text: &ScannedText<'_>, start: usize) -> Option<usize> {
    let length = length_in(&text.bytes[start..start + 2])?;
    let mut characters = [0; LONGEST];
    let mut at = start;
    for (count, character) in characters[..length].iter_mut().enumerate() {
        let may_break = count > 0 && count % 4 == 0 && matches!(text.at(at), b' ' | b'-');
        at += usize::from(may_break);
        *character = text.at(at);
        at += 1;
    }
    let characters = &characters[..length];
    let is_whole = characters.iter().all(u8::is_ascii_alphanumeric) && !is_word(text.at(at));
    (is_whole && has_one_case(characters) && remainder(characters) == 1).then_some(at)
}

/// How long the numbers of a country are.
fn length_in(country: &[u8]) -> Option<usize> {
    let mut entries = LENGTHS.split_ascii_whitespace().map(|entry| entry.split_at(2));
    let (_, length) = entries.find(|(name, _)| country.eq_ignore_ascii_case(name.as_bytes()))?;
    length.parse().ok()
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
