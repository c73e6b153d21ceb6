//! One file of an index, opened for reading: by reading it, not by mapping it into memory.
//!
//! A mapped file that is cut ends the process that reads it (SIGBUS), and one that is written to changes under its
//! reader. So a file is read instead, in one of three ways:
//!
//! - A small file is read whole when it is opened, and closed. Nothing that happens to it afterwards matters.
//! - Of a large file the ranges that are wanted are read where they are. After each read the file is asked for its
//!   length and times: one that changed is compared with its checksum, and is damaged if that does not match. A cut
//!   file is an error like any other.
//! - A large file that was read twice over is worth keeping: it is read whole, up to [`MOST_RESIDENT`]. Then reading
//!   it costs what reading mapped memory costs. Passages of the document store are not: they are unpacked, and that
//!   costs more than reading them.
//!
//! A process that answers once, as the command line does, reads little more than it needs; a server soon has the lists
//! and vectors in memory that it had mapped before.

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

/// A file of at most this many bytes is read whole when it is opened.
const SMALL: usize = 256 << 10;
/// A larger file than this is never kept in memory whole.
const MOST_RESIDENT: usize = 512 << 20;
/// How many times over a file has been read when it is worth keeping.
const WORTH_KEEPING: usize = 2;
/// Bytes that are read at once to compute a checksum.
const PIECE: usize = 1 << 20;
/// The end of a file of a segment: the length of its footer, and a magic number, four bytes each.
const FOOTER_END: usize = 8;
const FOOTER_MAGIC: u32 = 1337;
/// A longer footer is none.
const LONGEST_FOOTER: usize = 50_000;
/// The SHA-256 at the end of a file of vectors.
const VECTORS_CHECKSUM: usize = 32;

/// What of a file changes when it is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    length: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file of an index.
pub(super) struct IndexFile {
    name: String,
    length: usize,
    /// The file as it was when it was last known to be as it was written.
    stamp: Mutex<FileStamp>,
    content: Content,
}

enum Content {
    Memory(OwnedBytes),
    Disk {
        file: File,
        /// The whole file, once it is worth keeping.
        resident: OnceLock<OwnedBytes>,
        /// Bytes that were read.
        read: AtomicUsize,
        /// Whether a thread reads the whole file; the others read what they need meanwhile.
        is_promoted: AtomicBool,
    },
}

/// A file that is not as it was written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub(super) struct DamagedFile {
    pub(super) file: String,
    pub(super) what: String,
}

/// The part of a segment file's footer that matters here.
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

    /// When the file was last written to.
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

    /// Whether only what describes the file differs, such as its names and rights.
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
        let content = match length <= SMALL {
            true => Content::Memory(OwnedBytes::new(read_exactly(&file, 0..length)?)),
            false => Content::Disk {
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

    /// Some bytes: borrowed where they are in memory.
    pub(super) fn bytes(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        self.check_range(&range)?;
        match self.in_memory() {
            Some(all) => Ok(Cow::Borrowed(&all[range])),
            None => Ok(Cow::Owned(self.read(range)?.as_slice().to_vec())),
        }
    }

    /// Compares the file with its checksum.
    pub(super) fn compare(&self) -> io::Result<()> {
        let is_vectors = Path::new(&self.name).extension().is_some_and(|e| e == VECTORS);
        let is_intact = if is_vectors { self.compare_vectors()? } else { self.compare_segment()? };
        if is_intact { Ok(()) } else { Err(self.damaged("its checksum does not match")) }
    }

    fn in_memory(&self) -> Option<&OwnedBytes> {
        match &self.content {
            Content::Memory(bytes) => Some(bytes),
            Content::Disk { resident, .. } => resident.get(),
        }
    }

    /// Reads a range that is not in memory, or all of the file if that is worth it now.
    fn read(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let Content::Disk { file, resident, read, is_promoted } = &self.content else {
            return Err(io::Error::other("a file in memory is not read again"));
        };
        let total = read.fetch_add(range.len(), Ordering::Relaxed) + range.len();
        let is_worth_keeping = total > WORTH_KEEPING * self.length && self.may_be_resident();
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
        self.length <= MOST_RESIDENT && !self.name.ends_with(".store")
    }

    /// Fails if the file is not what it was when it was compared.
    fn check_unchanged(&self, file: &File) -> io::Result<()> {
        let meta = file.metadata()?;
        let now = FileStamp::of(&meta);
        let mut stamp = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        if now == *stamp {
            return Ok(());
        }
        // A file that a writer has merged away has lost its name, and nothing else.
        let is_removed = meta.nlink() == 0 && now.has_content_of(&stamp);
        if !is_removed {
            self.compare()?;
        }
        *stamp = now;
        Ok(())
    }

    /// The files of tantivy end with a footer: JSON with a CRC of what is before it, its length, a magic number.
    fn compare_segment(&self) -> io::Result<bool> {
        let Some(end) = self.length.checked_sub(FOOTER_END) else {
            return Err(self.damaged(format!("only {} bytes are left", self.length)));
        };
        let tail = self.raw(end..self.length)?;
        let number = |at: usize| tail.get(at..at + 4).and_then(|b| b.try_into().ok());
        let (length, magic) =
            (number(0).map(u32::from_le_bytes), number(4).map(u32::from_le_bytes));
        let length = length.map(|length| length as usize).filter(|l| *l <= LONGEST_FOOTER);
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
        for start in (0..until).step_by(PIECE) {
            take(&self.raw(start..until.min(start + PIECE))?);
        }
        Ok(())
    }

    /// Bytes as they are on disk, whatever became of the file.
    fn raw(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match &self.content {
            Content::Memory(bytes) => Ok(Cow::Borrowed(&bytes[range])),
            Content::Disk { file, .. } => Ok(Cow::Owned(read_exactly(file, range)?)),
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

    /// A file as tantivy writes them, too large to be read whole when it is opened.
    fn segment_file(dir: &Path, name: &str) -> (PathBuf, Vec<u8>) {
        let body: Vec<u8> = (0..3 * SMALL).map(|n| (n * 7 + n / 251) as u8).collect();
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
        // Its times and rights may change, and it may lose its name.
        File::options().append(true).open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "touched");
        let other = dir.path().join("b.idx");
        fs::rename(&path, &other).unwrap();
        assert_eq!(read(&file, 5..9).unwrap(), bytes[5..9], "renamed");
        // A byte that is not among those that are read.
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
        for _ in 0..=WORTH_KEEPING {
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
    fn passages_are_not_kept_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        for (name, is_kept) in [("a.store", false), ("a.idx", true)] {
            let (path, bytes) = segment_file(dir.path(), name);
            let file = IndexFile::open(&path).unwrap();
            for _ in 0..=WORTH_KEEPING {
                read(&file, 0..bytes.len()).unwrap();
            }
            assert_eq!(file.in_memory().is_some(), is_kept, "{name}");
        }
    }
}
