//! The lock that serialises writers.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::directory::{create_private_dir, private_file};
use crate::error::{IndexError, IndexResult};

const FILE: &str = "writer.lock";
const PAUSE: Duration = Duration::from_millis(5);

/// Held by the one writer of a directory; released when dropped or when its process ends.
#[derive(Debug)]
pub(super) struct WriterLock {
    dir: PathBuf,
    _file: File,
}

impl WriterLock {
    /// Creates the directory if necessary and acquires its lock, waiting for the current holder.
    pub(super) fn acquire(dir: &Path, wait: Duration) -> IndexResult<Self> {
        let io = |source| IndexError::Io { dir: dir.to_owned(), source };
        create_private_dir(dir).map_err(io)?;
        let options = private_file().create(true).truncate(false).clone();
        let file = options.open(dir.join(FILE)).map_err(io)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { dir: dir.to_owned(), _file: file }),
                Err(TryLockError::Error(source)) => return Err(io(source)),
                Err(TryLockError::WouldBlock) if started.elapsed() >= wait => {
                    return Err(IndexError::Busy { waited: started.elapsed() });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE.min(wait)),
            }
        }
    }

    /// Removes every file of the directory except the lock.
    pub(super) fn empty_directory(&self) -> IndexResult<()> {
        let io = |source| IndexError::Io { dir: self.dir.clone(), source };
        for entry in fs::read_dir(&self.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            if entry.file_name() != FILE && entry.file_type().map_err(io)?.is_file() {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }
}
