//! The user that runs the PostgreSQL server.
//!
//! PostgreSQL refuses to run as root, and containers usually are root: there, the server runs as
//! an account that already exists and owns nothing of the project. Everyone else runs it as
//! themselves.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// Accounts to run the server as instead of root, best first.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// The account that owns and runs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The one this process runs as.
    Own,
    /// Another one, which root may become.
    Other { uid: u32, gid: u32 },
}

impl Account {
    /// The account for a server started by this process.
    pub(crate) fn for_server() -> Result<Self> {
        if !is_root()? {
            return Ok(Self::Own);
        }
        UNPRIVILEGED.into_iter().find_map(|name| lookup(name).ok()).context(
            "PostgreSQL refuses to run as root and neither `postgres` nor `nobody` exists; \
             run this as another user",
        )
    }

    /// Gives `path` to this account.
    pub(crate) fn own(self, path: &Path) -> Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid } => chown(path, Some(uid), Some(gid))
                .with_context(|| format!("could not give {} to user {uid}", path.display())),
        }
    }

    /// A command that runs as this account, without root's supplementary groups.
    pub(crate) fn command(self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> Result<bool> {
    Ok(id(&["-u"])? == 0)
}

fn lookup(name: &str) -> Result<Account> {
    Ok(Account::Other { uid: id(&["-u", name])?, gid: id(&["-g", name])? })
}

fn id(arguments: &[&str]) -> Result<u32> {
    let output = Command::new("id").args(arguments).output().context("could not run `id`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("`id {}` found nothing", arguments.join(" ")))
}
