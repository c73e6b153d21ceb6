//! The threads that look what is due and send what is queued, in every process that is left running.
//!
//! Any number of processes may look: what is due is claimed in the store, so one of them does it, and
//! another goes on if that one is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{Event, ProbeOutcome};
use gbrain_eval::autopilot::{Tended, tick};
use gbrain_eval::probe::{KIND, Kept, Probes};
use gbrain_eval::suite::{Scheduled, schedule};

use crate::alerts::AlertTools;
use crate::telemetry::metrics::Metrics;
use crate::threads::wait_for;

/// What is looked after, and how often.
pub struct Autopilot {
    /// The probes of all workspaces.
    pub probes: Probes,
    /// From one look to the next.
    pub every: Duration,
    /// What alerts are raised and sent with.
    pub alerts: AlertTools,
}

/// A thread that looks until it is stopped.
pub(crate) struct Pilot {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
    sender: std::thread::JoinHandle<()>,
}

impl Pilot {
    /// Starts looking, at once and then now and then.
    pub(crate) fn start(autopilot: Autopilot, metrics: Option<Metrics>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let Probes { store, worker, .. } = &autopilot.probes;
        let sender = autopilot.alerts.clone().sender(store.clone(), worker, stop.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                look(&autopilot, &stopped, metrics.as_ref());
                // Whoever stops it wakes it.
                std::thread::park_timeout(autopilot.every);
            }
        });
        Self { stop, thread, sender }
    }

    /// Tells the threads to let go of what it has at hand.
    pub(crate) fn teller(&self) -> impl Fn() + Send + use<> {
        let stop = self.stop.clone();
        let threads = [&self.thread, &self.sender].map(|thread| thread.thread().clone());
        move || {
            stop.store(true, Ordering::Release);
            threads.iter().for_each(Thread::unpark);
        }
    }

    /// Stops it, and waits, but not for ever: what can't be let go in time is another's when its lease has
    /// run out.
    pub(crate) fn stop(self, until: Instant) {
        self.teller()();
        if wait_for(vec![self.thread, self.sender], until) > 0 {
            tracing::warn!("what was under way could not be let go in time");
        }
    }
}

fn look(autopilot: &Autopilot, stop: &Arc<AtomicBool>, metrics: Option<&Metrics>) {
    let Autopilot { probes, every: _, alerts } = autopilot;
    // Suites first: looking at them only queues what is due.
    let fired = probes.store.clock().and_then(|now| {
        schedule(probes.store.as_ref(), now, &mut |workspace, scheduled| {
            fire(workspace, &scheduled)
        })
    });
    let raised = probes.store.clock();
    let raised = raised.and_then(|now| alerts.look_at_all(probes.store.as_ref(), now));
    let looked = tick(probes, stop, &mut |workspace, tended| tell(workspace, &tended, metrics));
    for error in [fired.err(), raised.err(), looked.err()].into_iter().flatten() {
        tracing::warn!(%error, "what is due could not be looked up");
    }
}

fn fire(workspace: &WorkspaceId, scheduled: &Scheduled) {
    let workspace = workspace.as_str();
    match scheduled {
        Scheduled::Fired { suite, key, job } => {
            tracing::info!(workspace, suite, key, job, "a suite is due");
        }
        Scheduled::Broken { suite, why } => {
            tracing::warn!(workspace, suite, why, "a suite can't be read");
        }
    }
}

fn tell(workspace: &WorkspaceId, tended: &Tended, metrics: Option<&Metrics>) {
    let workspace_name = workspace.as_str();
    let probed = match tended {
        Tended::Probed(probed) => probed,
        Tended::NotDue => return,
        Tended::Stopped => {
            tracing::info!(workspace = workspace_name, "the quality probe was stopped");
            return;
        }
        Tended::Broken(error) => {
            tracing::error!(workspace = workspace_name, %error, "the quality probe broke");
            return;
        }
    };
    let event = &probed.event;
    let detail = event.detail.as_deref().unwrap_or_default();
    let outcome = event.outcome.name();
    if event.outcome == ProbeOutcome::Pass {
        tracing::info!(workspace = workspace_name, outcome, "quality probe");
    } else {
        tracing::warn!(workspace = workspace_name, outcome, detail, "quality probe");
    }
    if let Kept::Failed(error) = &probed.kept {
        tracing::error!(workspace = workspace_name, %error, "a quality probe could not be kept");
    }
    if let Some(metrics) = metrics {
        count(workspace, event, metrics);
    }
}

fn count(workspace: &WorkspaceId, event: &Event, metrics: &Metrics) {
    let Event { pass, fail, inconclusive, error, .. } = event;
    let metrics = metrics.workspace(workspace);
    metrics.run_finished(KIND, (pass + fail + inconclusive + error) as u64, event.at.into());
    let verdict = match event.outcome {
        ProbeOutcome::Pass => Verdict::Pass,
        ProbeOutcome::Fail => Verdict::Fail,
        _ => Verdict::Inconclusive,
    };
    metrics.verdict(KIND, verdict);
}
