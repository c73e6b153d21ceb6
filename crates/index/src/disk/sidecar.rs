//! The vectors of one segment, in a file beside it: `SEGMENT.MODEL.vec`.
//!
//! Little-endian: magic, `u32` documents, `u32` dimensions; at byte 64 the rows (`i8` by document
//! and dimension), then their inverse lengths (`f32` by document), then at a multiple of 64 the
//! codes in blocks. Document numbers are those of the segment; a document without words has a row
//! of zeros. The last 32 bytes are the SHA-256 of all preceding bytes. The file can be computed
//! again from the segment at any time.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gbrain_core::hash::Hasher;
use tantivy::directory::{FileHandle as _, OwnedBytes};
use tantivy::{DocId, HasLen as _};

use super::file::IndexFile;
use crate::vectors::{BLOCK, CodeBlocks, VectorRow, block_bytes};

const MAGIC: &[u8; 8] = b"gbvec\x02\0\0";
const CHECKSUM: usize = 32;
const HEADER: usize = 64;
const ALIGN: usize = 64;

/// The vectors of a segment. Codes and lengths stay in memory after the first search; rows are read
/// from the file.
pub(super) struct Sidecar {
    source: SidecarSource,
    places: SidecarLayout,
    scanned: OnceLock<OwnedBytes>,
}

enum SidecarSource {
    File(Arc<IndexFile>),
    /// Computed for a single view.
    Memory(OwnedBytes),
}

struct SidecarLayout {
    documents: usize,
    dims: usize,
    lengths: usize,
    codes: Range<usize>,
}

/// The part of a vector file that every search scans.
#[derive(Clone, Copy)]
pub(super) struct SidecarCodes<'s> {
    lengths: &'s [u8],
    pub(super) blocks: &'s [u8],
    pub(super) documents: usize,
}

impl SidecarCodes<'_> {
    /// One over the length of a document's row; zero if it has no direction.
    pub(super) fn inverse_length(&self, doc: DocId) -> f32 {
        let start = 4 * doc as usize;
        let bytes = self.lengths.get(start..start + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0.0, f32::from_le_bytes)
    }
}

impl SidecarLayout {
    fn of(documents: usize, dims: usize) -> Self {
        let lengths = HEADER + documents * dims;
        let codes = (lengths + 4 * documents).next_multiple_of(ALIGN);
        let end = codes + documents.div_ceil(BLOCK) * block_bytes(dims);
        Self { documents, dims, lengths, codes: codes..end }
    }

    fn scanned(&self) -> Range<usize> {
        self.lengths..self.codes.end
    }
}

impl Sidecar {
    /// Opens a vector file of `documents` documents. `None` if it is not one.
    pub(super) fn open(
        file: Arc<IndexFile>,
        documents: usize,
        dims: usize,
    ) -> io::Result<Option<Self>> {
        let length = file.len();
        Self::of(SidecarSource::File(file), length, documents, dims)
    }

    /// Vectors that were written to memory.
    pub(super) fn in_memory(bytes: Vec<u8>, documents: usize, dims: usize) -> Option<Self> {
        let length = bytes.len();
        Self::of(SidecarSource::Memory(OwnedBytes::new(bytes)), length, documents, dims)
            .ok()
            .flatten()
    }

    fn of(
        source: SidecarSource,
        length: usize,
        documents: usize,
        dims: usize,
    ) -> io::Result<Option<Self>> {
        let places = SidecarLayout::of(documents, dims);
        let fits = length == places.codes.end + CHECKSUM
            && *source.bytes(0..HEADER)? == header(documents, dims);
        Ok(fits.then_some(Self { source, places, scanned: OnceLock::new() }))
    }

    pub(super) fn codes(&self) -> io::Result<SidecarCodes<'_>> {
        let scanned = match self.scanned.get() {
            Some(scanned) => scanned,
            None => {
                let read = self.source.slice(self.places.scanned())?;
                self.scanned.get_or_init(|| read)
            }
        };
        let (lengths, blocks) = scanned.split_at(self.places.codes.start - self.places.lengths);
        Ok(SidecarCodes { lengths, blocks, documents: self.places.documents })
    }

    pub(super) fn row(&self, doc: DocId) -> io::Result<Cow<'_, [u8]>> {
        let start = HEADER + doc as usize * self.places.dims;
        self.source.bytes(start..start + self.places.dims)
    }
}

impl SidecarSource {
    /// A range of bytes that stays in memory; not copied if it is there already.
    fn slice(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        match self {
            Self::File(file) => file.read_bytes(range),
            Self::Memory(bytes) => match range.end <= bytes.len() {
                true => Ok(bytes.slice(range)),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        }
    }

    fn bytes(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::File(file) => file.bytes(range),
            Self::Memory(bytes) => match bytes.get(range) {
                Some(bytes) => Ok(Cow::Borrowed(bytes)),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        }
    }
}

/// Writes a vector file, row by row.
pub(super) struct SidecarWriter<'m, W: Write> {
    file: HashingWriter<W>,
    centre: &'m [f32],
    places: SidecarLayout,
    lengths: Vec<u8>,
    codes: CodeBlocks,
}

impl<'m, W: Write> SidecarWriter<'m, W> {
    /// Begins a file for `documents` rows with the dimensions of the centre.
    pub(super) fn new(file: W, documents: usize, centre: &'m [f32]) -> io::Result<Self> {
        let mut file = HashingWriter { file, hasher: Hasher::default() };
        file.write_all(&header(documents, centre.len()))?;
        let places = SidecarLayout::of(documents, centre.len());
        Ok(Self { file, centre, places, lengths: Vec::new(), codes: CodeBlocks::default() })
    }

    /// Writes the next document's row.
    pub(super) fn push(&mut self, row: &VectorRow) -> io::Result<()> {
        let bytes: Vec<u8> = row.values.iter().map(|value| *value as u8).collect();
        self.lengths.extend(row.inverse_length.to_le_bytes());
        self.codes.push(&row.code(self.centre));
        self.file.write_all(&bytes)
    }

    /// Writes the data after the rows, and returns the file.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.file.write_all(&self.lengths)?;
        let padding = self.places.codes.start - self.places.lengths - self.lengths.len();
        self.file.write_all(&[0; ALIGN][..padding])?;
        self.file.write_all(self.codes.as_bytes())?;
        let HashingWriter { mut file, hasher } = self.file;
        file.write_all(&hasher.finish().0)?;
        file.flush()?;
        Ok(file)
    }
}

/// Hashes the content while it is written.
struct HashingWriter<W> {
    file: W,
    hasher: Hasher,
}

impl<W: Write> HashingWriter<W> {
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
        let rows: Vec<VectorRow> = (0..70)
            .map(|n| VectorRow::of(&[n as f32 - 35.0, 1.0, -2.0, 0.5, 0.0, 3.0, -1.0, n as f32]))
            .collect();
        let mut writer = SidecarWriter::new(Vec::new(), 70, &[0.0; 8]).unwrap();
        rows.iter().for_each(|row| writer.push(row).unwrap());
        let file = writer.finish().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment.model.vec");
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Arc::new(IndexFile::open(&path).unwrap())
        };
        let whole = open(&file);
        assert!(whole.compare().is_ok());
        let sidecar = Sidecar::open(whole, 70, 8).unwrap().unwrap();
        let codes = sidecar.codes().unwrap();
        for (doc, row) in rows.iter().enumerate() {
            let bytes: Vec<u8> = row.values.iter().map(|v| *v as u8).collect();
            assert_eq!(*sidecar.row(doc as u32).unwrap(), bytes);
            assert_eq!(codes.inverse_length(doc as u32), row.inverse_length);
        }
        let block = 32 + 64;
        assert_eq!(codes.blocks.len(), 3 * block);
        let code = rows[33].code(&[0.0; 8]);
        assert_eq!(codes.blocks[block + 1], code.bits[0]);
        assert_eq!(codes.blocks[block + 32 + 2..][..2], code.stretch.to_le_bytes());
        assert!(sidecar.row(70 * 8).is_err(), "no such row");
        for at in [20, 64, 700, file.len() - 40, file.len() - 1] {
            let mut flipped = file.clone();
            flipped[at] ^= 4;
            assert!(open(&flipped).compare().is_err(), "byte {at}");
        }
        let refused = |bytes: &[u8], documents, dims| {
            Sidecar::open(open(bytes), documents, dims).unwrap().is_none()
        };
        assert!(refused(&file, 71, 8), "another number of documents");
        assert!(refused(&file, 70, 16), "another number of dimensions");
        assert!(refused(&file[..file.len() - 1], 70, 8), "cut off");
        assert!(refused(&[], 0, 8), "empty");
    }
}
