//! Stop requests and progress of a running job, shared by the worker thread and the heartbeat
//! thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::BrainError;
use gbrain_store::JobProgress;

/// Why a job stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Cancelled,
    /// Another worker holds the lease: this attempt must have no further effect.
    Lost,
    /// This process shuts down; another worker continues the job.
    Stopping,
}

/// Control block of a running job.
#[derive(Debug, Default)]
pub(super) struct JobControl {
    stop_reason: Mutex<Option<StopReason>>,
    is_stopped: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
    note: Mutex<&'static str>,
}

impl JobControl {
    /// Asks the job to stop. The first reason is kept, unless the lease is lost.
    pub(super) fn stop(&self, why: StopReason) {
        let mut stop_reason = self.stop_reason.lock().unwrap_or_else(PoisonError::into_inner);
        if stop_reason.is_none() || why == StopReason::Lost {
            *stop_reason = Some(why);
        }
        self.is_stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// The flag that is set when the job must stop.
    pub(super) fn flag(&self) -> &Arc<AtomicBool> {
        &self.is_stopped
    }

    /// Fails if the job must stop.
    pub(super) fn check_stop(&self) -> Result<(), BrainError> {
        if self.is_stopped() { Err(BrainError::Halted) } else { Ok(()) }
    }

    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        *self.stop_reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_progress(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub(super) fn add_done(&self, done: usize) {
        self.done.fetch_add(done as u64, Ordering::Relaxed);
    }

    pub(super) fn set_note(&self, note: &'static str) {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }

    pub(super) fn progress(&self) -> JobProgress {
        let total = self.total.load(Ordering::Relaxed);
        JobProgress {
            done: self.done.load(Ordering::Relaxed),
            total: (total > 0).then_some(total),
            note: (*self.note.lock().unwrap_or_else(PoisonError::into_inner)).to_owned(),
        }
    }
}
