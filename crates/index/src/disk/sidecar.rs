//! The vectors of one segment, in a file beside it: `SEGMENT.MODEL.vec`.
//!
//! Little-endian: magic, `u32` documents, `u32` dimensions; at byte 64 the rows (`i8` by document
//! and dimension), then one over their lengths (`f32` by document), then at a multiple of 64 the
//! codes in blocks. A document's number is its number in the segment; one without words has a
//! row of zeros. The last 32 bytes are the SHA-256 of all before them. Such a file can be made again from the segment
//! at any time.

use std::io::{self, Write};
use std::ops::Range;

use gbrain_core::hash::{Hash, Hasher};
use tantivy::DocId;
use tantivy::directory::OwnedBytes;

use crate::vectors::{BLOCK, Blocks, Row, block_bytes};

const MAGIC: &[u8; 8] = b"gbvec\x02\0\0";
const CHECKSUM: usize = 32;
const HEADER: usize = 64;
const ALIGN: usize = 64;

/// A file of vectors, opened.
pub(super) struct Sidecar {
    bytes: OwnedBytes,
    places: Places,
}

struct Places {
    documents: usize,
    dims: usize,
    lengths: usize,
    codes: Range<usize>,
}

impl Places {
    fn of(documents: usize, dims: usize) -> Self {
        let lengths = HEADER + documents * dims;
        let codes = (lengths + 4 * documents).next_multiple_of(ALIGN);
        let end = codes + documents.div_ceil(BLOCK) * block_bytes(dims);
        Self { documents, dims, lengths, codes: codes..end }
    }
}

impl Sidecar {
    /// Reads a file of the vectors of `documents` documents. `None` if it is not one.
    pub(super) fn read(bytes: OwnedBytes, documents: usize, dims: usize) -> Option<Self> {
        let places = Places::of(documents, dims);
        let header = header(documents, dims);
        let fits = bytes.len() == places.codes.end + CHECKSUM && bytes.starts_with(&header);
        fits.then_some(Self { bytes, places })
    }

    /// Whether all of it is as it was written.
    pub(super) fn is_intact(&self) -> bool {
        let (content, checksum) = self.bytes.split_at(self.places.codes.end);
        Hash::of(content).0 == checksum
    }

    /// How many documents there are.
    pub(super) fn documents(&self) -> usize {
        self.places.documents
    }

    /// The codes, in blocks.
    pub(super) fn codes(&self) -> &[u8] {
        &self.bytes[self.places.codes.clone()]
    }

    /// A document's row.
    pub(super) fn row(&self, doc: DocId) -> &[u8] {
        let start = HEADER + doc as usize * self.places.dims;
        &self.bytes[start..start + self.places.dims]
    }

    /// One over the length of a document's row; zero if it has no direction.
    pub(super) fn inverse_length(&self, doc: DocId) -> f32 {
        let start = self.places.lengths + 4 * doc as usize;
        let bytes = &self.bytes[start..start + 4];
        f32::from_le_bytes(bytes.try_into().expect("four bytes are asked for"))
    }
}

/// Writes a file of vectors, row by row.
pub(super) struct SidecarWriter<'m, W: Write> {
    file: Hashed<W>,
    centre: &'m [f32],
    places: Places,
    lengths: Vec<u8>,
    codes: Blocks,
}

impl<'m, W: Write> SidecarWriter<'m, W> {
    /// Begins a file for `documents` rows; as many numbers each as the centre has.
    pub(super) fn new(file: W, documents: usize, centre: &'m [f32]) -> io::Result<Self> {
        let mut file = Hashed { file, hasher: Hasher::default() };
        file.write_all(&header(documents, centre.len()))?;
        let places = Places::of(documents, centre.len());
        Ok(Self { file, centre, places, lengths: Vec::new(), codes: Blocks::default() })
    }

    /// Writes the next document's row.
    pub(super) fn push(&mut self, row: &Row) -> io::Result<()> {
        let bytes: Vec<u8> = row.values.iter().map(|value| *value as u8).collect();
        self.lengths.extend(row.inverse_length.to_le_bytes());
        self.codes.push(&row.code(self.centre));
        self.file.write_all(&bytes)
    }

    /// Writes what comes after the rows, and gives the file back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.file.write_all(&self.lengths)?;
        let padding = self.places.codes.start - self.places.lengths - self.lengths.len();
        self.file.write_all(&[0; ALIGN][..padding])?;
        self.file.write_all(self.codes.as_bytes())?;
        let Hashed { mut file, hasher } = self.file;
        file.write_all(&hasher.finish().0)?;
        file.flush()?;
        Ok(file)
    }
}

/// A file whose content is hashed while it is written.
struct Hashed<W> {
    file: W,
    hasher: Hasher,
}

impl<W: Write> Hashed<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }
}

fn header(documents: usize, dims: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&(documents as u32).to_le_bytes());
    header[12..16].copy_from_slice(&(dims as u32).to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_read_back_and_others_are_refused() {
        let rows: Vec<Row> = (0..70)
            .map(|n| Row::of(&[n as f32 - 35.0, 1.0, -2.0, 0.5, 0.0, 3.0, -1.0, n as f32]))
            .collect();
        let mut writer = SidecarWriter::new(Vec::new(), 70, &[0.0; 8]).unwrap();
        rows.iter().for_each(|row| writer.push(row).unwrap());
        let file = writer.finish().unwrap();
        let sidecar = Sidecar::read(OwnedBytes::new(file.clone()), 70, 8).unwrap();
        for (doc, row) in rows.iter().enumerate() {
            let bytes: Vec<u8> = row.values.iter().map(|v| *v as u8).collect();
            assert_eq!(sidecar.row(doc as u32), bytes);
            assert_eq!(sidecar.inverse_length(doc as u32), row.inverse_length);
        }
        let block = 32 + 64;
        assert_eq!(sidecar.codes().len(), 3 * block);
        let code = rows[33].code(&[0.0; 8]);
        assert_eq!(sidecar.codes()[block + 1], code.bits[0]);
        assert_eq!(sidecar.codes()[block + 32 + 2..][..2], code.stretch.to_le_bytes());
        let refused = |bytes: &[u8], documents, dims| {
            Sidecar::read(OwnedBytes::new(bytes.to_vec()), documents, dims).is_none()
        };
        assert!(sidecar.is_intact());
        for at in [20, 64, 700, file.len() - 40, file.len() - 1] {
            let mut flipped = file.clone();
            flipped[at] ^= 4;
            let read = Sidecar::read(OwnedBytes::new(flipped), 70, 8);
            assert!(read.is_none_or(|sidecar| !sidecar.is_intact()), "byte {at}");
        }
        assert!(refused(&file, 71, 8), "another number of documents");
        assert!(refused(&file, 70, 16), "another number of dimensions");
        assert!(refused(&file[..file.len() - 1], 70, 8), "cut off");
        assert!(refused(&[], 0, 8), "empty");
    }
}
