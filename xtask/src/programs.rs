//! The PostgreSQL server programs: where they are, and how to get them.
//!
//! The tests must run against a real PostgreSQL, so not having one is never a reason to skip
//! them: it is installed where that is possible, and is an error with a remedy elsewhere.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::packages;

const NEEDED: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

/// Where Debian puts each major version; its `bin` directories are not on the `PATH`.
const DEBIAN: &str = "/usr/lib/postgresql";

const REMEDY: &str = "the tests need PostgreSQL's server programs (initdb, postgres, pg_ctl) and \
                      they could not be installed; install PostgreSQL and put the directory that \
                      holds initdb on the PATH";

/// Stops Debian from creating and starting a system-wide cluster that nothing here would use.
const NO_SYSTEM_CLUSTER: [&str; 4] = [
    "sed",
    "-ri",
    "s/^#?(create_main_cluster) .*$/\\1 = false/",
    "/etc/postgresql-common/createcluster.conf",
];

/// A directory that holds every program needed to run a server.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// The directory that holds them.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn in_directory(directory: PathBuf) -> Option<Self> {
        let complete = NEEDED.iter().all(|program| directory.join(program).is_file());
        complete.then_some(Self { directory })
    }
}

/// Finds the programs, installing them first if there are none.
pub(crate) fn find_or_install() -> Result<Programs> {
    if let Some(programs) = find() {
        return Ok(programs);
    }
    eprintln!("no PostgreSQL server programs found: installing the package `postgresql`");
    install().context(REMEDY)?;
    find().context(REMEDY)
}

fn find() -> Option<Programs> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(newest_first(Path::new(DEBIAN)).into_iter().map(|version| version.join("bin")))
        .chain(pg_config())
        .find_map(Programs::in_directory)
}

fn pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let directory = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(directory.trim_end()))
}

/// The directories in `parent` named after a version, newest first.
fn newest_first(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut versions: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| Some((version(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// `"9.6"` is `[9, 6]`, which sorts before `[15]`.
fn version(name: &str) -> Option<Vec<u32>> {
    name.split('.').map(|part| part.parse().ok()).collect()
}

fn install() -> Result<()> {
    packages::update()?;
    packages::install(&["postgresql-common"])?;
    if let Err(error) = packages::as_root(&NO_SYSTEM_CLUSTER) {
        eprintln!("a system-wide PostgreSQL may be started as well: {error:#}");
    }
    packages::install(&["postgresql"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["9.6", "10", "9.10", "15", "common", "8"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let names: Vec<_> = newest_first(parent.path())
            .into_iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["15", "10", "9.10", "9.6", "8"]);
    }

    #[test]
    fn no_versions_where_there_is_no_directory() {
        assert!(newest_first(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn a_client_only_directory_is_not_enough() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        for program in ["psql", "initdb", "pg_ctl"] {
            fs::write(path.join(program), "").unwrap();
        }
        assert!(Programs::in_directory(path.clone()).is_none());
        fs::write(path.join("postgres"), "").unwrap();
        assert!(Programs::in_directory(path).is_some());
    }
}
