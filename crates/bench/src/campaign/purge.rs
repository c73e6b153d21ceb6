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

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use serde_json::Value;

use self::check::Check;
use self::dump::Dump;
use self::fill::Filled;
use super::scaffold::{CampaignArgs, Part, Progress, Setup};

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct PurgePlan {
    /// Purges on each engine.
    #[arg(long, default_value_t = 500)]
    pub purges: usize,
    /// Purges of one brain.
    #[arg(long, default_value_t = 10)]
    pub per_brain: usize,
    /// One of so many purges is killed and run again.
    #[arg(long, default_value_t = 10)]
    pub kill_every: usize,
}

#[derive(Debug, Default)]
pub struct PurgeReport {
    pub purges: usize,
    /// Of them, killed before their end and run again.
    pub killed: usize,
    /// Records that lost a name.
    pub changed: usize,
    /// Records that were compared and are the same.
    pub same: usize,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<PurgePlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let PurgeReport { purges, killed, changed, same, violations } = run_on_engine(setup, plan)?;
        let figures = format!(
            "{purges} purges ({killed} killed and run again), {changed} records lost a name, {same} compared and the \
             same"
        );
        Ok(Part::new(figures, violations))
    })
}

/// Purges pages of one brain after another.
pub fn run_on_engine(setup: &Setup, plan: &PurgePlan) -> Result<PurgeReport> {
    let mut rng = setup.rng();
    let mut report = PurgeReport::default();
    let progress = Progress::new("purges", plan.purges);
    while report.purges < plan.purges {
        let mut filled = Filled::new(setup, &mut rng)?;
        let most = plan.per_brain.min(plan.purges - report.purges);
        for _ in 0..most.min(filled.pages.len()) {
            purge_one(plan, &mut filled, &mut rng, &mut report)?;
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
    plan: &PurgePlan,
    filled: &mut Filled,
    rng: &mut Rng,
    report: &mut PurgeReport,
) -> Result<()> {
    let before = Dump::read(&filled.home)?;
    let page = filled.pages.swap_remove(rng.usize(..filled.pages.len()));
    let name = page.key.to_string();
    let args = ["purge", &name, "--yes", "--json"];
    let is_killed = plan.kill_every > 0 && rng.usize(..plan.kill_every) == 0;
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
