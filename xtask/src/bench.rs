//! `cargo xtask bench` and `cargo xtask campaign`: the measuring program, in release mode.
//!
//! What a name means is known only to `gbrain-bench`; this file knows which names need a
//! PostgreSQL, because starting one for every benchmark would cost more than most of them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{cargo, data, exit_code, postgres, programs, tools};

/// Benchmarks that compare engines, PostgreSQL among them.
const BENCHES_WITH_POSTGRES: [&str; 3] = ["identity", "export", "capture"];

/// The program to run: a measurement, or a long search for failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bench,
    Campaign,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bench => "bench",
            Self::Campaign => "campaign",
        }
    }

    fn needs_postgres(self, name: &OsStr) -> bool {
        match self {
            Self::Bench => BENCHES_WITH_POSTGRES.iter().any(|known| name == *known),
            Self::Campaign => true,
        }
    }
}

/// Runs the one that `arguments` start with, and passes its exit code on.
pub(crate) fn run(kind: Kind, arguments: &[OsString]) -> Result<ExitCode> {
    let name = arguments.first().with_context(|| {
        format!("which {0}? usage: cargo xtask {0} NAME [ARGS...]", kind.name())
    })?;
    let mut command = Command::new(build()?);
    command.arg(kind.name()).args(arguments).envs(data::variable()?);

    let server = kind.needs_postgres(name).then(start_postgres).transpose()?;
    if let Some(server) = &server {
        command.envs(server.variables());
    }
    if kind == Kind::Campaign {
        command.envs(tools()?);
    }
    exit_code(&mut command)
}

/// Builds the measuring program together with the binary it measures, so that both are of one
/// tree and their dependencies are compiled once; gives the program. `cargo run` of one of them would
/// choose other features and compile nearly everything again.
fn build() -> Result<PathBuf> {
    let packages = ["build", "--release", "--locked", "-p", "gbrain-cli", "-p", "gbrain-bench"];
    let status = cargo::command(&packages).status().context("cargo can't be started")?;
    ensure!(status.success(), "the measuring program does not build");
    let this = env::current_exe().context("this program has no path")?;
    let profile = this.parent().context("this program lies nowhere")?;
    Ok(profile.with_file_name("release").join("gbrain-bench"))
}

fn start_postgres() -> Result<postgres::Server> {
    postgres::Server::start(programs::find_or_install()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_compare_engines_need_postgres() {
        let check = |kind: Kind, name: &str, expected: bool| {
            assert_eq!(kind.needs_postgres(OsStr::new(name)), expected, "{kind:?} {name}");
        };
        check(Kind::Bench, "identity", true);
        check(Kind::Bench, "query", false);
        check(Kind::Campaign, "query", true);
    }
}
