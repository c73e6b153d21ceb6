//! `campaign fuzz`: mutated input through every parser of external input, in the library and in the
//! program.
//!
//! A panic, a broken promise, a case that takes too much processor time or memory is a finding. Case
//! `n` of a seed is always the same input, so a finding is repeated with `--seed S --case N` (and the
//! same `--only` and test data); its input is kept in a file too, and `--file` runs one file. What
//! ends the whole process (an overflowing stack) is told by the case's number in the file `case`,
//! which is written before a case begins; what never ends is told and given up.
//!
//! The files below `crates/bench/fuzz/TARGET` are what inputs are made from, and those that once
//! found something; tests run each of them through its target.
//!
//! Deliberately absent: coverage. This is a cheap hunt that needs no instrumented build.

mod baselines;
mod corpus;
mod datasets;
mod files;
mod flags;
mod gigabyte;
mod index_files;
mod input;
mod judgements;
mod memory;
mod models;
mod mutate;
mod parser;
mod peer;
mod program;
mod promises;
mod prompts;
mod remote;
mod reports;
mod settings;
mod targets;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Parser, ValueEnum as _};
use fastrand::Rng;

use gbrain_brain::cpu::thread_cpu_time;

use super::scaffold::{Campaign, Part, ProgramArgs, Progress, SeedArgs, say};
use input::{Input, Seeds};
use memory::Memory;
pub use parser::Parser as FileParser;
use promises::Tools;

/// Processor time of one case. Inputs have at most a few hundred kilobytes: what takes longer is not
/// linear. It is no time of the clock, so that a busy machine finds nothing.
const TOO_LONG: Duration = Duration::from_secs(5);
/// Memory that one case may take beside what was there before.
const TOO_MUCH: u64 = 256 << 20;
/// With how many seeds a file of the corpus is tried: some checks draw what they do.
const DRAWS: u64 = 4;
/// The timeout of a case.
const GIVE_UP: Duration = Duration::from_secs(120);

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign fuzz")]
pub struct FuzzArgs {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// For how long, instead of seconds.
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u64>,
    #[command(flatten)]
    seed: SeedArgs,
    /// Only this case.
    #[arg(long)]
    case: Option<u64>,
    /// Only this target, as the table in docs/campaigns.md names it.
    #[arg(long, value_enum)]
    only: Option<FileParser>,
    /// Only this file, through the target that `--only` names.
    #[arg(long, requires = "only")]
    file: Option<PathBuf>,
    /// Instead of hunting, every file of the corpus through its target.
    #[arg(long, conflicts_with_all = ["only", "case"])]
    corpus: bool,
    /// Only targets in the library: no program is built or started.
    #[arg(long)]
    library: bool,
    #[command(flatten)]
    program: ProgramArgs,
    /// Where findings are kept [default: a new temporary directory].
    #[arg(long)]
    findings: Option<PathBuf>,
    /// Instead of hunting, read a gigabyte of small rows and one of a single line.
    #[arg(long)]
    gigabyte: bool,
}

#[derive(Debug)]
pub struct Fuzz {
    pub seed: u64,
    /// The first case.
    pub from: u64,
    /// One past the last case.
    pub to: u64,
    /// When to end at the latest.
    pub time: Duration,
    /// Only this target.
    pub only: Option<FileParser>,
    /// The program; without one only the library is tried.
    pub program: Option<PathBuf>,
    /// Where real files are, if there are some.
    pub data: Option<PathBuf>,
    /// Where findings are kept.
    pub findings: PathBuf,
}

#[derive(Debug, Default)]
pub struct Report {
    /// How many of each kind.
    pub cases: BTreeMap<String, u64>,
    /// The processor time of the slowest case and its number.
    pub slowest: (Duration, u64),
    /// The bytes of the case that took most memory and its number.
    pub largest: (u64, u64),
    pub findings: Vec<String>,
}

pub fn run(args: &FuzzArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let seed = campaign.seed;
    match args.gigabyte {
        true => campaign.part("gigabyte", gigabyte::run)?,
        false => campaign.part("fuzz", || args.hunt(seed))?,
    }
    Ok(campaign.end())
}

impl FuzzArgs {
    fn hunt(&self, seed: u64) -> Result<Part> {
        let findings = match &self.findings {
            Some(dir) => dir.clone(),
            None => tempfile::Builder::new().prefix("gbrain-fuzz-").tempdir()?.keep(),
        };
        say(format!("findings are kept in {}", findings.display()));
        let (from, to) = self.case.map_or((0, u64::MAX), |case| (case, case + 1));
        let time = Duration::from_secs(self.minutes.map_or(self.seconds, |minutes| 60 * minutes));
        let only = self.only;
        let data = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from);
        let wants_program = only.map_or(!self.library, FileParser::is_of_program);
        let program = wants_program.then(|| self.program.path()).transpose()?;
        let program = program.map(std::path::absolute).transpose()?;
        let report = match (&self.file, only) {
            (Some(file), Some(parser)) => {
                try_files(vec![(parser, file.clone())], program.as_deref(), &findings)?
            }
            _ if self.corpus => {
                let mut report = replay_corpus(None, &findings)?;
                if program.is_some() {
                    report.add(replay_corpus(program.as_deref(), &findings)?);
                }
                report
            }
            _ => fuzz(&Fuzz { seed, from, to, time, only, program, data, findings })?,
        };
        let figures = format!(
            "{} cases in at most {} s, the slowest case {} took {} ms, the largest case {} took {} MiB",
            report.cases.values().sum::<u64>(),
            time.as_secs(),
            report.slowest.1,
            report.slowest.0.as_millis(),
            report.largest.1,
            report.largest.0 >> 20
        );
        let cases = report.cases.iter().map(|(name, count)| format!("  {count:>9} {name}"));
        Ok(Part::new(figures, report.findings).lines(cases))
    }
}

/// Tries every file of the corpus through its target, of the library or of the program.
pub fn replay_corpus(program: Option<&Path>, findings: &Path) -> Result<Report> {
    let is_tried = |parser: &&FileParser| parser.is_of_program() == program.is_some();
    let mut files = Vec::new();
    for parser in FileParser::value_variants().iter().filter(is_tried) {
        files.extend(corpus::paths(*parser)?.into_iter().map(|path| (*parser, path)));
    }
    try_files(files, program, findings)
}

fn try_files(
    files: Vec<(FileParser, PathBuf)>,
    program: Option<&Path>,
    findings: &Path,
) -> Result<Report> {
    std::fs::create_dir_all(findings)?;
    let tools = Tools::new(program)?;
    let mut report = Report::default();
    for (at, (parser, path)) in files.into_iter().enumerate() {
        let bytes = std::fs::read(&path)?;
        // The program draws nothing.
        for seed in 0..if parser.is_of_program() { 1 } else { DRAWS } {
            let input = Input::File { parser, bytes: bytes.clone(), seed };
            let found = report.findings.len();
            report.try_case(at as u64, &input, &tools, findings)?;
            if let Some(finding) = report.findings.get_mut(found) {
                finding.push_str(&format!("; it is {}", path.display()));
            }
        }
    }
    Ok(report)
}

/// Tries cases until time or cases run out.
pub fn fuzz(fuzz: &Fuzz) -> Result<Report> {
    std::fs::create_dir_all(&fuzz.findings)?;
    let seeds = Seeds::new(fuzz.data.as_deref())?;
    let tools = Tools::new(fuzz.program.as_deref())?;
    let now = File::create(fuzz.findings.join("case"))?;
    let mut report = Report::default();
    let (begun, cases) = channel();
    std::thread::spawn(move || watch(&cases));
    let start = Instant::now();
    let progress = Progress::new("s", fuzz.time.as_secs() as usize);
    for case in fuzz.from..fuzz.to {
        progress.reach(start.elapsed().as_secs() as usize);
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
        let input = seeds.input(fuzz.only, fuzz.program.is_some(), &mut rng);
        report.try_case(case, &input, &tools, &fuzz.findings)?;
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
    fn add(&mut self, other: Self) {
        let Self { cases, slowest, largest, findings } = other;
        self.cases.extend(cases);
        self.slowest = self.slowest.max(slowest);
        self.largest = self.largest.max(largest);
        self.findings.extend(findings);
    }

    fn try_case(&mut self, case: u64, input: &Input, tools: &Tools, dir: &Path) -> Result<()> {
        *self.cases.entry(input.name()).or_default() += 1;
        let (start, memory) = (thread_cpu_time().unwrap_or_default(), Memory::now());
        let outcome = catch_unwind(AssertUnwindSafe(|| promises::check(input, tools)));
        let took = thread_cpu_time().unwrap_or_default().saturating_sub(start);
        let grown = memory.grown();
        self.slowest = self.slowest.max((took, case));
        self.largest = self.largest.max((grown, case));
        let finding = match outcome {
            Ok(Ok(())) if took >= TOO_LONG => format!("took {} ms", took.as_millis()),
            Ok(Ok(())) if grown >= TOO_MUCH => format!("took {} MiB", grown >> 20),
            Ok(Ok(())) => return Ok(()),
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
        let (time, findings) = (Duration::from_secs(600), dir.path().to_owned());
        let fuzz = &Fuzz {
            seed: 7,
            from: 0,
            to: 900,
            time,
            only: None,
            program: None,
            data: None,
            findings,
        };
        let report = super::fuzz(fuzz).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        let of_library =
            FileParser::value_variants().iter().filter(|parser| !parser.is_of_program());
        assert_eq!(report.cases.len(), 2 + of_library.count(), "{report:?}");
        assert!(report.cases.values().all(|count| *count > 5), "{report:?}");
    }

    #[test]
    fn every_file_of_the_corpus_holds() {
        let dir = tempfile::tempdir().unwrap();
        let report = replay_corpus(None, dir.path()).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        for parser in FileParser::value_variants() {
            let has_files = !corpus::paths(*parser).unwrap().is_empty();
            assert!(has_files || parser.has_own_seeds(), "{parser:?} has no corpus");
        }
    }

    #[test]
    fn a_broken_promise_is_reported_with_its_input() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Tools::new(None).unwrap();
        let mut report = Report::default();
        let input = Input::File { parser: FileParser::Http, bytes: b"GET".to_vec(), seed: 0 };
        report.try_case(3, &input, &tools, dir.path()).unwrap();
        assert_eq!(report.findings.len(), 1);
        assert!(report.findings[0].starts_with("case 3 (http): there is no program"));
        assert_eq!(std::fs::read(dir.path().join("case-3")).unwrap(), b"GET");
    }
}
