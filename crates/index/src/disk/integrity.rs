//! Whether the files of a commit are as they were written.
//!
//! Every file of a segment ends with a checksum, and so does every file of vectors. Reading a whole index to compare
//! them would make each start slow, so `verified.json` remembers which files were compared: by length, inode and times
//! of change. A file that was touched since is compared again. `meta.json`, which has no checksum, is remembered by its
//! hash; one that is not known is compared with what the segments hold.
//!
//! `verified.json` saves time and decides nothing: without it, or with a damaged one, everything is compared.
//! A file that changes without its times changing (a failing disk) is not noticed here, but by
//! [`Index::check_files`](crate::Index::check_files), which compares everything whatever is remembered.

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
use crate::error::{IndexError, Result};

const FILE: &str = "verified.json";
/// A file that changed less than this ago is compared again: its next change could have the same time.
const CLOCK_TICK: Duration = Duration::from_millis(100);

/// The files that were compared, as they were then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verified {
    /// The hash of `meta.json`.
    meta: String,
    files: BTreeMap<String, FileStamp>,
    #[serde(skip)]
    is_changed: bool,
}

/// Whether all files of a commit are there.
#[derive(Debug)]
pub(super) enum Presence {
    /// All, opened: as long as they are held, whoever opens one gets the one that was compared.
    All(Vec<Arc<IndexFile>>),
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
        let _ = replace_file(&dir.join(FILE), &text);
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

    /// Forgets what was compared, so that everything is compared again.
    pub(super) fn forget(&mut self) {
        *self = Self { is_changed: true, ..Self::default() };
    }

    /// Opens the files of a commit, and compares those that are not known with their checksums.
    pub(super) fn check(
        &mut self,
        dir: &Path,
        files: &IndexDirectory,
        commit: &IndexMeta,
    ) -> Result<Presence> {
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
                        return Ok(Presence::Missing);
                    }
                }
                Err(error) => return Err(failed(dir, error)),
            }
        }
        Ok(Presence::All(open))
    }

    /// Compares a file that is not known with its checksum.
    pub(super) fn check_file(&mut self, file: &IndexFile) -> io::Result<()> {
        if !self.knows(file) {
            file.compare()?;
            self.remember(file);
        }
        Ok(())
    }
}

/// The hash of `meta.json`.
pub(super) fn meta_hash(dir: &Path) -> Result<Hash> {
    let read = fs::read(dir.join(META));
    read.map(|bytes| Hash::of(&bytes)).map_err(|error| cannot_read_meta(dir, error))
}

/// What reading `meta.json` said. An index without one is damaged.
pub(super) fn cannot_read_meta(dir: &Path, error: io::Error) -> IndexError {
    match error.kind() {
        ErrorKind::NotFound => damaged(dir, META, "it is not there"),
        _ => IndexError::Io { dir: dir.to_owned(), source: error },
    }
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

/// What reading a file said: damage, or the file system's refusal.
pub(super) fn failed(dir: &Path, error: io::Error) -> IndexError {
    let dir = dir.to_owned();
    match is_damage(&error) {
        true => IndexError::Corrupt { dir, source: error.into() },
        false => IndexError::Io { dir, source: error },
    }
}

/// Whether reading failed because of what was read, and not because of the file system.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other)
        && error.raw_os_error().is_none()
}
