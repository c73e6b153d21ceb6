//! Measurements and campaigns: what takes too long for the tests.
//!
//! `bench NAME` measures, every ratio side by side in one run; `campaign NAME` hunts for failures;
//! `bare DIR TERMS...`, `split FILES...` and `scan FILE` are the processes that others are compared with,
//! `stream ADDRESS ROWS` the one whose export is measured, and `caller` one of those that spend a budget. `screenshots
//! DIR` makes the pictures of the documentation.
//!
//! Exit codes: 0 if every target that decides was met, 1 if one was missed, 2 if nothing could be
//! said.

#![expect(
    clippy::disallowed_methods,
    reason = "measurements and campaigns run with a clock that is right"
)]

mod bench;
mod screenshots;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use gbrain_bench::campaign;

/// The one that the product has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: gbrain-bench bench NAME [ARGS...] | campaign NAME [ARGS...] | \
     bare DIR TERMS... | split FILES... | stream ADDRESS ROWS | scan FILE | caller | screenshots DIR";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(exit) => exit,
        Err(error) => {
            // A reader that has gone away is no reason to fail differently.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<ExitCode> {
    match args {
        [kind, name, rest @ ..] if kind == "bench" => bench::run(name, rest),
        [kind, name, rest @ ..] if kind == "campaign" => campaign::run(name, rest),
        [kind, files @ ..] if kind == "split" => bench::score::split(files),
        [kind, file] if kind == "scan" => bench::usage::scan(file.as_ref()),
        [kind, dir, terms @ ..] if kind == "bare" => bench::bare::run(dir.as_ref(), terms),
        [kind, address, rows] if kind == "stream" => bench::export::stream(address, rows.parse()?),
        [kind, dir] if kind == "screenshots" => screenshots::run(dir.as_ref()),
        [kind] if kind == "caller" => campaign::budget::run_caller(),
        _ => bail!(USAGE),
    }
}
