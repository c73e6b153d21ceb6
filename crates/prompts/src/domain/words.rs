//! Counts words like `awk`.

/// Counts words over any number of blocks.
///
/// A word is a run of bytes other than space, tab and newline, which equals the sum of the fields
/// of all lines (`awk '{ n += NF }'`). A lone carriage return is a word, and a no-break space
/// separates nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordCounter {
    count: u64,
    is_inside: bool,
}

impl WordCounter {
    /// Adds the next block of bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let is_inside = !matches!(byte, b' ' | b'\t' | b'\n');
            self.count += u64::from(is_inside && !self.is_inside);
            self.is_inside = is_inside;
        }
    }

    /// The number of words so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The number of words of a text.
pub fn words(text: &[u8]) -> u64 {
    let mut words = WordCounter::default();
    words.add(text);
    words.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_awk() {
        let check = |text: &str, expected| assert_eq!(words(text.as_bytes()), expected, "{text:?}");
        check("", 0);
        check(" \t\n", 0);
        check("one", 1);
        check("one two\nthree", 3);
        check("a\u{a0}b", 1);
        check("\r\n", 1);
        check("a\r\nb", 2);
        check("a\u{b}b\u{c}c", 1);
    }

    #[test]
    fn a_word_across_blocks_is_one() {
        let mut words = WordCounter::default();
        ["on", "e tw", "o", " "].iter().for_each(|block| words.add(block.as_bytes()));
        assert_eq!(words.count(), 2);
    }
}
