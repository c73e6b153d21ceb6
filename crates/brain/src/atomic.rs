//! Atomic file writes, readable by the owner only.
//!
//! A file being written has no name where the file system supports it (`O_TMPFILE`), so a killed
//! process leaves nothing behind. Replacing an existing file needs a temporary name, because a link
//! cannot replace a file: a temporary file left by a kill is removed when the next file in its
//! directory is written. A lock, taken before the file gets a name, distinguishes temporary files
//! in use from stale ones.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

const FILE_NAMES: TemporaryNames<'_> =
    TemporaryNames { kind: TemporaryKind::File, prefix: ".gbrain-", random: 6, suffix: ".tmp" };

/// Minimum age of a stale file: a younger one without a lock may be about to get one.
const STALE_AGE: Duration = Duration::from_secs(60);

/// The names of one kind of temporary file or directory: a prefix, random letters and digits, and a
/// suffix. The prefix must be one that users do not choose, because stale entries with such names
/// are removed.
#[derive(Debug, Clone, Copy)]
pub struct TemporaryNames<'a> {
    pub kind: TemporaryKind,
    pub prefix: &'a str,
    /// Number of random letters and digits between prefix and suffix.
    pub random: usize,
    pub suffix: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TemporaryKind {
    File,
    Directory,
}

impl TemporaryNames<'_> {
    /// A builder for files and directories with such names.
    pub fn builder(&self) -> Builder<'_, '_> {
        let mut builder = Builder::new();
        builder.prefix(self.prefix).rand_bytes(self.random).suffix(self.suffix);
        builder
    }

    fn matches(&self, name: &str) -> bool {
        let random = name.strip_prefix(self.prefix).and_then(|rest| rest.strip_suffix(self.suffix));
        random.is_some_and(|random| {
            random.len() == self.random && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }
}

/// A file that gets its name when it is complete. If dropped earlier, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    dir: PathBuf,
    temporary: TemporaryPath,
}

#[derive(Debug)]
enum TemporaryPath {
    Unnamed(File),
    /// For file systems without unnamed files.
    Named(NamedTempFile),
}

impl AtomicFile {
    /// Opens a file in an existing directory.
    pub fn create_in(dir: &Path) -> io::Result<Self> {
        remove_stale(dir, &FILE_NAMES);
        let temporary = match create_unnamed(dir)? {
            Some(file) => TemporaryPath::Unnamed(file),
            None => {
                let named = FILE_NAMES.builder().tempfile_in(dir)?;
                // Without lock support, stale files are not removed.
                let _ = named.as_file().try_lock();
                TemporaryPath::Named(named)
            }
        };
        Ok(Self { dir: dir.to_owned(), temporary })
    }

    /// The open file, to set its permissions.
    pub fn file(&self) -> &File {
        match &self.temporary {
            TemporaryPath::Unnamed(file) => file,
            TemporaryPath::Named(named) => named.as_file(),
        }
    }

    /// Syncs the file and gives it this name, replacing an existing file.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        match self.temporary {
            TemporaryPath::Named(named) => drop(named.persist(path)?),
            TemporaryPath::Unnamed(file) => match link(&file, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let named =
                        FILE_NAMES.builder().make_in(&self.dir, |name| link(&file, name))?;
                    named.persist(path).map_err(|error| error.error)?;
                }
                linked => linked?,
            },
        }
        sync_dir(&self.dir)
    }

    /// Syncs the file and gives it this name; fails if the name exists.
    pub fn create_new(self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        match self.temporary {
            TemporaryPath::Named(named) => drop(named.persist_noclobber(path)?),
            TemporaryPath::Unnamed(file) => link(&file, path)?,
        }
        sync_dir(&self.dir)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// A locked file without a name; `None` if the system does not support it.
fn create_unnamed(dir: &Path) -> io::Result<Option<File>> {
    // The file is linked through its `/proc` entry.
    if !Path::new("/proc/self/fd").is_dir() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = match rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        Err(Errno::NOTSUP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let _ = file.try_lock();
    Ok(Some(file))
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Syncs a directory, which makes the names in it durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems cannot sync directories.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Removes files and directories left by killed gbrain processes: they match the names, have no
/// lock, and are old enough to be stale. Entries that cannot be checked or removed stay.
pub fn remove_stale(dir: &Path, names: &TemporaryNames<'_>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| names.matches(name));
        if is_ours && is_stale(&entry.path(), names.kind) {
            let _ = match names.kind {
                TemporaryKind::Directory => std::fs::remove_dir_all(entry.path()),
                TemporaryKind::File => std::fs::remove_file(entry.path()),
            };
        }
    }
}

fn is_stale(path: &Path, kind: TemporaryKind) -> bool {
    // Symbolic links and pipes are not ours, and opening a pipe blocks.
    let Ok(metadata) = path.symlink_metadata() else { return false };
    let is_of_kind = match kind {
        TemporaryKind::Directory => metadata.is_dir(),
        TemporaryKind::File => metadata.is_file(),
    };
    let age = metadata.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
    is_of_kind && age >= STALE_AGE && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::SystemTime;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn make_old(path: &Path) {
        let file = File::open(path).unwrap();
        file.set_modified(SystemTime::now() - 2 * STALE_AGE).unwrap();
    }

    #[test]
    fn a_file_has_no_name_until_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        for text in ["one", "two"] {
            let before = names(dir.path());
            let mut file = AtomicFile::create_in(dir.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert!(matches!(file.temporary, TemporaryPath::Unnamed(_)), "no O_TMPFILE here");
            assert_eq!(names(dir.path()), before);
            file.replace(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(dir.path()), ["report"]);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_existing_name_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        AtomicFile::create_in(dir.path()).unwrap().create_new(&path).unwrap();
        let error = AtomicFile::create_in(dir.path()).unwrap().create_new(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(dir.path()), ["key"]);
    }

    #[test]
    fn only_what_a_killed_process_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        // User files whose names do not match ours.
        let users = [".gbrain-.tmp", ".gbrain-a-b-cd.tmp", ".gbrain-ideas.tmp", "other.tmp"];
        for name in [&[".gbrain-s7ale0.tmp", ".gbrain-locked.tmp"][..], &users].concat() {
            std::fs::write(at(name), "x").unwrap();
            make_old(&at(name));
        }
        std::fs::create_dir(at(".gbrain-folder.tmp")).unwrap();
        make_old(&at(".gbrain-folder.tmp"));
        std::fs::write(at(".gbrain-young0.tmp"), "x").unwrap();
        std::os::unix::fs::symlink("other.tmp", at(".gbrain-linked.tmp")).unwrap();
        let locked = File::open(at(".gbrain-locked.tmp")).unwrap();
        locked.try_lock().unwrap();
        std::fs::write(at("report"), "old").unwrap();
        let file = AtomicFile::create_in(dir.path()).unwrap();
        file.replace(&at("report")).unwrap();
        let ours =
            ["folder", "linked", "locked", "young0"].map(|name| format!(".gbrain-{name}.tmp"));
        let mut left: Vec<&str> = ours.iter().map(String::as_str).chain(users).collect();
        left.push("report");
        left.sort();
        assert_eq!(names(dir.path()), left);
    }

    #[test]
    fn names_that_are_given_are_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let named = FILE_NAMES.builder().tempfile_in(dir.path()).unwrap();
        assert!(
            FILE_NAMES.matches(named.path().file_name().unwrap().to_str().unwrap()),
            "{named:?}"
        );
        make_old(named.path());
        remove_stale(dir.path(), &FILE_NAMES);
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn a_file_system_without_unnamed_files_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let named = |text: &str| {
            let temporary =
                TemporaryPath::Named(FILE_NAMES.builder().tempfile_in(dir.path()).unwrap());
            let mut file = AtomicFile { dir: dir.path().to_owned(), temporary };
            file.write_all(text.as_bytes()).unwrap();
            file
        };
        let path = dir.path().join("report");
        named("one").create_new(&path).unwrap();
        assert!(named("two").create_new(&path).is_err());
        named("three").replace(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(names(dir.path()), ["report"]);
    }
}
