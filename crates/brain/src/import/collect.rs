//! Collects the files of an import: everything with a known extension, in order of path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gbrain_core::id::Slug;
use gbrain_core::page::{PageFormat, slug_of_path};
use rustc_hash::FxHashMap;
use walkdir::{DirEntry, WalkDir};

use crate::BrainError;

use super::ImportFailure;

/// A file to import.
#[derive(Debug)]
pub(super) struct FileJob {
    pub(super) path: PathBuf,
    /// The page it becomes.
    pub(super) slug: Slug,
    pub(super) format: PageFormat,
    /// Its size when it was collected.
    pub(super) bytes: u64,
}

/// The result of walking the paths.
#[derive(Debug, Default)]
pub(super) struct CollectedFiles {
    pub(super) jobs: Vec<FileJob>,
    /// Directories that were walked completely: only their missing files count as deleted.
    pub(super) roots: Vec<PathBuf>,
    pub(super) failures: Vec<ImportFailure>,
    /// Skipped files by kind.
    pub(super) skipped: BTreeMap<String, usize>,
}

/// Kind of symbolic links, which are not followed.
const LINK: &str = "symbolic link";
/// Kind of files without an extension.
const NO_EXTENSION: &str = "no extension";
/// Kind of devices, pipes and sockets.
const SPECIAL: &str = "device, pipe or socket";

/// Devices, pipes and sockets are not read: they have no content to compare with the store, and
/// reading may never end.
pub(super) const NOT_A_FILE: &str = "not a regular file but a device, pipe or socket; use `gbrain put NAME` to read a page from stdin";

/// Walks the paths. A path that does not exist is an error before anything is written.
pub(super) fn collect(paths: &[PathBuf]) -> Result<CollectedFiles, BrainError> {
    let mut collected = CollectedFiles::default();
    for path in paths {
        let unreadable = |source| BrainError::Io { path: path.clone(), source };
        let root = path.canonicalize().map_err(unreadable)?;
        if root.is_dir() {
            collected.walk(&root);
            collected.roots.push(root);
        } else {
            let base = root.parent().map(Path::to_owned).unwrap_or_default();
            let metadata = root.metadata().map_err(unreadable)?;
            if metadata.is_file() {
                collected.add(&base, &root, metadata.len());
            } else {
                let reason = NOT_A_FILE.to_owned();
                collected.failures.push(ImportFailure { path: root, reason });
            }
        }
    }
    collected.jobs.sort_by(|a, b| a.path.cmp(&b.path));
    collected.refuse_shared_slugs();
    Ok(collected)
}

impl CollectedFiles {
    fn walk(&mut self, root: &Path) {
        let entries =
            WalkDir::new(root).follow_links(false).into_iter().filter_entry(|e| !is_hidden(e));
        for entry in entries {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    self.add_if_supported(root, entry.path(), bytes);
                }
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => {
                    let kind = if entry.path_is_symlink() { LINK } else { SPECIAL };
                    self.skip(kind.to_owned());
                }
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    self.failures.push(ImportFailure { path, reason: error.to_string() });
                }
            }
        }
    }

    fn add_if_supported(&mut self, base: &Path, path: &Path, bytes: u64) {
        if path.to_str().is_none_or(|name| PageFormat::of_path(name).is_some()) {
            self.add(base, path, bytes);
            return;
        }
        let extension =
            path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
        self.skip(extension.unwrap_or_else(|| NO_EXTENSION.to_owned()));
    }

    fn skip(&mut self, kind: String) {
        *self.skipped.entry(kind).or_default() += 1;
    }

    fn add(&mut self, base: &Path, path: &Path, bytes: u64) {
        match job(base, path, bytes) {
            Ok(job) => self.jobs.push(job),
            Err(reason) => self.failures.push(ImportFailure { path: path.to_owned(), reason }),
        }
    }

    /// If two files have the same slug (`a.md` and `a.txt`), the first by path gets it.
    fn refuse_shared_slugs(&mut self) {
        let mut owners: FxHashMap<String, PathBuf> = FxHashMap::default();
        let failures = &mut self.failures;
        self.jobs.retain(|job| match owners.get(job.slug.as_str()) {
            Some(owner) if *owner == job.path => false,
            Some(owner) => {
                let reason = format!("slug `{}` is already taken by {}", job.slug, owner.display());
                failures.push(ImportFailure { path: job.path.clone(), reason });
                false
            }
            None => {
                owners.insert(job.slug.as_str().to_owned(), job.path.clone());
                true
            }
        });
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
}

fn job(base: &Path, path: &Path, bytes: u64) -> Result<FileJob, String> {
    let name = path.to_str().ok_or("the file name is not valid UTF-8")?;
    let format = PageFormat::of_path(name)
        .ok_or("unsupported extension: expected .md, .markdown, .txt, .json or .jsonl")?;
    let relative = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
    let slug = slug_of_path(&relative).map_err(|error| error.to_string())?;
    Ok(FileJob { path: path.to_owned(), slug, format, bytes })
}
