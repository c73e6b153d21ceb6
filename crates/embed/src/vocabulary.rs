//! The word pieces of the built-in model, found by hash.

use crate::slot;

/// The number of a word piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PieceId(pub u16);

/// The pieces of a model. A piece that goes on inside a word begins with `##`.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    text: &'static [u8],
    offsets: &'static [u8],
    slots: &'static [u8],
}

impl Vocabulary {
    /// The pieces, newline between them, with the tables that the build script made.
    pub(crate) fn new(text: &'static [u8], offsets: &'static [u8], slots: &'static [u8]) -> Self {
        Self { text, offsets, slots }
    }

    /// The piece that these bytes are.
    pub fn find(&self, piece: &[u8]) -> Option<PieceId> {
        self.find_hashed(slot::hash(piece), piece)
    }

    /// The piece that these bytes are, given their hash.
    pub(crate) fn find_hashed(&self, hash: u64, piece: &[u8]) -> Option<PieceId> {
        let mut place = slot::of(hash);
        loop {
            let number = u16::from_le_bytes([self.slots[2 * place], self.slots[2 * place + 1]]);
            if number == slot::EMPTY {
                return None;
            }
            if self.text_of(PieceId(number)) == piece {
                return Some(PieceId(number));
            }
            place = slot::next(place);
        }
    }

    /// The text of a piece.
    pub fn text_of(&self, piece: PieceId) -> &'static [u8] {
        let at = usize::from(piece.0);
        &self.text[self.offset(at)..self.offset(at + 1) - 1]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len() / 4 - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn offset(&self, at: usize) -> usize {
        let bytes = &self.offsets[4 * at..4 * at + 4];
        u32::from_le_bytes(bytes.try_into().expect("four bytes are asked for")) as usize
    }
}
