//! Capture on the way out: the one door through which callers ask.
//!
//! The answer goes out first. What was observed goes into a bounded queue; a thread scrubs it and
//! stores it. A failure is counted and kept, never raised: no caller waits for a capture or fails
//! because of one.

mod audit;
mod recorder;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gbrain_core::capture::{CapturePolicy, FailureReason, Observed};
use gbrain_core::id::WorkspaceId;
use gbrain_core::provenance::Software;
use gbrain_core::request::{Caller, Request};

use crate::{Answered, Ask, Brain, BrainError};

pub use audit::AuditLog;
pub use recorder::{Drained, Recorder};

/// How long a process waits at its end for captures that are not stored yet.
pub const DRAIN: Duration = Duration::from_secs(5);

/// How many observations wait at most, unless said otherwise.
pub const QUEUE: usize = 1_024;

/// The program that answers, as captures name it.
pub fn software() -> Software {
    Software { version: env!("CARGO_PKG_VERSION").to_owned(), code: env!("GBRAIN_CODE").to_owned() }
}

/// What became of captures, for whoever counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// So many were stored.
    Stored(u64),
    /// So many were not, for this reason.
    Failed(FailureReason, u64),
}

/// Told what became of the captures of a workspace, as it happens.
#[derive(Clone)]
pub struct Watch(pub Arc<Told>);

type Told = dyn Fn(&WorkspaceId, Became) + Send + Sync;

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch(..)")
    }
}

/// How requests are captured.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// How rows are made; an error when the scrubber can't be made, so that every capture fails
    /// and nothing unscrubbed is kept.
    pub policy: Result<CapturePolicy, String>,
    /// The share of requests to keep, from 0 to 1.
    pub sample_rate: f64,
    /// How many days captures are kept; none for ever.
    pub retention_days: Option<u32>,
    /// How many observations wait at most; more are counted as lost.
    pub queue: usize,
    /// Where failures go that the database can't take.
    pub audit: AuditLog,
    /// Who counts.
    pub watch: Option<Watch>,
}

/// The door: answers, then captures if that is on.
pub struct Door {
    brain: Arc<Brain>,
    recorder: Option<Recorder>,
}

impl Door {
    /// A door to a brain; without options nothing is captured.
    pub fn new(brain: Arc<Brain>, capture: Option<CaptureOptions>) -> Self {
        let recorder = capture.map(|options| Recorder::start(brain.clone(), options));
        Self { brain, recorder }
    }

    /// The brain behind it. What is asked there is not captured.
    pub fn brain(&self) -> &Brain {
        &self.brain
    }

    /// The brain behind it, to keep.
    pub fn share(&self) -> Arc<Brain> {
        self.brain.clone()
    }

    /// Answers a request, and captures it.
    pub fn answer(
        &self,
        request: &Request,
        ask: &Ask<'_>,
        caller: Caller,
    ) -> Result<Answered, BrainError> {
        let started = Instant::now();
        let Some(recorder) = &self.recorder else { return self.brain.answer(request, ask) };
        let (snapshot, answered) = self.brain.answer_keeping(request, ask)?;
        let latency_ms = started.elapsed().as_micros() as f64 / 1000.0;
        let at = (self.brain.store().identity(), answered.served.generation);
        let observed = Observed::new(request, caller, &answered.ranking, at, latency_ms);
        recorder.offer(observed, snapshot);
        Ok(answered)
    }

    /// Captures no more: what is asked from now on counts as failed.
    pub fn end_capture(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.end();
        }
    }

    /// Stores what is not stored yet, for [`DRAIN`] at most, and says what became of all that was
    /// captured here. Whoever is still inside is answered.
    pub fn close(&self) -> Drained {
        self.close_until(Instant::now() + DRAIN)
    }

    /// [`close`](Self::close), until a moment.
    pub fn close_until(&self, until: Instant) -> Drained {
        self.recorder.as_ref().map_or_else(Drained::default, |recorder| recorder.drain(until))
    }
}
