//! Which files an import takes: everything with a known ending, in order of path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gbrain_core::id::Slug;
use gbrain_core::page::{Format, slug_of_path};
use rustc_hash::FxHashMap;
use walkdir::{DirEntry, WalkDir};

use crate::BrainError;

use super::ImportFailure;

/// A file to take in.
#[derive(Debug)]
pub(super) struct FileJob {
    pub(super) path: PathBuf,
    /// The page it becomes.
    pub(super) slug: Slug,
    /// How it is read.
    pub(super) format: Format,
    /// Its size when it was found.
    pub(super) bytes: u64,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) jobs: Vec<FileJob>,
    /// Directories that were walked whole: only these can have lost files.
    pub(super) roots: Vec<PathBuf>,
    pub(super) failures: Vec<ImportFailure>,
    /// Files of a directory that were passed over, by kind.
    pub(super) skipped: BTreeMap<String, usize>,
}

/// The kind of a file that is a symbolic link: links are not followed.
const LINK: &str = "symbolic link";
/// The kind of a file whose name has no ending.
const NO_ENDING: &str = "no ending";
/// The kind of a device, a pipe or a socket.
const SPECIAL: &str = "device, pipe or socket";

/// Why a device, a pipe or a socket is not read: it has no content to compare with what is stored, and reading one may
/// never end.
pub(super) const NOT_A_FILE: &str =
    "it is a device, a pipe or a socket, not a file; `gbrain put NAME` reads a page from stdin";

/// Walks the paths. A path that does not exist is an error before anything is written.
pub(super) fn collect(paths: &[PathBuf]) -> Result<Collected, BrainError> {
    let mut collected = Collected::default();
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

impl Collected {
    fn walk(&mut self, root: &Path) {
        let entries =
            WalkDir::new(root).follow_links(false).into_iter().filter_entry(|e| !is_hidden(e));
        for entry in entries {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    self.add_known(root, entry.path(), bytes);
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

    fn add_known(&mut self, base: &Path, path: &Path, bytes: u64) {
        if path.to_str().is_none_or(|name| Format::of_path(name).is_some()) {
            self.add(base, path, bytes);
            return;
        }
        let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy()));
        self.skip(ending.unwrap_or_else(|| NO_ENDING.to_owned()));
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

    /// Two files may come to the same slug (`a.md` and `a.txt`): the first by path keeps it.
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
    let name = path.to_str().ok_or("its name is not valid UTF-8")?;
    let format =
        Format::of_path(name).ok_or("its ending is none of .md .markdown .txt .json .jsonl")?;
    let relative = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
    let slug = slug_of_path(&relative).map_err(|error| error.to_string())?;
    Ok(FileJob { path: path.to_owned(), slug, format, bytes })
}
