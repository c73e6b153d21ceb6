//! `campaign schedule`: two schedulers, many due runs, and kills at any moment.
//!
//! Every suite has a schedule whose last time went by while nobody looked, so each is due once. Two
//! processes look, fire and run, and are killed and started again. In the end every due run is recorded
//! once, under its key, whole; no job is left open, and no question is logged twice.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use gbrain_core::format::suite::QueryEntry;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::suite::{import_queries, run_key};
use gbrain_store::{
    CursorMove, RetrievalFilter, RetrievalOrigin, Store, SuiteRunFilter, SuiteRunInfo,
};
use gbrain_testkit::process::{Gbrain, Running};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::scaffold::{CampaignArgs, Part, Progress, Setup, keep_if_violated};
use super::violations::Violations;
use super::{HASTE, is_behind};

/// Processes that look and run.
const SCHEDULERS: usize = 2;
/// How long everything is left alone before the next kill, at most.
const CALM_MILLIS: u64 = 500;
/// The time limit of runs after the last kill.
const PATIENCE: Duration = Duration::from_secs(600);
/// Queries of a suite.
const QUERIES: usize = 5;
/// The schedule of every suite, once a week.
const CRON: &str = "0 2 * * 0";

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct SchedulePlan {
    /// Kills, on each engine.
    #[arg(long, default_value_t = 200)]
    pub kills: usize,
    /// Runs that are due.
    #[arg(long, default_value_t = 1_000)]
    pub runs: usize,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Kills while runs were open.
    pub kills: usize,
    pub recorded: usize,
    /// Runs that were begun more than once.
    pub resumed: usize,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<SchedulePlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let Report { kills, recorded, resumed, violations } = run_on_engine(setup, plan)?;
        let figures = format!(
            "{kills} kills, {recorded} of {} due runs recorded, {resumed} begun more than once",
            plan.runs
        );
        let is_enough = resumed > 0 && kills >= plan.kills;
        Ok(Part::new(figures, violations)
            .require(is_enough, "too few kills, or no run was resumed"))
    })
}

/// Kills until there were enough kills or everything is recorded, and looks what is left.
pub fn run_on_engine(setup: &Setup, plan: &SchedulePlan) -> Result<Report> {
    let (mut rng, brain) = (setup.rng(), setup.brain()?);
    let violations = Violations::default();
    violations.expect("init", &brain.run(&["init"])?);
    let workspace = WorkspaceId::default();
    prepare(&brain, &violations, &workspace, plan.runs)?;
    let mut crew = (0..SCHEDULERS).map(|_| look(&brain)).collect::<Result<Vec<_>>>()?;
    let store = brain.store()?;
    let (mut report, begun) = (Report::default(), Instant::now());
    let progress = Progress::new("due runs", plan.runs);
    let mut done = 0;
    loop {
        let is_behind = is_behind((report.kills, plan.kills), (done, plan.runs));
        let calm = if is_behind { CALM_MILLIS / u64::from(HASTE) } else { CALM_MILLIS };
        std::thread::sleep(Duration::from_millis(rng.u64(..calm)));
        done = recorded(&store, &workspace)?.len();
        progress.reach(done);
        if done >= plan.runs {
            break;
        }
        if begun.elapsed() > PATIENCE {
            violations.add(format!("runs are not over after {} s", PATIENCE.as_secs()));
            break;
        }
        if report.kills < plan.kills {
            let victim = &mut crew[rng.usize(..SCHEDULERS)];
            violations.calm("a scheduler that was killed", &victim.kill_and_wait()?);
            report.kills += 1;
            *victim = look(&brain)?;
        }
    }
    for scheduler in crew {
        scheduler.signal("TERM")?;
        violations.expect("a scheduler that was told to end", &scheduler.wait()?);
    }
    // This one looks too, and would be waited for.
    drop(store);
    brain.settle()?;
    check(&brain.store()?, &workspace, plan.runs, &violations, &mut report)?;
    report.violations = violations.into_list();
    keep_if_violated(brain, &report.violations);
    Ok(report)
}

fn look(brain: &Gbrain) -> Result<Running> {
    brain.spawn(&["worker", "--lease", "1", "--autopilot", "100ms", "--jobs", "2"], "")
}

/// Pages, queries, and suites whose time went by.
fn prepare(
    brain: &Gbrain,
    violations: &Violations,
    workspace: &WorkspaceId,
    runs: usize,
) -> Result<()> {
    for at in 0..QUERIES {
        let text = format!("The lantern number {at} stands at quay {at}.");
        let put = brain.run_with_input(&["put", &format!("notes/n{at}")], &text)?;
        violations.expect("put", &put);
    }
    let store = brain.store()?;
    let now = store.clock()?;
    let entry = |at: usize| -> Result<QueryEntry> {
        let query = json!({ "query": format!("lantern number {at} quay {at}"), "expected": [format!("notes/n{at}")] });
        Ok(serde_json::from_value(query)?)
    };
    let entries = (0..QUERIES).map(entry).collect::<Result<Vec<_>>>()?;
    import_queries(&store, workspace, entries, &Scrubber::default(), None, now)?;
    let last_week = now.checked_sub(SignedDuration::from_hours(8 * 24))?.as_millisecond();
    for at in 0..runs {
        let name = name(at);
        let patient = json!({ "all": { "latency_p95_ms": { "target": 60_000, "alert": 60_000 } } });
        let spec = json!({ "name": name, "type": "smoke", "owners": ["@a"], "triggers": [{ "cron": CRON }], "thresholds": patient });
        store.put_suite(workspace, &name, &spec.to_string(), now)?;
        store.enable_suite(workspace, &name, now)?;
        let missed = CursorMove { from: None, to: last_week };
        store.advance_cursor(workspace, &name, &format!("cron:{CRON}"), missed)?;
    }
    Ok(())
}

fn name(at: usize) -> String {
    format!("suite-{at:05}")
}

fn recorded(store: &Store, workspace: &WorkspaceId) -> Result<Vec<SuiteRunInfo>> {
    Ok(store.suite_runs(workspace, &SuiteRunFilter::default(), usize::MAX)?)
}

/// One recorded result of every due run, whole, and nothing left open.
fn check(
    store: &Store,
    workspace: &WorkspaceId,
    runs: usize,
    violations: &Violations,
    report: &mut Report,
) -> Result<()> {
    let all = recorded(store, workspace)?;
    report.recorded = all.len();
    report.resumed = all.iter().filter(|run| run.attempt > 1).count();
    let mut by_suite: BTreeMap<&str, Vec<&SuiteRunInfo>> = BTreeMap::new();
    for run in &all {
        by_suite.entry(&run.suite).or_default().push(run);
    }
    let sunday = last_sunday(store.clock()?);
    for at in 0..runs {
        let name = name(at);
        let own = by_suite.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let [run] = own else {
            violations.add(format!("{name} has {} runs", own.len()));
            continue;
        };
        let key = run_key(&name, &format!("cron:{CRON}@{sunday:.0}"));
        if run.key.as_deref() != Some(&key) || run.verdict != Verdict::Pass {
            violations.add(format!("{name}: {:?} {}, and not {key}", run.key, run.verdict));
        }
        let own = RetrievalFilter {
            traffic: Some(RetrievalOrigin::Experiment(key)),
            ..RetrievalFilter::default()
        };
        let logs = store.retrieval_logs(workspace, &own)?.len();
        if logs != QUERIES {
            violations.add(format!("{name} has {logs} logs, and not {QUERIES}"));
        }
    }
    let open = store.job_counts_of(workspace)?;
    if open.queued + open.running > 0 {
        violations.add(format!("{open:?} jobs are left"));
    }
    Ok(())
}

fn last_sunday(now: Timestamp) -> Timestamp {
    let cron: gbrain_core::suite::cron::Cron = CRON.parse().expect("it is a schedule");
    cron.until(now).expect("there was a Sunday")
}
