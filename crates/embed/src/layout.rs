//! How a table of vectors is laid out in its file. Shared with the build script.
//!
//! Little-endian: magic, `u32` pieces, `u32` dimensions, `u32` bytes of vocabulary, `u32` zero;
//! the pieces, a newline between them; at the next multiple of 64 the centre (`f32` by
//! dimension) and the scales (`f32` by piece); at the next multiple of 64 the rows (`i8` by piece
//! and dimension). A piece's vector is its row times its scale.

use std::ops::Range;

const MAGIC: &[u8; 8] = b"gbembed\x01";
const HEADER: usize = 24;
const ALIGN: usize = 64;

/// Where the parts of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableLayout {
    pub(crate) pieces: usize,
    pub(crate) dims: usize,
    pub(crate) vocabulary: Range<usize>,
    pub(crate) centre: Range<usize>,
    pub(crate) scales: Range<usize>,
    pub(crate) rows: Range<usize>,
}

impl TableLayout {
    /// Reads the header. `None` if it is none, or if the parts do not fill the file.
    pub(crate) fn read(file: &[u8]) -> Option<Self> {
        if !file.starts_with(MAGIC) {
            return None;
        }
        let number = |at: usize| {
            let bytes = file.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
        };
        let (pieces, dims) = (number(8)?, number(12)?);
        let vocabulary = HEADER..HEADER + number(16)?;
        let centre = part(vocabulary.end.next_multiple_of(ALIGN), 4 * dims);
        let scales = part(centre.end, 4 * pieces);
        let rows = part(scales.end.next_multiple_of(ALIGN), pieces * dims);
        (rows.end == file.len()).then_some(Self { pieces, dims, vocabulary, centre, scales, rows })
    }
}

fn part(start: usize, length: usize) -> Range<usize> {
    start..start + length
}
