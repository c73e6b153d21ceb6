//! Whether a job must stop, and how far it is: what the thread that works and the thread that
//! beats tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::BrainError;
use gbrain_store::Progress;

/// Why a job stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// Somebody wants it cancelled.
    Cancelled,
    /// The lease is another's: nothing of this attempt may happen any more.
    Lost,
    /// This process ends: another goes on.
    Stopping,
}

/// A job at work.
#[derive(Debug, Default)]
pub(super) struct Going {
    halt: Mutex<Option<Halt>>,
    is_halted: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
    note: Mutex<&'static str>,
}

impl Going {
    /// Asks the job to stop. The first reason stays, unless the lease is lost.
    pub(super) fn stop(&self, why: Halt) {
        let mut halt = self.halt.lock().unwrap_or_else(PoisonError::into_inner);
        if halt.is_none() || why == Halt::Lost {
            *halt = Some(why);
        }
        self.is_halted.store(true, Ordering::Release);
    }

    /// Whether the job must stop; cheap.
    pub(super) fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::Acquire)
    }

    /// What is set when the job must stop.
    pub(super) fn flag(&self) -> &Arc<AtomicBool> {
        &self.is_halted
    }

    /// Refuses to go on if the job must stop.
    pub(super) fn onward(&self) -> Result<(), BrainError> {
        if self.is_halted() { Err(BrainError::Halted) } else { Ok(()) }
    }

    /// Why it must stop.
    pub(super) fn halt(&self) -> Option<Halt> {
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So much of so much is done.
    pub(super) fn at(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done.
    pub(super) fn add(&self, done: usize) {
        self.done.fetch_add(done as u64, Ordering::Relaxed);
    }

    /// What is being done.
    pub(super) fn say(&self, note: &'static str) {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        let total = self.total.load(Ordering::Relaxed);
        Progress {
            done: self.done.load(Ordering::Relaxed),
            total: (total > 0).then_some(total),
            note: (*self.note.lock().unwrap_or_else(PoisonError::into_inner)).to_owned(),
        }
    }
}
