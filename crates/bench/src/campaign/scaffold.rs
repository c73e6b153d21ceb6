//! The parts that every campaign shares: flags, parts with their violations, progress, tables and the exit code.
//!
//! A campaign is a sequence of parts: an engine, a budget, a rate. Each part prints one line of figures, then what
//! else there is to say, then its violations. Progress goes to stderr, so that stdout is the report alone.

use std::io::Write as _;
use std::num::ParseIntError;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use comfy_table::{Cell, Table, presets};
use fastrand::Rng;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::Gbrain;

use crate::program::built_program;

/// Violations of one part that are printed; all of them count.
const SHOWN: usize = 20;
/// The least time between two progress lines of the same work.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Which engines a campaign is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engines {
    /// SQLite alone.
    Sqlite,
    /// PostgreSQL alone.
    Postgres,
    /// One after the other.
    Both,
}

impl Engines {
    pub fn list(self) -> &'static [Engine] {
        match self {
            Self::Sqlite => &[Engine::Sqlite],
            Self::Postgres => &[Engine::Postgres],
            Self::Both => &[Engine::Sqlite, Engine::Postgres],
        }
    }
}

/// The values of a flag: reports call them as the command line does.
pub trait FlagValue: ValueEnum + Copy {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no value is left out of the command line");
        value.get_name().to_owned()
    }
}

impl<T: ValueEnum + Copy> FlagValue for T {}

/// The flag of every campaign.
#[derive(Debug, clap::Args)]
pub struct SeedArgs {
    /// Repeats a run, as far as the machine's timing can be repeated.
    #[arg(long)]
    seed: Option<u64>,
}

/// The flag of campaigns that run on databases.
#[derive(Debug, clap::Args)]
pub struct EngineArgs {
    /// Which engines.
    #[arg(long, value_enum, default_value = "both")]
    engine: Engines,
}

/// The flag of campaigns that run the program.
#[derive(Debug, Default, clap::Args)]
pub struct ProgramArgs {
    /// The program to run [default: built from these sources].
    #[arg(long)]
    program: Option<PathBuf>,
}

impl ProgramArgs {
    /// The program, built if none is named.
    pub fn path(&self) -> Result<PathBuf> {
        self.program.clone().map_or_else(built_program, Ok)
    }
}

/// The arguments of a campaign that runs the program on databases: its plan, and the flags that such campaigns share.
#[derive(Debug, clap::Parser)]
pub struct CampaignArgs<P: clap::Args> {
    /// The work for each engine.
    #[command(flatten)]
    pub plan: P,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

impl<P: clap::Args> CampaignArgs<P> {
    /// Carries out the plan on each engine in turn.
    pub fn each(&self, part: impl Fn(&Setup, &P) -> Result<Part>) -> Result<ExitCode> {
        self.each_of(&[("", &self.plan)], part)
    }

    /// Carries out several named plans on each engine in turn.
    pub fn each_of(
        &self,
        plans: &[(&str, &P)],
        part: impl Fn(&Setup, &P) -> Result<Part>,
    ) -> Result<ExitCode> {
        let mut campaign = Campaign::start(&self.seed);
        let (program, seed) = (self.program.path()?, campaign.seed);
        for &engine in self.engine.list() {
            let setup = Setup { program: program.clone(), engine, seed };
            for (name, plan) in plans {
                let between = if name.is_empty() { "" } else { ", " };
                let name = format!("{}{between}{name}", engine.name());
                campaign.part(&name, || part(&setup, plan))?;
            }
        }
        Ok(campaign.end())
    }
}

#[derive(Debug, Clone)]
pub struct Setup {
    pub program: PathBuf,
    pub engine: Engine,
    pub seed: u64,
}

impl Setup {
    /// A new brain.
    pub fn brain(&self) -> Result<Gbrain> {
        Gbrain::new(&self.program, self.engine)
    }

    /// Random numbers, the same for each part with this seed.
    pub fn rng(&self) -> Rng {
        Rng::with_seed(self.seed)
    }
}

/// A flag in seconds.
pub fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}

/// A flag in minutes.
pub fn minutes(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(|minutes: u64| Duration::from_secs(60 * minutes))
}

impl EngineArgs {
    pub fn list(&self) -> &'static [Engine] {
        self.engine.list()
    }
}

#[derive(Debug)]
pub struct Campaign {
    /// The seed: the one given, or one made up and printed, so that the run can be repeated.
    pub seed: u64,
    findings: usize,
}

impl Campaign {
    /// Prints the seed.
    pub fn start(args: &SeedArgs) -> Self {
        let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        say(format!("seed {seed}"));
        Self { seed, findings: 0 }
    }

    /// The context of the parts of a campaign on SQLite alone.
    pub fn setup(&self, program: &ProgramArgs) -> Result<Setup> {
        Ok(Setup { program: program.path()?, engine: Engine::Sqlite, seed: self.seed })
    }

    pub fn part(&mut self, name: &str, run: impl FnOnce() -> Result<Part>) -> Result<()> {
        progress(format!("{name}: started"));
        let start = Instant::now();
        let Part { figures, lines, violations, shortfall } = run()?;
        let figures = if figures.is_empty() { figures } else { figures + ", " };
        let seconds = start.elapsed().as_secs();
        say(format!("{name}: {figures}{} violations, {seconds} s", violations.len()));
        lines.iter().for_each(say);
        violations.iter().take(SHOWN).for_each(|text| say(format!("  violation: {text}")));
        if violations.len() > SHOWN {
            say(format!("  and {} more", violations.len() - SHOWN));
        }
        if let Some(shortfall) = &shortfall {
            say(format!("  proves nothing: {shortfall}"));
        }
        self.findings += violations.len() + usize::from(shortfall.is_some());
        Ok(())
    }

    /// The exit code: 1 if anything was found.
    pub fn end(self) -> ExitCode {
        if self.findings == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
    }
}

/// The counts and violations of one part of a campaign.
#[derive(Debug, Default)]
pub struct Part {
    figures: String,
    lines: Vec<String>,
    violations: Vec<String>,
    shortfall: Option<String>,
}

impl Part {
    /// A part, in figures that fit on one line.
    pub fn new(figures: impl Into<String>, violations: Vec<String>) -> Self {
        Self { figures: figures.into(), violations, ..Self::default() }
    }

    /// The same with more lines of the report.
    pub fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// The same; a part that did too little to prove anything is a finding.
    pub fn require(mut self, is_enough: bool, shortfall: &str) -> Self {
        if !is_enough {
            self.shortfall = Some(shortfall.to_owned());
        }
        self
    }
}

/// A table of a report, in Markdown.
pub fn table(header: impl IntoIterator<Item = impl Into<Cell>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

/// How far some work has come: a line on stderr every few seconds, from any thread.
#[derive(Debug)]
pub struct Progress {
    what: String,
    total: usize,
    state: Mutex<(usize, Instant)>,
}

impl Progress {
    /// Work of so many steps; `what` names the steps.
    pub fn new(what: impl Into<String>, total: usize) -> Self {
        Self { what: what.into(), total, state: Mutex::new((0, Instant::now())) }
    }

    /// Counts one more step.
    pub fn step(&self) {
        self.update(|done| done + 1);
    }

    /// So many steps are done.
    pub fn reach(&self, done: usize) {
        self.update(|_| done);
    }

    fn update(&self, next: impl FnOnce(usize) -> usize) {
        let mut state = self.state.lock().expect("no thread panics while holding it");
        let (done, last) = &mut *state;
        let before = std::mem::replace(done, next(*done));
        if *done != before && last.elapsed() >= PROGRESS_INTERVAL {
            *last = Instant::now();
            progress(format!("  {done} of {} {}", self.total, self.what));
        }
    }
}

/// Prints a progress line on stderr.
pub fn progress(text: impl AsRef<str>) {
    // A closed stderr changes nothing.
    let _ = writeln!(std::io::stderr(), "{}", text.as_ref());
}

/// Prints a line of the report on stdout.
pub fn say(text: impl AsRef<str>) {
    // A reader that has gone away is no reason to fail.
    let _ = writeln!(std::io::stdout(), "{}", text.as_ref());
}

/// Keeps the home of a brain with violations, so that it can be examined.
pub fn keep_if_violated(brain: Gbrain, violations: &[String]) {
    if !violations.is_empty() {
        say(format!("the brain is kept in {}", brain.keep().display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(parts: Vec<Part>) -> ExitCode {
        let mut campaign = Campaign::start(&SeedArgs { seed: Some(1) });
        for part in parts {
            campaign.part("part", || Ok(part)).unwrap();
        }
        campaign.end()
    }

    #[test]
    fn violations_and_shortfalls_are_findings() {
        let clean = || Part::new("1 kill", Vec::new()).require(true, "no kills");
        assert_eq!(run(vec![clean(), clean()]), ExitCode::SUCCESS);
        assert_eq!(run(vec![]), ExitCode::SUCCESS);
        let violated = Part::new("", vec!["lost".to_owned()]);
        assert_eq!(run(vec![violated, clean()]), ExitCode::from(1));
        assert_eq!(run(vec![clean(), clean().require(false, "no kills")]), ExitCode::from(1));
    }

    #[test]
    fn an_error_is_no_finding() {
        let mut campaign = Campaign::start(&SeedArgs { seed: None });
        assert!(campaign.part("part", || anyhow::bail!("no program")).is_err());
        assert_eq!(campaign.end(), ExitCode::SUCCESS);
    }
}
