//! One file of an index, opened for reading with ordinary reads instead of a memory map.
//!
//! Truncating a mapped file kills the process that reads it (SIGBUS), and writing to it changes it
//! under its reader. So a file is read in one of three ways:
//!
//! - A small file is read completely when it is opened, and closed. Later changes to it have no
//!   effect.
//! - Requested ranges of a large file are read from disk. After each read the file's length and
//!   times are checked: a changed file is compared with its checksum and reported as damaged if
//!   that does not match. A truncated file is an ordinary error.
//! - A large file whose bytes have been read twice over is read completely and stays in memory, up
//!   to [`MAX_RESIDENT`]. Reads then cost the same as from mapped memory. The document store is
//!   excluded: its passages are compressed, and unpacking them costs more than reading them.
//!
//! A short-lived process such as the command line reads little more than it needs; a server soon
//! has its lists and vectors in memory.

use std::borrow::Cow;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use gbrain_core::hash::Hasher;
use serde::{Deserialize, Serialize};
use tantivy::HasLen;
use tantivy::directory::{FileHandle, OwnedBytes};

use super::vectors::EXTENSION as VECTORS;

/// Files up to this size are read completely when they are opened.
const MAX_SMALL_FILE: usize = 256 << 10;
/// Files above this size never stay in memory completely.
const MAX_RESIDENT: usize = 512 << 20;
/// A file stays in memory after this multiple of its length has been read.
const READS_UNTIL_RESIDENT: usize = 2;
/// Read size for computing a checksum.
const CHECKSUM_READ: usize = 1 << 20;
/// The end of a segment file: the length of its footer and a magic number, four bytes each.
const FOOTER_END: usize = 8;
const FOOTER_MAGIC: u32 = 1337;
/// A longer footer is invalid.
const MAX_FOOTER_BYTES: usize = 50_000;
/// Length of the SHA-256 at the end of a vector file.
const VECTORS_CHECKSUM: usize = 32;

/// File metadata that changes when the file is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    length: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

pub(super) struct IndexFile {
    name: String,
    length: usize,
    /// The metadata when the file was last verified.
    stamp: Mutex<FileStamp>,
    content: FileContent,
}

enum FileContent {
    Memory(OwnedBytes),
    Disk {
        file: File,
        /// The whole file, once it stays in memory.
        resident: OnceLock<OwnedBytes>,
        /// Number of bytes read so far.
        read: AtomicUsize,
        /// Whether a thread is reading the whole file; meanwhile others read only their ranges.
        is_promoted: AtomicBool,
    },
}

/// A file whose content is not what was written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub(super) struct DamagedFile {
    pub(super) file: String,
    pub(super) what: String,
}

/// The part of a segment file's footer that is used here.
#[derive(Deserialize)]
struct Footer {
    crc: u32,
}

impl FileStamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            length: meta.len(),
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    pub(super) fn modified(&self) -> SystemTime {
        let (seconds, nanos) = self.modified;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let at = match seconds >= 0 {
            true => SystemTime::UNIX_EPOCH.checked_add(whole),
            false => SystemTime::UNIX_EPOCH.checked_sub(whole),
        };
        let nanos = Duration::from_nanos(nanos.unsigned_abs());
        at.and_then(|at| at.checked_add(nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Whether the difference is only in metadata such as names and permissions.
    fn has_content_of(&self, other: &Self) -> bool {
        self.length == other.length && self.modified == other.modified
    }
}

impl IndexFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        let stamp = Mutex::new(FileStamp::of(&meta));
        let length = usize::try_from(meta.len()).map_err(io::Error::other)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = match length <= MAX_SMALL_FILE {
            true => FileContent::Memory(OwnedBytes::new(read_exactly(&file, 0..length)?)),
            false => FileContent::Disk {
                file,
                resident: OnceLock::new(),
                read: AtomicUsize::new(0),
                is_promoted: AtomicBool::new(false),
            },
        };
        Ok(Self { name, length, stamp, content })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn stamp(&self) -> FileStamp {
        *self.stamp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A range of bytes, borrowed if the file is in memory.
    pub(super) fn bytes(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        self.check_range(&range)?;
        match self.in_memory() {
            Some(all) => Ok(Cow::Borrowed(&all[range])),
            None => Ok(Cow::Owned(self.read(range)?.as_slice().to_vec())),
        }
    }

    /// Verifies the file's checksum.
    pub(super) fn compare(&self) -> io::Result<()> {
        let is_vectors = Path::new(&self.name).extension().is_some_and(|e| e == VECTORS);
        let is_intact = if is_vectors { self.compare_vectors()? } else { self.compare_segment()? };
        if is_intact { Ok(()) } else { Err(self.damaged("its checksum does not match")) }
    }

    fn in_memory(&self) -> Option<&OwnedBytes> {
        match &self.content {
            FileContent::Memory(bytes) => Some(bytes),
            FileContent::Disk { resident, .. } => resident.get(),
        }
    }

    /// Reads a range that is not in memory, or the whole file if it should stay in memory from now
    /// on.
    fn read(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let FileContent::Disk { file, resident, read, is_promoted } = &self.content else {
            return Err(io::Error::other("a file in memory is not read again"));
        };
        let total = read.fetch_add(range.len(), Ordering::Relaxed) + range.len();
        let is_worth_keeping = total > READS_UNTIL_RESIDENT * self.length && self.may_be_resident();
        if is_worth_keeping && !is_promoted.swap(true, Ordering::AcqRel) {
            let all = read_exactly(file, 0..self.length)
                .and_then(|all| self.check_unchanged(file).map(|()| all))
                .inspect_err(|_| is_promoted.store(false, Ordering::Release))?;
            return Ok(resident.get_or_init(|| OwnedBytes::new(all)).slice(range));
        }
        let bytes = read_exactly(file, range)?;
        self.check_unchanged(file)?;
        Ok(OwnedBytes::new(bytes))
    }

    fn may_be_resident(&self) -> bool {
        self.length <= MAX_RESIDENT && !self.name.ends_with(".store")
    }

    /// Fails if the file differs from its verified state.
    fn check_unchanged(&self, file: &File) -> io::Result<()> {
        let meta = file.metadata()?;
        let now = FileStamp::of(&meta);
        let mut stamp = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        if now == *stamp {
            return Ok(());
        }
        // A file that a writer has merged away was only unlinked.
        let is_removed = meta.nlink() == 0 && now.has_content_of(&stamp);
        if !is_removed {
            self.compare()?;
        }
        *stamp = now;
        Ok(())
    }

    /// tantivy's files end with a footer: JSON with a CRC of the preceding bytes, its length, a
    /// magic number.
    fn compare_segment(&self) -> io::Result<bool> {
        let Some(end) = self.length.checked_sub(FOOTER_END) else {
            return Err(self.damaged(format!("only {} bytes are left", self.length)));
        };
        let tail = self.raw(end..self.length)?;
        let number = |at: usize| tail.get(at..at + 4).and_then(|b| b.try_into().ok());
        let (length, magic) =
            (number(0).map(u32::from_le_bytes), number(4).map(u32::from_le_bytes));
        let length = length.map(|length| length as usize).filter(|l| *l <= MAX_FOOTER_BYTES);
        let body = length.and_then(|length| end.checked_sub(length));
        let Some(body) = body.filter(|_| magic == Some(FOOTER_MAGIC)) else {
            return Err(self.damaged("its footer is none"));
        };
        let Ok(footer) = serde_json::from_slice::<Footer>(&self.raw(body..end)?) else {
            return Err(self.damaged("its footer can't be read"));
        };
        let mut crc = crc32fast::Hasher::new();
        self.each_piece(body, |piece| crc.update(piece))?;
        Ok(crc.finalize() == footer.crc)
    }

    fn compare_vectors(&self) -> io::Result<bool> {
        let Some(body) = self.length.checked_sub(VECTORS_CHECKSUM) else { return Ok(false) };
        let mut hasher = Hasher::default();
        self.each_piece(body, |piece| hasher.update(piece))?;
        Ok(hasher.finish().0 == *self.raw(body..self.length)?)
    }

    fn each_piece(&self, until: usize, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        for start in (0..until).step_by(CHECKSUM_READ) {
            take(&self.raw(start..until.min(start + CHECKSUM_READ))?);
        }
        Ok(())
    }

    /// Bytes as they are on disk, without verification.
    fn raw(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match &self.content {
            FileContent::Memory(bytes) => Ok(Cow::Borrowed(&bytes[range])),
            FileContent::Disk { file, .. } => Ok(Cow::Owned(read_exactly(file, range)?)),
        }
    }

    fn check_range(&self, range: &Range<usize>) -> io::Result<()> {
        match range.start <= range.end && range.end <= self.length {
            true => Ok(()),
            false => Err(self.damaged(format!("{range:?} is not within {} bytes", self.length))),
        }
    }

    fn damaged(&self, what: impl Into<String>) -> io::Error {
        let damage = DamagedFile { file: self.name.clone(), what: what.into() };
        io::Error::new(ErrorKind::InvalidData, damage)
    }
}

impl HasLen for IndexFile {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for IndexFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        self.check_range(&range)?;
        match self.in_memory() {
            Some(all) => Ok(all.slice(range)),
            None => self.read(range),
        }
    }
}

impl fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexFile({})", self.name)
    }
}

fn read_exactly(file: &File, range: Range<usize>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; range.len()];
    file.read_exact_at(&mut bytes, range.start as u64)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A file in tantivy's format, too large to be read completely when it is opened.
    fn segment_file(dir: &Path, name: &str) -> (PathBuf, Vec<u8>) {
        let body: Vec<u8> = (0..3 * MAX_SMALL_FILE).map(|n| (n * 7 + n / 251) as u8).collect();
        let mut crc = crc32fast::Hasher::new();
        crc.update(&body);
        let footer = format!("{{\"version\":{{}},\"crc\":{}}}", crc.finalize());
        let mut bytes = body;
        bytes.extend(footer.as_bytes());
        bytes.extend((footer.len() as u32).to_le_bytes());
        bytes.extend(FOOTER_MAGIC.to_le_bytes());
        let path = dir.join(name);
        fs::write(&path, &bytes).unwrap();
        (path, bytes)
    }

    fn read(file: &IndexFile, range: Range<usize>) -> io::Result<Vec<u8>> {
        file.read_bytes(range).map(|bytes| bytes.to_vec())
    }

    fn write_at(path: &Path, byte: u8, at: u64) {
        File::options().write(true).open(path).unwrap().write_all_at(&[byte], at).unwrap();
    }

    #[test]
    fn a_file_that_changes_while_it_is_open_is_compared_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = segment_file(dir.path(), "a.idx");
        let file = IndexFile::open(&path).unwrap();
        file.compare().unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9]);
        // Touching, changing permissions and unlinking are allowed.
        File::options().append(true).open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "touched");
        let other = dir.path().join("b.idx");
        fs::rename(&path, &other).unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "renamed");
        // A byte outside the ranges that are read.
        write_at(&other, !bytes[500], 500);
        let error = read(&file, 5..9).unwrap_err();
        assert_eq!(error.to_string(), "a.idx: its checksum does not match");
        write_at(&other, bytes[500], 500);
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "put back");
        fs::remove_file(&other).unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "removed");
    }

    #[test]
    fn a_file_that_is_cut_is_an_error_and_one_in_memory_does_not_care() {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = segment_file(dir.path(), "a.idx");
        let (cut, kept) = (IndexFile::open(&path).unwrap(), IndexFile::open(&path).unwrap());
        for _ in 0..=READS_UNTIL_RESIDENT {
            read(&kept, 0..bytes.len()).unwrap();
        }
        let small = dir.path().join("small.idx");
        fs::write(&small, b"a few bytes").unwrap();
        let whole = IndexFile::open(&small).unwrap();
        for path in [&path, &small] {
            File::options().write(true).open(path).unwrap().set_len(4).unwrap();
        }
        for range in [0..2, 100..200, bytes.len() - 1..bytes.len()] {
            assert!(read(&cut, range.clone()).is_err(), "{range:?}");
            assert_eq!(read(&kept, range.clone()).unwrap(), bytes[range]);
        }
        assert_eq!(read(&whole, 2..11).unwrap(), b"few bytes");
        assert!(read(&whole, 2..12).is_err(), "there is no such range");
    }

    #[test]
    fn passages_are_not_held_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        for (name, is_kept) in [("a.store", false), ("a.idx", true)] {
            let (path, bytes) = segment_file(dir.path(), name);
            let file = IndexFile::open(&path).unwrap();
            for _ in 0..=READS_UNTIL_RESIDENT {
                read(&file, 0..bytes.len()).unwrap();
            }
            assert_eq!(file.in_memory().is_some(), is_kept, "{name}");
        }
    }
}
