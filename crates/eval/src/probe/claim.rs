//! The claim on a run: a job of the store under a lease, so that one process at a time runs the
//! probe of a workspace, and a killed process blocks the others only until its lease ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::format::probe::ProbeReport;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{
    HeartbeatReply, Job, JobOutcome, JobProgress, JudgingRun, Lease, NewJob, RunKind, Store,
    StoreError,
};
use jiff::{SignedDuration, Timestamp};

/// The kind of the probe's jobs, and the purpose of its charges.
pub const KIND: &str = "quality_probe";
/// Maximum number of attempts; the last one only reports that the others were killed.
const ATTEMPTS: u32 = 4;
/// How often the stop flag is checked, and the longest time between heartbeats.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// This process is shutting down.
    Stopped,
    Cancelled,
    /// The lease expired and another process took the job.
    Lost,
}

/// The exclusive right to run the probe of a workspace.
pub(super) struct Claim<'a> {
    store: &'a Store,
    workspace: &'a WorkspaceId,
    job: Job,
    lease: Lease,
    length: Duration,
    /// The progress shown with the job.
    progress: Mutex<JobProgress>,
}

impl<'a> Claim<'a> {
    /// Takes the claim; `None` if another process has it.
    pub(super) fn take(
        store: &'a Store,
        workspace: &'a WorkspaceId,
        worker: &str,
        initiator: &str,
        length: Duration,
    ) -> Result<Option<Self>, StoreError> {
        let job = NewJob {
            kind: KIND.to_owned(),
            spec: "{}".to_owned(),
            created_by: initiator.to_owned(),
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

    /// The id of this attempt.
    pub(super) fn run_id(&self) -> String {
        format!("{}.{}", self.job.info.id, self.job.info.attempt)
    }

    /// The name of the budget, which all attempts share: a retry has what is left of it.
    pub(super) fn budget(&self) -> String {
        format!("{KIND}:{}", self.job.info.id)
    }

    /// The number of earlier attempts, if they are used up.
    pub(super) fn is_given_up(&self) -> Option<u32> {
        let info = &self.job.info;
        (info.attempt >= info.max_attempts).then(|| info.attempt - 1)
    }

    /// Sets the progress that the next heartbeat reports.
    pub(super) fn set_progress(&self, note: &str, done: u64, total: u64) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = JobProgress { done, total: Some(total), note: note.to_owned() };
    }

    /// Runs the work while another thread sends heartbeats. Returns the cause if the work should
    /// have stopped, and sets `halt` as soon as it is known.
    pub(super) fn hold<T>(
        &self,
        stop: &AtomicBool,
        halt: &Arc<AtomicBool>,
        work: impl FnOnce() -> T,
    ) -> (T, Option<StopCause>) {
        let (is_done, why) = (AtomicBool::new(false), Mutex::new(None));
        let halt_for = |cause| {
            let mut why = why.lock().unwrap_or_else(PoisonError::into_inner);
            // The first cause is kept, unless the lease was lost.
            if why.is_none() || cause == StopCause::Lost {
                *why = Some(cause);
            }
            halt.store(true, Ordering::Release);
        };
        let result = std::thread::scope(|scope| {
            // Ends the heartbeat thread even if the work panics.
            let _guard = DoneGuard(&is_done);
            scope.spawn(|| self.run_heartbeat(stop, &is_done, &halt_for));
            work()
        });
        (result, why.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends heartbeats until the work is done. Halted work may still wait for a reply, and keeps
    /// its lease until then.
    fn run_heartbeat(&self, stop: &AtomicBool, is_done: &AtomicBool, halt_for: &dyn Fn(StopCause)) {
        let every = (self.length / 4).min(MAX_HEARTBEAT_INTERVAL);
        let poll = POLL_INTERVAL.min(every);
        let mut left = every;
        while !is_done.load(Ordering::Acquire) {
            if stop.load(Ordering::Acquire) {
                halt_for(StopCause::Stopped);
            }
            std::thread::sleep(poll);
            left = left.saturating_sub(poll);
            if !left.is_zero() {
                continue;
            }
            left = every;
            match self.send_heartbeat() {
                // The lease outlasts a brief database error.
                Ok(HeartbeatReply::Continue) | Err(_) => (),
                Ok(HeartbeatReply::Cancel) => halt_for(StopCause::Cancelled),
                Ok(HeartbeatReply::Lost) => return halt_for(StopCause::Lost),
            }
        }
    }

    fn send_heartbeat(&self) -> Result<HeartbeatReply, StoreError> {
        let now = self.store.clock()?;
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (id, until) = (self.job.info.id, later(now, self.length));
        self.store.heartbeat_job(self.workspace, id, &self.lease, &progress, until, now)
    }

    /// Finishes the job and stores the run in one transaction; `false` if the lease was lost.
    pub(super) fn finish(
        &self,
        report: &ProbeReport,
        began: Timestamp,
    ) -> Result<bool, StoreError> {
        let body = serde_json::to_string(report).expect("our values have text keys only");
        let outcome = report.event.outcome.name();
        let run = JudgingRun { id: self.run_id(), at: began, outcome: outcome.to_owned(), body };
        let done = serde_json::json!({ "run_id": run.id, "outcome": outcome });
        let (id, done) = (self.job.info.id, JobOutcome::Done(done.to_string()));
        // A run shorter than the heartbeat interval still reports its progress.
        let _ = self.send_heartbeat();
        let row = (RunKind::QualityProbe, &run);
        let now = self.store.clock()?;
        self.store.finish_job_with_run(self.workspace, id, &self.lease, &done, row, now)
    }

    /// Cancels the job without storing a run.
    pub(super) fn cancel(&self) -> Result<bool, StoreError> {
        let (id, now) = (self.job.info.id, self.store.clock()?);
        self.store.finish_job(self.workspace, id, &self.lease, &JobOutcome::Cancelled, now)
    }

    /// Releases the job, so that another process can continue it.
    pub(super) fn release(&self) -> Result<bool, StoreError> {
        let (id, now) = (self.job.info.id, self.store.clock()?);
        self.store.release_job(self.workspace, id, &self.lease, now)
    }
}

struct DoneGuard<'a>(&'a AtomicBool);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::from_secs(60));
    now.checked_add(by).unwrap_or(now)
}
