//! The thread that scrubs and stores observations.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use gbrain_core::capture::{
    CaptureFailure, CaptureFields, CapturePolicy, FailureReason, ObservedAnswer,
};
use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_store::{CaptureFilter, NewRetrievalLog, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::{Brain, QueryOptions, Snapshot};

use super::budget::CpuBudget;
use super::log::{self, RetrievalTrace, ScrubbedNameCache};
use super::pending::PendingFile;
use super::{CaptureObserver, CaptureOptions, CaptureOutcome};

/// How long CPU times are still measured once the process waits for the last captures.
const MEASURE_AT_END: Duration = Duration::from_secs(1);
const BATCH: usize = 256;
/// How often old captures are pruned.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// How long the first row of a transaction waits for more.
const LINGER: Duration = Duration::from_millis(100);

/// The outcome of the captures of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrainReport {
    pub stored: u64,
    /// Failed and recorded as failures.
    pub failed: u64,
    /// Neither stored nor failed when the time was up.
    pub unfinished: u64,
}

#[derive(Default)]
struct CaptureCounters {
    offered: AtomicU64,
    stored: AtomicU64,
    failed: AtomicU64,
    overflowed: AtomicU64,
    samples: AtomicU64,
}

impl CaptureCounters {
    /// How many captures are neither stored nor recorded as failures.
    fn pending(&self) -> u64 {
        let offered = self.offered.load(Ordering::Acquire);
        let settled = self.stored.load(Ordering::Acquire) + self.failed.load(Ordering::Acquire);
        offered.saturating_sub(settled)
    }
}

struct QueuedObservation {
    observed: ObservedAnswer,
    /// The log row beside the capture, if there is one.
    trace: Option<RetrievalTrace>,
    snapshot: Snapshot,
}

/// A capture and its log row.
type CaptureRows = (CaptureFields, Option<NewRetrievalLog>);

/// Accepts observations and stores them in its own thread.
pub struct Recorder {
    /// `None` after the end.
    queue: RwLock<Option<Sender<QueuedObservation>>>,
    writer: Arc<CaptureWriter>,
    worker: JoinHandle<()>,
}

impl Recorder {
    pub(super) fn start(brain: Arc<Brain>, mut options: CaptureOptions) -> Self {
        options.policy = options.policy.map(|policy| policy.for_workspace(brain.workspace()));
        let (queue, items) = bounded(options.queue);
        let name = event(moment(std::time::SystemTime::now()), 0).short();
        let pending = PendingFile::create(&options.audit.dir, brain.workspace(), &name);
        let writer = Arc::new(CaptureWriter {
            brain,
            options,
            counters: CaptureCounters::default(),
            cpu_budget: CpuBudget::new(),
            ending_since: OnceLock::new(),
            pending,
            is_storing: AtomicBool::new(false),
            has_waiting: AtomicBool::new(false),
        });
        let mut worker = RecorderThread { writer: writer.clone(), reported: 0 };
        let worker = std::thread::spawn(move || worker.run(&items));
        Self { queue: RwLock::new(Some(queue)), writer, worker }
    }

    /// Queues an observation, or counts it as lost if the queue is full or closed; returns whether
    /// it was queued.
    pub(super) fn offer(
        &self,
        observed: ObservedAnswer,
        trace: Option<RetrievalTrace>,
        snapshot: Snapshot,
    ) -> bool {
        let counters = &self.writer.counters;
        counters.offered.fetch_add(1, Ordering::AcqRel);
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = &*queue else {
            // Callers must not wait for the database.
            self.writer.fail_to_file(FailureReason::Other, 1, "the recorder had ended");
            return false;
        };
        let is_taken = match queue.try_send(QueuedObservation { observed, trace, snapshot }) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                counters.overflowed.fetch_add(1, Ordering::AcqRel);
                false
            }
        };
        self.writer.write_pending();
        is_taken
    }

    /// Samples by hash, so that processes with a single query contribute their share too.
    pub(super) fn is_sampled(&self) -> bool {
        let sample_rate = self.writer.options.sample_rate;
        if sample_rate >= 1.0 {
            return true;
        }
        sample(moment(std::time::SystemTime::now()), self.next()) < sample_rate
    }

    /// A request id that is unique across processes.
    pub(super) fn next_id(&self) -> String {
        event(moment(std::time::SystemTime::now()), self.next()).short()
    }

    fn next(&self) -> u64 {
        self.writer.counters.samples.fetch_add(1, Ordering::Relaxed)
    }

    /// Accepts nothing more; queued observations are still stored.
    pub(super) fn end(&self) {
        *self.queue.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Ends, waits until queued observations are stored, and reports the outcome so far.
    pub(super) fn drain(&self, until: Instant) -> DrainReport {
        self.writer.ending_since.get_or_init(Instant::now);
        self.end();
        while !self.worker.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.worker.is_finished() {
            self.writer.pending.remove_if_settled();
        }
        let counters = &self.writer.counters;
        let stored = counters.stored.load(Ordering::Acquire);
        let failed = counters.failed.load(Ordering::Acquire);
        DrainReport { stored, failed, unfinished: counters.pending() }
    }
}

/// Stores capture rows and failures.
struct CaptureWriter {
    brain: Arc<Brain>,
    options: CaptureOptions,
    counters: CaptureCounters,
    cpu_budget: CpuBudget,
    /// Since when the process waits for the last captures.
    ending_since: OnceLock<Instant>,
    /// Lets the next process see what was pending if this one ends early.
    pending: PendingFile,
    /// Whether a database call is in progress.
    is_storing: AtomicBool,
    /// Whether failures of this process are in an audit file.
    has_waiting: AtomicBool,
}

struct RecorderThread {
    writer: Arc<CaptureWriter>,
    /// How many overflows are recorded as failures.
    reported: u64,
}

impl RecorderThread {
    fn run(&mut self, items: &Receiver<QueuedObservation>) {
        self.writer.run_maintenance();
        let mut pruned_at = Instant::now();
        loop {
            match items.recv_timeout(PRUNE_INTERVAL) {
                Ok(first) => self.writer.store(gather(items, first)),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.report_overflow();
            // A long-running process would otherwise keep captures beyond their retention.
            if pruned_at.elapsed() >= PRUNE_INTERVAL {
                self.writer.run_maintenance();
                pruned_at = Instant::now();
            }
        }
        self.report_overflow();
    }

    fn report_overflow(&mut self) {
        let overflowed = self.writer.counters.overflowed.load(Ordering::Acquire);
        let new = overflowed - self.reported;
        if new > 0 {
            self.reported = overflowed;
            self.writer.fail(FailureReason::Other, new, "the queue was full");
        }
    }
}

impl CaptureWriter {
    /// Stores failures from audit files and prunes old captures.
    fn run_maintenance(&self) {
        self.is_storing.store(true, Ordering::Release);
        self.options.audit.store_waiting(self.brain.store(), self.brain.workspace());
        self.prune();
        self.is_storing.store(false, Ordering::Release);
    }

    fn store(&self, batch: Vec<QueuedObservation>) {
        let mut names = ScrubbedNameCache::default();
        let mut rows = Vec::with_capacity(batch.len());
        for item in batch {
            match self.rows(item, &mut names) {
                Ok(row) => rows.push(row),
                Err(detail) => self.fail(FailureReason::ScrubberException, 1, &detail),
            }
        }
        if rows.is_empty() {
            return;
        }
        let count = rows.len();
        let is_logged: Vec<bool> = rows.iter().map(|(_, log)| log.is_some()).collect();
        let (captures, logs): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let logs: Vec<NewRetrievalLog> = logs.into_iter().flatten().collect();
        match self.add(&captures, &logs) {
            Ok(()) => return self.count_stored(count),
            Err(error) if count == 1 => return self.fail_by(&error, 1),
            // Storing them one by one would time out each time.
            Err(error) if error.failure_reason() == FailureReason::DbDown => {
                return self.fail_by(&error, count as u64);
            }
            Err(_) => (),
        }
        // One bad row fails the batch: store the rows one by one.
        let mut logs = logs.chunks(1);
        for (capture, is_logged) in captures.iter().zip(is_logged) {
            let own = is_logged.then(|| logs.next()).flatten().unwrap_or_default();
            match self.add(std::slice::from_ref(capture), own) {
                Ok(()) => self.count_stored(1),
                Err(error) => self.fail_by(&error, 1),
            }
        }
    }

    fn add(&self, captures: &[CaptureFields], logs: &[NewRetrievalLog]) -> Result<(), StoreError> {
        let (store, ws) = (self.brain.store(), self.brain.workspace());
        self.is_storing.store(true, Ordering::Release);
        self.write_pending();
        let added =
            store.add_captures_with_logs(ws, captures, logs, moment(std::time::SystemTime::now()));
        self.is_storing.store(false, Ordering::Release);
        added
    }

    fn write_pending(&self) {
        self.pending.write(|| {
            let is_storing = self.is_storing.load(Ordering::Acquire);
            let reason = if is_storing { FailureReason::DbDown } else { FailureReason::Other };
            (self.counters.pending(), reason)
        });
    }

    /// If the scrubber fails or panics, nothing is stored.
    fn rows(
        &self,
        item: QueuedObservation,
        names: &mut ScrubbedNameCache,
    ) -> Result<CaptureRows, String> {
        let policy = self.options.policy.as_ref().map_err(Clone::clone)?;
        let rows_result =
            catch_unwind(AssertUnwindSafe(|| self.scrubbed_rows(policy, item, names)));
        rows_result.unwrap_or_else(|_| Err("the scrubber panicked".to_owned()))
    }

    fn scrubbed_rows(
        &self,
        policy: &CapturePolicy,
        item: QueuedObservation,
        names: &mut ScrubbedNameCache,
    ) -> Result<CaptureRows, String> {
        let QueuedObservation { observed, trace, snapshot } = item;
        let mut scrubbing = policy.scrub(observed);
        let log = trace.map(|trace| log::row(policy, &scrubbing, trace, &snapshot, names));
        let replayed = scrubbing.replayed_request();
        let observed = scrubbing.observed();
        let request = replayed.as_ref().unwrap_or(&observed.request);
        let cpu_time = match self.has_time_to_measure() {
            true => self.cpu_budget.measure(&snapshot, request, observed.call_cpu_ms),
            false => None,
        };
        scrubbing.set_cpu_time(cpu_time);
        let Some(request) = replayed else {
            return Ok((policy.row(scrubbing, None), log));
        };
        let again = snapshot.answer(&request, &QueryOptions::default());
        // The row is stored without the ranking of the scrubbed text; it cannot be gated on.
        let again = again.ok().map(|answered| answered.ranking);
        Ok((policy.row(scrubbing, again.as_ref()), log))
    }

    /// A process that ends has seconds to store its queue: it measures for [`MEASURE_AT_END`], then
    /// only the last pending capture.
    fn has_time_to_measure(&self) -> bool {
        let is_late = |at: &Instant| at.elapsed() > MEASURE_AT_END;
        !self.ending_since.get().is_some_and(is_late) || self.counters.pending() <= 1
    }

    fn count_stored(&self, rows: usize) {
        self.counters.stored.fetch_add(rows as u64, Ordering::AcqRel);
        self.write_pending();
        // The database accepts rows again, so it accepts failures too.
        if self.has_waiting.swap(false, Ordering::AcqRel) {
            self.options.audit.store_waiting(self.brain.store(), self.brain.workspace());
        }
        self.notify(CaptureOutcome::Stored(rows as u64));
    }

    fn fail_by(&self, error: &StoreError, times: u64) {
        // Store messages never contain page text or queries.
        match error.failure_reason() {
            // A database that timed out on a capture would time out on a failure too.
            FailureReason::DbDown => {
                self.fail_to_file(FailureReason::DbDown, times, &error.to_string());
            }
            reason => self.fail(reason, times, &error.to_string()),
        }
    }

    /// Records failures in the database, or in the audit log if the database cannot store them.
    fn fail(&self, reason: FailureReason, times: u64, detail: &str) {
        let failures = self.failures(reason, times, detail);
        if self.brain.store().add_capture_failures(self.brain.workspace(), &failures).is_err() {
            self.append(&failures);
        }
        self.count_failed(reason, times);
    }

    /// Records failures in the audit log.
    fn fail_to_file(&self, reason: FailureReason, times: u64, detail: &str) {
        self.append(&self.failures(reason, times, detail));
        self.count_failed(reason, times);
    }

    fn append(&self, failures: &[CaptureFailure]) {
        self.options.audit.append(self.brain.workspace(), failures);
        self.has_waiting.store(true, Ordering::Release);
    }

    fn count_failed(&self, reason: FailureReason, times: u64) {
        self.counters.failed.fetch_add(times, Ordering::AcqRel);
        self.write_pending();
        self.notify(CaptureOutcome::Failed(reason, times));
    }

    fn failures(&self, reason: FailureReason, times: u64, detail: &str) -> Vec<CaptureFailure> {
        let at = moment(std::time::SystemTime::now());
        (0..times)
            .map(|n| CaptureFailure {
                event_id: event(at, self.counters.failed.load(Ordering::Acquire) + n).short(),
                at,
                reason,
                detail: detail.to_owned(),
            })
            .collect()
    }

    fn notify(&self, outcome: CaptureOutcome) {
        if let Some(CaptureObserver(observer)) = &self.options.observer {
            observer(self.brain.workspace(), outcome);
        }
    }

    /// Prunes captures and logs that are older than the retention period.
    fn prune(&self) {
        let Some(days) = self.options.retention_days else { return };
        let retention = SignedDuration::from_hours(24 * i64::from(days));
        let Ok(until) = moment(std::time::SystemTime::now()).checked_sub(retention) else { return };
        let filter = CaptureFilter { until: Some(until), ..CaptureFilter::default() };
        // Errors are ignored: the next process prunes again.
        let (store, ws) = (self.brain.store(), self.brain.workspace());
        let _ = store.prune_captures(ws, &filter);
        let _ = store.prune_live_logs(ws, until, None);
    }
}

/// Collects the items that arrive shortly after the first.
fn gather(items: &Receiver<QueuedObservation>, first: QueuedObservation) -> Vec<QueuedObservation> {
    let until = Instant::now() + LINGER;
    let mut batch = vec![first];
    while batch.len() < BATCH {
        match items.recv_deadline(until) {
            Ok(item) => batch.push(item),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}

/// A hash that identifies one event across processes.
fn event(at: Timestamp, n: u64) -> Hash {
    let parts = [at.as_nanosecond().to_string(), std::process::id().to_string(), n.to_string()];
    Hash::of(parts.join(" ").as_bytes())
}

/// A pseudo-random number from 0 to 1.
fn sample(at: Timestamp, n: u64) -> f64 {
    let bytes = event(at, n).0;
    let top = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_evenly() {
        let now = Timestamp::UNIX_EPOCH;
        let below = (0..10_000).filter(|n| sample(now, *n) < 0.25).count();
        assert!((2_300..2_700).contains(&below), "{below}");
    }
}
