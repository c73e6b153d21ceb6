//! `campaign fuzz`: mutated pages and files and hostile queries through the library.
//!
//! A panic, a broken promise or a case that takes too long is a finding. Case `n` of a seed is always
//! the same input, so a finding is repeated with `--seed S --case N` (and the same `--only` and test
//! data); its input is kept in a file too. What ends the whole process (an overflowing stack) is told
//! by the case's number in the file `case`, which is written before a case begins; what never ends
//! is told and given up.
//!
//! Deliberately absent: coverage. This is a cheap hunt that needs no instrumented build.

mod baselines;
mod gigabyte;
mod input;
mod judgements;
mod mutate;
mod parser;
mod promises;
mod reports;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use fastrand::Rng;

use input::{Input, Seeds};
pub use parser::Parser as FileParser;
use promises::Brains;

use super::{exit, say, seed};

/// Inputs have at most a few hundred kilobytes: what takes longer is not linear.
const TOO_LONG: Duration = Duration::from_secs(5);
/// What takes this long is not waited for.
const GIVE_UP: Duration = Duration::from_secs(120);

/// Arguments of `campaign fuzz`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign fuzz")]
pub struct FuzzArgs {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// For how long, instead of seconds.
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u64>,
    /// Repeats a run.
    #[arg(long)]
    seed: Option<u64>,
    /// Only this case.
    #[arg(long)]
    case: Option<u64>,
    /// Only files of this reader: captures, publish, replay, qrels, beir, run, measures, audit or
    /// report.
    #[arg(long)]
    only: Option<String>,
    /// Where findings are kept [default: a new temporary directory].
    #[arg(long)]
    findings: Option<PathBuf>,
    /// Instead of hunting, read a gigabyte of small rows and one of a single line.
    #[arg(long)]
    gigabyte: bool,
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
    /// Only files of this reader.
    pub only: Option<FileParser>,
    /// Where real files are, if there are some.
    pub data: Option<PathBuf>,
    /// Where findings are kept.
    pub findings: PathBuf,
}

/// What was tried.
#[derive(Debug, Default)]
pub struct Report {
    /// How many of each kind.
    pub cases: BTreeMap<&'static str, u64>,
    /// The slowest case and its number.
    pub slowest: (Duration, u64),
    /// What was found.
    pub findings: Vec<String>,
}

/// Runs the campaign.
pub fn run(args: &FuzzArgs) -> Result<ExitCode> {
    if args.gigabyte {
        return gigabyte::run();
    }
    let seed = seed(args.seed);
    let findings = match &args.findings {
        Some(dir) => dir.clone(),
        None => tempfile::Builder::new().prefix("gbrain-fuzz-").tempdir()?.keep(),
    };
    say(format!("findings are kept in {}", findings.display()));
    let (from, to) = args.case.map_or((0, u64::MAX), |case| (case, case + 1));
    let time = Duration::from_secs(args.minutes.map_or(args.seconds, |minutes| 60 * minutes));
    let only = args.only.as_deref().map(reader).transpose()?;
    let data = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from);
    let report = fuzz(&Fuzz { seed, from, to, time, only, data, findings })?;
    for (name, count) in &report.cases {
        say(format!("  {count:>9} {name}"));
    }
    say(format!(
        "{} cases in at most {} s, the slowest case {} took {} ms, {} findings",
        report.cases.values().sum::<u64>(),
        time.as_secs(),
        report.slowest.1,
        report.slowest.0.as_millis(),
        report.findings.len()
    ));
    for finding in report.findings.iter().take(20) {
        say(format!("  {finding}"));
    }
    Ok(exit(report.findings.len()))
}

fn reader(name: &str) -> Result<FileParser> {
    FileParser::from_name(name).with_context(|| format!("there is no reader `{name}`"))
}

/// Tries cases until time or cases run out.
pub fn fuzz(fuzz: &Fuzz) -> Result<Report> {
    std::fs::create_dir_all(&fuzz.findings)?;
    let seeds = Seeds::new(fuzz.data.as_deref())?;
    let brains = Brains::new()?;
    let now = File::create(fuzz.findings.join("case"))?;
    let mut report = Report::default();
    let (begun, cases) = channel();
    std::thread::spawn(move || watch(&cases));
    let start = Instant::now();
    for case in fuzz.from..fuzz.to {
        if start.elapsed() > fuzz.time {
            break;
        }
        let told = format!("--seed {} --case {case}\n", fuzz.seed);
        // Numbers only grow, so that the last one covers those before it.
        now.write_all_at(told.as_bytes(), 0)?;
        // The watchdog only ends with the process.
        let _ = begun.send(case);
        let mut rng =
            Rng::with_seed(fuzz.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(case));
        let input = seeds.input(fuzz.only, &mut rng);
        report.try_case(case, &input, &brains, &fuzz.findings)?;
    }
    Ok(report)
}

/// Gives up on a case that does not end: there is no way to stop it but to end the process.
fn watch(cases: &Receiver<u64>) {
    let mut last = 0;
    loop {
        match cases.recv_timeout(GIVE_UP) {
            Ok(case) => last = case,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                say(format!("case {last} does not end within {} s", GIVE_UP.as_secs()));
                std::process::exit(1);
            }
        }
    }
}

impl Report {
    fn try_case(&mut self, case: u64, input: &Input, brains: &Brains, dir: &Path) -> Result<()> {
        *self.cases.entry(input.name()).or_default() += 1;
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
        std::fs::write(&file, input.bytes())?;
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
        let (time, findings) = (Duration::from_secs(60), dir.path().to_owned());
        let fuzz = &Fuzz { seed: 7, from: 0, to: 600, time, only: None, data: None, findings };
        let report = super::fuzz(fuzz).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert_eq!(report.cases.len(), 2 + FileParser::ALL.len(), "{report:?}");
        assert!(report.cases.values().all(|count| *count > 10), "{report:?}");
    }
}
