//! Query service: answers callers' queries, then captures them.
//!
//! The answer goes out first. The observation goes into a bounded queue; a thread scrubs and stores
//! it. A failure is counted and recorded, never raised: no caller waits for a capture or fails
//! because of one. A query is logged beside its capture, in the same transaction and under the same
//! rules; the answer carries the id of its log row.
//!
//! Every lost capture leaves a failure record: the database refuses it or is locked, the queue is
//! full, the process ends or is killed. A failure goes into the database, or into an audit file
//! from which the next process that can stores it.

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

use gbrain_core::capture::{CapturePolicy, FailureReason, ObservedAnswer};
use gbrain_core::id::WorkspaceId;
use gbrain_core::provenance::Software;
use gbrain_core::ranking::CacheUse;
use gbrain_core::ranking::Ranking;
use gbrain_core::request::{Caller, Operation, Request};
use gbrain_core::search::candidate::Candidate;

use crate::cpu::thread_cpu_time;
use crate::{Brain, BrainError, QueryOptions, QueryResponse, Snapshot};

use cache::AnswerCache;
use log::{RetrievalTrace, candidate_ranks};

pub use audit::AuditLog;
pub use log::OWNER;
pub use private::private_names;
pub use recorder::{DrainReport, Recorder};

/// How long a process waits at exit for captures that are not stored yet.
pub const DRAIN: Duration = Duration::from_secs(5);

/// Default size of the observation queue.
pub const QUEUE: usize = 1_024;

/// The version of this program, as recorded in captures.
pub fn software() -> Software {
    Software { version: env!("CARGO_PKG_VERSION").to_owned(), code: env!("GBRAIN_CODE").to_owned() }
}

/// The outcome of captures, for counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureOutcome {
    Stored(u64),
    Failed(FailureReason, u64),
}

/// Callback for the outcome of a workspace's captures, as it happens.
#[derive(Clone)]
pub struct CaptureObserver(pub Arc<OnCapture>);

type OnCapture = dyn Fn(&WorkspaceId, CaptureOutcome) + Send + Sync;

impl std::fmt::Debug for CaptureObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CaptureObserver(..)")
    }
}

/// How a service captures the queries that it answers.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// How rows are built; an error if the scrubber could not be built, so that every capture fails
    /// and nothing unscrubbed is stored.
    pub policy: Result<CapturePolicy, String>,
    /// The share of requests to capture, from 0 to 1.
    pub sample_rate: f64,
    /// How many days captures are retained; `None` for ever.
    pub retention_days: Option<u32>,
    /// Size of the observation queue; observations beyond it are counted as lost.
    pub queue: usize,
    /// Audit files for failures that the database cannot store.
    pub audit: AuditLog,
    pub observer: Option<CaptureObserver>,
}

/// Answers queries and captures them if capture is enabled. Caches answers that involve a remote
/// model.
pub struct QueryService {
    brain: Arc<Brain>,
    cache: AnswerCache,
    recorder: Option<Recorder>,
}

impl QueryService {
    /// A service for a brain; without options nothing is captured.
    pub fn new(brain: Arc<Brain>, capture: Option<CaptureOptions>) -> Self {
        let recorder = capture.map(|options| Recorder::start(brain.clone(), options));
        Self { brain, cache: AnswerCache::default(), recorder }
    }

    /// The brain. Queries sent to it directly are not captured and never cached.
    pub fn brain(&self) -> &Brain {
        &self.brain
    }

    /// The brain, for a caller that needs to own it.
    pub fn clone_brain(&self) -> Arc<Brain> {
        self.brain.clone()
    }

    /// Answers a request and captures it.
    pub fn answer(
        &self,
        request: &Request,
        options: &QueryOptions<'_>,
        caller: Caller,
    ) -> Result<QueryResponse, BrainError> {
        let Some(recorder) = self.recorder.as_ref().filter(|recorder| recorder.is_sampled()) else {
            return self.answer_cached(request, options).map(|(_, response)| response);
        };
        let started = Instant::now();
        let ranks = RefCell::new(None);
        let observe = |candidates: &[Candidate]| {
            *ranks.borrow_mut() = Some(candidate_ranks(candidates));
            if let Some(observe) = options.candidates {
                observe(candidates);
            }
        };
        let is_logged = request.operation == Operation::Query;
        let observed_options = QueryOptions {
            explain: options.explain,
            why_not: options.why_not.clone(),
            expand: options.expand,
            rerank: options.rerank,
            candidates: if is_logged { Some(&observe) } else { options.candidates },
            progress: options.progress,
            request_id: options.request_id,
            is_stopped: options.is_stopped,
        };
        let cpu_started = thread_cpu_time();
        let (snapshot, mut response) = self.answer_cached(request, &observed_options)?;
        let cpu = thread_cpu_time().zip(cpu_started).map(|(now, then)| now.saturating_sub(then));
        let latency_ms = started.elapsed().as_micros() as f64 / 1000.0;
        let QueryResponse { request, ranking, served } = &response;
        let trace = is_logged.then(|| {
            let id = options.request_id.map_or_else(|| recorder.next_id(), str::to_owned);
            RetrievalTrace::new(id, request, ranking, served, ranks.take())
        });
        let request_id = trace.as_ref().map(|trace| trace.request_id.clone());
        let at = (self.brain.store().identity(), served);
        let mut observed = ObservedAnswer::new(request, caller, ranking, at, latency_ms);
        observed.call_cpu_ms = cpu.map(|cpu| cpu.as_secs_f64() * 1000.0);
        if recorder.offer(observed, trace, snapshot) {
            response.served.request_id = request_id;
        }
        Ok(response)
    }

    /// Answers a request from the cache or the corpus; returns the corpus as well.
    fn answer_cached(
        &self,
        request: &Request,
        options: &QueryOptions<'_>,
    ) -> Result<(Snapshot, QueryResponse), BrainError> {
        self.brain.retry_if_damaged(|| self.answer_once(request, options))
    }

    fn answer_once(
        &self,
        request: &Request,
        options: &QueryOptions<'_>,
    ) -> Result<(Snapshot, QueryResponse), BrainError> {
        let prepared = self.brain.prepare(request, options)?;
        let key = cache::answer_key(&self.brain, &prepared.snapshot, &prepared.request, options);
        let Some(key) = key else { return prepared.answer(options) };
        if let Some(ranking) = self.cache.get(key) {
            return Ok(prepared.respond_cached(Ranking::clone(&ranking)));
        }
        let (snapshot, mut response) = prepared.answer(options)?;
        response.served.cache = CacheUse::Miss;
        self.cache.put(key, &response.ranking, cache::max_bytes(&response.request));
        Ok((snapshot, response))
    }

    /// Stops capturing: later queries count as failed captures.
    pub fn end_capture(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.end();
        }
    }

    /// Stores pending captures, for at most [`DRAIN`], and reports the outcome of all captures.
    /// Queries in progress are still answered.
    pub fn close(&self) -> DrainReport {
        self.close_until(Instant::now() + DRAIN)
    }

    /// [`close`](Self::close) with a deadline.
    pub fn close_until(&self, until: Instant) -> DrainReport {
        self.recorder.as_ref().map_or_else(DrainReport::default, |recorder| recorder.drain(until))
    }
}
