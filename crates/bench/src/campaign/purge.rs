//! `campaign purge`: random pages are purged from brains whose records name them in every way.
//!
//! Before and after each purge every row of every table and every file of the home is dumped. The check knows nothing
//! of how the purge works: it knows which records the campaign made, and looks for the page's key, its keyed hash, the
//! ids of its passages and a word that only its text has. None may be left; every record that did not name the page
//! must be the same, byte for byte; verdicts and alerts must be the same; the counts that `purge --json` prints must
//! be the number of records that changed. Some purges are killed at a random moment and run again.

mod check;
mod dump;
mod fill;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use fastrand::Rng;
use serde_json::Value;

use self::check::Check;
use self::dump::Dump;
use self::fill::Filled;
use super::scaffold::{CampaignArgs, Part, Progress};
use gbrain_testkit::engine::Engine;

/// Arguments of `campaign purge`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign purge")]
pub struct PurgeCampaignArgs {
    /// Purges on each engine.
    #[arg(long, default_value_t = 500)]
    purges: usize,
    /// Purges of one brain.
    #[arg(long, default_value_t = 10)]
    per_brain: usize,
    /// One of so many purges is killed and run again.
    #[arg(long, default_value_t = 10)]
    kill_every: usize,
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// What to do on one engine.
#[derive(Debug, Clone)]
pub struct PurgeHunt {
    /// The program.
    pub program: PathBuf,
    /// The engine.
    pub engine: Engine,
    /// Purges.
    pub purges: usize,
    /// Purges of one brain.
    pub per_brain: usize,
    /// One of so many purges is killed and run again.
    pub kill_every: usize,
    /// The seed.
    pub seed: u64,
}

/// What a hunt did.
#[derive(Debug, Default)]
pub struct PurgeReport {
    /// Purges that were checked.
    pub purges: usize,
    /// Of them, killed before their end and run again.
    pub killed: usize,
    /// Records that lost a name.
    pub changed: usize,
    /// Records that were compared and are the same.
    pub same: usize,
    /// What should not have been.
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &PurgeCampaignArgs) -> Result<ExitCode> {
    args.campaign.each(|program, engine, seed| {
        let (purges, per_brain, kill_every) = (args.purges, args.per_brain, args.kill_every);
        let PurgeReport { purges, killed, changed, same, violations } =
            hunt(&PurgeHunt { program, engine, purges, per_brain, kill_every, seed })?;
        let figures = format!(
            "{purges} purges ({killed} killed and run again), {changed} records lost a name, {same} compared and the \
             same"
        );
        Ok(Part::new(figures, violations))
    })
}

/// Purges pages of one brain after another.
pub fn hunt(hunt: &PurgeHunt) -> Result<PurgeReport> {
    let mut rng = Rng::with_seed(hunt.seed);
    let mut report = PurgeReport::default();
    let progress = Progress::new("purges", hunt.purges);
    while report.purges < hunt.purges {
        let mut filled = Filled::new(&hunt.program, hunt.engine, &mut rng)?;
        let most = hunt.per_brain.min(hunt.purges - report.purges);
        for _ in 0..most.min(filled.pages.len()) {
            purge_one(hunt, &mut filled, &mut rng, &mut report)?;
            progress.reach(report.purges);
        }
        let verified = filled.home.run(&["reindex", "--verify"])?;
        if let Some(complaint) = verified.complaint() {
            report.violations.push(format!("reindex --verify {complaint}"));
        }
    }
    Ok(report)
}

fn purge_one(
    hunt: &PurgeHunt,
    filled: &mut Filled,
    rng: &mut Rng,
    report: &mut PurgeReport,
) -> Result<()> {
    let before = Dump::read(&filled.home)?;
    let page = filled.pages.swap_remove(rng.usize(..filled.pages.len()));
    let name = page.key.to_string();
    let args = ["purge", &name, "--yes", "--json"];
    let is_killed = hunt.kill_every > 0 && rng.usize(..hunt.kill_every) == 0;
    let first = match is_killed {
        true => {
            let after = Duration::from_millis(rng.u64(..400));
            Some(filled.home.spawn(&args, "")?.kill(after)?)
        }
        false => None,
    };
    // One that had ended before the kill is as good as any.
    let ended = first.filter(|output| output.code.is_some());
    let was_killed = is_killed && ended.is_none();
    filled.home.settle()?;
    let output = ended.map_or_else(|| filled.home.run(&args), Ok)?;
    // One that was killed may have ended: then the page is gone and there is nothing left to do.
    let is_gone = was_killed && output.code == Some(2) && output.stderr.contains("no page");
    if let Some(complaint) = output.complaint().filter(|_| !is_gone) {
        report.violations.push(format!("purge {name} {complaint}"));
        return Ok(());
    }
    let after = Dump::read(&filled.home)?;
    let counts: Option<Value> =
        if was_killed { None } else { serde_json::from_str(&output.stdout).ok() };
    let mut check = Check::new(filled, &page, &before, &after);
    check.run(counts.as_ref());
    report.purges += 1;
    report.killed += usize::from(was_killed);
    report.changed += check.changed;
    report.same += check.same;
    report.violations.extend(check.violations.into_iter().map(|one| format!("{name}: {one}")));
    Ok(())
}
