//! `campaign kick`: many runs of one prompt at once, some of them killed or interrupted.
//!
//! Every run has a variable of its own, so that its row can be told from all others. What ended by
//! itself has left one row and one record of its text, what was killed one or none, what was interrupted after it
//! was sent one row and no record, and every line is a whole row.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use gbrain_prompts::domain::Vars;
use gbrain_prompts::domain::usage::{RunRecord, UsageRow};

use super::scaffold::{Campaign, Part, Progress, SeedArgs};
use crate::program::built_program;
use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use fastrand::Rng;
use jiff::Timestamp;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign kick")]
pub struct KickArgs {
    /// How many at once.
    #[arg(long, default_value_t = 64)]
    parallel: usize,
    /// How many one after the other.
    #[arg(long, default_value_t = 100)]
    each: usize,
    #[command(flatten)]
    seed: SeedArgs,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub kick: PathBuf,
    /// How many at once.
    pub parallel: usize,
    /// How many one after the other.
    pub each: usize,
    /// Whether every third is ended at some moment: by SIGKILL, SIGTERM or SIGHUP.
    pub kills: bool,
    /// Repeats the moments.
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Found {
    /// Whole rows.
    pub rows: usize,
    /// Lines that are not rows.
    pub broken: usize,
    /// Runs that a kill ended.
    pub killed: usize,
    /// Of these, the ones whose row was there already.
    pub killed_late: usize,
    /// Runs that a signal interrupted after they were sent.
    pub interrupted: usize,
    /// Records of the text of runs.
    pub records: usize,
    pub failures: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It ended with 0.
    Whole,
    /// The signal ended it, or it had sent nothing yet.
    Killed,
    /// It was sent, and said that it was interrupted.
    Interrupted,
}

/// When to end a run, and with what.
#[derive(Debug, Clone, Copy)]
struct Blow {
    after: Duration,
    signal: &'static str,
}

const SIGNALS: [&str; 3] = ["KILL", "TERM", "HUP"];

/// Runs it without kills, then with.
pub fn run(args: &KickArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let kick = built_program()?.with_file_name("kick");
    ensure!(kick.is_file(), "there is no `kick` beside gbrain");
    let KickArgs { parallel, each, .. } = *args;
    let seed = campaign.seed;
    for (name, kills) in [("without kills", false), ("with kills", true)] {
        let plan = Plan { kick: kick.clone(), parallel, each, kills, seed };
        campaign.part(name, || {
            let Found { rows, broken, killed, killed_late, interrupted, records, mut failures } =
                run_on_engine(&plan)?;
            let figures = format!(
                "{} runs, {killed} killed, {killed_late} of them with a row, {interrupted} interrupted: {rows} rows, \
                 {records} records, {broken} broken lines",
                parallel * each
            );
            failures.extend((0..broken).map(|_| "a line that is no whole row".to_owned()));
            Ok(Part::new(figures, failures))
        })?;
    }
    Ok(campaign.end())
}

/// Runs everything, then compares the log with what should be in it.
pub fn run_on_engine(plan: &Plan) -> Result<Found> {
    let dir = library()?;
    let root = dir.path();
    let progress = Progress::new("runs", plan.parallel * plan.each);
    let ends = std::thread::scope(|scope| {
        let progress = &progress;
        let start = |thread| scope.spawn(move || runs(plan, root, thread, progress));
        let threads: Vec<_> = (0..plan.parallel).map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the hunt panicked"))?
        });
        joined.collect::<Result<Vec<_>>>()
    })?;
    let ends: HashMap<String, End> = ends.into_iter().flatten().collect();
    ensure!(ends.len() == plan.parallel * plan.each, "two runs have the same name");
    check(&root.join("prompts/greet"), &ends)
}

/// A library with one prompt, whose model is `cat`.
fn library() -> Result<tempfile::TempDir> {
    let dir = tempfile::tempdir()?;
    let prompt = dir.path().join("prompts/greet");
    std::fs::create_dir_all(&prompt)?;
    let meta = "id: greet\ntitle: Greet\nsummary: S.\nstatus: draft\nversion: 1.0.0\ncreated: 2026-05-01\n\
        updated: 2026-05-01\ninputs: [name]\n";
    std::fs::write(prompt.join("meta.yml"), meta)?;
    std::fs::write(prompt.join("prompt.xml"), "Hello {{name}}.\n")?;
    let verify = prompt.join("verify.sh");
    std::fs::write(&verify, "#!/bin/sh\nexit 0\n")?;
    std::fs::set_permissions(&verify, std::fs::Permissions::from_mode(0o755))?;
    Ok(dir)
}

/// The runs of one thread, one after the other, each with the signature of its row.
fn runs(
    plan: &Plan,
    root: &Path,
    thread: usize,
    progress: &Progress,
) -> Result<Vec<(String, End)>> {
    let mut rng = Rng::with_seed(plan.seed.wrapping_add(thread as u64));
    let mut ends = Vec::with_capacity(plan.each);
    // How long the latest whole run took: kills fall into all of a run, however loaded the machine is.
    let mut usual = Duration::ZERO;
    for number in 0..plan.each {
        progress.step();
        let pair = format!("name={thread}-{number}");
        let mut vars = Vars::default();
        vars.push_pair(&pair)?;
        let is_victim = plan.kills && number % 3 == 2;
        let begun = Instant::now();
        let signal = SIGNALS[rng.usize(..SIGNALS.len())];
        let blow = || Blow { after: usual.mul_f64(moment(&mut rng)), signal };
        let end = one(plan, root, &pair, is_victim.then(blow))?;
        if !is_victim {
            usual = begun.elapsed();
        }
        ends.push((vars.hash(), end));
    }
    Ok(ends)
}

/// When to kill, of the time that a run takes: every other kill at its end, where the row is written.
fn moment(rng: &mut Rng) -> f64 {
    if rng.bool() { rng.f64() } else { 0.8 + 0.4 * rng.f64() }
}

fn one(plan: &Plan, root: &Path, pair: &str, blow: Option<Blow>) -> Result<End> {
    let mut command = Command::new(&plan.kick);
    command.args(["greet", "--send", "--quiet", "--var", pair, "--root"]).arg(root);
    command.env("EVA_SEND_CMD", "cat").stdin(Stdio::null()).stdout(Stdio::null());
    let blow_is_soft = blow.is_some_and(|blow| blow.signal != "KILL");
    // An interrupted run says so, which is no news here.
    command.stderr(if blow_is_soft { Stdio::null() } else { Stdio::inherit() });
    let mut child = command.spawn().context("kick can't be run")?;
    if let Some(Blow { after, signal }) = blow {
        std::thread::sleep(after);
        let mut kill = Command::new("kill");
        kill.args([format!("-{signal}"), child.id().to_string()]);
        // It may have ended by itself.
        kill.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    }
    let status = child.wait()?;
    let is_ended = matches!(status.signal(), Some(1 | 9 | 15));
    match (status.code(), is_ended) {
        (Some(0), _) => Ok(End::Whole),
        (Some(129 | 143), _) if blow_is_soft => Ok(End::Interrupted),
        (Some(2), _) if blow_is_soft => Ok(End::Killed),
        (None, true) if blow.is_some() => Ok(End::Killed),
        _ => anyhow::bail!("kick ended with {status}"),
    }
}

/// The hashes of rows that have a record.
fn records(log: &Path, found: &mut Found) -> HashSet<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut hashes = HashSet::new();
    for line in text.lines() {
        match RunRecord::parse(line) {
            Some(record) => {
                found.records += 1;
                hashes.insert(record.row_hash);
            }
            None => found.broken += 1,
        }
    }
    hashes
}

fn check(prompt: &Path, ends: &HashMap<String, End>) -> Result<Found> {
    let text = std::fs::read(prompt.join(".usage.jsonl")).unwrap_or_default();
    let mut found = Found::default();
    let recorded = records(&prompt.join(".runs.jsonl"), &mut found);
    // By signature: how many rows there are, and how many of them have a record.
    let mut seen: HashMap<String, (usize, usize)> = HashMap::new();
    let body = text.strip_suffix(b"\n").unwrap_or(&text);
    for line in body.split(|byte| *byte == b'\n').filter(|_| !body.is_empty()) {
        match UsageRow::parse(line) {
            Some(row) if row.to_line().trim_end().as_bytes() == line => {
                found.rows += 1;
                let line = String::from_utf8_lossy(line);
                let record = RunRecord::new(Timestamp::UNIX_EPOCH, String::new(), &line);
                let (rows, records) = seen.entry(row.vars_hash).or_default();
                *rows += 1;
                *records += usize::from(recorded.contains(&record.row_hash));
            }
            _ => found.broken += 1,
        }
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        found.failures.push("the last line has no end".to_owned());
    }
    for (hash, end) in ends {
        let (rows, records) = seen.remove(hash).unwrap_or_default();
        found.killed += usize::from(*end == End::Killed);
        found.killed_late += usize::from(*end == End::Killed && rows == 1);
        found.interrupted += usize::from(*end == End::Interrupted);
        let is_right = match end {
            End::Whole => (rows, records) == (1, 1),
            End::Killed => rows <= 1,
            End::Interrupted => (rows, records) == (1, 0),
        };
        if !is_right {
            let failure = format!("a run that ended {end:?} has {rows} rows and {records} records");
            found.failures.push(failure);
        }
    }
    found.failures.extend(seen.keys().map(|hash| format!("no run has the signature {hash}")));
    Ok(found)
}
