//! A throw-away PostgreSQL server: a private directory, a Unix socket in it, nothing else.
//!
//! It promises that two runs on one machine never meet, that nobody else can connect (the
//! directory is closed to other users, and there is no TCP port), and that no server outlives
//! the task, however the task ends. It never touches a cluster that was there before.
//!
//! The last promise rests on a guardian, a shell that creates and starts the server, waits for
//! its standard input to end, then stops the server and removes the directory. The task holds the
//! other end of that pipe, and the kernel closes it even if the task is killed. Signal handlers
//! could not promise that, and would need a dependency.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::account::{self, Account};
use crate::programs::Programs;

const SUPERUSER: &str = "gbrain";

/// Invariant: `$1` holds the programs, `$2` is the server's directory, `$3` its superuser, `$4` its
/// settings. No locale means the same sort order on every machine. Ignoring PIPE lets the guardian
/// reach its clean-up if the task dies before it reads the answer.
const GUARDIAN: &str = r#"
trap '' PIPE
start() {
    "$1/initdb" --no-locale --encoding=UTF8 --auth=trust --no-sync \
        --username="$3" --pgdata="$2/data" >"$2/log" 2>&1 &&
    printf '%s' "$4" >>"$2/data/postgresql.conf" &&
    "$1/pg_ctl" start --silent --wait --pgdata="$2/data" --log="$2/log"
}
if start "$@" 2>>"$2/log"; then echo ready; else echo failed; fi 2>/dev/null
read -r _
"$1/pg_ctl" stop --silent --mode=immediate --pgdata="$2/data" 2>/dev/null
rm -rf "$2"
"#;

/// Socket addresses hold 108 bytes on Linux and 104 elsewhere.
const LONGEST_SOCKET_PATH: usize = 100;

const PREFIX: &str = "gbrain-pg-";
const RANDOM_LENGTH: usize = 6;

/// A running server; dropping it stops it and removes everything it wrote.
pub(crate) struct Server {
    programs: Programs,
    guardian: Child,
    directory: TempDir,
}

impl Server {
    /// Starts a server and waits until it accepts connections.
    pub(crate) fn start(programs: Programs) -> Result<Self> {
        let account = Account::for_server()?;
        let directory = create_directory(account)?;
        let guardian = spawn_guardian(account, &programs, directory.path())?;
        let mut server = Self { programs, guardian, directory };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// The variables that tests read to find this server.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 2] {
        [
            ("GBRAIN_TEST_POSTGRES", connection_string(self.directory.path()).into()),
            ("GBRAIN_TEST_PG_BIN", self.programs.directory().into()),
        ]
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let stdout = self.guardian.stdout.take().expect("the guardian's stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("could not hear from PostgreSQL")?;
        if line.trim_end() == "ready" {
            return Ok(());
        }
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        bail!("PostgreSQL did not start; its log says:\n{log}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input tells the guardian to stop the server.
        drop(self.guardian.stdin.take());
        if let Err(error) = self.guardian.wait() {
            eprintln!("could not wait for PostgreSQL to stop: {error}");
        }
    }
}

fn create_directory(account: Account) -> Result<TempDir> {
    let parent = parent_directory(&std::env::temp_dir(), account::is_root()?);
    let directory = tempfile::Builder::new()
        .prefix(PREFIX)
        .rand_bytes(RANDOM_LENGTH)
        .tempdir_in(&parent)
        .with_context(|| format!("could not create a directory in {}", parent.display()))?;
    account.own(directory.path())?;
    Ok(directory)
}

/// The caller's choice of temporary directory, unless a socket in it could not be used: too long,
/// in need of quoting, or closed to the account that root becomes.
fn parent_directory(chosen: &Path, is_root: bool) -> PathBuf {
    let short = socket_length(chosen) <= LONGEST_SOCKET_PATH;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let usable = chosen.is_absolute() && chosen.as_os_str().as_bytes().iter().all(plain);
    if short && usable && !is_root { chosen.to_owned() } else { PathBuf::from("/tmp") }
}

/// The length of the socket's path if the server's directory is made in `parent`.
fn socket_length(parent: &Path) -> usize {
    let name = PREFIX.to_owned() + &"x".repeat(RANDOM_LENGTH);
    parent.join(name).join(".s.PGSQL.5432").as_os_str().len()
}

/// `fsync` is off because this server's data never outlives the machine's next crash, while
/// commits stay synchronous so that tests see them in the order that production does.
fn settings(directory: &Path) -> String {
    format!(
        "listen_addresses = ''\n\
         port = 5432\n\
         unix_socket_directories = '{}'\n\
         max_connections = 200\n\
         fsync = off\n\
         synchronous_commit = on\n",
        directory.display()
    )
}

fn spawn_guardian(account: Account, programs: &Programs, directory: &Path) -> Result<Child> {
    account
        .command("/bin/sh")
        .args(["-c", GUARDIAN, "guardian"])
        .arg(programs.directory())
        .arg(directory)
        .arg(SUPERUSER)
        .arg(settings(directory))
        .current_dir(directory)
        // Ctrl-C reaches the terminal's whole process group; the guardian has work left then.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start PostgreSQL's guardian")
}

/// Keywords rather than a URL, because a socket directory in a URL needs escaping. The user name
/// and the directory need no quotes: see [`parent_directory`].
fn connection_string(directory: &Path) -> String {
    format!("host={} user={SUPERUSER} dbname=postgres", directory.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_string_names_the_directory() {
        let expected = "host=/tmp/gbrain-pg-a user=gbrain dbname=postgres";
        assert_eq!(connection_string(Path::new("/tmp/gbrain-pg-a")), expected);
    }

    #[test]
    fn the_socket_lies_where_its_path_fits() {
        let check = |chosen: &str, is_root: bool, expected: &str| {
            let parent = parent_directory(Path::new(chosen), is_root);
            assert_eq!(parent, Path::new(expected), "{chosen}");
            assert!(socket_length(&parent) <= LONGEST_SOCKET_PATH);
        };
        let longest = format!("/{}", "x".repeat(68));
        let too_long = format!("/{}", "x".repeat(69));
        check("/var/tmp", false, "/var/tmp");
        check(&longest, false, &longest);
        check(&too_long, false, "/tmp");
        check("/home/me/my files", false, "/tmp");
        check("relative", false, "/tmp");
        check("/root/tmp", true, "/tmp");
    }
}
