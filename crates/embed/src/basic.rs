//! From text to words as BERT's uncased models see them: cleaned, without accents, in lower case,
//! cut at white space, punctuation and Chinese characters.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// Calls `word` with every word of a text, in order. The word is good until the call returns.
pub(crate) fn words(text: &str, word: &mut impl FnMut(&str)) {
    let mut current = String::with_capacity(32);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c.is_ascii() {
            let run = rest.bytes().take_while(u8::is_ascii).count();
            ascii_words(&rest[..run], &mut current, word);
            rest = &rest[run..];
        } else {
            other_char(c, &mut current, word);
            rest = &rest[c.len_utf8()..];
        }
    }
    end(&mut current, word);
}

fn ascii_words(text: &str, current: &mut String, word: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if run > 0 {
            let before = current.len();
            current.push_str(&text[at..at + run]);
            current[before..].make_ascii_lowercase();
            at += run;
            continue;
        }
        match bytes[at] {
            b'\t' | b'\n' | b'\r' | b' ' => end(current, word),
            // Control characters are dropped, and what stands around them is joined.
            0..=31 | 127 => {}
            _ => {
                end(current, word);
                word(&text[at..at + 1]);
            }
        }
        at += 1;
    }
}

fn other_char(c: char, current: &mut String, word: &mut impl FnMut(&str)) {
    if c == char::REPLACEMENT_CHARACTER || is_control(c) {
        return;
    }
    if c.is_whitespace() {
        return end(current, word);
    }
    if is_chinese(c) {
        end(current, word);
        word(c.encode_utf8(&mut [0; 4]));
        return;
    }
    decompose_canonical(c, |part| {
        if part.general_category() == GeneralCategory::NonspacingMark {
            return;
        }
        for lower in part.to_lowercase() {
            if is_punctuation(lower) {
                end(current, word);
                word(lower.encode_utf8(&mut [0; 4]));
            } else {
                current.push(lower);
            }
        }
    });
}

fn end(current: &mut String, word: &mut impl FnMut(&str)) {
    if !current.is_empty() {
        word(current);
        current.clear();
    }
}

fn is_control(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    matches!(c.general_category(), Control | Format | PrivateUse)
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The blocks that BERT calls Chinese: each character is a word.
fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        words(text, &mut |word| found.push(word.to_owned()));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_are_cut_and_folded() {
        check("", &[]);
        check("Don't stop, C++!", &["don", "'", "t", "stop", ",", "c", "+", "+", "!"]);
        check("Ünïcödé ÉTÉ", &["unicode", "ete"]);
        check("東京tower", &["東", "京", "tower"]);
        check("a\u{0}b\u{200d}c\u{fffd}d", &["abcd"]);
        check("a\u{a0}b\u{2003}c\td\ne", &["a", "b", "c", "d", "e"]);
        check("«oui» – 1.5€", &["«", "oui", "»", "–", "1", ".", "5€"]);
    }
}
