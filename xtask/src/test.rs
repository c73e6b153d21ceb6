//! `cargo xtask test`: everything a change must pass, in one command, here and in CI.
//!
//! The cheap checks come first and the first one to fail ends the run. The tests always run to
//! their end, and the last line is the number of tests by outcome. A run without any test is a
//! failure: it would otherwise look like success when a filter has a typo.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::counts::Counts;
use crate::dependencies::Advisories;
use crate::postgres::Server;
use crate::{browser, cargo, data, dependencies, programs, tee, tools};

const FMT: [&str; 3] = ["fmt", "--all", "--check"];
const CLIPPY: [&str; 8] = [
    "clippy",
    "--workspace",
    "--all-targets",
    "--all-features",
    "--locked",
    "--",
    "-D",
    "warnings",
];
const DOC: [&str; 5] = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"];
// Having no tests at all is judged over all runners together, after the last one.
const NEXTEST: [&str; 7] =
    ["nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--no-tests=pass", "--"];
const LIBTEST: [&str; 5] = ["test", "--workspace", "--locked", "--no-fail-fast", "--"];
const DOCTEST: [&str; 6] = ["test", "--doc", "--workspace", "--locked", "--no-fail-fast", "--"];

/// How many tests nextest runs at once.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// A program that runs tests, and how to read its counts.
struct Runner {
    name: &'static str,
    arguments: &'static [&'static str],
    counts: fn(&str) -> Counts,
}

/// Runs every check, and the tests whose name contains one of `filters`.
pub(crate) fn run(filters: &[OsString]) -> Result<ExitCode> {
    if let Some(option) = filters.iter().find(|filter| filter.as_encoded_bytes().starts_with(b"-"))
    {
        bail!("{option:?} is not a filter; a filter is a part of a test's name");
    }
    // Before the checks, so that a missing PostgreSQL, Python or browser shows at once.
    let programs = programs::find_or_install()?;
    let tools = timed("python and libfaketime", tools)?;
    let browser = timed("chromium and axe-core", browser::variables)?;
    let data = data::variable()?;
    ensure_components()?;
    let advisories = timed("dependencies", dependencies::check)?;
    check_sources()?;

    let server = timed("postgres", || Server::start(programs))?;
    let mut total = Counts::default();
    let mut failed = Vec::new();
    for runner in runners() {
        let mut command = cargo::command(runner.arguments);
        command.args(filters).envs(server.variables()).envs(data.clone()).envs(tools.clone());
        command.envs(browser.clone());
        // Many tests wait for something: two more than there are cores keep these busy.
        if env::var_os(THREADS).is_none() {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            command.env(THREADS, (cores + 2).to_string());
        }
        let finished = timed(runner.name, || tee::run(&mut command))?;
        total += (runner.counts)(&finished.output);
        if !finished.status.success() {
            failed.push(runner.name);
        }
    }
    drop(server);
    if let Advisories::NotChecked(why) = advisories {
        eprintln!("ADVISORIES WERE NOT CHECKED: {why}");
    }
    Ok(conclude(total, &failed))
}

/// Says what went wrong, then the counts, which are the last line.
fn conclude(total: Counts, failed: &[&str]) -> ExitCode {
    if !failed.is_empty() {
        eprintln!("failed: {}", failed.join(", "));
    }
    if total.ran() == 0 {
        eprintln!("failed: no test ran");
    }
    println!("{total}");
    if succeeded(total, failed) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A runner may fail without a failed test, such as by not compiling one.
fn succeeded(total: Counts, failed: &[&str]) -> bool {
    failed.is_empty() && total.failed == 0 && total.ran() > 0
}

/// nextest where it is installed; it does not run doctests, which `cargo test` does by itself.
fn runners() -> Vec<Runner> {
    let libtest = Counts::from_libtest;
    if cargo::has("nextest") {
        vec![
            Runner { name: "nextest", arguments: &NEXTEST, counts: Counts::from_nextest },
            Runner { name: "doctests", arguments: &DOCTEST, counts: libtest },
        ]
    } else {
        vec![Runner { name: "tests", arguments: &LIBTEST, counts: libtest }]
    }
}

fn check_sources() -> Result<()> {
    let mut doc = cargo::command(&DOC);
    doc.env("RUSTDOCFLAGS", "-Dwarnings");
    check("fmt", cargo::command(&FMT))?;
    check("clippy", cargo::command(&CLIPPY))?;
    check("doc", doc)
}

fn check(name: &str, mut command: Command) -> Result<()> {
    let status =
        timed(name, || command.status().with_context(|| format!("could not run {command:?}")))?;
    ensure!(status.success(), "{name} failed; the tests were not run");
    Ok(())
}

fn timed<T>(name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {name}");
    let start = Instant::now();
    let outcome = step();
    eprintln!("== {name} took {:.1} s", start.elapsed().as_secs_f64());
    outcome
}

/// rustfmt and clippy are optional parts of a toolchain.
fn ensure_components() -> Result<()> {
    const COMPONENTS: [&str; 4] = ["component", "add", "rustfmt", "clippy"];
    let complete = || cargo::has("fmt") && cargo::has("clippy");
    if complete() {
        return Ok(());
    }
    let added = Command::new("rustup").args(COMPONENTS).stdout(Stdio::null()).status();
    ensure!(
        added.is_ok_and(|status| status.success()) && complete(),
        "rustfmt and clippy are needed and could not be installed; \
         try `rustup component add rustfmt clippy`"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_ran_and_passed_are_a_success() {
        let check = |passed, failed, failed_runners: &[&str], expected: bool| {
            let total = Counts { passed, failed, skipped: 1 };
            assert_eq!(succeeded(total, failed_runners), expected, "{total}");
        };
        check(1, 0, &[], true);
        check(0, 0, &[], false);
        check(1, 1, &[], false);
        check(1, 0, &["doctests"], false);
    }
}
