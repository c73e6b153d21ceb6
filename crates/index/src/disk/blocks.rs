//! Bounds of the blocks of a posting list.
//!
//! tantivy writes lists in blocks of 128 documents and stores, beside each block's last document,
//! the length code and frequency of its best-scoring document. That document was best for the
//! segment's average length at write time; [`BlockBounds`] turns it into a bound that holds for a
//! query's average, `k1` and `b`.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::TermInfo;
use tantivy::{DocId, TantivyError};

use crate::bm25::TermForm;

/// tantivy's own parameters, which determine its choice of the best document.
const WRITTEN_K1: f64 = 1.2;
const WRITTEN_B: f64 = 0.75;
const BLOCK_DOCUMENTS: usize = 128;
const ENTRY_BYTES: usize = 8;
/// A 32-bit number in groups of seven bits.
const MAX_VINT_BYTES: usize = 5;
/// Bounds are computed in floats and compared with integers that were truncated from other floats.
const MARGIN: f64 = 1.0 + 1e-5;

/// A range of a posting list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Its last document, or a document after it.
    pub(super) last: DocId,
    /// Upper bound of the points of its documents. Never 0.
    pub(super) bound: u32,
}

/// Computes the bounds of blocks in one segment for one query.
pub(super) struct BlockBounds {
    /// `k1 · (1 - b + b · length / average)` as tantivy computed it, by length code.
    written: [f32; 256],
    /// The smallest ratio of a length part in this query to the one at write time.
    shrink: f64,
}

impl BlockBounds {
    /// Bounds for lists written with one average and scored with other length parts.
    ///
    /// With `f = tf / (tf + L)`, the best document has the smallest `L / tf` of its block. If every
    /// length part is at least `shrink` times its old value, then so is every `L / tf`, and with it
    /// the smallest.
    pub(super) fn new(written_average: f64, lengths: &[f32; 256]) -> Self {
        let average = written_average.max(f64::MIN_POSITIVE);
        let written: [f32; 256] = std::array::from_fn(|code| {
            let length = f64::from(FieldNormReader::id_to_fieldnorm(code as u8));
            (WRITTEN_K1 * (1.0 - WRITTEN_B + WRITTEN_B * length / average)) as f32
        });
        let ratios =
            written.iter().zip(lengths).map(|(then, now)| f64::from(*now) / f64::from(*then));
        Self { written, shrink: ratios.fold(f64::INFINITY, f64::min) }
    }

    fn bound(&self, weight: f32, code: u8, tf: u8) -> u32 {
        let smallest = match tf {
            u8::MAX => 0.0,
            tf => f64::from(self.written[usize::from(code)]) / f64::from(tf),
        };
        let max_points = f64::from(weight) / (1.0 + smallest * self.shrink);
        (max_points * MARGIN) as u32 + 1
    }

    /// The full blocks of a list, in order. Lengths are those of stems, so the best documents that
    /// tantivy recorded for exact forms are not usable.
    pub(super) fn blocks(
        &self,
        list: &[u8],
        form: TermForm,
        info: &TermInfo,
        weight: f32,
    ) -> tantivy::Result<Vec<Block>> {
        let unknown =
            || TantivyError::InternalError("a list is not laid out as it should be".to_owned());
        let entries = skip_entries(list, info).ok_or_else(unknown)?;
        let blocks = entries.chunks_exact(ENTRY_BYTES).map(|entry| {
            let last = DocId::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let bound = match form {
                TermForm::Stem => self.bound(weight, entry[6], entry[7]),
                TermForm::Exact => weight as u32 + 1,
            };
            Block { last, bound }
        });
        Ok(blocks.collect())
    }
}

/// Upper bound of the bytes that the skip entries take at the start of a list, including their
/// length prefix.
pub(super) fn skip_bytes(info: &TermInfo) -> usize {
    match info.doc_freq as usize / BLOCK_DOCUMENTS {
        0 => 0,
        full_blocks => MAX_VINT_BYTES + full_blocks * ENTRY_BYTES,
    }
}

/// The skip entries of a list: last document (4 bytes), widths of document numbers and frequencies
/// (a byte each), length code and frequency of the best document (a byte each).
fn skip_entries<'a>(list: &'a [u8], info: &TermInfo) -> Option<&'a [u8]> {
    let full_blocks = info.doc_freq as usize / BLOCK_DOCUMENTS;
    if full_blocks == 0 {
        return Some(&[]);
    }
    let (length, rest) = read_vint(list)?;
    (length == full_blocks * ENTRY_BYTES).then(|| rest.get(..length)).flatten()
}

/// Decodes a number in groups of seven bits, least significant first; the last byte has its high
/// bit set.
fn read_vint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().position(|byte| byte & 128 != 0)?;
    let value =
        bytes[..=end].iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 127));
    Some((value, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        assert_eq!(read_vint(&[0x85, 9]), Some((5, &[9][..])));
        assert_eq!(read_vint(&[0x01, 0x81]), Some((129, &[][..])));
        assert_eq!(read_vint(&[0x01]), None);
    }

    #[test]
    fn bounds_hold_for_every_document_that_was_not_the_best() {
        let part = |k1: f64, b: f64, average: f64, code: u8| {
            k1 * (1.0 - b + b * f64::from(FieldNormReader::id_to_fieldnorm(code)) / average)
        };
        for (k1, b, now, then) in [
            (1.2, 0.75, 100.0, 100.0),
            (1.2, 0.75, 150.0, 60.0),
            (0.9, 0.4, 20.0, 90.0),
            (2.0, 0.0, 50.0, 50.0),
        ] {
            let lengths = std::array::from_fn(|code| part(k1, b, now, code as u8) as f32);
            let bounds = BlockBounds::new(then, &lengths);
            let documents: Vec<(u8, u8)> =
                (0..200).map(|n| ((n * 7 % 120 + 1) as u8, (n % 9 + 1) as u8)).collect();
            for block in documents.windows(5) {
                let factor = |(code, tf): &(u8, u8)| {
                    f64::from(*tf) / (f64::from(*tf) + part(WRITTEN_K1, WRITTEN_B, then, *code))
                };
                let best = block.iter().max_by(|x, y| factor(x).total_cmp(&factor(y))).unwrap();
                let bound = bounds.bound(1e6, best.0, best.1);
                for (code, tf) in block {
                    let points =
                        crate::bm25::points(1e6, u32::from(*tf), lengths[usize::from(*code)]);
                    assert!(points <= bound, "{points} is over {bound}");
                }
            }
        }
    }
}
