//! Programs of the operating system that the tests need, installed where that is possible.
//!
//! Only Debian's way is known here; elsewhere the caller says what is missing.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::account;

const INSTALL: [&str; 4] = ["apt-get", "install", "-y", "--no-install-recommends"];

/// Renews the lists of packages; before the first [`install`].
pub(crate) fn update() -> Result<()> {
    as_root(&["apt-get", "update"])
}

/// Installs packages by name.
pub(crate) fn install(names: &[&str]) -> Result<()> {
    as_root(&[&INSTALL[..], names].concat())
}

/// Runs a program as root, with what it prints on stderr.
pub(crate) fn as_root(arguments: &[&str]) -> Result<()> {
    // `sudo` drops most variables, so `env` comes after it.
    let sudo: &[&str] = if account::is_root()? { &[] } else { &["sudo", "-n"] };
    let words = [sudo, &["env", "DEBIAN_FRONTEND=noninteractive"], arguments].concat();
    let line = words.join(" ");
    let status = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("could not run `{line}`"))?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}
