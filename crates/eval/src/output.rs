//! Files that flags name: `--junit`, `--output`, `--html`, `--markdown`, `--result`, `--to` and the like.
//!
//! One rule for all of them:
//!
//! - A regular file, or one that is not there, is written whole or not at all: a temporary file beside it takes its
//!   place at the end, with the permissions of the file that it replaces.
//! - A device, a pipe, a socket, or an open descriptor (`/dev/stdout`, `/dev/fd/3`) is written in place and never
//!   replaced.
//! - A symbolic link to a file is refused, whether the file is there or not: replacing the link would lose it, and
//!   replacing the file that it names would change one that the flag does not name. A directory is refused too. Links
//!   among the directories of the path are followed.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use gbrain_brain::atomic::AtomicFile;

use crate::EvalError;

/// A file named by a flag, open for writing. Without [`OutputFile::finish`] a regular file stays
/// unchanged.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// A temporary file that replaces the target when it is complete.
    Temporary(AtomicFile),
    /// A device, a pipe or a descriptor.
    InPlace(File),
}

/// The way a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Replace,
    InPlace,
}

impl OutputFile {
    /// Opens a file and creates its directory.
    pub fn create(path: &Path) -> Result<Self, EvalError> {
        let failed = |source| EvalError::Io { path: path.to_owned(), source };
        let sink = match method(path).map_err(failed)? {
            Method::InPlace => Sink::InPlace(open_in_place(path).map_err(failed)?),
            Method::Replace => {
                let dir = directory(path);
                gbrain_store::private::create_dir(dir).map_err(failed)?;
                Sink::Temporary(AtomicFile::create_in(dir).map_err(failed)?)
            }
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Syncs the file and moves it to its path.
    pub fn finish(self) -> Result<(), EvalError> {
        let Self { path, sink } = self;
        let finished = match sink {
            Sink::InPlace(mut file) => file.flush(),
            Sink::Temporary(file) => persist(file, &path),
        };
        finished.map_err(|source| EvalError::Io { path, source })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Temporary(file) => file.write(bytes),
            Sink::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Temporary(file) => file.flush(),
            Sink::InPlace(file) => file.flush(),
        }
    }
}

/// Writes a file named by a flag.
pub fn write_atomically(path: &Path, text: &[u8]) -> Result<(), EvalError> {
    let mut file = OutputFile::create(path)?;
    file.write_all(text).map_err(|source| EvalError::Io { path: path.to_owned(), source })?;
    file.finish()
}

/// Checks that files can be written, before the work whose results they will hold: a refusal should
/// not cost an hour.
pub fn check_outputs<'a>(
    paths: impl IntoIterator<Item = &'a Option<PathBuf>>,
) -> Result<(), EvalError> {
    let mut seen: Vec<&PathBuf> = Vec::new();
    for path in paths.into_iter().flatten() {
        check_output(path)?;
        let is_file = method(path).is_ok_and(|method| method == Method::Replace);
        if is_file && seen.contains(&path) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "two flags name this file");
            return Err(EvalError::Io { path: path.clone(), source });
        }
        seen.push(path);
    }
    Ok(())
}

/// Checks that a file can be written. A device or a pipe is not opened, because that may block
/// until its reader opens it.
pub fn check_output(path: &Path) -> Result<(), EvalError> {
    let failed = |source| EvalError::Io { path: path.to_owned(), source };
    match method(path).map_err(failed)? {
        Method::InPlace => Ok(()),
        Method::Replace => OutputFile::create(path).map(drop),
    }
}

/// Opens a file to which rows are appended during a run: a regular file is truncated, a device or a
/// pipe is not. Also returns whether it is a stream, which cannot be rewritten.
pub(crate) fn open_rows(path: &Path) -> io::Result<(File, IsStream)> {
    match method(path)? {
        Method::Replace => Ok((File::create(path)?, IsStream::No)),
        Method::InPlace => Ok((open_in_place(path)?, IsStream::Yes)),
    }
}

/// Whether a path is written in place.
pub(crate) fn is_stream(path: &Path) -> io::Result<bool> {
    Ok(method(path)? == Method::InPlace)
}

/// Whether an output is a device, a pipe or a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsStream {
    Yes,
    No,
}

fn method(path: &Path) -> io::Result<Method> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty path names no file"));
    }
    if is_descriptor(path) {
        return Ok(Method::InPlace);
    }
    let is_link = path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
    match std::fs::metadata(path).map(|meta| meta.file_type()) {
        Ok(kind) if is_stream_kind(kind) => Ok(Method::InPlace),
        Ok(kind) if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) if is_link => Err(refused_link(path)),
        Ok(_) => Ok(Method::Replace),
        Err(_) if is_link => Err(refused_link(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Method::Replace),
        Err(error) => Err(error),
    }
}

fn is_stream_kind(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_block_device() || kind.is_fifo() || kind.is_socket()
}

/// Whether a path names an open descriptor. The caller opened its file, so the file is appended to:
/// replacing it would leave the caller's descriptor with a file that has no name.
fn is_descriptor(path: &Path) -> bool {
    let is_named = ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name));
    let is_below = path.parent().is_some_and(|dir| {
        dir == Path::new("/dev/fd") || (dir.starts_with("/proc") && dir.ends_with("fd"))
    });
    is_named || is_below
}

fn refused_link(path: &Path) -> io::Error {
    let target = path.read_link().unwrap_or_default();
    let message =
        format!("a symbolic link (to {}) is not replaced: name the file", target.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn open_in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn persist(file: AtomicFile, path: &Path) -> io::Result<()> {
    // The file at this path may have changed since it was opened.
    method(path)?;
    if let Ok(meta) = std::fs::metadata(path) {
        file.file().set_permissions(meta.permissions())?;
    }
    file.replace(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/report.xml");
        write_atomically(&path, b"one").unwrap();
        assert_eq!(read(&path), "one");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut unfinished = OutputFile::create(&path).unwrap();
        unfinished.write_all(b"half").unwrap();
        drop(unfinished);
        assert_eq!(read(&path), "one");
        write_atomically(&path, b"two").unwrap();
        assert_eq!(read(&path), "two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_to_a_file_is_refused_and_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("real.xml"), dir.path().join("link.xml"));
        let gone = dir.path().join("gone.xml");
        std::fs::write(&target, "precious").unwrap();
        symlink(&target, &link).unwrap();
        symlink(dir.path().join("nothing"), &gone).unwrap();
        for path in [&link, &gone] {
            let error = write_atomically(path, b"report").unwrap_err();
            assert!(gbrain_core::fault::chain(&error).contains("symbolic link"), "{error:?}");
            assert!(check_output(path).is_err());
            assert!(path.symlink_metadata().unwrap().file_type().is_symlink());
        }
        assert_eq!(read(&target), "precious");
        assert!(!dir.path().join("nothing").exists());
    }

    #[test]
    fn links_among_the_directories_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("alias")).unwrap();
        write_atomically(&dir.path().join("alias/report.xml"), b"report").unwrap();
        assert_eq!(read(&dir.path().join("real/report.xml")), "report");
    }

    #[test]
    fn devices_and_pipes_are_written_in_place() {
        write_atomically(Path::new("/dev/null"), b"report").unwrap();
        let full = write_atomically(Path::new("/dev/full"), b"report").unwrap_err();
        let EvalError::Io { source, .. } = full else { panic!("{full:?}") };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        for device in ["/dev/null", "/dev/full"] {
            let kind = std::fs::symlink_metadata(device).unwrap().file_type();
            assert!(kind.is_char_device(), "{device}");
        }
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("null");
        symlink("/dev/null", &link).unwrap();
        write_atomically(&link, b"report").unwrap();
        assert!(link.symlink_metadata().unwrap().file_type().is_symlink());
    }

    #[test]
    fn a_pipe_gets_the_text_and_stays_a_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || read(&path)
        });
        write_atomically(&path, b"report").unwrap();
        assert_eq!(reader.join().unwrap(), "report");
        assert!(path.symlink_metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_descriptor_is_appended_to() {
        use std::os::fd::AsRawFd as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        std::fs::write(&path, "before ").unwrap();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        write_atomically(Path::new(&name), b"report").unwrap();
        (&file).write_all(b" after").unwrap();
        assert_eq!(read(&path), "before report after");
    }

    #[test]
    fn two_reports_need_two_files() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| Some(dir.path().join(name)));
        assert!(check_outputs([&a, &None, &b]).is_ok());
        assert!(check_outputs([&a, &b, &a]).is_err());
        let null = Some(PathBuf::from("/dev/null"));
        assert!(check_outputs([&null, &null]).is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn directories_and_nothing_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path(), Path::new("")] {
            assert!(write_atomically(path, b"report").is_err(), "{path:?}");
            assert!(check_output(path).is_err(), "{path:?}");
        }
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(write_atomically(&dir.path().join("file/report"), b"report").is_err());
    }
}
