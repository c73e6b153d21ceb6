//! A text as it reads: full-width characters, no-break spaces, typographic dashes, invisible
//! characters, percent-encoding and doubled blanks between digits written plainly in ASCII.
//!
//! Families search the folded text with their ASCII rules; `FoldedText::original` gives the byte
//! range of the text as it was given. Most texts fold to themselves and cost one look at flags that
//! are known anyway.
//!
//! Deliberately absent: look-alike letters (a Cyrillic `а` in a domain is another domain), the em
//! dash, which ends a sentence more often than it joins digits, and accents.

use std::ops::Range;

use memchr::memmem;

use super::text::{ScannedText, has};

/// How many invisible characters may stand among two blanks that count as one.
const MOST_HIDDEN: usize = 3;

/// A folded text and where its parts come from.
pub(super) struct FoldedText {
    pub(super) text: String,
    /// From here on the folded text runs alongside the original, until the next point. In order.
    points: Vec<OffsetPoint>,
}

#[derive(Debug, Clone, Copy)]
struct OffsetPoint {
    folded: usize,
    original: usize,
}

/// The folded form of the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoldUnit {
    /// The character stays as it is.
    Same(char),
    /// Several bytes stand for one ASCII character.
    Plain(u8),
    Hidden,
}

impl FoldedText {
    /// The folded text; none if nothing in the text folds.
    pub(super) fn new(text: &ScannedText<'_>) -> Option<Self> {
        let doubled = || text.has(has::NUMBER) && has_doubled_blanks(text.bytes);
        let may_fold = text.has(has::FOLDABLE) || text.has(has::PERCENT) || doubled();
        let folded = may_fold.then(|| Self::fold(text.str))?;
        (folded.points.len() > 1).then_some(folded)
    }

    fn fold(text: &str) -> Self {
        let start = OffsetPoint { folded: 0, original: 0 };
        let mut folded = Self { text: String::with_capacity(text.len()), points: vec![start] };
        let mut at = 0;
        while let Some((unit, length)) = unit_at(text, at) {
            if is_blank(unit)
                && folded.ends_a_group()
                && let Some(length) = double_blank(text, at)
            {
                folded.put(' ', at, length);
                at += length;
                continue;
            }
            match unit {
                FoldUnit::Same(character) => folded.text.push(character),
                FoldUnit::Plain(byte) => folded.put(char::from(byte), at, length),
                FoldUnit::Hidden => folded.points.extend([
                    OffsetPoint { folded: folded.text.len(), original: at },
                    OffsetPoint { folded: folded.text.len(), original: at + length },
                ]),
            }
            at += length;
        }
        folded
    }

    /// Adds a character that stands for bytes of the original.
    fn put(&mut self, character: char, original: usize, length: usize) {
        self.points.push(OffsetPoint { folded: self.text.len(), original });
        self.text.push(character);
        self.points.push(OffsetPoint { folded: self.text.len(), original: original + length });
    }

    fn ends_a_group(&self) -> bool {
        self.text.as_bytes().last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b')')
    }

    /// The bytes of the original that a range of the folded text comes from.
    ///
    /// Invisible characters at either end are left outside.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        self.start_of(range.start)..self.end_of(range.end)
    }

    fn start_of(&self, at: usize) -> usize {
        let after = self.points.partition_point(|point| point.folded <= at);
        let point = self.points[after - 1];
        point.original + (at - point.folded)
    }

    fn end_of(&self, at: usize) -> usize {
        let after = self.points.partition_point(|point| point.folded < at);
        match self.points.get(after) {
            Some(point) if point.folded == at => point.original,
            _ => {
                let point = self.points[after - 1];
                point.original + (at - point.folded)
            }
        }
    }
}

/// Whether two blanks stand behind a digit or a parenthesis, and something of a number behind them.
fn has_doubled_blanks(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"  ").any(|at| {
        let ends_group = at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b')');
        ends_group && bytes.get(at + 2).is_some_and(|b| b.is_ascii_digit() || b"(+".contains(b))
    })
}

/// The length of two blanks before a digit or a parenthesis, with what is invisible among them.
fn double_blank(text: &str, start: usize) -> Option<usize> {
    let (mut blanks, mut hidden, mut at) = (0, 0, start);
    loop {
        let (unit, length) = unit_at(text, at)?;
        match unit {
            _ if is_blank(unit) && blanks < 2 => blanks += 1,
            FoldUnit::Hidden if hidden < MOST_HIDDEN => hidden += 1,
            FoldUnit::Same('0'..='9' | '(' | '+') | FoldUnit::Plain(b'0'..=b'9' | b'(' | b'+') => {
                return (blanks == 2).then_some(at - start);
            }
            _ => return None,
        }
        at += length;
    }
}

fn is_blank(unit: FoldUnit) -> bool {
    matches!(unit, FoldUnit::Same(' ' | '\t') | FoldUnit::Plain(b' '))
}

/// The unit that begins at a position, and its length in bytes.
fn unit_at(text: &str, at: usize) -> Option<(FoldUnit, usize)> {
    let rest = text.get(at..)?;
    let character = rest.chars().next()?;
    if character == '%' {
        return Some(decoded(rest.as_bytes()).unwrap_or((FoldUnit::Same('%'), 1)));
    }
    Some((unit(character), character.len_utf8()))
}

/// A percent-encoded character of printable ASCII, also one that was encoded several times.
fn decoded(bytes: &[u8]) -> Option<(FoldUnit, usize)> {
    const PERCENT: &[u8] = b"25";
    let mut at = 1;
    while bytes[at..].starts_with(PERCENT) && hex(&bytes[at + PERCENT.len()..]).is_some() {
        at += PERCENT.len();
    }
    let byte = hex(&bytes[at..]).filter(|byte| matches!(byte, b' '..=b'~'))?;
    Some((FoldUnit::Plain(byte), at + 2))
}

fn hex(bytes: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

fn unit(character: char) -> FoldUnit {
    let digit = |zero: char| b'0' + (character as u32 - zero as u32) as u8;
    match character {
        '\0'..='\u{9f}' => FoldUnit::Same(character),
        '\u{ff01}'..='\u{ff5e}' => FoldUnit::Plain((character as u32 - 0xff01) as u8 + b'!'),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            FoldUnit::Plain(b' ')
        }
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => FoldUnit::Plain(b'-'),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' => FoldUnit::Hidden,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' => {
            FoldUnit::Hidden
        }
        '\u{feff}' | '\u{e0000}'..='\u{e007f}' => FoldUnit::Hidden,
        '\u{660}'..='\u{669}' => FoldUnit::Plain(digit('\u{660}')),
        '\u{6f0}'..='\u{6f9}' => FoldUnit::Plain(digit('\u{6f0}')),
        '\u{966}'..='\u{96f}' => FoldUnit::Plain(digit('\u{966}')),
        '\u{1d7ce}'..='\u{1d7ff}' => {
            FoldUnit::Plain(b'0' + ((character as u32 - 0x1d7ce) % 10) as u8)
        }
        _ => FoldUnit::Same(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folded text, and every part of the original that a character of it comes from.
    fn check(original: &str, expected: &str) {
        let text = ScannedText::new(original);
        let folded = FoldedText::new(&text).map_or(original.to_owned(), |folded| {
            for (at, character) in folded.text.char_indices() {
                let range = folded.original(at..at + character.len_utf8());
                assert!(original.get(range.clone()).is_some_and(|part| !part.is_empty()));
                let part = FoldedText::fold(&original[range]);
                assert!(part.text.trim_start().is_empty() || part.text.contains(character));
            }
            assert_eq!(
                folded.original(0..folded.text.len()).end,
                original.trim_end_matches('\u{200b}').len()
            );
            folded.text
        });
        assert_eq!(folded, expected);
    }

    #[test]
    fn texts_are_folded_and_found_again() {
        check("plain, naïve, 50% off, 100 %", "plain, naïve, 50% off, 100 %");
        check("４１５\u{a0}555\u{2011}01\u{200b}32", "415 555-0132");
        check("ada%40example%2Ecom", "ada@example.com");
        check("ada%2540example.com%0A", "ada@example.com%0A");
        check("٤١٥ ۵۵", "415 55");
        check("12  34 \u{a0}56   78", "12 34 56   78");
        check("a  b, 111  b, 222  (333)  4", "a  b, 111  b, 222 (333) 4");
        check("x\u{200b}", "x");
        check("%", "%");
        check("%2", "%2");
        check("naïve café °", "naïve café °");
        check("中文\u{3000}ＡＢＣ＠", "中文 ABC@");
    }

    /// Whatever folds has a first byte that the text's flags know.
    #[test]
    fn every_character_that_folds_is_foldable() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let folds = unit(character) != FoldUnit::Same(character);
            assert!(!folds || ScannedText::new(&text).has(has::FOLDABLE), "{character:?}");
        }
    }

    #[test]
    fn ends_leave_invisible_characters_outside() {
        let text = "\u{200b}１２\u{200b}";
        let folded = FoldedText::new(&ScannedText::new(text)).unwrap();
        assert_eq!((folded.text.as_str(), folded.original(0..2)), ("12", 3..9));
    }
}
