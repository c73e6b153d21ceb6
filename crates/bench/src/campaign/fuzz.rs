//! `campaign fuzz`: mutated pages, hostile queries and broken scoring files through the library.
//!
//! A panic, a broken promise or a case that takes too long is a finding. Case `n` of a seed is always
//! the same input, so a finding is repeated with `--seed S --case N`; its input is kept in a file
//! too. What ends the whole process (an overflowing stack) or never ends is told by the case's number
//! in the file `case`, which is written before a case begins.
//!
//! Deliberately absent: coverage. This is a cheap hunt that needs no instrumented build.

mod input;
mod promises;
mod scoring;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use fastrand::Rng;

use input::{Input, Seeds};
use promises::Brains;

use super::{exit, say, seed};

/// Inputs have at most a few hundred kilobytes: what takes longer is not linear.
const TOO_LONG: Duration = Duration::from_secs(5);

/// Arguments of `campaign fuzz`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign fuzz")]
pub struct FuzzArgs {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Repeats a run.
    #[arg(long)]
    seed: Option<u64>,
    /// Only this case.
    #[arg(long)]
    case: Option<u64>,
    /// Where findings are kept [default: a new temporary directory].
    #[arg(long)]
    findings: Option<PathBuf>,
}

/// What to try.
#[derive(Debug)]
pub struct Fuzz {
    /// The seed.
    pub seed: u64,
    /// The first case.
    pub from: u64,
    /// One past the last case.
    pub to: u64,
    /// When to end at the latest.
    pub time: Duration,
    /// Where findings are kept.
    pub findings: PathBuf,
}

/// What was tried.
#[derive(Debug, Default)]
pub struct Report {
    /// Texts that were parsed, in every format.
    pub pages: u64,
    /// Queries that were asked.
    pub queries: u64,
    /// Texts that were read as qrels, runs and names of measures.
    pub scoring: u64,
    /// The slowest case and its number.
    pub slowest: (Duration, u64),
    /// What was found.
    pub findings: Vec<String>,
}

/// Runs the campaign.
pub fn run(args: &FuzzArgs) -> Result<ExitCode> {
    let seed = seed(args.seed);
    let findings = match &args.findings {
        Some(dir) => dir.clone(),
        None => tempfile::Builder::new().prefix("gbrain-fuzz-").tempdir()?.keep(),
    };
    say(format!("findings are kept in {}", findings.display()));
    let (from, to) = args.case.map_or((0, u64::MAX), |case| (case, case + 1));
    let time = Duration::from_secs(args.seconds);
    let report = fuzz(&Fuzz { seed, from, to, time, findings })?;
    say(format!(
        "{} pages, {} queries and {} scoring files in {} s, the slowest case {} took {} ms, {} findings",
        report.pages,
        report.queries,
        report.scoring,
        args.seconds,
        report.slowest.1,
        report.slowest.0.as_millis(),
        report.findings.len()
    ));
    for finding in report.findings.iter().take(20) {
        say(format!("  {finding}"));
    }
    Ok(exit(report.findings.len()))
}

/// Tries cases until time or cases run out.
pub fn fuzz(fuzz: &Fuzz) -> Result<Report> {
    std::fs::create_dir_all(&fuzz.findings)?;
    let seeds = Seeds::of_demo()?;
    let brains = Brains::new()?;
    let mut report = Report::default();
    let start = Instant::now();
    for case in fuzz.from..fuzz.to {
        if start.elapsed() > fuzz.time {
            break;
        }
        std::fs::write(
            fuzz.findings.join("case"),
            format!("--seed {} --case {case}\n", fuzz.seed),
        )?;
        let mut rng =
            Rng::with_seed(fuzz.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(case));
        let input = seeds.input(&mut rng);
        report.try_case(case, &input, &brains, &fuzz.findings)?;
    }
    Ok(report)
}

impl Report {
    fn try_case(&mut self, case: u64, input: &Input, brains: &Brains, dir: &Path) -> Result<()> {
        match input {
            Input::Page { .. } => self.pages += 1,
            Input::Query(_) => self.queries += 1,
            Input::Scoring(_) => self.scoring += 1,
        }
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| promises::check(input, brains)));
        let took = start.elapsed();
        self.slowest = self.slowest.max((took, case));
        let finding = match outcome {
            Ok(Ok(())) if took < TOO_LONG => return Ok(()),
            Ok(Ok(())) => format!("took {} ms", took.as_millis()),
            Ok(Err(broken)) => broken,
            Err(panic) => format!("panicked: {}", panic_text(panic.as_ref())),
        };
        let file = dir.join(format!("case-{case}"));
        std::fs::write(&file, input.text())?;
        self.findings.push(format!(
            "case {case} ({}): {finding}; input in {}",
            input.kind(),
            file.display()
        ));
        Ok(())
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_hunt_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (time, findings) = (Duration::from_secs(20), dir.path().to_owned());
        let report = fuzz(&Fuzz { seed: 7, from: 0, to: 400, time, findings }).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        let least = report.pages.min(report.queries).min(report.scoring);
        assert!(least > 20, "{report:?}");
    }
}
