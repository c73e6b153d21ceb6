//! A text that is about to be searched: what kinds of bytes it has, and its digits.
//!
//! Most texts have nothing that a family needs. One look at every byte says which families can be
//! left out; the runs of digits are collected once for all families that are made of them, and so are
//! the words that are long enough to be a key or a token.

use std::cell::OnceCell;

/// Features that a text can have.
pub(super) mod has {
    /// Needed by a family that does not need anything.
    pub(in super::super) const NOTHING: u16 = 0;
    pub(in super::super) const DIGIT: u16 = 1 << 0;
    pub(in super::super) const AT: u16 = 1 << 1;
    pub(in super::super) const COLON: u16 = 1 << 2;
    pub(in super::super) const SLASH: u16 = 1 << 3;
    pub(in super::super) const DASH: u16 = 1 << 4;
    pub(in super::super) const DOT: u16 = 1 << 5;
    pub(in super::super) const J: u16 = 1 << 6;
    /// The sign `=` or `:` occurs.
    pub(in super::super) const ASSIGN: u16 = 1 << 7;
    pub(in super::super) const BEYOND_ASCII: u16 = 1 << 8;
    /// `[`, with which a marker begins.
    pub(in super::super) const BRACKET: u16 = 1 << 9;
    /// A character of a key or a token, or one that stands between its parts.
    pub(in super::super) const LONG_WORD: u16 = 1 << 11;
    /// At least as many digits as the shortest address has: `1.1.1.1`.
    pub(in super::super) const DIGITS: u16 = 1 << 10;
    /// At least as many digits as the shortest phone number has.
    pub(in super::super) const NUMBER: u16 = 1 << 12;
    pub(in super::super) const PERCENT: u16 = 1 << 13;
    /// The first byte of a character that may stand for one of ASCII, or for none.
    pub(in super::super) const FOLDABLE: u16 = 1 << 14;
}

const DIGITS_OF_ADDRESS: usize = 4;
const DIGITS_OF_NUMBER: usize = 7;

const CLASSES: [u16; 256] = classes();

/// The fewest characters of a key or a token, together with what it begins with.
const LONG_WORD: usize = 13;
/// The fewest characters of credentials behind the word of a scheme: `a:pw` in base64.
const WORD: usize = 8;

/// A part of a text as long as its bytes are of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteRun {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl ByteRun {
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }
}

/// A text with its properties.
pub(super) struct ScannedText<'t> {
    pub(super) str: &'t str,
    pub(super) bytes: &'t [u8],
    has: u16,
    runs: OnceCell<Vec<ByteRun>>,
    words: OnceCell<Vec<ByteRun>>,
    /// Bytes looked at, to hold the promise of linear time.
    #[cfg(test)]
    pub(super) steps: std::cell::Cell<usize>,
}

impl<'t> ScannedText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        Self {
            str: text,
            bytes,
            has: kinds(bytes),
            runs: OnceCell::new(),
            words: OnceCell::new(),
            #[cfg(test)]
            steps: std::cell::Cell::new(0),
        }
    }

    /// Whether the text has all that is needed.
    pub(super) fn has(&self, needed: u16) -> bool {
        self.has & needed == needed
    }

    /// The byte at a place; a blank outside of the text.
    pub(super) fn at(&self, at: usize) -> u8 {
        self.step(1);
        self.bytes.get(at).copied().unwrap_or(b' ')
    }

    /// The byte before a place; a blank before the text.
    pub(super) fn before(&self, at: usize) -> u8 {
        if at == 0 { b' ' } else { self.at(at - 1) }
    }

    /// Up to `length` bytes before a place.
    pub(super) fn window_before(&self, at: usize, length: usize) -> &'t [u8] {
        &self.bytes[at.saturating_sub(length)..at]
    }

    /// Where the bytes of a class that begin at a place end.
    pub(super) fn end_of(&self, from: usize, class: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[from.min(self.bytes.len())..];
        let length = rest.iter().position(|byte| !class(*byte)).unwrap_or(rest.len());
        self.step(length);
        from + length
    }

    /// Where the bytes of a class that end at a place begin, not before `floor`.
    pub(super) fn start_of(&self, to: usize, floor: usize, class: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[floor..to];
        let length = rest.iter().rev().position(|byte| !class(*byte)).unwrap_or(rest.len());
        self.step(length);
        to - length
    }

    #[cfg(test)]
    fn step(&self, bytes: usize) {
        self.steps.set(self.steps.get() + bytes);
    }

    #[cfg(not(test))]
    fn step(&self, _bytes: usize) {}

    /// Every run of digits.
    pub(super) fn runs(&self) -> &[ByteRun] {
        self.runs.get_or_init(|| runs(self.bytes))
    }

    /// Every long word: all keys and tokens are in one.
    pub(super) fn long_words(&self) -> impl Iterator<Item = ByteRun> {
        self.words().iter().copied().filter(|word| word.len() >= LONG_WORD)
    }

    /// Every long word, and every shorter one behind what may be the word of a scheme: all credentials
    /// are in one.
    pub(super) fn words(&self) -> &[ByteRun] {
        self.words.get_or_init(|| words(self.bytes))
    }
}

fn kinds(bytes: &[u8]) -> u16 {
    let (mut kinds, mut digits) = (0, 0);
    for byte in bytes {
        let class = CLASSES[usize::from(*byte)];
        kinds |= class;
        digits += usize::from(class & has::DIGIT);
    }
    match digits {
        DIGITS_OF_NUMBER.. => kinds | has::DIGITS | has::NUMBER,
        DIGITS_OF_ADDRESS.. => kinds | has::DIGITS,
        _ => kinds,
    }
}

fn runs(bytes: &[u8]) -> Vec<ByteRun> {
    let mut runs = Vec::new();
    let mut from = 0;
    while let Some(skipped) = bytes[from..].iter().position(u8::is_ascii_digit) {
        let start = from + skipped;
        let rest = &bytes[start..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        from = start + length;
        runs.push(ByteRun { start, end: from });
    }
    runs
}

/// Looks at every eighth byte and, where it may be in a word, back to where that begins.
fn words(bytes: &[u8]) -> Vec<ByteRun> {
    let mut words = Vec::new();
    let mut from = 0;
    while let Some(part) = bytes.get(from..from + WORD) {
        match part.iter().rposition(|byte| !is_in_long_word(*byte)) {
            Some(last) => from += last + 1,
            None => {
                let rest = &bytes[from + WORD..];
                let more = rest.iter().position(|byte| !is_in_long_word(*byte));
                let end = from + WORD + more.unwrap_or(rest.len());
                if end - from >= LONG_WORD || may_follow_scheme(bytes, from) {
                    words.push(ByteRun { start: from, end });
                }
                from = end;
            }
        }
    }
    words
}

/// Whether blanks stand before a place, and before them perhaps the last letter of a scheme.
fn may_follow_scheme(bytes: &[u8], at: usize) -> bool {
    let [.., last, blank] = bytes[..at] else { return false };
    let is_last =
        matches!(last | 0x20, b'r' | b'c' | b'n') || last == b':' || last.is_ascii_whitespace();
    blank.is_ascii_whitespace() && is_last
}

fn is_in_long_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & has::LONG_WORD != 0
}

const fn classes() -> [u16; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => has::DIGIT | has::LONG_WORD,
            b'@' => has::AT,
            b':' => has::COLON | has::ASSIGN | has::LONG_WORD,
            b'=' => has::ASSIGN | has::LONG_WORD,
            b'/' => has::SLASH | has::LONG_WORD,
            b'-' => has::DASH | has::LONG_WORD,
            b'.' => has::DOT | has::LONG_WORD,
            b'J' => has::J | has::LONG_WORD,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'+' | b'~' => has::LONG_WORD,
            b'[' => has::BRACKET,
            b'%' => has::PERCENT,
            // All sequences that `fold` knows begin with one of these.
            0xc2 | 0xcd | 0xd8 | 0xd9 | 0xdb | 0xe0..=0xe3 | 0xef | 0xf0 | 0xf3 => {
                has::BEYOND_ASCII | has::FOLDABLE
            }
            128..=255 => has::BEYOND_ASCII,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_runs() {
        let text = ScannedText::new("call 12-345 @ x");
        assert!(text.has(has::DIGITS | has::DASH | has::AT) && !text.has(has::DOT));
        assert_eq!(text.runs(), [ByteRun { start: 5, end: 7 }, ByteRun { start: 8, end: 11 }]);
        assert!(!ScannedText::new("in 999").has(has::DIGITS));
        let text = ScannedText::new("a short one, then thirteen-long!");
        assert!(text.long_words().eq([ByteRun { start: 18, end: 31 }]));
        assert_eq!(text.words(), [ByteRun { start: 18, end: 31 }]);
        let text = ScannedText::new("twelve-chars x Bearer twelve-chars");
        assert_eq!((text.long_words().count(), text.words().len()), (0, 1));
    }
}
