//! `campaign kick`: many runs of one prompt at once, some of them killed.
//!
//! Every run has a variable of its own, so that its row can be told from all others. What ended by
//! itself has left one row, what was killed one or none, and every line is a whole row.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use fastrand::Rng;
use gbrain_core::prompt::Vars;
use gbrain_core::usage::UsageRow;

use super::process::built_program;
use super::{exit, say, seed};

/// Arguments of `campaign kick`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign kick")]
pub struct KickArgs {
    /// How many at once.
    #[arg(long, default_value_t = 64)]
    parallel: usize,
    /// How many one after the other.
    #[arg(long, default_value_t = 100)]
    each: usize,
    /// Repeats the moments of the kills.
    #[arg(long)]
    seed: Option<u64>,
}

/// What to hunt.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program.
    pub kick: PathBuf,
    /// How many at once.
    pub parallel: usize,
    /// How many one after the other.
    pub each: usize,
    /// Whether every third is killed at some moment.
    pub kills: bool,
    /// Repeats the moments.
    pub seed: u64,
}

/// What was found.
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
    /// What should not be.
    pub failures: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    Killed,
}

/// Runs it without kills, then with.
pub fn run(args: &KickArgs) -> Result<ExitCode> {
    let seed = seed(args.seed);
    let kick = built_program()?.with_file_name("kick");
    ensure!(kick.is_file(), "there is no `kick` beside gbrain");
    let mut findings = 0;
    for kills in [false, true] {
        let begun = Instant::now();
        let plan =
            Plan { kick: kick.clone(), parallel: args.parallel, each: args.each, kills, seed };
        let found = hunt(&plan)?;
        say(format!(
            "{} runs, {} killed, {} of them with a row: {} rows, {} broken lines, {} failures, {:.0} s",
            args.parallel * args.each,
            found.killed,
            found.killed_late,
            found.rows,
            found.broken,
            found.failures.len(),
            begun.elapsed().as_secs_f64(),
        ));
        found.failures.iter().take(20).for_each(|failure| say(format!("  {failure}")));
        findings += found.broken + found.failures.len();
    }
    Ok(exit(findings))
}

/// Runs everything, then compares the log with what should be in it.
pub fn hunt(plan: &Plan) -> Result<Found> {
    let dir = library()?;
    let root = dir.path();
    let ends = std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || runs(plan, root, thread));
        let threads: Vec<_> = (0..plan.parallel).map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the hunt panicked"))?
        });
        joined.collect::<Result<Vec<_>>>()
    })?;
    let ends: HashMap<String, End> = ends.into_iter().flatten().collect();
    ensure!(ends.len() == plan.parallel * plan.each, "two runs have the same name");
    check(&root.join("prompts/greet/.usage.jsonl"), &ends)
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
fn runs(plan: &Plan, root: &Path, thread: usize) -> Result<Vec<(String, End)>> {
    let mut rng = Rng::with_seed(plan.seed.wrapping_add(thread as u64));
    let mut ends = Vec::with_capacity(plan.each);
    // How long the latest whole run took: kills fall into all of a run, however loaded the machine is.
    let mut usual = Duration::ZERO;
    for number in 0..plan.each {
        let pair = format!("name={thread}-{number}");
        let mut vars = Vars::default();
        vars.push_pair(&pair)?;
        let is_victim = plan.kills && number % 3 == 2;
        let begun = Instant::now();
        let end = one(plan, root, &pair, is_victim.then(|| usual.mul_f64(moment(&mut rng))))?;
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

fn one(plan: &Plan, root: &Path, pair: &str, kill_after: Option<Duration>) -> Result<End> {
    let mut command = Command::new(&plan.kick);
    command.args(["greet", "--send", "--quiet", "--var", pair, "--root"]).arg(root);
    command.env("EVA_SEND_CMD", "cat").stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().context("kick can't be run")?;
    if let Some(after) = kill_after {
        std::thread::sleep(after);
        // It may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait()?;
    match (status.success(), status.signal()) {
        (true, _) => Ok(End::Whole),
        (false, Some(9)) if kill_after.is_some() => Ok(End::Killed),
        _ => anyhow::bail!("kick ended with {status}"),
    }
}

fn check(log: &Path, ends: &HashMap<String, End>) -> Result<Found> {
    let text = std::fs::read(log).unwrap_or_default();
    let mut found = Found::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let body = text.strip_suffix(b"\n").unwrap_or(&text);
    for line in body.split(|byte| *byte == b'\n').filter(|_| !body.is_empty()) {
        match UsageRow::parse(line) {
            Ok(row) if row.to_line().trim_end().as_bytes() == line => {
                found.rows += 1;
                *seen.entry(row.vars_hash).or_default() += 1;
            }
            _ => found.broken += 1,
        }
    }
    if !text.is_empty() && !text.ends_with(b"\n") {
        found.failures.push("the last line has no end".to_owned());
    }
    for (hash, end) in ends {
        let rows = seen.remove(hash).unwrap_or_default();
        found.killed += usize::from(*end == End::Killed);
        found.killed_late += usize::from(*end == End::Killed && rows == 1);
        let is_right = if *end == End::Whole { rows == 1 } else { rows <= 1 };
        if !is_right {
            found.failures.push(format!("a run that ended {end:?} has {rows} rows"));
        }
    }
    found.failures.extend(seen.keys().map(|hash| format!("nobody ran {hash}")));
    Ok(found)
}
