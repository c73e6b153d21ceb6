//! The project's own tasks: `cargo xtask test`, `bench`, `campaign`, `screenshots`, `census`,
//! `postgres` and `with`.
//!
//! A task is what a contributor and CI run the same way: the checks that a shell script would
//! get wrong on one machine out of three (finding PostgreSQL, starting it without root, stopping
//! it when the run is interrupted, counting tests across runners). It depends on almost nothing,
//! because every task waits for this crate to compile first.
//!
//! It deliberately has no configuration: a task that needs a setting takes it as an argument.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the terminal")]

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

mod account;
mod bench;
mod browser;
mod cargo;
mod census;
mod counts;
mod data;
mod dependencies;
mod faketime;
mod packages;
mod postgres;
mod programs;
mod python;
mod screenshots;
mod tee;
mod test;

const USAGE: &str = "\
Tasks of this project.

Usage: cargo xtask COMMAND

Commands:
  test [FILTER...]         Check formatting, lints, documentation and the dependencies (licences,
                           duplicates, maintenance, advisories), then run every test, or
                           those whose name contains a FILTER, against a private PostgreSQL
                           and the pinned Python programs of xtask/python/requirements.txt,
                           and Chromium with axe-core for the pages of the console
  bench NAME [ARGS...]     Run one benchmark in release mode
  campaign NAME [ARGS...]  Run one campaign in release mode, against a private PostgreSQL
  screenshots              Make the pictures of the console in docs/images/console
  census                   Count the source: sizes, shapes, names and prose
  postgres CMD [ARGS...]   Run any command against a private PostgreSQL
  with CMD [ARGS...]       Run any command with all that the tests get: PostgreSQL, Python, Chromium

Examples:
  cargo xtask test
  cargo xtask test ranks_are_dense
  cargo xtask bench identity
  cargo xtask campaign kill
  cargo xtask postgres sh -c 'psql \"$GBRAIN_TEST_POSTGRES\"'
  cargo xtask with cargo nextest run --workspace mcp

What they set for the programs they run:
  GBRAIN_TEST_POSTGRES     Connection string of the private PostgreSQL
  GBRAIN_TEST_PG_BIN       Directory of its programs, for tests that start their own server
  GBRAIN_TEST_PYTHON       Python with the pinned programs (test, campaign, with); your own is kept
  GBRAIN_TEST_FAKETIME     The library of libfaketime (test, campaign, with); your own is kept
  GBRAIN_TEST_CHROMIUM     Chromium (test, with, screenshots); your own is kept, as of the next two
  GBRAIN_TEST_CHROMEDRIVER Its driver
  GBRAIN_TEST_AXE          The script of axe-core
  GBRAIN_TEST_DATA         Test data, if found beside the workspace; your own value is kept
";

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1).collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    let Some((command, rest)) = arguments.split_first() else { return Ok(help()) };
    if is_help(command) || rest.first().is_some_and(is_help) {
        return Ok(help());
    }
    match command.to_str() {
        Some("test") => test::run(rest),
        Some("bench") => bench::run(bench::Kind::Bench, rest),
        Some("campaign") => bench::run(bench::Kind::Campaign, rest),
        Some("screenshots") => screenshots::run(),
        Some("census") => census::run(),
        Some("postgres") => with_postgres(rest, Vec::new()),
        Some("with") => with_postgres(rest, [tools()?, browser::variables()?].concat()),
        _ => bail!("unknown command {command:?}; `cargo xtask --help` lists them"),
    }
}

fn is_help(argument: &OsString) -> bool {
    argument == "--help" || argument == "-h"
}

fn help() -> ExitCode {
    print!("{USAGE}");
    ExitCode::SUCCESS
}

/// The variables that name the external programs and libraries that tests and campaigns need.
fn tools() -> Result<Vec<(&'static str, OsString)>> {
    let python = python::variable()?.map(|(name, path)| (name, path.into_os_string()));
    Ok(python.into_iter().chain(faketime::variable()?).collect())
}

/// Runs the command that `arguments` are, with these variables too.
fn with_postgres(arguments: &[OsString], more: Vec<(&'static str, OsString)>) -> Result<ExitCode> {
    let arguments = match arguments {
        [dashes, rest @ ..] if dashes == "--" => rest,
        all => all,
    };
    let (program, rest) = arguments.split_first().context("which command? e.g. `env`")?;
    let server = postgres::Server::start(programs::find_or_install()?)?;
    let mut command = Command::new(program);
    cargo::without_this_crate(&mut command);
    command.args(rest).envs(server.variables()).envs(data::variable()?).envs(more);
    exit_code(&mut command)
}

/// Runs `command` on this terminal and passes its exit code on.
fn exit_code(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    // A command ended by a signal has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
