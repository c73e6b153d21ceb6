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

use report::{Output, Report};

const NAMES: &str = "quality, meaning, search, vectors, import, cold, build, identity, export, \
                     scrub, score, capture, gate, serve, usage, longmemeval, suite, console";

pub(crate) fn run(name: &str, args: &[String]) -> Result<ExitCode> {
    match name {
        "quality" => measure(name, args, quality::run),
        "meaning" => measure(name, args, meaning::run),
        "search" => measure(name, args, search::run),
        "vectors" => measure(name, args, vectors::run),
        "import" => measure(name, args, import::run),
        "cold" => measure(name, args, cold::run),
        "build" => build::run(&parse(name, args)?),
        "identity" => identity::run(&parse(name, args)?),
        "export" => measure(name, args, export::run),
        "scrub" => measure(name, args, scrub::run),
        "score" => measure(name, args, score::run),
        "capture" => measure(name, args, capture::run),
        "gate" => measure(name, args, gate::run),
        "console" => measure(name, args, console::run),
        "serve" => measure(name, args, serve::run),
        "suite" => measure(name, args, suite::run),
        "usage" => measure(name, args, usage::run),
        "longmemeval" => measure(name, args, longmemeval::run),
        _ => bail!("there is no bench `{name}`; there are {NAMES}"),
    }
}

/// The arguments of a measurement, and how its report is printed.
#[derive(Debug, clap::Parser)]
struct MeasurementArgs<A: clap::Args> {
    #[command(flatten)]
    args: A,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn measure<A: clap::Args>(
    name: &str,
    words: &[String],
    run: fn(&A) -> Result<Report>,
) -> Result<ExitCode> {
    let MeasurementArgs { args, json } = parse(name, words)?;
    run(&args)?.print(Output::of_flag(json))
}

fn data_dir() -> Result<PathBuf> {
    let dir = std::env::var_os("GBRAIN_TEST_DATA").filter(|value| !value.is_empty());
    dir.map(PathBuf::from).context("GBRAIN_TEST_DATA is not set: say where the data sets are")
}
