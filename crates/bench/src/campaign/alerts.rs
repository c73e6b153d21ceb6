//! `campaign alerts`: many alerts, a receiver that is down for a while, and senders killed at any moment.
//!
//! Suites fail and recover in turn, so every recorded run is a message to each of two channels, a signed
//! webhook and PagerDuty's events. Two processes look and send. With kills, every message arrives at least once,
//! always the same under its name, in the order of its key; without kills, though the receiver was
//! down for a while, exactly once.

mod check;
mod runs;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use gbrain_core::id::WorkspaceId;
use gbrain_store::Store;
use gbrain_testkit::process::{Gbrain, Running};
use gbrain_testkit::receivers::{Receivers, Refusal};
use serde_json::json;

use super::scaffold::{CampaignArgs, Part, Progress, Setup, keep_if_violated, seconds};
use super::violations::Violations;
use super::{HASTE, is_behind};

/// Processes that look and send.
const SENDERS: usize = 2;
const CHANNELS: usize = 2;
/// How often a suite fails and recovers, together.
const ROUNDS: usize = 10;
/// The secret that webhooks are signed with.
const SECRET: &str = "hook-secret";
/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(1_200);
/// The minimum time without a kill.
const CALM: Duration = Duration::from_millis(400);

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct AlertsPlan {
    /// Kills, on each engine; without any every message must arrive exactly once.
    #[arg(long, default_value_t = 100)]
    pub kills: usize,
    /// Messages that must arrive.
    #[arg(long, default_value_t = 10_000)]
    pub alerts: usize,
    /// How many seconds the receiver is down.
    #[arg(long, default_value = "15", value_parser = seconds)]
    pub down: Duration,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Kills while messages were queued.
    pub kills: usize,
    /// Messages that arrived, each counted once.
    pub arrived: usize,
    /// Messages that came again.
    pub again: usize,
    /// Messages that were turned away while the receiver was down.
    pub turned_away: u64,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for: with kills, then without.
pub fn run(args: &CampaignArgs<AlertsPlan>) -> Result<ExitCode> {
    let calm = AlertsPlan { kills: 0, ..args.plan.clone() };
    args.each_of(&[("with kills", &args.plan), ("without kills", &calm)], |setup, plan| {
        let Report { kills, arrived, again, turned_away, violations } = run_on_engine(setup, plan)?;
        let figures = format!(
            "{kills} kills, {arrived} of {} messages arrived, {again} came again, {turned_away} turned away while the \
             receiver was down for {} s",
            plan.alerts,
            plan.down.as_secs()
        );
        let is_enough = kills >= plan.kills && turned_away > 0;
        let shortfall = "too few kills, or no message was turned away";
        Ok(Part::new(figures, violations).require(is_enough, shortfall))
    })
}

/// A receiver that is down at times.
struct Site {
    receivers: Receivers,
    is_down: Arc<AtomicBool>,
    turned_away: Arc<AtomicU64>,
}

impl Site {
    fn open() -> Result<Self> {
        let (is_down, turned_away) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (down, counted) = (is_down.clone(), turned_away.clone());
        let receivers = Receivers::start_with(move |number, _| {
            if !down.load(Ordering::SeqCst) {
                return Refusal::None;
            }
            counted.fetch_add(1, Ordering::SeqCst);
            if number.is_multiple_of(2) { Refusal::Close } else { Refusal::Status(503, None) }
        })?;
        Ok(Self { receivers, is_down, turned_away })
    }
}

/// Records runs, kills until there were enough kills, waits until everything was sent, and looks what came.
pub fn run_on_engine(setup: &Setup, plan: &AlertsPlan) -> Result<Report> {
    let brain = setup.brain()?;
    let violations = Violations::default();
    violations.expect("init", &brain.run(&["init"])?);
    let site = Site::open()?;
    let channels = json!({ "channels": {
        "hook": { "kind": "webhook", "url": site.receivers.url("/hook"), "secret_env": "CAMPAIGN_HOOK" },
        "pager": { "kind": "pagerduty", "url": site.receivers.url("/pagerduty"), "routing_key_env": "CAMPAIGN_PD" },
    } });
    // JSON is YAML, too.
    std::fs::write(brain.home().join("suites.yaml"), channels.to_string())?;
    let suites = plan.alerts.div_ceil(CHANNELS * ROUNDS);
    let mut report = Report::default();
    let is_recorded = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let recording = scope.spawn(|| {
            let done = brain.store().and_then(|store| runs::record(&store, suites, ROUNDS));
            is_recorded.store(true, Ordering::SeqCst);
            done
        });
        let done =
            conduct(setup.rng(), plan, &brain, &site, &violations, &is_recorded, &mut report);
        recording.join().map_err(|_| anyhow::anyhow!("recording ended in a panic"))??;
        done
    })?;
    brain.settle()?;
    report.turned_away = site.turned_away.load(Ordering::SeqCst);
    let taken = site.receivers.taken();
    check::check(&taken, suites, ROUNDS, SECRET, &violations, &mut report);
    check::nothing_is_left(&brain.store()?, &violations)?;
    if plan.kills == 0 && report.again > 0 {
        violations.add(format!("{} messages came again, and nobody was killed", report.again));
    }
    report.violations = violations.into_list();
    keep_if_violated(brain, &report.violations);
    Ok(report)
}

fn sender(brain: &Gbrain, kills: usize) -> Result<Running> {
    // A lease is waited for after each kill; where nobody is killed, no timeout may be mistaken for one.
    let lease = if kills > 0 { "6" } else { "60" };
    let mut command =
        brain.command(&["autopilot", "--interval", "100ms", "--lease", lease, "--log", "error"]);
    command.env("CAMPAIGN_HOOK", SECRET).env("CAMPAIGN_PD", "routing-key");
    Running::start(command, "")
}

fn conduct(
    mut rng: Rng,
    plan: &AlertsPlan,
    brain: &Gbrain,
    site: &Site,
    violations: &Violations,
    is_recorded: &AtomicBool,
    report: &mut Report,
) -> Result<()> {
    let mut crew = (0..SENDERS).map(|_| sender(brain, plan.kills)).collect::<Result<Vec<_>>>()?;
    let store = brain.store()?;
    let begun = Instant::now();
    let (mut down_until, mut downs) = (None::<Instant>, 0);
    let (mut next_kill, mut last_kill) = (0, Instant::now());
    let progress = Progress::new("messages", plan.alerts);
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let arrived = site.receivers.count();
        progress.reach(arrived);
        if is_recorded.load(Ordering::SeqCst) && arrived >= plan.alerts && is_over(&store)? {
            break;
        }
        if begun.elapsed() > PATIENCE {
            violations.add(format!("messages are not over after {} s", PATIENCE.as_secs()));
            break;
        }
        // Down at a fifth and at three fifths of the way.
        if down_until.is_some_and(|until| Instant::now() >= until) {
            (down_until, downs) = (None, downs + 1);
            site.is_down.store(false, Ordering::SeqCst);
        } else if down_until.is_none() && downs < 2 && arrived * 5 >= plan.alerts * (1 + 2 * downs)
        {
            down_until = Some(Instant::now() + plan.down / 2);
            site.is_down.store(true, Ordering::SeqCst);
        }
        let is_time = arrived >= next_kill || last_kill.elapsed() > CALM * 5;
        let is_behind = is_behind((report.kills, plan.kills), (arrived, plan.alerts));
        let calm = if is_behind { CALM / HASTE } else { CALM };
        if report.kills < plan.kills && is_time && last_kill.elapsed() > calm {
            let victim = &mut crew[rng.usize(..SENDERS)];
            violations.calm("a sender that was killed", &victim.kill_and_wait()?);
            *victim = sender(brain, plan.kills)?;
            report.kills += 1;
            next_kill = arrived + rng.usize(..=2 * plan.alerts / plan.kills.max(1));
            last_kill = Instant::now();
        }
    }
    for sender in crew {
        sender.signal("TERM")?;
        violations.expect("a sender that was told to end", &sender.wait()?);
    }
    Ok(())
}

/// Whether every run was looked at and every message sent.
fn is_over(store: &Store) -> Result<bool> {
    let workspace = WorkspaceId::default();
    let cursor = store.alert_board(&workspace)?.cursor;
    let is_seen = store.suite_runs_after(&workspace, cursor.run, 1)?.is_empty();
    Ok(is_seen && store.delivery_counts(&workspace)?.queued == 0)
}
