//! Capture on the way out: the one door through which callers ask.
//!
//! The answer goes out first. What was observed goes into a bounded queue; a thread scrubs it and
//! stores it. A failure is counted and kept, never raised: no caller waits for a capture or fails
//! because of one. A query is logged beside its capture, in the same transaction and under the same
//! rules; the answer says what the log calls it.
//!
//! A capture that is lost leaves a failure, however it is lost: the database refuses it or is locked, the queue is full,
//! the process ends or is killed. A failure goes into the database, or into a file of the home from which the next
//! process that can stores it.

mod audit;
mod budget;
mod cache;
mod log;
mod pending;
mod private;
mod recorder;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gbrain_core::capture::{CapturePolicy, FailureReason, Observed};
use gbrain_core::id::WorkspaceId;
use gbrain_core::provenance::Software;
use gbrain_core::ranking::CacheUse;
use gbrain_core::ranking::Ranking;
use gbrain_core::request::{Caller, Operation, Request};
use gbrain_core::search::candidate::Candidate;

use crate::cpu::thread_cpu_time;
use crate::{Answered, Ask, Brain, BrainError, Snapshot};

use cache::Cache;
use log::{Traced, sights};

pub use audit::AuditLog;
pub use log::OWNER;
pub use private::private_names;
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
    pub watch: Option<Watch>,
}

/// The door: answers, then captures if that is on. Keeps answers that cost a remote model's time, to
/// give them again.
pub struct Door {
    brain: Arc<Brain>,
    cache: Cache,
    recorder: Option<Recorder>,
}

impl Door {
    /// A door to a brain; without options nothing is captured.
    pub fn new(brain: Arc<Brain>, capture: Option<CaptureOptions>) -> Self {
        let recorder = capture.map(|options| Recorder::start(brain.clone(), options));
        Self { brain, cache: Cache::default(), recorder }
    }

    /// The brain behind it. What is asked there is not captured, and never comes from a cache.
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
        let Some(recorder) = self.recorder.as_ref().filter(|recorder| recorder.is_sampled()) else {
            return self.answer_keeping(request, ask).map(|(_, answered)| answered);
        };
        let started = Instant::now();
        let seen = RefCell::new(None);
        let look = |candidates: &[Candidate]| {
            *seen.borrow_mut() = Some(sights(candidates));
            if let Some(look) = ask.candidates {
                look(candidates);
            }
        };
        let is_logged = request.operation == Operation::Query;
        let watched = Ask {
            explain: ask.explain,
            why_not: ask.why_not.clone(),
            expand: ask.expand,
            rerank: ask.rerank,
            candidates: if is_logged { Some(&look) } else { ask.candidates },
            progress: ask.progress,
            request_id: ask.request_id,
            is_stopped: ask.is_stopped,
        };
        let cpu_started = thread_cpu_time();
        let (snapshot, mut answered) = self.answer_keeping(request, &watched)?;
        let cpu = thread_cpu_time().zip(cpu_started).map(|(now, then)| now.saturating_sub(then));
        let latency_ms = started.elapsed().as_micros() as f64 / 1000.0;
        let Answered { request, ranking, served } = &answered;
        let traced = is_logged.then(|| {
            let id = ask.request_id.map_or_else(|| recorder.next_id(), str::to_owned);
            Traced::new(id, request, ranking, served, seen.take())
        });
        let request_id = traced.as_ref().map(|traced| traced.request_id.clone());
        let at = (self.brain.store().identity(), served);
        let mut observed = Observed::new(request, caller, ranking, at, latency_ms);
        observed.call_cpu_ms = cpu.map(|cpu| cpu.as_secs_f64() * 1000.0);
        if recorder.offer(observed, traced, snapshot) {
            answered.served.request_id = request_id;
        }
        Ok(answered)
    }

    /// Answers a request from the cache or from the corpus, and keeps the corpus that was asked.
    fn answer_keeping(
        &self,
        request: &Request,
        ask: &Ask<'_>,
    ) -> Result<(Snapshot, Answered), BrainError> {
        self.brain.unless_damaged(|| self.answer_once(request, ask))
    }

    fn answer_once(
        &self,
        request: &Request,
        ask: &Ask<'_>,
    ) -> Result<(Snapshot, Answered), BrainError> {
        let prepared = self.brain.prepare(request, ask)?;
        let key = cache::key(&self.brain, &prepared.snapshot, &prepared.request, ask);
        let Some(key) = key else { return prepared.answer(ask) };
        if let Some(ranking) = self.cache.get(key) {
            return Ok(prepared.recall(Ranking::clone(&ranking)));
        }
        let (snapshot, mut answered) = prepared.answer(ask)?;
        answered.served.cache = CacheUse::Miss;
        self.cache.put(key, &answered.ranking, cache::most_bytes(&answered.request));
        Ok((snapshot, answered))
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
