//! `cargo xtask screenshots`: the pictures of the console in the documentation.
//!
//! They are made from a brain with the demo corpus, so they show what a reader of the documentation can reproduce.
//! `pngquant` reduces their colours; it is installed where that is possible.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{browser, cargo, exit_code, packages};

const BUILD: [&str; 6] = ["build", "--locked", "-p", "gbrain-cli", "-p", "gbrain-bench"];
const DIRECTORY: &str = "docs/images/console";
const REDUCER: &str = "pngquant";

pub(crate) fn run() -> Result<ExitCode> {
    let variables = browser::variables()?;
    install_reducer();
    let status = cargo::command(&BUILD).status().context("could not run cargo")?;
    ensure!(status.success(), "the program does not build");
    let own = env::current_exe().context("could not find this program")?;
    let profile = own.parent().context("this program lies nowhere")?;
    let mut command = Command::new(profile.with_file_name("debug").join("gbrain-bench"));
    command.arg("screenshots").arg(cargo::workspace_root().join(DIRECTORY)).envs(variables);
    exit_code(&mut command)
}

/// Installs the program that reduces the colours. Without it the pictures are larger.
fn install_reducer() {
    let is_there = Command::new(REDUCER).arg("--version").output().is_ok();
    if is_there {
        return;
    }
    let installed = packages::update().and_then(|()| packages::install(&[REDUCER]));
    if let Err(error) = installed {
        eprintln!("the pictures will be larger: {REDUCER} could not be installed: {error:#}");
    }
}
