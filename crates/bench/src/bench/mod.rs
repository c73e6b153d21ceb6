//! Measurements. Each prints one table with n; what is compared is measured side by side.

mod analysed;
mod asked;
pub(crate) mod bare;
mod build;
mod capture;
mod chats;
mod cold;
mod collection;
mod console;
mod corpus;
pub(crate) mod export;
mod figures;
mod gate;
mod home;
mod identity;
mod import;
mod longmemeval;
mod machine;
mod meaning;
mod percentile;
mod process;
mod python;
mod quality;
mod questions;
mod report;
pub(crate) mod score;
mod scrub;
mod search;
mod serve;
mod suite;
pub(crate) mod usage;
mod vectors;
mod whole;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use gbrain_bench::campaign::parse;

const NAMES: &str = "quality, meaning, search, vectors, import, cold, build, identity, export, \
                     scrub, score, capture, gate, serve, usage, longmemeval, suite, console";

/// Runs the measurement called `name`.
pub(crate) fn run(name: &str, args: &[String]) -> Result<ExitCode> {
    match name {
        "quality" => quality::run(&parse(name, args)?),
        "meaning" => meaning::run(&parse(name, args)?),
        "search" => search::run(&parse(name, args)?),
        "vectors" => vectors::run(&parse(name, args)?),
        "import" => import::run(&parse(name, args)?),
        "cold" => cold::run(&parse(name, args)?),
        "build" => build::run(&parse(name, args)?),
        "identity" => identity::run(&parse(name, args)?),
        "export" => export::run(&parse(name, args)?),
        "scrub" => scrub::run(&parse(name, args)?),
        "score" => score::run(&parse(name, args)?),
        "capture" => capture::run(&parse(name, args)?),
        "gate" => gate::run(&parse(name, args)?),
        "console" => console::run(&parse(name, args)?),
        "serve" => serve::run(&parse(name, args)?),
        "suite" => suite::run(&parse(name, args)?),
        "usage" => usage::run(&parse(name, args)?),
        "longmemeval" => longmemeval::run(&parse(name, args)?),
        _ => bail!("there is no bench `{name}`; there are {NAMES}"),
    }
}

/// Where the data sets are.
fn data_dir() -> Result<PathBuf> {
    let dir = std::env::var_os("GBRAIN_TEST_DATA").filter(|value| !value.is_empty());
    dir.map(PathBuf::from).context("GBRAIN_TEST_DATA is not set: say where the data sets are")
}
