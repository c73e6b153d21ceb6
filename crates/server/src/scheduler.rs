//! The scheduler's threads, in every long-running process: queue due suites and evaluate alerts,
//! run probes, prune, deliver messages.
//!
//! Any number of processes may run it: due work is claimed in the store, so one process does it,
//! and another takes over if that one is killed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{Event, ProbeOutcome};
use gbrain_eval::autopilot::{ProbeTickResult, tick};
use gbrain_eval::probe::{KIND, ProbeStorage, Probes};
use gbrain_eval::retention::{PruneCounts, apply_retention};
use gbrain_eval::suite::{ScheduleResult, queue_due};
use gbrain_store::{Store, StoreError};

use crate::alerts::AlertTools;
use crate::telemetry::metrics::Metrics;
use crate::threads::wait_for;

pub struct SchedulerOptions {
    pub probes: Probes,
    /// How often to check for due work.
    pub every: Duration,
    pub alerts: AlertTools,
}

/// How often old rows are pruned.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);

/// One thread queues suites and evaluates alerts, one runs probes (which call models and are slow),
/// one prunes, one delivers messages.
pub(crate) struct Scheduler {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Scheduler {
    pub(crate) fn start(autopilot: SchedulerOptions, metrics: Option<Metrics>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let SchedulerOptions { probes, every, alerts } = autopilot;
        let store = probes.store.clone();
        let delivering = alerts.clone().spawn_delivery(store.clone(), &probes.worker, stop.clone());
        let kept = store.clone();
        let pruning = spawn_periodic(PRUNE_INTERVAL, &stop, move |_| prune(kept.as_ref()));
        let scheduling = spawn_periodic(every, &stop, move |_| schedule(store.as_ref(), &alerts));
        let probing =
            spawn_periodic(every, &stop, move |stop| probe(&probes, stop, metrics.as_ref()));
        Self { stop, threads: vec![scheduling, probing, pruning, delivering] }
    }

    /// Returns a function that asks the threads to stop.
    pub(crate) fn shutdown_handle(&self) -> impl Fn() + Send + use<> {
        let stop = self.stop.clone();
        let threads: Vec<Thread> =
            self.threads.iter().map(|thread| thread.thread().clone()).collect();
        move || {
            stop.store(true, Ordering::Release);
            threads.iter().for_each(Thread::unpark);
        }
    }

    /// Stops the threads and waits until `until`. Another process takes over unfinished work when
    /// its lease expires.
    pub(crate) fn stop(self, until: Instant) {
        self.shutdown_handle()();
        if wait_for(self.threads, until) > 0 {
            tracing::warn!("scheduled work did not stop in time");
        }
    }
}

/// Starts a thread that runs `work` at once and then periodically. An error or a panic in one run
/// does not end it.
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
                    tracing::warn!(%error, "due work could not be read");
                }),
                Err(_) => tracing::error!("a scheduler task panicked"),
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

/// Deletes rows past their retention.
fn prune(store: &Store) -> Vec<StoreError> {
    let mut errors = Vec::new();
    let mut tell = |workspace: &WorkspaceId, result| match result {
        Ok(pruned) if pruned == PruneCounts::default() => (),
        Ok(PruneCounts { jobs, messages, suites }) => {
            let workspace = workspace.as_str();
            let (runs, logs, events) = (suites.runs, suites.logs, suites.events);
            tracing::info!(
                workspace,
                jobs,
                messages,
                runs,
                logs,
                events,
                "rows past their retention were pruned"
            );
        }
        Err(error) => errors.push(error),
    };
    let result = store.clock().and_then(|now| apply_retention(store, now, &mut tell));
    errors.into_iter().chain(result.err()).collect()
}

fn probe(probes: &Probes, stop: &Arc<AtomicBool>, metrics: Option<&Metrics>) -> Vec<StoreError> {
    let result =
        tick(probes, stop, &mut |workspace, result| log_probe(workspace, &result, metrics));
    result.err().into_iter().collect()
}

fn log_scheduled(workspace: &WorkspaceId, scheduled: &ScheduleResult) {
    let workspace = workspace.as_str();
    match scheduled {
        ScheduleResult::Fired { suite, key, job } => {
            tracing::info!(workspace, suite, key, job, "suite run queued");
        }
        ScheduleResult::Broken { suite, why } => {
            tracing::warn!(workspace, suite, why, "cannot read suite");
        }
    }
}

fn log_probe(workspace: &WorkspaceId, result: &ProbeTickResult, metrics: Option<&Metrics>) {
    let workspace_name = workspace.as_str();
    let result = match result {
        ProbeTickResult::Ran(result) => result,
        ProbeTickResult::NotDue => return,
        ProbeTickResult::Stopped => {
            tracing::info!(workspace = workspace_name, "the quality probe was stopped");
            return;
        }
        ProbeTickResult::Broken(error) => {
            tracing::error!(workspace = workspace_name, %error, "the quality probe failed");
            return;
        }
    };
    let event = &result.event;
    let detail = event.detail.as_deref().unwrap_or_default();
    let outcome = event.outcome.name();
    if event.outcome == ProbeOutcome::Pass {
        tracing::info!(workspace = workspace_name, outcome, "quality probe");
    } else {
        tracing::warn!(workspace = workspace_name, outcome, detail, "quality probe");
    }
    if let ProbeStorage::Failed(error) = &result.storage {
        tracing::error!(workspace = workspace_name, %error, "the quality probe could not be stored");
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
