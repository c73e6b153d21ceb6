//! Verifies the files of a commit.
//!
//! Every segment file and every vector file ends with a checksum. Comparing all of them would slow
//! down each start, so `verified.json` remembers the verified files by length, inode and times. A
//! file whose metadata changed is verified again. `meta.json`, which has no checksum, is remembered
//! by its hash; an unknown one is compared with the contents of the segments.
//!
//! `verified.json` is only a cache: if it is missing or damaged, everything is verified. A file
//! that changes without its times changing (a failing disk) is not noticed here, but by
//! [`Index::check_files`](crate::Index::check_files), which ignores the cache.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gbrain_core::hash::Hash;
use serde::{Deserialize, Serialize};
use tantivy::IndexMeta;

use super::META;
use super::directory::{IndexDirectory, replace_file};
use super::file::{DamagedFile, FileStamp, IndexFile};
use crate::error::{IndexError, IndexResult};

const FILE: &str = "verified.json";
/// A file that changed more recently than this is not remembered: its next change could have the
/// same timestamp.
const CLOCK_TICK: Duration = Duration::from_millis(100);

/// The verified files with their metadata at that time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VerifiedFiles {
    meta: String,
    files: BTreeMap<String, FileStamp>,
    #[serde(skip)]
    is_changed: bool,
}

/// Whether all files of a commit exist.
#[derive(Debug)]
pub(super) enum CommitFiles {
    /// All are open. While they are held, opening one returns the verified file.
    All(Vec<Arc<IndexFile>>),
    /// One is missing. A writer may have merged it away in a newer commit.
    Missing,
}

impl VerifiedFiles {
    /// Loads the cache of a directory; empty if it cannot be read.
    pub(super) fn load(dir: &Path) -> Self {
        let text = fs::read(dir.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Saves new results. An index on a read-only file system is verified again the next time.
    pub(super) fn save(&mut self, dir: &Path) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.files.retain(|name, _| dir.join(name).exists());
        let text = serde_json::to_vec(self).unwrap_or_default();
        let _ = replace_file(&dir.join(FILE), &text);
    }

    /// Takes over the results of another process.
    pub(super) fn learn(&mut self, other: Self) {
        self.meta = other.meta;
        self.files.extend(other.files);
    }

    /// Whether `meta.json` was verified or written here.
    pub(super) fn knows_meta(&self, meta: Hash) -> bool {
        self.meta == meta.to_hex()
    }

    pub(super) fn remember_meta(&mut self, meta: Hash) {
        if !self.knows_meta(meta) {
            self.meta = meta.to_hex();
            self.is_changed = true;
        }
    }

    /// Whether a file is unchanged since it was verified.
    pub(super) fn knows(&self, file: &IndexFile) -> bool {
        self.files.get(file.name()) == Some(&file.stamp())
    }

    pub(super) fn remember(&mut self, file: &IndexFile) {
        let stamp = file.stamp();
        let age = SystemTime::now().duration_since(stamp.modified()).ok();
        if age.is_some_and(|age| age > CLOCK_TICK) {
            self.files.insert(file.name().to_owned(), stamp);
            self.is_changed = true;
        }
    }

    /// Discards all results, so that everything is verified again.
    pub(super) fn forget(&mut self) {
        *self = Self { is_changed: true, ..Self::default() };
    }

    /// Opens the files of a commit, and verifies those that are not known.
    pub(super) fn check(
        &mut self,
        dir: &Path,
        files: &IndexDirectory,
        commit: &IndexMeta,
    ) -> IndexResult<CommitFiles> {
        let mut paths: Vec<_> = commit.list_segment_files().into_iter().collect();
        paths.sort();
        let mut open = Vec::with_capacity(paths.len());
        for path in paths {
            match files.open_file(&path) {
                Ok(file) => {
                    self.check_file(&file).map_err(|error| failed(dir, error))?;
                    open.push(file);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if is_required(commit, &path.to_string_lossy()) {
                        return Ok(CommitFiles::Missing);
                    }
                }
                Err(error) => return Err(failed(dir, error)),
            }
        }
        Ok(CommitFiles::All(open))
    }

    /// Verifies a file unless it is known.
    pub(super) fn check_file(&mut self, file: &IndexFile) -> io::Result<()> {
        if !self.knows(file) {
            file.compare()?;
            self.remember(file);
        }
        Ok(())
    }
}

pub(super) fn meta_hash(dir: &Path) -> IndexResult<Hash> {
    let read = fs::read(dir.join(META));
    read.map(|bytes| Hash::of(&bytes)).map_err(|error| cannot_read_meta(dir, error))
}

/// Converts an error from reading `meta.json`. An index without that file is damaged.
pub(super) fn cannot_read_meta(dir: &Path, error: io::Error) -> IndexError {
    match error.kind() {
        ErrorKind::NotFound => damaged(dir, META, "it is not there"),
        _ => IndexError::Io { dir: dir.to_owned(), source: error },
    }
}

/// The error for an index with a damaged file.
pub(super) fn damaged(dir: &Path, file: &str, what: impl Into<String>) -> IndexError {
    let source = DamagedFile { file: file.to_owned(), what: what.into() };
    IndexError::Corrupt { dir: dir.to_owned(), source: Box::new(source) }
}

/// Whether a segment needs this file. A list of deletions exists only if there are some, and a
/// temporary store only while a segment is written.
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

/// Converts a read error to either damage or an I/O error.
pub(super) fn failed(dir: &Path, error: io::Error) -> IndexError {
    let dir = dir.to_owned();
    match is_damage(&error) {
        true => IndexError::Corrupt { dir, source: error.into() },
        false => IndexError::Io { dir, source: error },
    }
}

/// Whether reading failed because of the content, not because of the file system.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other)
        && error.raw_os_error().is_none()
}
