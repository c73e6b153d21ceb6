//! The tantivy directory of an index: files are readable by their owner only, and are read through
//! [`IndexFile`].
//!
//! Guarantees: a new file has mode 0600 regardless of the umask; `meta.json` is replaced
//! atomically; data is synced before it gets its name. Locks are the system's file locks, so a
//! killed process leaves none behind.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, META_LOCK, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use super::file::{FileStamp, IndexFile};

/// Number of cached handles at which closed files are removed from the cache.
const MANY_FILES: usize = 256;

#[derive(Clone)]
pub(super) struct IndexDirectory {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    /// Open files, so that opening one again shares the data already read.
    open: Mutex<HashMap<PathBuf, Weak<IndexFile>>>,
    /// The first write error of the file system since [`IndexDirectory::take_refusal`].
    refusal: Mutex<Option<io::Error>>,
}

impl IndexDirectory {
    pub(super) fn new(dir: &Path) -> Self {
        let (open, refusal) = (Mutex::default(), Mutex::default());
        Self { inner: Arc::new(Inner { dir: dir.to_owned(), open, refusal }) }
    }

    /// Takes the error that the file system returned for a write. tantivy reports it in various
    /// ways, some without the cause.
    pub(super) fn take_refusal(&self) -> Option<io::Error> {
        self.inner.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Opens a file, or returns the open one if it has not changed since.
    pub(super) fn open_file(&self, name: &Path) -> io::Result<Arc<IndexFile>> {
        let path = self.path(name);
        let stamp = FileStamp::of(&fs::metadata(&path)?);
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.get(name).and_then(Weak::upgrade);
        if let Some(file) = known.filter(|file| file.stamp() == stamp) {
            return Ok(file);
        }
        let file = Arc::new(IndexFile::open(&path)?);
        if open.len() >= MANY_FILES {
            open.retain(|_, file| file.strong_count() > 0);
        }
        open.insert(name.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }

    /// Opens a file as it is on disk now, ignoring an already open one.
    pub(super) fn reopen_file(&self, name: &Path) -> io::Result<IndexFile> {
        IndexFile::open(&self.path(name))
    }

    fn path(&self, name: &Path) -> PathBuf {
        self.inner.dir.join(name)
    }
}

impl Inner {
    /// Records a failed write. A missing directory counts as damage and an existing file is not an
    /// error, so neither is recorded.
    fn note<T>(&self, written: io::Result<T>) -> io::Result<T> {
        written.inspect_err(|error| {
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) {
                let copy = match error.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(error.kind(), error.to_string()),
                };
                let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
                refusal.get_or_insert(copy);
            }
        })
    }
}

/// Creates a directory that only its owner may read, with missing parents.
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Options for creating a file that only its owner may read.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// A unique name for an unfinished file.
pub(super) fn unfinished_name(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("{name}.{process}-{number}.part")
}

/// Replaces a file that only its owner may read, atomically.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(unfinished_name(&name));
    let write = || {
        let mut file = private_file().create_new(true).open(&part)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}

impl Directory for IndexDirectory {
    /// Returns an open, verified file even if it has been unlinked since: views read parts of their
    /// files on first use.
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.get(path).and_then(Weak::upgrade);
        drop(open);
        match known.map_or_else(|| self.open_file(path), Ok) {
            Ok(file) => Ok(file),
            Err(error) => Err(cannot_read(error, path)),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        fs::remove_file(self.path(path)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.path(path).try_exists().map_err(|error| cannot_read(error, path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = self.inner.note(private_file().create_new(true).open(self.path(path)));
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(SyncedFile { file, directory: self.inner.clone() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        fs::read(self.path(path)).map_err(|error| cannot_read(error, path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.note(replace_file(&self.path(path), data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.note(File::open(&self.inner.dir).and_then(|dir| dir.sync_data()))
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let options = private_file().create(true).truncate(false).clone();
        let file = match options.open(self.path(&lock.filepath)) {
            // Readers take this lock so that no writer removes files they are about to open. On a
            // read-only file system nothing is removed.
            Err(error) if lock.filepath == META_LOCK.filepath && is_read_only(&error) => {
                return Ok(DirectoryLock::from(Box::new(())));
            }
            file => file.map_err(LockError::wrap_io_error)?,
        };
        if lock.is_blocking {
            file.lock().map_err(LockError::wrap_io_error)?;
        } else {
            file.try_lock().map_err(|_| LockError::LockBusy)?;
        }
        Ok(DirectoryLock::from(Box::new(file)))
    }

    /// Callers reload readers explicitly, so nothing is watched.
    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// Whether writing failed because the file system is read-only, not because it is full.
fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

impl fmt::Debug for IndexDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexDirectory({})", self.inner.dir.display())
    }
}

/// A file that is synced when writing ends.
struct SyncedFile {
    file: File,
    directory: Arc<Inner>,
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.directory.note(self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for SyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.directory.note(self.file.sync_data())
    }
}

fn cannot_read(error: io::Error, path: &Path) -> OpenReadError {
    match error.kind() {
        ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(error, path.to_owned()),
    }
}
