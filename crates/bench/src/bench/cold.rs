//! `bench cold`: a new `gbrain search` process, alternated with a bare process that opens the same
//! index by tantivy alone, searches and prints.
//!
//! Files are in the page cache for both; what is cold is the process.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use gbrain_bench::program::built_program;

use super::build::{ensure_built, read_questions};
use super::home::tantivy_dir;
use super::percentile::{median, percentile, sorted};
use super::process::milliseconds;
use super::report::{Cell, Report};

const TARGET: f64 = 2.0;
const HEADERS: [&str; 5] = ["process", "n", "median ms", "p95 ms", "ratio"];

/// A new process beside a bare one.
#[derive(Debug, clap::Args)]
pub(crate) struct ColdArgs {
    /// How many chunks the brain has.
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Where the brain is kept between runs; made where there is none.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// How many processes of each kind.
    #[arg(long, default_value_t = 30)]
    processes: usize,
}

pub(crate) fn run(args: &ColdArgs) -> Result<Report> {
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().join("brain"));
    let built = ensure_built(args.chunks, &dir)?;
    let home = dir.join("home");
    let index = tantivy_dir(&home)?;
    let (gbrain, own) = (built_program()?, std::env::current_exe()?);
    let questions = read_questions(&dir)?;
    ensure!(!questions.is_empty(), "there are no questions");

    let whole = |question: &str| {
        let mut command = Command::new(&gbrain);
        command.arg("--home").arg(&home).args(["search", "--limit", "10", "--", question]);
        command
    };
    let bare = |question: &str| {
        let mut command = Command::new(&own);
        command.arg("bare").arg(&index).arg(question);
        command
    };
    let (mut whole_ms, mut bare_ms) = (Vec::new(), Vec::new());
    // The first of each warms up and does not count.
    for (at, question) in questions.iter().cycle().take(args.processes + 1).enumerate() {
        let (first, second) = if at % 2 == 0 {
            let first = milliseconds(whole(question))?;
            (first, milliseconds(bare(question))?)
        } else {
            let second = milliseconds(bare(question))?;
            (milliseconds(whole(question))?, second)
        };
        if at > 0 {
            whole_ms.push(first);
            bare_ms.push(second);
        }
    }

    let mut report = Report::new("cold", &HEADERS);
    let ratio = median(&whole_ms) / median(&bare_ms);
    report.row(row("bare process", &bare_ms, 1.0));
    report.row(row("gbrain search", &whole_ms, ratio));
    report.fact("chunks", Cell::Count(built.chunks));
    report.target(
        format!("median of `gbrain search` is {ratio:.2}x the bare process's, at most {TARGET}"),
        ratio <= TARGET,
    );
    Ok(report)
}

fn row(name: &str, times: &[f64], ratio: f64) -> Vec<Cell> {
    vec![
        Cell::text(name),
        Cell::Count(times.len() as u64),
        Cell::number(median(times), 1),
        Cell::number(percentile(&sorted(times), 0.95), 1),
        Cell::number(ratio, 2),
    ]
}
