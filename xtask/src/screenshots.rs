//! `cargo xtask screenshots`: the pictures of the console in the documentation.
//!
//! They are made from a brain with the demo corpus, so they show what a reader of the documentation can reproduce.
//! `pngquant` reduces their colours where it is installed.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{browser, cargo, exit_code};

const BUILD: [&str; 6] = ["build", "--locked", "-p", "gbrain-cli", "-p", "gbrain-bench"];
const DIRECTORY: &str = "docs/images/console";

pub(crate) fn run() -> Result<ExitCode> {
    let variables = browser::variables()?;
    let status = cargo::command(&BUILD).status().context("could not run cargo")?;
    ensure!(status.success(), "the program does not build");
    let own = env::current_exe().context("could not find this program")?;
    let profile = own.parent().context("this program lies nowhere")?;
    let mut command = Command::new(profile.with_file_name("debug").join("gbrain-bench"));
    command.arg("screenshots").arg(cargo::workspace_root().join(DIRECTORY)).envs(variables);
    exit_code(&mut command)
}
