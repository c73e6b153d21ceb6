//! Erases a page permanently: from the store, from the index, and from the files of the home.
//!
//! Promises: the store erases in one transaction, after the files. A purge that is killed leaves a
//! marker without a page name: purging again continues it, and the next process that opens the
//! index rebuilds it, because deleted text stays in index segments until they are merged.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use gbrain_core::erasure::{BaselineErasure, BaselineSeal, ErasedPage, ErasureCounts};
use gbrain_core::id::{Generation, PageKey, WorkspaceId};
use gbrain_store::{PurgeCounts, PurgeKeys, private};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::atomic::AtomicFile;
use crate::{Brain, BrainError};

/// How many directory levels below the baselines are searched.
const MAX_DEPTH: usize = 4;
/// File name prefix of callers' audit files.
const AUDIT_PREFIX: &str = "access-";

/// The owner's keys, and the files of the home that may name a page.
#[derive(Debug, Clone, Default)]
pub struct PurgeScope {
    pub keys: PurgeKeys,
    /// Directory of the owner's baselines.
    pub baselines: Option<PathBuf>,
    /// Directory of audit files.
    pub audit: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeOutcome {
    Purged(PurgeCounts),
    /// The page does not exist; an interrupted purge was finished.
    Finished,
}

impl Brain {
    /// Erases a page from the files of the home, from the store and from the index.
    pub fn purge(
        &self,
        key: &PageKey,
        scope: &PurgeScope,
        now: Timestamp,
    ) -> Result<PurgeOutcome, BrainError> {
        let store = self.store();
        let Some(page) = store.erased_page(self.workspace(), key, &scope.keys)? else {
            return match self.was_interrupted {
                true => {
                    // The first commit of the new index removes the files of the replaced one.
                    self.reindex(&|_, _| ())?;
                    Ok(PurgeOutcome::Finished)
                }
                false => Err(self.no_page(key)?),
            };
        };
        let marker = self.index_path.as_deref().map(PurgeMarker::set).transpose()?;
        let files = self.purge_files(&page, scope)?;
        let mut purged = store.erase_page(self.workspace(), key, &scope.keys, now)?;
        self.remove_past()?;
        self.reindex(&|_, _| ())?;
        self.forget_view();
        if let Some(marker) = marker {
            marker.remove()?;
        }
        purged.erased.baseline_files = files.baseline_files;
        purged.erased.baselines_to_publish_again += files.baselines_to_publish_again;
        purged.erased.audit_lines = files.audit_lines;
        Ok(PurgeOutcome::Purged(purged))
    }

    fn purge_files(
        &self,
        page: &ErasedPage,
        scope: &PurgeScope,
    ) -> Result<ErasureCounts, BrainError> {
        let mut counts = ErasureCounts::default();
        let is_own = |row: &Map<String, Value>| !self.is_of_another_workspace(row);
        for path in scope.baselines.iter().flat_map(|dir| files(dir, MAX_DEPTH)) {
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => continue,
                Err(error) => return Err(file_error(&path, error)),
            };
            let erased = page.erase_from_baseline(&text, scope.keys.baseline.as_ref(), &is_own);
            if let Some(BaselineErasure { text, seal }) = erased {
                replace(&path, &text).map_err(|error| file_error(&path, error))?;
                counts.baseline_files += 1;
                counts.baselines_to_publish_again += u64::from(seal == BaselineSeal::Broken);
            }
        }
        for path in scope.audit.iter().flat_map(|dir| files(dir, 0)) {
            let is_audit =
                |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(AUDIT_PREFIX);
            if path.file_name().is_some_and(is_audit) {
                let masked = mask(&path, page, self.workspace());
                counts.audit_lines += masked.map_err(|error| file_error(&path, error))?;
            }
        }
        Ok(counts)
    }

    /// Whether a row was captured in another workspace of this store: its corpus belongs to that
    /// workspace and not to this one.
    fn is_of_another_workspace(&self, row: &Map<String, Value>) -> bool {
        let corpus = row.get("corpus");
        let field = |name: &str| corpus.and_then(|corpus| corpus.get(name));
        let generation = field("generation").and_then(Value::as_i64);
        let root = field("root").and_then(Value::as_str);
        let (Some(generation), Some(root)) = (generation, root) else { return false };
        let is_at = |ws: &WorkspaceId| {
            let head = self.store().head_at(ws, Generation(generation));
            head.is_ok_and(|head| head.is_some_and(|head| head.root.to_hex() == root))
        };
        if is_at(self.workspace()) {
            return false;
        }
        let workspaces = self.store().workspaces().unwrap_or_default();
        workspaces.iter().any(|other| other.id != *self.workspace() && is_at(&other.id))
    }
}

/// The regular files of a directory, by name; symbolic links are not followed.
fn files(dir: &Path, deepest: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            Ok(kind) if kind.is_dir() && deepest > 0 => {
                found.extend(files(&entry.path(), deepest - 1));
            }
            _ => (),
        }
    }
    found.sort();
    found
}

/// Replaces a file atomically, keeping its permissions.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = AtomicFile::create_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.replace(path)
}

/// Masks the page in the lines of an audit file, in place and without changing its length, because
/// a server may be appending to it. Returns the number of lines.
fn mask(path: &Path, page: &ErasedPage, ws: &WorkspaceId) -> std::io::Result<u64> {
    let bytes = std::fs::read(path)?;
    let (mut at, mut masked, mut file) = (0, 0, None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(span) = target_of(line, page, ws) {
            if file.is_none() {
                file = Some(OpenOptions::new().write(true).open(path)?);
            }
            let stars = vec![b'*'; span.len()];
            if let Some(file) = &file {
                file.write_all_at(&stars, (at + span.start) as u64)?;
            }
            masked += 1;
        }
        at += line.len();
    }
    if let Some(file) = file {
        file.sync_all()?;
    }
    Ok(masked)
}

/// The byte range where an audit line names the page as its target.
fn target_of(line: &[u8], page: &ErasedPage, ws: &WorkspaceId) -> Option<std::ops::Range<usize>> {
    const NAME: &str = "\"target\":\"";
    let value: Value = serde_json::from_slice(line).ok()?;
    let is_own = value.get("workspace").and_then(Value::as_str) == Some(ws.as_str());
    let target = value.get("target").and_then(Value::as_str)?;
    if !is_own || !page.is_document(target) {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let start = text.find(NAME)? + NAME.len();
    let mut escaped = false;
    let end = text[start..].bytes().position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    })?;
    Some(start..start + end)
}

/// Marks a purge in progress: a locked file beside the index. A marker without a lock was left by a
/// process that ended.
struct PurgeMarker {
    path: PathBuf,
    _file: File,
}

impl PurgeMarker {
    fn set(index: &Path) -> Result<Self, BrainError> {
        let path = marker_path(index);
        let io_error = |error| file_error(&path, error);
        if let Some(dir) = path.parent() {
            private::create_dir(dir).map_err(io_error)?;
        }
        loop {
            let file = private::file().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(io_error)?;
            file.lock().map_err(io_error)?;
            // Another process may have removed the marker while this one waited for the lock.
            if path.exists() {
                file.sync_all().map_err(io_error)?;
                return Ok(Self { path, _file: file });
            }
        }
    }

    fn remove(self) -> Result<(), BrainError> {
        std::fs::remove_file(&self.path).map_err(|error| file_error(&self.path, error))
    }
}

fn marker_path(index: &Path) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(".purging");
    PathBuf::from(name)
}

/// Rebuilds the index if a purge was interrupted, leaving its marker. `None` if there is no marker,
/// or if its process is still running.
pub(crate) fn finish_interrupted<T>(
    index: &Path,
    replace: impl FnOnce() -> Result<T, BrainError>,
) -> Result<Option<T>, BrainError> {
    let path = marker_path(index);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let replaced = replace()?;
    std::fs::remove_file(&path).map_err(|error| file_error(&path, error))?;
    Ok(Some(replaced))
}

/// Removes the marker of a removed workspace.
pub(crate) fn remove_marker(index: &Path) -> Result<(), BrainError> {
    let path = marker_path(index);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_error(&path, error)),
        _ => Ok(()),
    }
}

fn file_error(path: &Path, source: std::io::Error) -> BrainError {
    BrainError::Io { path: path.to_owned(), source }
}
