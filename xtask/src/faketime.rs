//! libfaketime: the library that gives a process another clock.
//!
//! The campaign `faults` and its short form run a server whose clock is wrong, and the machine's own clock is not
//! theirs to change. Like PostgreSQL and Python it is installed where that is possible, and not having it is an
//! error with a remedy elsewhere.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::packages;

const VARIABLE: &str = "GBRAIN_TEST_FAKETIME";
/// The one for programs with threads.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
/// Where libraries are, on Debian in a directory named after the architecture.
const DIRECTORIES: [&str; 4] = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib"];
const REMEDY: &str = "the tests need libfaketime and it could not be installed; install it, or name its library \
                      for programs with threads (libfaketimeMT.so.1) in GBRAIN_TEST_FAKETIME";

/// The variable that tells tests where the library is; none if the caller has set it.
pub(crate) fn variable() -> Result<Option<(&'static str, OsString)>> {
    if env::var_os(VARIABLE).is_some() {
        return Ok(None);
    }
    if let Some(library) = find(&DIRECTORIES.map(Path::new)) {
        return Ok(Some((VARIABLE, library.into())));
    }
    eprintln!("no libfaketime found: installing the package `libfaketime`");
    packages::update().and_then(|()| packages::install(&["libfaketime"])).context(REMEDY)?;
    let library = find(&DIRECTORIES.map(Path::new)).context(REMEDY)?;
    Ok(Some((VARIABLE, library.into())))
}

/// The library in one of these directories, or in a directory of one.
fn find(directories: &[&Path]) -> Option<PathBuf> {
    let inner = |directory: &&Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let nested = directories.iter().flat_map(inner).map(|entry| entry.path());
    let all = directories.iter().map(|directory| directory.to_path_buf()).chain(nested);
    all.map(|directory| directory.join(LIBRARY)).find(|library| library.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_below_an_architecture() {
        let parent = tempfile::tempdir().unwrap();
        assert_eq!(find(&[parent.path()]), None);
        let library = parent.path().join("x86_64-linux-gnu").join(LIBRARY);
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, "").unwrap();
        assert_eq!(find(&[parent.path()]), Some(library));
    }
}
