//! Fields of lines, split at blanks, as slices of the text. Nothing is copied.

/// Walks a text field by field.
#[derive(Debug)]
pub(crate) struct FieldWalker<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> FieldWalker<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Goes to the first field of the next line that says something; false at the end.
    pub(crate) fn line(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            match bytes.get(self.at) {
                None => return false,
                Some(b'#') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// The next field of this line; empty when there is none.
    #[inline(always)]
    pub(crate) fn field(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() && *byte != b'\n') {
            self.at += 1;
        }
        let start = self.at;
        self.at = end_of_field(bytes, start);
        &self.text[start..self.at]
    }

    /// Whether `prefix` and a blank come next; if so, goes past them.
    pub(crate) fn skip_prefix(&mut self, prefix: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let is_next = rest.starts_with(prefix.as_bytes())
            && rest.get(prefix.len()).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if is_next {
            self.at += prefix.len();
        }
        is_next
    }

    /// Goes to the end of the line.
    #[inline(always)]
    pub(crate) fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.first() != Some(&b'\n') {
            self.at = memchr::memchr(b'\n', rest).map_or(self.text.len(), |end| self.at + end);
        }
    }

    /// The number of this line, from 1.
    pub(crate) fn line_number(&self) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.text.as_bytes()[..self.at]).count()
    }
}

/// The first blank at or after `at`, or the end. Eight bytes are looked at in one step: fields are
/// too short for a call of memchr to pay.
#[inline(always)]
fn end_of_field(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let low = below_0x21(u64::from_le_bytes(*eight));
        if low == 0 {
            at += 8;
            continue;
        }
        at += low.trailing_zeros() as usize / 8;
        if bytes[at].is_ascii_whitespace() {
            return at;
        }
        at += 1;
    }
    while bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
        at += 1;
    }
    at
}

/// A high bit in the lowest byte that is below 0x21, and in none below it (Anderson, Bit Twiddling
/// Hacks, "determine if a word has a byte less than n").
fn below_0x21(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    word.wrapping_sub(ONES * 0x21) & !word & (ONES * 0x80)
}
