//! The claim on a run: a job of the store under a lease, so that one process at a time runs the probe of
//! a workspace, and one that was killed does not keep the others off for longer than its lease.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::format::probe::ProbeReport;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Beat, Job, Lease, NewJob, Outcome, Progress, Run, RunKind, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

/// The kind of its jobs, and what its calls are charged for.
pub const KIND: &str = "quality_probe";
/// How often a run is begun before it is given up: the last time only tells of the others.
const ATTEMPTS: u32 = 4;
/// How often somebody's wish to stop is looked at, and how often a beat is due at most.
const GLANCE: Duration = Duration::from_millis(50);
const BEAT: Duration = Duration::from_secs(2);

/// Why a run ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// This process is to end.
    Stopped,
    /// Somebody cancelled the job.
    Cancelled,
    /// The lease ran out and another process has the job.
    Lost,
}

/// The right to run the probe of a workspace now.
pub(super) struct Claim<'a> {
    store: &'a Store,
    workspace: &'a WorkspaceId,
    job: Job,
    lease: Lease,
    length: Duration,
    /// How far it is, for whoever looks at the job.
    progress: Mutex<Progress>,
}

impl<'a> Claim<'a> {
    /// Takes it; none if another process has it.
    pub(super) fn take(
        store: &'a Store,
        workspace: &'a WorkspaceId,
        worker: &str,
        by: &str,
        length: Duration,
    ) -> Result<Option<Self>, StoreError> {
        let job = NewJob {
            kind: KIND.to_owned(),
            spec: "{}".to_owned(),
            created_by: by.to_owned(),
            max_attempts: ATTEMPTS,
            key: None,
            group: None,
        };
        let now = store.clock()?;
        let job = store.take_job(workspace, &job, worker, later(now, length), now)?;
        Ok(job.map(|job| Self {
            store,
            workspace,
            lease: Lease { worker: worker.to_owned(), attempt: job.info.attempt },
            job,
            length,
            progress: Mutex::default(),
        }))
    }

    /// The name of the run, of this attempt alone.
    pub(super) fn run_id(&self) -> String {
        format!("{}.{}", self.job.info.id, self.job.info.attempt)
    }

    /// The name of the budget, which all attempts share: a run that is begun again has what is left.
    pub(super) fn budget(&self) -> String {
        format!("{KIND}:{}", self.job.info.id)
    }

    /// How often the run was begun before, if that is too often.
    pub(super) fn is_given_up(&self) -> Option<u32> {
        let info = &self.job.info;
        (info.attempt >= info.max_attempts).then(|| info.attempt - 1)
    }

    /// Tells how far the run is.
    pub(super) fn say(&self, note: &str, done: u64, total: u64) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = Progress { done, total: Some(total), note: note.to_owned() };
    }

    /// Works while a thread beside it beats, and says why it should have stopped, if it should. `halt` is
    /// set as soon as that is known.
    pub(super) fn hold<T>(
        &self,
        stop: &AtomicBool,
        halt: &Arc<AtomicBool>,
        work: impl FnOnce() -> T,
    ) -> (T, Option<Halt>) {
        let (is_over, why) = (AtomicBool::new(false), Mutex::new(None));
        let tell = |halted| {
            let mut why = why.lock().unwrap_or_else(PoisonError::into_inner);
            // The first reason stays, unless the job is another's.
            if why.is_none() || halted == Halt::Lost {
                *why = Some(halted);
            }
            halt.store(true, Ordering::Release);
        };
        let worked = std::thread::scope(|scope| {
            // Work that panics must not leave a thread that beats for ever.
            let _over = Over(&is_over);
            scope.spawn(|| self.beat(stop, &is_over, &tell));
            work()
        });
        (worked, why.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Beats until the work is over: what was told to halt may still wait for an answer, and until it has
    /// it the job stays its own.
    fn beat(&self, stop: &AtomicBool, is_over: &AtomicBool, tell: &dyn Fn(Halt)) {
        let every = (self.length / 4).min(BEAT);
        let glance = GLANCE.min(every);
        let mut left = every;
        while !is_over.load(Ordering::Acquire) {
            if stop.load(Ordering::Acquire) {
                tell(Halt::Stopped);
            }
            std::thread::sleep(glance);
            left = left.saturating_sub(glance);
            if !left.is_zero() {
                continue;
            }
            left = every;
            match self.beat_once() {
                // The lease is longer than a hiccup of the database.
                Ok(Beat::Go) | Err(_) => (),
                Ok(Beat::Cancel) => tell(Halt::Cancelled),
                Ok(Beat::Lost) => return tell(Halt::Lost),
            }
        }
    }

    fn beat_once(&self) -> Result<Beat, StoreError> {
        let now = self.store.clock()?;
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (id, until) = (self.job.info.id, later(now, self.length));
        self.store.beat_job(self.workspace, id, &self.lease, &progress, until, now)
    }

    /// Ends the job and keeps the run: both, or neither if the job is another's by now.
    pub(super) fn finish(
        &self,
        report: &ProbeReport,
        began: Timestamp,
    ) -> Result<bool, StoreError> {
        let body = serde_json::to_string(report).expect("our values have text keys only");
        let outcome = report.event.outcome.name();
        let run = Run { id: self.run_id(), at: began, outcome: outcome.to_owned(), body };
        let done = serde_json::json!({ "run_id": run.id, "outcome": outcome });
        let (id, done) = (self.job.info.id, Outcome::Done(done.to_string()));
        // A run that was too short for a beat says how much it did all the same.
        let _ = self.beat_once();
        let made = (RunKind::QualityProbe, &run);
        let now = self.store.clock()?;
        self.store.finish_job_with_run(self.workspace, id, &self.lease, &done, made, now)
    }

    /// Ends the job without a run.
    pub(super) fn cancel(&self) -> Result<bool, StoreError> {
        let (id, now) = (self.job.info.id, self.store.clock()?);
        self.store.finish_job(self.workspace, id, &self.lease, &Outcome::Cancelled, now)
    }

    /// Gives the job back, for another process to go on with.
    pub(super) fn release(&self) -> Result<bool, StoreError> {
        let (id, now) = (self.job.info.id, self.store.clock()?);
        self.store.release_job(self.workspace, id, &self.lease, now)
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::from_secs(60));
    now.checked_add(by).unwrap_or(now)
}
