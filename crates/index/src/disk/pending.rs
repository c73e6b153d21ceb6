//! Vector rows of uncommitted pages, in a file so that a large import does not hold them in memory.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use gbrain_core::id::PageId;
use rustc_hash::FxHashMap;

use super::directory::private_file;
use crate::vectors::VectorRow;

const FILE: &str = "pending.rows";

/// Rows in insertion order. Only the one writer has such a file.
pub(super) struct PendingRows {
    path: PathBuf,
    dims: usize,
    file: BufWriter<File>,
    rows: usize,
    /// The first row of each page.
    first: FxHashMap<PageId, usize>,
}

/// Pending rows, opened for reading.
pub(super) struct WaitingRows {
    file: File,
    dims: usize,
    first: FxHashMap<PageId, usize>,
}

impl PendingRows {
    pub(super) fn new(dir: &Path, dims: usize) -> io::Result<Self> {
        let path = dir.join(FILE);
        let file = private_file().read(true).create(true).truncate(true).open(&path)?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { path, dims, file, rows: 0, first: FxHashMap::default() })
    }

    /// Appends the rows of a page, in the order of its chunks.
    pub(super) fn push(&mut self, page: PageId, rows: &[VectorRow]) -> io::Result<()> {
        self.first.insert(page, self.rows);
        for row in rows {
            self.file.write_all(&row.inverse_length.to_le_bytes())?;
            let bytes: Vec<u8> = row.values.iter().map(|value| *value as u8).collect();
            self.file.write_all(&bytes)?;
        }
        self.rows += rows.len();
        Ok(())
    }

    /// Ends writing. The file is unlinked but stays readable.
    pub(super) fn finish(self) -> io::Result<WaitingRows> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::remove_file(&self.path)?;
        Ok(WaitingRows { file, dims: self.dims, first: self.first })
    }
}

impl WaitingRows {
    /// The row of a chunk, if its page is pending.
    pub(super) fn row(&self, page: PageId, ordinal: u32) -> Option<VectorRow> {
        let at = self.first.get(&page)? + ordinal as usize;
        let size = 4 + self.dims;
        let mut record = vec![0; size];
        self.file.read_exact_at(&mut record, (at * size) as u64).ok()?;
        let (length, values) = record.split_at(4);
        Some(VectorRow {
            values: values.iter().map(|value| *value as i8).collect(),
            inverse_length: f32::from_le_bytes(length.try_into().ok()?),
        })
    }
}
