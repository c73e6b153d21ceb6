//! Byte offsets and character offsets of one text.
//!
//! Parsing works on bytes; what a page stores are Unicode scalar offsets, which mean the same to
//! every client. ASCII texts need no table.

/// Number of bytes that one entry of the table covers.
const STRIDE: usize = 256;

/// Answers which character a byte belongs to.
pub(crate) struct Offsets<'a> {
    text: &'a str,
    /// Characters before byte `STRIDE * index`; empty for ASCII.
    table: Vec<u32>,
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        if text.is_ascii() {
            return Self { text, table: Vec::new() };
        }
        let mut table = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut seen = 0;
        for block in text.as_bytes().chunks(STRIDE) {
            table.push(seen);
            seen += starts(block);
        }
        Self { text, table }
    }

    /// The number of characters before `byte`, which must be a character boundary.
    pub(crate) fn char_of(&self, byte: usize) -> u32 {
        if self.table.is_empty() {
            return to_u32(byte);
        }
        let block = (byte / STRIDE).min(self.table.len() - 1);
        self.table[block] + starts(&self.text.as_bytes()[block * STRIDE..byte])
    }

    /// The number of characters between two bytes.
    pub(crate) fn chars_between(&self, start: usize, end: usize) -> usize {
        (self.char_of(end) - self.char_of(start)) as usize
    }
}

/// Turns character offsets into byte offsets; `chars` must ascend. Offsets past the end are the end.
pub(crate) fn bytes_of(text: &str, chars: impl Iterator<Item = u32>) -> Vec<usize> {
    if text.is_ascii() {
        return chars.map(|at| (at as usize).min(text.len())).collect();
    }
    let mut boundaries = text.char_indices().map(|(byte, _)| byte);
    let mut next_char = 0;
    let mut byte = 0;
    chars
        .map(|wanted| {
            if wanted >= next_char {
                byte = boundaries.nth((wanted - next_char) as usize).unwrap_or(text.len());
                next_char = wanted + 1;
            }
            byte
        })
        .collect()
}

fn starts(bytes: &[u8]) -> u32 {
    to_u32(bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count())
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).expect("a page is limited to 64 MiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        let text = "aé漢😀".repeat(200);
        let offsets = Offsets::new(&text);
        let boundaries: Vec<usize> =
            text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
        for (char, byte) in boundaries.iter().enumerate() {
            assert_eq!(offsets.char_of(*byte), char as u32);
        }
        let chars = (0..boundaries.len() as u32).flat_map(|at| [at, at]);
        let twice: Vec<usize> = boundaries.iter().flat_map(|&byte| [byte, byte]).collect();
        assert_eq!(bytes_of(&text, chars), twice);
    }

    #[test]
    fn past_the_end_is_the_end() {
        assert_eq!(bytes_of("abc", [2, 9].into_iter()), [2, 3]);
        assert_eq!(bytes_of("äb", [1, 9].into_iter()), [2, 3]);
    }
}
