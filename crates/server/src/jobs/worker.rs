//! The thread that claims jobs and carries them out, and the one that beats beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_store::{Beat, Claim, Job, Lease, Outcome, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::halt::{Going, Halt};
use super::measure::Measured;
use super::{ImportFilesSpec, JOBS, RUNS, SUITES, files, import, measure, suite};
use crate::house::House;
use crate::threads::wait_for;

/// How long a worker that found nothing waits before it looks again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a job that failed for a passing reason waits, for each attempt it has had.
const BACKOFF: SignedDuration = SignedDuration::from_secs(2);

/// How long somebody who cancels a job waits for its worker to hear of it.
const BEAT: Duration = Duration::from_secs(2);

/// How jobs are worked on.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// What this worker calls itself: host and process.
    pub name: String,
    /// How long a job is its own without a beat.
    pub lease: Duration,
}

/// Threads that work until they are stopped.
pub(crate) struct Worker {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Worker {
    /// Starts so many threads.
    pub(crate) fn start(house: &Arc<House>, options: &WorkerOptions, threads: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..threads).map(|n| {
            let (house, stop) = (house.clone(), stop.clone());
            let options =
                WorkerOptions { name: format!("{}/{n}", options.name), ..options.clone() };
            std::thread::spawn(move || work(&house, &options, &stop))
        });
        let threads = threads.collect();
        Self { stop, threads }
    }

    /// Tells the threads to claim nothing more and to let go of what they have at hand.
    pub(crate) fn shutdown_handle(&self) -> impl Fn() + Send + use<> {
        let stop = self.stop.clone();
        move || stop.store(true, Ordering::Release)
    }

    /// Lets the jobs at hand go to another worker, and waits for the threads, but not for ever: a
    /// job that can't be let go in time is another's when its lease has run out.
    pub(crate) fn stop(self, until: Instant) {
        self.shutdown_handle()();
        let at_work = wait_for(self.threads, until);
        if at_work > 0 {
            tracing::warn!(jobs = at_work, "jobs could not be let go in time");
        }
    }
}

/// Works on one job after the other until told to stop.
pub(super) fn work(house: &House, options: &WorkerOptions, stop: &AtomicBool) {
    let mut last = None;
    while !stop.load(Ordering::Acquire) {
        match claim(house, options, last.clone()) {
            Ok(Some(job)) => {
                carry_out(house, options, stop, &job);
                last = Some(job.info.workspace);
            }
            Ok(None) => std::thread::sleep(PAUSE),
            Err(fault) => {
                tracing::warn!(kind = fault.kind.name(), message = %fault.message, "no job could be claimed");
                std::thread::sleep(5 * PAUSE);
            }
        }
    }
}

fn claim(
    house: &House,
    options: &WorkerOptions,
    last: Option<WorkspaceId>,
) -> Result<Option<Job>, Fault> {
    let kinds = JOBS.iter().chain(RUNS).chain(SUITES).map(|kind| (*kind).to_owned()).collect();
    let now = house.store().clock()?;
    let lease_until = later(now, options.lease);
    let claim = Claim { worker: options.name.clone(), kinds, lease_until, last };
    Ok(house.store().claim_job(&claim, now)?)
}

/// A job in the hands of this worker.
pub(super) struct Held<'a> {
    pub(super) house: &'a House,
    pub(super) job: &'a Job,
    pub(super) lease: Lease,
    pub(super) going: Arc<Going>,
}

impl Held<'_> {
    pub(super) fn workspace(&self) -> &WorkspaceId {
        &self.job.info.workspace
    }

    /// What the job is asked to do.
    pub(super) fn spec<T: serde::de::DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_str(&self.job.spec)
            .map_err(|error| Fault::usage(format!("the job can't be read: {error}")))
    }

    /// Where to go on; none for a job that nobody began.
    pub(super) fn checkpoint<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, Fault> {
        let read = self.job.checkpoint.as_deref().map(serde_json::from_str).transpose();
        read.map_err(|error| Fault::internal(format!("the checkpoint can't be read: {error}")))
    }
}

/// What came of a job.
pub(super) struct Done {
    /// What is kept of it (JSON).
    pub(super) result: String,
    /// What was measured, to be told once it is kept.
    pub(super) measured: Option<Measured>,
    /// The run of a suite, which is recorded with the job's end.
    pub(super) suite: Option<Box<SuiteRun>>,
}

impl Done {
    /// The result of a job that measures nothing.
    pub(super) fn with(result: &impl serde::Serialize) -> Result<Self, Fault> {
        let result = serde_json::to_string(result);
        let result = result.map_err(|error| Fault::internal(error.to_string()))?;
        Ok(Self { result, measured: None, suite: None })
    }
}

/// Works while a thread beside it beats; then ends the job, if it is still its own.
fn carry_out(house: &House, options: &WorkerOptions, stop: &AtomicBool, job: &Job) {
    let lease = Lease { worker: options.name.clone(), attempt: job.info.attempt };
    let held = Held { house, job, lease, going: Arc::default() };
    let is_over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| beat(&held, options, stop, &is_over));
        // A job that panics must not take the worker with it.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&held)));
        is_over.store(true, Ordering::Release);
        done.unwrap_or_else(|_| Err(Fault::internal("the job ended in a panic")))
    });
    if done.is_ok() {
        // A job too short for a beat says how much it did all the same.
        let _ = beat_once(&held, options);
    }
    if let Err(fault) = end(&held, done) {
        // The lease runs out, and another worker finds the job.
        tracing::warn!(job = job.info.id, kind = fault.kind.name(), message = %fault.message, "a job could not be ended");
    }
}

pub(super) fn run(held: &Held<'_>) -> Result<Done, Fault> {
    match held.job.info.kind.as_str() {
        "import" => import::pages(held),
        ImportFilesSpec::KIND => files::import_files(held),
        "reindex" => import::reindex(held),
        "replay" => measure::replay(held),
        "gate" => measure::gate(held),
        gbrain_eval::suite::KIND => suite::run(held),
        other => Err(Fault::usage(format!("there is no job of kind `{other}`"))),
    }
}

fn beat(held: &Held<'_>, options: &WorkerOptions, stop: &AtomicBool, is_over: &AtomicBool) {
    let every = (options.lease / 4).min(BEAT);
    let mut left = every;
    let tick = Duration::from_millis(50).min(every);
    while !is_over.load(Ordering::Acquire) {
        if stop.load(Ordering::Acquire) {
            held.going.stop(Halt::Stopping);
        }
        std::thread::sleep(tick);
        if left > tick {
            left -= tick;
            continue;
        }
        left = every;
        match beat_once(held, options) {
            Ok(Beat::Go) => (),
            Ok(Beat::Cancel) => held.going.stop(Halt::Cancelled),
            Ok(Beat::Lost) => held.going.stop(Halt::Lost),
            // The lease is longer than a hiccup of the database.
            Err(error) => tracing::warn!(job = held.job.info.id, %error, "a job could not beat"),
        }
    }
}

fn beat_once(held: &Held<'_>, options: &WorkerOptions) -> Result<Beat, StoreError> {
    let store = held.house.store();
    let now = store.clock()?;
    let (id, progress, until) =
        (held.job.info.id, held.going.progress(), later(now, options.lease));
    store.beat_job(held.workspace(), id, &held.lease, &progress, until, now)
}

/// Ends the job as it deserves. What is told of it is what was heard: a job that is another's by
/// now is lost, whatever this worker made of it.
pub(super) fn end(held: &Held<'_>, done: Result<Done, Fault>) -> Result<(), Fault> {
    let (store, ws, id, lease) =
        (held.house.store(), held.workspace(), held.job.info.id, &held.lease);
    let now = store.clock()?;
    let finish = |outcome: Outcome| store.finish_job(ws, id, lease, &outcome, now);
    if let Err(fault) = &done
        && held.going.halt().is_none()
    {
        tracing::warn!(job = id, kind = fault.kind.name(), message = %fault.message, "a job failed");
    }
    // What was done whole is done, whatever was asked for meanwhile.
    let (state, was_heard) = match (held.going.halt(), done) {
        (_, Ok(Done { result, measured, suite })) => {
            let was_heard = match suite {
                Some(run) => suite::recorded(held, &run, now)?,
                None => finish(Outcome::Done(result))?,
            };
            measured.iter().filter(|_| was_heard).for_each(|measured| measured.tell(held));
            ("done", was_heard)
        }
        (Some(Halt::Lost), Err(_)) => ("lost", false),
        (Some(Halt::Stopping), Err(_)) => ("released", store.release_job(ws, id, lease, now)?),
        (Some(Halt::Cancelled), Err(_)) => ("cancelled", finish(Outcome::Cancelled)?),
        (None, Err(fault))
            if is_passing(&fault) && held.job.info.attempt < held.job.info.max_attempts =>
        {
            let wait = BACKOFF * i32::try_from(held.job.info.attempt.min(30)).unwrap_or(30);
            let after = now.checked_add(wait).unwrap_or(now);
            let error = fault.to_json().to_string();
            ("retried", store.retry_job(ws, id, lease, &error, after, now)?)
        }
        (None, Err(fault)) => ("failed", finish(Outcome::Failed(fault.to_json().to_string()))?),
    };
    let state = if was_heard { state } else { "lost" };
    tracing::info!(job = id, job_kind = held.job.info.kind, state, "job");
    let known = JOBS.iter().chain(RUNS).chain(SUITES).find(|kind| **kind == held.job.info.kind);
    held.house.metrics().workspace(ws).job(known.copied().unwrap_or("other"), state);
    Ok(())
}

/// Whether trying again may help.
pub(super) fn is_passing(fault: &Fault) -> bool {
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
