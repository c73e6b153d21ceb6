//! The thread that claims jobs and carries them out, and the one that beats beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gbrain_core::fault::Fault;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Beat, Claim, Job, Lease, Outcome};
use jiff::{SignedDuration, Timestamp};

use super::halt::{Going, Halt};
use super::{ImportFilesSpec, JOBS, RUNS, import, measure};
use crate::house::House;

/// How long a worker that found nothing waits before it looks again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a job that failed for a passing reason waits, for each attempt it has had.
const BACKOFF: SignedDuration = SignedDuration::from_secs(2);

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

    /// Lets the jobs at hand go to another worker, and waits for the threads.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads {
            // A thread that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// Works on one job after the other until told to stop.
pub(super) fn work(house: &House, options: &WorkerOptions, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        match claim(house, options) {
            Ok(Some(job)) => carry_out(house, options, stop, &job),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(fault) => {
                tracing::warn!(kind = fault.kind, message = %fault.message, "no job could be claimed");
                std::thread::sleep(5 * PAUSE);
            }
        }
    }
}

fn claim(house: &House, options: &WorkerOptions) -> Result<Option<Job>, Fault> {
    let kinds = JOBS.iter().chain(RUNS).map(|kind| (*kind).to_owned()).collect();
    let now = Timestamp::now();
    let claim = Claim {
        worker: options.name.clone(),
        kinds,
        lease_until: later(now, options.lease),
        last: None,
    };
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
    if let Err(fault) = end(&held, done) {
        // The lease runs out, and another worker finds the job.
        tracing::warn!(job = job.info.id, kind = fault.kind, message = %fault.message, "a job could not be ended");
    }
}

fn run(held: &Held<'_>) -> Result<String, Fault> {
    match held.job.info.kind.as_str() {
        "import" => import::pages(held),
        ImportFilesSpec::KIND => import::files(held),
        "reindex" => import::reindex(held),
        "replay" => measure::replay(held),
        "gate" => measure::gate(held),
        other => Err(Fault::usage(format!("there is no job of kind `{other}`"))),
    }
}

fn beat(held: &Held<'_>, options: &WorkerOptions, stop: &AtomicBool, is_over: &AtomicBool) {
    let every = options.lease / 4;
    let mut left = every;
    let tick = Duration::from_millis(50).min(every);
    while !is_over.load(Ordering::Acquire) {
        if stop.load(Ordering::Acquire) {
            held.going.stop(Halt::Stopping);
        }
        if left > tick {
            left -= tick;
            std::thread::sleep(tick);
            continue;
        }
        left = every;
        std::thread::sleep(tick);
        let now = Timestamp::now();
        let until = later(now, options.lease);
        let progress = held.going.progress();
        let store = held.house.store();
        match store.beat_job(held.workspace(), held.job.info.id, &held.lease, &progress, until, now)
        {
            Ok(Beat::Go) => (),
            Ok(Beat::Cancel) => held.going.stop(Halt::Cancelled),
            Ok(Beat::Lost) => held.going.stop(Halt::Lost),
            // The lease is longer than a hiccup of the database.
            Err(error) => tracing::warn!(job = held.job.info.id, %error, "a job could not beat"),
        }
    }
}

/// Ends the job as it deserves.
fn end(held: &Held<'_>, done: Result<String, Fault>) -> Result<(), Fault> {
    let (store, ws, id, lease) =
        (held.house.store(), held.workspace(), held.job.info.id, &held.lease);
    let now = Timestamp::now();
    // What was done whole is done, whatever was asked for meanwhile.
    let state = match (held.going.halt(), done) {
        (_, Ok(result)) => {
            store.finish_job(ws, id, lease, &Outcome::Done(result), now)?;
            "done"
        }
        (Some(Halt::Lost), Err(_)) => "lost",
        (Some(Halt::Stopping), Err(_)) => {
            store.release_job(ws, id, lease, now)?;
            "released"
        }
        (Some(Halt::Cancelled), Err(_)) => {
            store.finish_job(ws, id, lease, &Outcome::Cancelled, now)?;
            "cancelled"
        }
        (None, Err(fault))
            if is_passing(&fault) && held.job.info.attempt < held.job.info.max_attempts =>
        {
            let wait = BACKOFF * i32::try_from(held.job.info.attempt.min(30)).unwrap_or(30);
            let after = now.checked_add(wait).unwrap_or(now);
            store.retry_job(ws, id, lease, &fault.to_json().to_string(), after, now)?;
            "retried"
        }
        (None, Err(fault)) => {
            store.finish_job(ws, id, lease, &Outcome::Failed(fault.to_json().to_string()), now)?;
            "failed"
        }
    };
    tracing::info!(job = id, job_kind = held.job.info.kind, state, "job");
    let known = JOBS.iter().chain(RUNS).find(|kind| **kind == held.job.info.kind);
    held.house.metrics().workspace(ws).job(known.copied().unwrap_or("other"), state);
    Ok(())
}

/// Whether trying again may help.
fn is_passing(fault: &Fault) -> bool {
    matches!(fault.kind, "busy" | "store" | "unavailable" | "index" | "io")
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::from_secs(60));
    now.checked_add(by).unwrap_or(now)
}
