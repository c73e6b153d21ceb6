//! A PostgreSQL server of one's own, to be stopped without a warning and started again.
//!
//! It lives in a directory of its own, listens on a Unix socket in it and nowhere else, and does
//! not outlive this process: a shell holds the other end of a pipe, and stops the server when
//! that closes.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::engine;

/// Names the directory of PostgreSQL's programs; `cargo xtask postgres` sets it.
pub const PROGRAMS: &str = "GBRAIN_TEST_PG_BIN";

/// Invariant: `$1` holds the programs, `$2` is the server's directory.
const CREATE: &str = r#"
"$1/initdb" --no-locale --encoding=UTF8 --auth=trust --no-sync --username=gbrain \
    --pgdata="$2/data" >"$2/log" 2>&1 &&
printf "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\n" "$2" \
    >>"$2/data/postgresql.conf"
"#;

/// Ignoring PIPE lets it reach its end if this process dies before it reads the answer.
const GUARD: &str = r#"
trap '' PIPE
if "$1/pg_ctl" start --silent --wait --pgdata="$2/data" --log="$2/log" 2>>"$2/log"
then echo ready; else echo failed; fi 2>/dev/null
read -r _
"$1/pg_ctl" stop --silent --wait --mode=immediate --pgdata="$2/data" 2>/dev/null
"#;

/// A server and everything it wrote; dropping it stops the one and removes the other.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    /// The user that runs it. PostgreSQL refuses to run as root.
    owner: (u32, u32),
    /// Holds the server while it runs.
    guard: Option<Child>,
    // Dropped last, so that the directory is deleted after the server has stopped.
    directory: TempDir,
}

impl Cluster {
    /// Makes and starts a server beside the one that `cargo xtask` started, with the same programs.
    pub fn create() -> Result<Self> {
        let programs = std::env::var_os(PROGRAMS);
        let programs =
            programs.with_context(|| format!("{PROGRAMS} is not set: {}", engine::REMEDY))?;
        Ok(Self::start_beside(&engine::server()?, Path::new(&programs))?)
    }

    /// Makes and starts a server by the programs in a directory, as the user that runs the server
    /// that `neighbour`, a connection string of `cargo xtask postgres`, leads to.
    fn start_beside(neighbour: &str, programs: &Path) -> io::Result<Self> {
        let host = neighbour.split(' ').find_map(|setting| setting.strip_prefix("host="));
        let host = host.ok_or_else(|| io::Error::other("the neighbour has no socket"))?;
        let of_neighbour = std::fs::metadata(host)?;
        let owner = (of_neighbour.uid(), of_neighbour.gid());
        let directory = tempfile::Builder::new().prefix("gbrain-pg-").tempdir_in("/tmp")?;
        chown(directory.path(), Some(owner.0), Some(owner.1))?;
        let mut cluster = Self { programs: programs.to_owned(), owner, guard: None, directory };
        match cluster.shell(CREATE).status()? {
            status if status.success() => cluster.start()?,
            _ => return Err(cluster.failed()),
        }
        Ok(cluster)
    }

    pub fn url(&self) -> String {
        format!("host={} user=gbrain dbname=postgres", self.directory.path().display())
    }

    /// Starts it again; returns when it takes connections.
    pub fn start(&mut self) -> io::Result<()> {
        let mut guard = self.shell(GUARD).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = guard.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        self.guard = Some(guard);
        if line.trim_end() == "ready" { Ok(()) } else { Err(self.failed()) }
    }

    /// Stops it without notice to its clients. Committed transactions remain.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        drop(guard.stdin.take());
        guard.wait().map(|_| ())
    }

    /// A script that runs as the server's user.
    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "cluster"]);
        command.arg(&self.programs).arg(self.directory.path());
        command.current_dir(self.directory.path()).uid(self.owner.0).gid(self.owner.1);
        command
    }

    fn failed(&self) -> io::Error {
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        io::Error::other(format!("PostgreSQL did not start; its log says:\n{log}"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A server that cannot be waited for has been told to stop nevertheless.
        let _ = self.stop();
    }
}
