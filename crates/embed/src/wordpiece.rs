//! Words to pieces: the longest piece of the vocabulary first, then the longest that goes on.

use crate::basic;
use crate::slot;
use crate::vocabulary::{PieceId, Vocabulary};

/// Longer words, in characters, are not tokenized.
const MAX_WORD_CHARS: usize = 100;
/// Prefix of a piece inside a word.
const INSIDE: &[u8] = b"##";

/// Cuts text into the pieces of a vocabulary, as BERT's uncased tokenizer does.
#[derive(Debug, Clone, Copy)]
pub struct WordPiece {
    vocabulary: Vocabulary,
    /// The hash of `##`, from which the hashes of pieces inside a word go on.
    inside: u64,
    unknown: PieceId,
}

impl WordPiece {
    pub(crate) fn new(vocabulary: Vocabulary) -> Self {
        // Invariant: a table is only made for a vocabulary that holds it, which a test checks.
        let unknown = vocabulary.find(b"[UNK]").unwrap_or(PieceId(0));
        Self { vocabulary, inside: slot::hash(INSIDE), unknown }
    }

    /// The vocabulary of the tokenizer.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Calls `piece` with every piece of a text, in order; a word that can't be cut is one
    /// unknown piece.
    pub fn pieces(&self, text: &str, mut piece: impl FnMut(PieceId)) {
        let mut cut = CutBuffers::default();
        basic::words(text, &mut |word| match self.cut(word, &mut cut) {
            true => cut.pieces.iter().for_each(|found| piece(*found)),
            false => piece(self.unknown),
        });
    }

    /// Cuts one word. `false` if no piece fits somewhere.
    fn cut(&self, word: &str, cut: &mut CutBuffers) -> bool {
        cut.pieces.clear();
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return false;
        }
        // Most words are a piece.
        if let Some(piece) = self.vocabulary.find(word.as_bytes()) {
            cut.pieces.push(piece);
            return true;
        }
        let (mut rest, mut start) = (word, slot::start());
        while !rest.is_empty() {
            let Some((piece, length)) = self.longest(rest, start, cut) else { return false };
            cut.pieces.push(piece);
            rest = &rest[length..];
            start = self.inside;
        }
        true
    }

    /// The longest piece that `rest` begins with, and its length there.
    fn longest(&self, rest: &str, start: u64, cut: &mut CutBuffers) -> Option<(PieceId, usize)> {
        let is_inside = start == self.inside;
        cut.hashes.clear();
        let mut hash = start;
        for byte in rest.bytes() {
            hash = slot::extend(hash, byte);
            cut.hashes.push(hash);
        }
        cut.inside.truncate(INSIDE.len());
        cut.inside.extend_from_slice(rest.as_bytes());
        (1..=rest.len()).rev().filter(|end| rest.is_char_boundary(*end)).find_map(|end| {
            let text = match is_inside {
                true => &cut.inside[..INSIDE.len() + end],
                false => &rest.as_bytes()[..end],
            };
            Some((self.vocabulary.find_hashed(cut.hashes[end - 1], text)?, end))
        })
    }
}

/// Buffers of the tokenizer, reused from word to word.
struct CutBuffers {
    pieces: Vec<PieceId>,
    /// The hash of every prefix.
    hashes: Vec<u64>,
    /// `##` and the rest of a word.
    inside: Vec<u8>,
}

impl Default for CutBuffers {
    fn default() -> Self {
        Self { pieces: Vec::new(), hashes: Vec::new(), inside: INSIDE.to_vec() }
    }
}
