//! Files and directories of a home that only its owner may read, regardless of the umask.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Creates a directory with mode 0700, and missing parents. An existing one is not changed.
pub fn create_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Options for a file that gets mode 0600 if opening creates it.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
