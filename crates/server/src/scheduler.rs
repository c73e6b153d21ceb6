//! The threads of the scheduler, in every process that is left running: queue due suites and evaluate alerts, run
//! probes, prune, deliver messages.
//!
//! Any number of processes may run one: due work is claimed in the store, so one of them does it, and another goes on
//! if that one is killed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{Event, ProbeOutcome};
use gbrain_eval::autopilot::{Tended, tick};
use gbrain_eval::keep::{LetGo, let_go};
use gbrain_eval::probe::{KIND, Kept, Probes};
use gbrain_eval::suite::{Scheduled, queue_due};
use gbrain_store::{Store, StoreError};

use crate::alerts::AlertTools;
use crate::telemetry::metrics::Metrics;
use crate::threads::wait_for;

/// What the scheduler needs, and how often it checks for due work.
pub struct Autopilot {
    /// The probes of all workspaces.
    pub probes: Probes,
    /// From one look to the next.
    pub every: Duration,
    /// What alerts are raised and sent with.
    pub alerts: AlertTools,
}

/// How often old rows are pruned.
const HOUR: Duration = Duration::from_secs(3600);

/// The threads: one queues and evaluates, one runs probes, which ask models and take their time, one prunes, one
/// delivers.
pub(crate) struct Scheduler {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Scheduler {
    pub(crate) fn start(autopilot: Autopilot, metrics: Option<Metrics>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let Autopilot { probes, every, alerts } = autopilot;
        let store = probes.store.clone();
        let delivering = alerts.clone().spawn_delivery(store.clone(), &probes.worker, stop.clone());
        let kept = store.clone();
        let pruning = spawn_periodic(HOUR, &stop, move |_| prune(kept.as_ref()));
        let scheduling = spawn_periodic(every, &stop, move |_| schedule(store.as_ref(), &alerts));
        let probing =
            spawn_periodic(every, &stop, move |stop| probe(&probes, stop, metrics.as_ref()));
        Self { stop, threads: vec![scheduling, probing, pruning, delivering] }
    }

    /// A handle that asks the threads to stop.
    pub(crate) fn shutdown_handle(&self) -> impl Fn() + Send + use<> {
        let stop = self.stop.clone();
        let threads: Vec<Thread> =
            self.threads.iter().map(|thread| thread.thread().clone()).collect();
        move || {
            stop.store(true, Ordering::Release);
            threads.iter().for_each(Thread::unpark);
        }
    }

    /// Stops the threads, and waits, but not for ever: work that does not end in time is another process's when its
    /// lease has run out.
    pub(crate) fn stop(self, until: Instant) {
        self.shutdown_handle()();
        if wait_for(self.threads, until) > 0 {
            tracing::warn!("what was under way could not be let go in time");
        }
    }
}

/// A thread that works at once and then periodically. An error or a panic in one turn does not end it.
fn spawn_periodic(
    every: Duration,
    stop: &Arc<AtomicBool>,
    work: impl Fn(&Arc<AtomicBool>) -> Vec<StoreError> + Send + 'static,
) -> JoinHandle<()> {
    let stop = stop.clone();
    std::thread::spawn(move || {
        while !stop.load(Ordering::Acquire) {
            match catch_unwind(AssertUnwindSafe(|| work(&stop))) {
                Ok(errors) => errors.iter().for_each(|error| {
                    tracing::warn!(%error, "what is due could not be looked up");
                }),
                Err(_) => tracing::error!("looking what is due ended in a panic"),
            }
            // The shutdown handle wakes it.
            std::thread::park_timeout(every);
        }
    })
}

/// Queues the runs of suites that are due, then evaluates alerts.
fn schedule(store: &Store, alerts: &AlertTools) -> Vec<StoreError> {
    let fired = store.clock().and_then(|now| {
        queue_due(store, now, &mut |workspace, scheduled| log_scheduled(workspace, &scheduled))
    });
    let raised = store.clock().and_then(|now| alerts.evaluate_all(store, now));
    [fired.err(), raised.err()].into_iter().flatten().collect()
}

/// Erases rows past their retention.
fn prune(store: &Store) -> Vec<StoreError> {
    let mut errors = Vec::new();
    let mut tell = |workspace: &WorkspaceId, let_go| match let_go {
        Ok(gone) if gone == LetGo::default() => (),
        Ok(LetGo { jobs, messages, suites }) => {
            let workspace = workspace.as_str();
            let (runs, logs, events) = (suites.runs, suites.logs, suites.events);
            tracing::info!(workspace, jobs, messages, runs, logs, events, "old things are erased");
        }
        Err(error) => errors.push(error),
    };
    let looked = store.clock().and_then(|now| let_go(store, now, &mut tell));
    errors.into_iter().chain(looked.err()).collect()
}

fn probe(probes: &Probes, stop: &Arc<AtomicBool>, metrics: Option<&Metrics>) -> Vec<StoreError> {
    let looked =
        tick(probes, stop, &mut |workspace, tended| log_probe(workspace, &tended, metrics));
    looked.err().into_iter().collect()
}

fn log_scheduled(workspace: &WorkspaceId, scheduled: &Scheduled) {
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

fn log_probe(workspace: &WorkspaceId, tended: &Tended, metrics: Option<&Metrics>) {
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
