//! Rows of pages that wait for their commit: in a file, so that a large import needs no memory
//! for them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use gbrain_core::id::PageId;
use rustc_hash::FxHashMap;
use tantivy::Directory as _;
use tantivy::directory::{MmapDirectory, OwnedBytes};

use crate::vectors::Row;

const FILE: &str = "pending.rows";

/// Rows in the order they came. The one writer has one.
pub(super) struct Pending {
    path: PathBuf,
    dims: usize,
    file: BufWriter<File>,
    rows: usize,
    /// The first row of each page.
    first: FxHashMap<PageId, usize>,
}

/// Rows that were waiting, to be read.
pub(super) struct Waiting {
    bytes: OwnedBytes,
    dims: usize,
    first: FxHashMap<PageId, usize>,
}

impl Pending {
    pub(super) fn new(dir: &Path, dims: usize) -> io::Result<Self> {
        let path = dir.join(FILE);
        let file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        Ok(Self { path, dims, file, rows: 0, first: FxHashMap::default() })
    }

    /// Takes the rows of a page, in the order of its chunks.
    pub(super) fn push(&mut self, page: PageId, rows: &[Row]) -> io::Result<()> {
        self.first.insert(page, self.rows);
        for row in rows {
            self.file.write_all(&row.inverse_length.to_le_bytes())?;
            let bytes: Vec<u8> = row.values.iter().map(|value| *value as u8).collect();
            self.file.write_all(&bytes)?;
        }
        self.rows += rows.len();
        Ok(())
    }

    /// Ends the writing. What waits stays readable when the file's name is gone.
    pub(super) fn finish(mut self, files: &MmapDirectory) -> io::Result<Waiting> {
        self.file.flush()?;
        let bytes = match self.rows {
            0 => OwnedBytes::empty(),
            _ => {
                let file = files.open_read(Path::new(FILE)).map_err(io::Error::other)?;
                file.read_bytes()?
            }
        };
        fs::remove_file(&self.path)?;
        Ok(Waiting { bytes, dims: self.dims, first: self.first })
    }
}

impl Waiting {
    /// The row of a chunk, if its page was among those that waited.
    pub(super) fn row(&self, page: PageId, ordinal: u32) -> Option<Row> {
        let at = self.first.get(&page)? + ordinal as usize;
        let size = 4 + self.dims;
        let record = self.bytes.get(at * size..(at + 1) * size)?;
        let (length, values) = record.split_at(4);
        Some(Row {
            values: values.iter().map(|value| *value as i8).collect(),
            inverse_length: f32::from_le_bytes(length.try_into().ok()?),
        })
    }
}
