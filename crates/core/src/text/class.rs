//! Character classes of the tokenizer.

use unicode_normalization::char::is_combining_mark;

/// The role of a character in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharClass {
    /// Part of a word: a letter, digit or a mark on one.
    Word,
    /// A character of a script written without spaces.
    Dense,
    /// The first character of an emoji.
    Emoji,
    Other,
}

/// The class of a character.
pub(super) fn class(c: char) -> CharClass {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { CharClass::Word } else { CharClass::Other };
    }
    if is_dense(c) {
        CharClass::Dense
    } else if is_emoji(c) {
        CharClass::Emoji
    } else if c.is_alphanumeric() {
        CharClass::Word
    } else {
        CharClass::Other
    }
}

/// Whether `c` stays in a word that it follows: marks, joiners and soft hyphens.
pub(super) fn extends(c: char) -> bool {
    !c.is_ascii() && (is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{ad}'))
}

/// Whether `c` stays with the dense character that it follows: half-width voicing marks and all
/// combining marks.
pub(super) fn extends_dense(c: char) -> bool {
    matches!(c, '\u{ff9e}' | '\u{ff9f}') || extends(c)
}

/// Han, kana, Hangul, and the scripts of South-East Asia that put no spaces between words.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0e01..=0x0e30 | 0x0e32..=0x0e33 | 0x0e40..=0x0e46 // Thai
        | 0x0e81..=0x0eb0 | 0x0eb2..=0x0eb3 | 0x0ec0..=0x0ec6 // Lao
        | 0x1000..=0x102a | 0x103f | 0x1050..=0x1055 // Myanmar
        | 0x1780..=0x17b3 // Khmer
        | 0x1100..=0x11ff | 0x3130..=0x318f | 0xa960..=0xa97f | 0xac00..=0xd7ff // Hangul
        | 0x2e80..=0x2fdf | 0x3005..=0x3007 | 0x3021..=0x3029 // radicals, iteration marks
        | 0x3041..=0x3096 | 0x309d..=0x309f | 0x30a1..=0x30fa | 0x30fc..=0x30ff // kana
        | 0x31f0..=0x31ff | 0xff66..=0xff9d | 0xffa0..=0xffdc // phonetic extensions, half width
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff // Han
        | 0x1aff0..=0x1b16f | 0x20000..=0x323af)
}

/// Pictographs and flags. Wider than the property `Extended_Pictographic`: symbols are searched
/// for too.
fn is_emoji(c: char) -> bool {
    matches!(u32::from(c),
        0x203c | 0x2049 | 0x2139 | 0x2194..=0x21aa | 0x231a..=0x23ff | 0x25aa..=0x25fe
        | 0x2600..=0x27bf | 0x2934..=0x2935 | 0x2b05..=0x2b55 | 0x3030 | 0x303d | 0x3297 | 0x3299
        | 0x1f000..=0x1faff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_example() {
        for (c, expected) in [
            ('a', CharClass::Word),
            ('7', CharClass::Word),
            ('é', CharClass::Word),
            ('я', CharClass::Word),
            ('ह', CharClass::Word),
            ('猫', CharClass::Dense),
            ('カ', CharClass::Dense),
            ('한', CharClass::Dense),
            ('ก', CharClass::Dense),
            ('🚢', CharClass::Emoji),
            ('_', CharClass::Other),
            ('，', CharClass::Other),
        ] {
            assert_eq!(class(c), expected, "{c}");
        }
    }
}
