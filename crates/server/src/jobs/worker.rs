//! Claims and runs jobs, with a heartbeat thread for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_store::{HeartbeatReply, Job, JobClaim, JobOutcome, Lease, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::control::{JobControl, StopReason};
use super::measure::MeasuredRun;
use super::{ImportFilesSpec, JOBS, RUNS, SUITES, files, import, measure, suite};
use crate::threads::wait_for;
use crate::workspace_registry::WorkspaceRegistry;

/// Wait before the next claim when no job was found.
const IDLE_WAIT: Duration = Duration::from_millis(200);
/// Wait before the retry of a job that failed temporarily, per attempt.
const BACKOFF: SignedDuration = SignedDuration::from_secs(2);

/// Longest heartbeat interval, and so the longest delay until a worker sees a cancellation.
const MAX_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Name of this worker: host and process.
    pub name: String,
    /// Lease timeout: how long a job is reserved without a heartbeat.
    pub lease: Duration,
}

/// Threads that run jobs until they are stopped.
pub(crate) struct JobWorker {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl JobWorker {
    pub(crate) fn start(
        registry: &Arc<WorkspaceRegistry>,
        options: &WorkerOptions,
        threads: usize,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..threads).map(|n| {
            let (registry, stop) = (registry.clone(), stop.clone());
            let options =
                WorkerOptions { name: format!("{}/{n}", options.name), ..options.clone() };
            std::thread::spawn(move || work(&registry, &options, &stop))
        });
        let threads = threads.collect();
        Self { stop, threads }
    }

    /// Returns a function that tells the threads to claim no more jobs and to release the running
    /// ones.
    pub(crate) fn shutdown_handle(&self) -> impl Fn() + Send + use<> {
        let stop = self.stop.clone();
        move || stop.store(true, Ordering::Release)
    }

    /// Releases the running jobs and waits for the threads until `until`. Another worker takes over
    /// a job that is not released in time when its lease expires.
    pub(crate) fn stop(self, until: Instant) {
        self.shutdown_handle()();
        let at_work = wait_for(self.threads, until);
        if at_work > 0 {
            tracing::warn!(jobs = at_work, "jobs were not released in time");
        }
    }
}

/// Runs one job after another until stopped.
pub(super) fn work(registry: &WorkspaceRegistry, options: &WorkerOptions, stop: &AtomicBool) {
    let mut last = None;
    while !stop.load(Ordering::Acquire) {
        match claim(registry, options, last.clone()) {
            Ok(Some(job)) => {
                run_claimed_job(registry, options, stop, &job);
                last = Some(job.info.workspace);
            }
            Ok(None) => std::thread::sleep(IDLE_WAIT),
            Err(fault) => {
                tracing::warn!(kind = fault.kind.name(), message = %fault.message, "cannot claim a job");
                std::thread::sleep(5 * IDLE_WAIT);
            }
        }
    }
}

fn claim(
    registry: &WorkspaceRegistry,
    options: &WorkerOptions,
    last: Option<WorkspaceId>,
) -> Result<Option<Job>, Fault> {
    let kinds = JOBS.iter().chain(RUNS).chain(SUITES).map(|kind| (*kind).to_owned()).collect();
    let now = registry.store().clock()?;
    let lease_until = later(now, options.lease);
    let claim = JobClaim { worker: options.name.clone(), kinds, lease_until, last };
    Ok(registry.store().claim_job(&claim, now)?)
}

/// A job that this worker has claimed.
pub(super) struct RunningJob<'a> {
    pub(super) registry: &'a WorkspaceRegistry,
    pub(super) job: &'a Job,
    pub(super) lease: Lease,
    pub(super) control: Arc<JobControl>,
}

impl RunningJob<'_> {
    pub(super) fn workspace(&self) -> &WorkspaceId {
        &self.job.info.workspace
    }

    /// Parses the job's specification.
    pub(super) fn spec<T: serde::de::DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_str(&self.job.spec)
            .map_err(|error| Fault::usage(format!("cannot read the job: {error}")))
    }

    /// The checkpoint of the last attempt; `None` for a job that was not started before.
    pub(super) fn checkpoint<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, Fault> {
        let read = self.job.checkpoint.as_deref().map(serde_json::from_str).transpose();
        read.map_err(|error| Fault::internal(format!("cannot read the checkpoint: {error}")))
    }
}

/// The output of a finished job.
pub(super) struct JobOutput {
    /// The stored result (JSON).
    pub(super) result: String,
    /// The measurement, to be reported once the result is stored.
    pub(super) measured: Option<MeasuredRun>,
    /// The suite run, which is recorded when the job ends.
    pub(super) suite: Option<Box<SuiteRun>>,
}

impl JobOutput {
    /// The output of a job that measures nothing.
    pub(super) fn with(result: &impl serde::Serialize) -> Result<Self, Fault> {
        let result = serde_json::to_string(result);
        let result = result.map_err(|error| Fault::internal(error.to_string()))?;
        Ok(Self { result, measured: None, suite: None })
    }
}

/// Runs a job with a heartbeat thread, then finishes it if the lease still holds.
fn run_claimed_job(
    registry: &WorkspaceRegistry,
    options: &WorkerOptions,
    stop: &AtomicBool,
    job: &Job,
) {
    let lease = Lease { worker: options.name.clone(), attempt: job.info.attempt };
    let running = RunningJob { registry, job, lease, control: Arc::default() };
    let is_over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| send_heartbeats(&running, options, stop, &is_over));
        // A panic in a job must not end the worker.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&running)));
        is_over.store(true, Ordering::Release);
        done.unwrap_or_else(|_| Err(Fault::internal("the job panicked")))
    });
    if done.is_ok() {
        // Record the progress of a job that was too short for a heartbeat.
        let _ = send_heartbeat(&running, options);
    }
    if let Err(fault) = end(&running, done) {
        // The lease expires, and another worker claims the job.
        tracing::warn!(job = job.info.id, kind = fault.kind.name(), message = %fault.message, "cannot finish a job");
    }
}

pub(super) fn run(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    match running.job.info.kind.as_str() {
        "import" => import::pages(running),
        ImportFilesSpec::KIND => files::import_files(running),
        "reindex" => import::reindex(running),
        "replay" => measure::replay(running),
        "gate" => measure::gate(running),
        gbrain_eval::suite::KIND => suite::run(running),
        other => Err(Fault::usage(format!("there is no job of kind `{other}`"))),
    }
}

fn send_heartbeats(
    running: &RunningJob<'_>,
    options: &WorkerOptions,
    stop: &AtomicBool,
    is_over: &AtomicBool,
) {
    let every = (options.lease / 4).min(MAX_HEARTBEAT_INTERVAL);
    let mut left = every;
    let tick = Duration::from_millis(50).min(every);
    while !is_over.load(Ordering::Acquire) {
        if stop.load(Ordering::Acquire) {
            running.control.stop(StopReason::Stopping);
        }
        std::thread::sleep(tick);
        if left > tick {
            left -= tick;
            continue;
        }
        left = every;
        match send_heartbeat(running, options) {
            Ok(HeartbeatReply::Continue) => (),
            Ok(HeartbeatReply::Cancel) => running.control.stop(StopReason::Cancelled),
            Ok(HeartbeatReply::Lost) => running.control.stop(StopReason::Lost),
            // The lease outlasts a short database outage.
            Err(error) => tracing::warn!(job = running.job.info.id, %error, "a heartbeat failed"),
        }
    }
}

fn send_heartbeat(
    running: &RunningJob<'_>,
    options: &WorkerOptions,
) -> Result<HeartbeatReply, StoreError> {
    let store = running.registry.store();
    let now = store.clock()?;
    let (id, progress, until) =
        (running.job.info.id, running.control.progress(), later(now, options.lease));
    store.heartbeat_job(running.workspace(), id, &running.lease, &progress, until, now)
}

/// Finishes the job. Metrics and traces report what the store accepted: a job that another worker
/// holds by now is lost, even if it succeeded here.
pub(super) fn end(running: &RunningJob<'_>, done: Result<JobOutput, Fault>) -> Result<(), Fault> {
    let (store, ws, id, lease) =
        (running.registry.store(), running.workspace(), running.job.info.id, &running.lease);
    let now = store.clock()?;
    let finish = |outcome: JobOutcome| store.finish_job(ws, id, lease, &outcome, now);
    if let Err(fault) = &done
        && running.control.stop_reason().is_none()
    {
        tracing::warn!(job = id, kind = fault.kind.name(), message = %fault.message, "a job failed");
    }
    // A completed job is done, even if a stop was requested meanwhile.
    let (state, is_stored) = match (running.control.stop_reason(), done) {
        (_, Ok(JobOutput { result, measured, suite })) => {
            let is_stored = match suite {
                Some(run) => suite::recorded(running, &run, now)?,
                None => finish(JobOutcome::Done(result))?,
            };
            measured.iter().filter(|_| is_stored).for_each(|measured| measured.publish(running));
            ("done", is_stored)
        }
        (Some(StopReason::Lost), Err(_)) => ("lost", false),
        (Some(StopReason::Stopping), Err(_)) => {
            ("released", store.release_job(ws, id, lease, now)?)
        }
        (Some(StopReason::Cancelled), Err(_)) => ("cancelled", finish(JobOutcome::Cancelled)?),
        (None, Err(fault))
            if is_temporary(&fault) && running.job.info.attempt < running.job.info.max_attempts =>
        {
            let wait = BACKOFF * i32::try_from(running.job.info.attempt.min(30)).unwrap_or(30);
            let after = now.checked_add(wait).unwrap_or(now);
            let error = fault.to_json().to_string();
            ("retried", store.retry_job(ws, id, lease, &error, after, now)?)
        }
        (None, Err(fault)) => ("failed", finish(JobOutcome::Failed(fault.to_json().to_string()))?),
    };
    let state = if is_stored { state } else { "lost" };
    tracing::info!(job = id, job_kind = running.job.info.kind, state, "job");
    let known = JOBS.iter().chain(RUNS).chain(SUITES).find(|kind| **kind == running.job.info.kind);
    running.registry.metrics().workspace(ws).job(known.copied().unwrap_or("other"), state);
    Ok(())
}

/// Whether a retry may help.
pub(super) fn is_temporary(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        FaultKind::Busy
            | FaultKind::Store
            | FaultKind::Unavailable
            | FaultKind::Unreachable
            | FaultKind::Index
            | FaultKind::Io
    )
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::from_secs(60));
    now.checked_add(by).unwrap_or(now)
}
