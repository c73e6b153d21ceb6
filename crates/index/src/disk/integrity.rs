//! Whether the files of a commit are as they were written.
//!
//! Every file of a segment ends with a checksum, and so does every file of vectors. Reading a whole index to compare
//! them would make each start slow, so `verified.json` remembers which files were compared: by length, inode and times
//! of change. A file that was touched since is compared again. `meta.json`, which has no checksum, is remembered by its
//! hash; one that is not known is compared with what the segments hold.
//!
//! `verified.json` saves time and decides nothing: without it, or with a damaged one, everything is compared.
//! A file that changes without its times changing (a failing disk) is not noticed here.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use gbrain_core::hash::Hash;
use serde::{Deserialize, Serialize};
use tantivy::IndexMeta;
use tantivy::directory::error::OpenReadError;

use super::META;
use crate::error::{IndexError, Result};

const FILE: &str = "verified.json";
/// The end of a file of a segment: the length of its footer, and a magic number.
const FOOTER_END: u64 = 8;
/// A file that changed less than this ago is compared again: its next change could have the same time.
const CLOCK_TICK: Duration = Duration::from_millis(100);

/// A file that is not as it was written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub(super) struct DamagedFile {
    pub(super) file: String,
    pub(super) what: String,
}

/// The files that were compared, as they were then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verified {
    /// The hash of `meta.json`.
    meta: String,
    files: BTreeMap<String, FileStamp>,
    #[serde(skip)]
    is_changed: bool,
}

/// What of a file changes when it is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    length: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Whether all files of a commit are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    All,
    /// One is missing. A writer may have merged it away, with a newer commit.
    Missing,
}

impl Verified {
    /// What is known of a directory; nothing if that can't be read.
    pub(super) fn load(dir: &Path) -> Self {
        let text = fs::read(dir.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Saves what was learned. An index that can't be written to is compared again the next time.
    pub(super) fn save(&mut self, dir: &Path) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.files.retain(|name, _| dir.join(name).exists());
        let text = serde_json::to_vec(self).unwrap_or_default();
        let part = dir.join(format!("{FILE}.{}.part", std::process::id()));
        let saved = fs::write(&part, text).and_then(|()| fs::rename(&part, dir.join(FILE)));
        if saved.is_err() {
            let _ = fs::remove_file(&part);
        }
    }

    /// Takes over what another process has learned.
    pub(super) fn learn(&mut self, other: Self) {
        self.meta = other.meta;
        self.files.extend(other.files);
    }

    /// Whether `meta.json` is one that was compared or written here.
    pub(super) fn knows_meta(&self, meta: Hash) -> bool {
        self.meta == meta.to_hex()
    }

    pub(super) fn remember_meta(&mut self, meta: Hash) {
        if !self.knows_meta(meta) {
            self.meta = meta.to_hex();
            self.is_changed = true;
        }
    }

    /// Whether a file is as it was when it was compared.
    pub(super) fn knows(&self, name: &str, meta: &Metadata) -> bool {
        self.files.get(name) == Some(&FileStamp::of(meta))
    }

    pub(super) fn remember(&mut self, name: &str, meta: &Metadata) {
        let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > CLOCK_TICK) {
            self.files.insert(name.to_owned(), FileStamp::of(meta));
            self.is_changed = true;
        }
    }

    /// Compares the files of a commit that are not known with their checksums.
    pub(super) fn check(
        &mut self,
        dir: &Path,
        index: &tantivy::Index,
        commit: &IndexMeta,
    ) -> Result<Presence> {
        let mut files: Vec<_> = commit.list_segment_files().into_iter().collect();
        files.sort();
        for path in files {
            let name = path.to_string_lossy().into_owned();
            let meta = match fs::metadata(dir.join(&path)) {
                Ok(meta) => meta,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if is_required(commit, &name) {
                        return Ok(Presence::Missing);
                    }
                    continue;
                }
                Err(source) => return Err(IndexError::Io { dir: dir.to_owned(), source }),
            };
            if !self.knows(&name, &meta) {
                compare(dir, index, &name, &meta)?;
                self.remember(&name, &meta);
            }
        }
        Ok(Presence::All)
    }
}

impl FileStamp {
    #[cfg(unix)]
    fn of(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: meta.len(),
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(meta: &Metadata) -> Self {
        let since = |at: io::Result<SystemTime>| {
            let since = at.ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
            since.map_or((0, 0), |d| (d.as_secs() as i64, i64::from(d.subsec_nanos())))
        };
        let modified = since(meta.modified());
        Self { length: meta.len(), inode: 0, modified, changed: modified }
    }
}

/// The hash of `meta.json`.
pub(super) fn meta_hash(dir: &Path) -> Result<Hash> {
    let read = fs::read(dir.join(META));
    read.map(|bytes| Hash::of(&bytes))
        .map_err(|source| IndexError::Io { dir: dir.to_owned(), source })
}

/// An index with a file that is not as it was written.
pub(super) fn damaged(dir: &Path, file: &str, what: impl Into<String>) -> IndexError {
    let source = DamagedFile { file: file.to_owned(), what: what.into() };
    IndexError::Corrupt { dir: dir.to_owned(), source: Box::new(source) }
}

/// Whether a segment needs this file. A list of deletions is there only if there are some, and a temporary store only
/// while a segment is written.
fn is_required(commit: &IndexMeta, name: &str) -> bool {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("temp") => false,
        Some("del") => commit.segments.iter().any(|segment| {
            let own = segment.relative_path(tantivy::index::SegmentComponent::Delete);
            segment.has_deletes() && own == Path::new(name)
        }),
        _ => true,
    }
}

fn compare(dir: &Path, index: &tantivy::Index, name: &str, meta: &Metadata) -> Result<()> {
    if meta.len() < FOOTER_END {
        return Err(damaged(dir, name, format!("only {} bytes are left", meta.len())));
    }
    match index.directory().validate_checksum(Path::new(name)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged(dir, name, "its checksum does not match")),
        Err(OpenReadError::IoError { io_error, .. }) if !is_damage(&io_error) => {
            let source = io::Error::new(io_error.kind(), io_error.to_string());
            Err(IndexError::Io { dir: dir.to_owned(), source })
        }
        Err(error) => Err(damaged(dir, name, error.to_string())),
    }
}

/// Whether reading failed because of what was read, and not because of the file system.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other)
        && error.raw_os_error().is_none()
}
