//! The thread that scrubs and stores what was observed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use gbrain_core::capture::{CaptureFailure, CaptureFields, CapturePolicy, FailureReason, Observed};
use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_store::{CaptureFilter, NewRetrievalLog, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::{Ask, Brain, Snapshot};

use super::budget::CpuBudget;
use super::log::{self, Names, Traced};
use super::pending::PendingFile;
use super::{Became, CaptureOptions, Watch};

/// How long captures are still measured once the process waits for the last ones.
const MEASURE_AT_END: Duration = Duration::from_secs(1);
/// How many rows go into one transaction.
const BATCH: usize = 256;
/// How often old captures are let go.
const TIDY: Duration = Duration::from_secs(3600);
/// How long the first row of a transaction waits for others.
const LINGER: Duration = Duration::from_millis(100);

/// What became of the captures of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    pub stored: u64,
    /// Failed, and kept as failures.
    pub failed: u64,
    /// Neither, when time was up.
    pub unfinished: u64,
}

#[derive(Default)]
struct Counters {
    offered: AtomicU64,
    stored: AtomicU64,
    failed: AtomicU64,
    overflowed: AtomicU64,
    drawn: AtomicU64,
}

impl Counters {
    /// How many captures are neither stored nor kept as failures.
    fn pending(&self) -> u64 {
        let offered = self.offered.load(Ordering::Acquire);
        let settled = self.stored.load(Ordering::Acquire) + self.failed.load(Ordering::Acquire);
        offered.saturating_sub(settled)
    }
}

struct Item {
    observed: Observed,
    /// What is logged beside the capture; none for what is not.
    traced: Option<Traced>,
    snapshot: Snapshot,
}

/// A capture and the log beside it.
type Rows = (CaptureFields, Option<NewRetrievalLog>);

/// Takes observations and stores them, in a thread of its own.
pub struct Recorder {
    /// None when it has ended.
    queue: RwLock<Option<Sender<Item>>>,
    keeper: Arc<Keeper>,
    worker: JoinHandle<()>,
}

impl Recorder {
    pub(super) fn start(brain: Arc<Brain>, mut options: CaptureOptions) -> Self {
        options.policy = options.policy.map(|policy| policy.for_workspace(brain.workspace()));
        let (queue, items) = bounded(options.queue);
        let name = event(moment(std::time::SystemTime::now()), 0).short();
        let pending = PendingFile::create(&options.audit.dir, brain.workspace(), &name);
        let keeper = Arc::new(Keeper {
            brain,
            options,
            counters: Counters::default(),
            cpu_budget: CpuBudget::new(),
            ending_since: OnceLock::new(),
            pending,
            is_storing: AtomicBool::new(false),
            has_waiting: AtomicBool::new(false),
        });
        let mut worker = Worker { keeper: keeper.clone(), reported: 0 };
        let worker = std::thread::spawn(move || worker.run(&items));
        Self { queue: RwLock::new(Some(queue)), keeper, worker }
    }

    /// Takes an observation, or counts it as lost when the queue is full or nobody empties it any
    /// more; whether it was taken.
    pub(super) fn offer(
        &self,
        observed: Observed,
        traced: Option<Traced>,
        snapshot: Snapshot,
    ) -> bool {
        let counters = &self.keeper.counters;
        counters.offered.fetch_add(1, Ordering::AcqRel);
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = &*queue else {
            // No caller waits for the database.
            self.keeper.fail_to_file(FailureReason::Other, 1, "the recorder had ended");
            return false;
        };
        let is_taken = match queue.try_send(Item { observed, traced, snapshot }) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                counters.overflowed.fetch_add(1, Ordering::AcqRel);
                false
            }
        };
        self.keeper.write_pending();
        is_taken
    }

    /// Draws by a hash, so that processes that ask one thing each keep their share too.
    pub(super) fn is_sampled(&self) -> bool {
        let sample_rate = self.keeper.options.sample_rate;
        if sample_rate >= 1.0 {
            return true;
        }
        draw(moment(std::time::SystemTime::now()), self.next()) < sample_rate
    }

    /// Names a retrieval among those of all processes.
    pub(super) fn next_id(&self) -> String {
        event(moment(std::time::SystemTime::now()), self.next()).short()
    }

    fn next(&self) -> u64 {
        self.keeper.counters.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes nothing any more; what waits is still stored.
    pub(super) fn end(&self) {
        *self.queue.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Ends, and waits until what was waiting is stored. Says what became of everything so far.
    pub(super) fn drain(&self, until: Instant) -> Drained {
        self.keeper.ending_since.get_or_init(Instant::now);
        self.end();
        while !self.worker.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.worker.is_finished() {
            self.keeper.pending.remove_if_settled();
        }
        let counters = &self.keeper.counters;
        let stored = counters.stored.load(Ordering::Acquire);
        let failed = counters.failed.load(Ordering::Acquire);
        Drained { stored, failed, unfinished: counters.pending() }
    }
}

/// Keeps what becomes of captures: rows, and failures.
struct Keeper {
    brain: Arc<Brain>,
    options: CaptureOptions,
    counters: Counters,
    cpu_budget: CpuBudget,
    /// Since when the process waits for the last captures.
    ending_since: OnceLock<Instant>,
    /// What the next process finds if this one ends too soon.
    pending: PendingFile,
    /// Whether the database has been asked for something and has not answered.
    is_storing: AtomicBool,
    /// Whether failures of this process wait in a file.
    has_waiting: AtomicBool,
}

struct Worker {
    keeper: Arc<Keeper>,
    /// How many overflows are kept as failures.
    reported: u64,
}

impl Worker {
    fn run(&mut self, items: &Receiver<Item>) {
        self.keeper.tidy();
        let mut tidied = Instant::now();
        loop {
            match items.recv_timeout(TIDY) {
                Ok(first) => self.keeper.store(gather(items, first)),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.report_overflow();
            // A process that is left running would otherwise keep what it found when it began.
            if tidied.elapsed() >= TIDY {
                self.keeper.tidy();
                tidied = Instant::now();
            }
        }
        self.report_overflow();
    }

    fn report_overflow(&mut self) {
        let overflowed = self.keeper.counters.overflowed.load(Ordering::Acquire);
        let new = overflowed - self.reported;
        if new > 0 {
            self.reported = overflowed;
            self.keeper.fail(FailureReason::Other, new, "the queue was full");
        }
    }
}

impl Keeper {
    /// Stores failures that waited in files, and lets old captures go.
    fn tidy(&self) {
        self.is_storing.store(true, Ordering::Release);
        self.options.audit.store_waiting(self.brain.store(), self.brain.workspace());
        self.prune();
        self.is_storing.store(false, Ordering::Release);
    }

    fn store(&self, batch: Vec<Item>) {
        let mut names = Names::default();
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
            // Each for itself would wait as long again.
            Err(error) if error.failure_reason() == FailureReason::DbDown => {
                return self.fail_by(&error, count as u64);
            }
            Err(_) => (),
        }
        // One bad row fails them all: each for itself.
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
        let added = store.add_observed(ws, captures, logs, moment(std::time::SystemTime::now()));
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

    /// A scrubber that fails or panics keeps nothing.
    fn rows(&self, item: Item, names: &mut Names) -> Result<Rows, String> {
        let policy = self.options.policy.as_ref().map_err(Clone::clone)?;
        let made = catch_unwind(AssertUnwindSafe(|| self.scrubbed_rows(policy, item, names)));
        made.unwrap_or_else(|_| Err("the scrubber panicked".to_owned()))
    }

    fn scrubbed_rows(
        &self,
        policy: &CapturePolicy,
        item: Item,
        names: &mut Names,
    ) -> Result<Rows, String> {
        let Item { observed, traced, snapshot } = item;
        let mut scrubbing = policy.scrub(observed);
        let log = traced.map(|traced| log::row(policy, &scrubbing, traced, &snapshot, names));
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
        let again = snapshot.answer(&request, &Ask::default());
        // Without the ranking of the scrubbed text the row is still a row; it can't be gated on.
        let again = again.ok().map(|answered| answered.ranking);
        Ok((policy.row(scrubbing, again.as_ref()), log))
    }

    /// A process that ends has seconds to store what waits: it goes on measuring for [`MEASURE_AT_END`],
    /// and then only a capture that no other one waits behind.
    fn has_time_to_measure(&self) -> bool {
        let is_late = |at: &Instant| at.elapsed() > MEASURE_AT_END;
        !self.ending_since.get().is_some_and(is_late) || self.counters.pending() <= 1
    }

    fn count_stored(&self, rows: usize) {
        self.counters.stored.fetch_add(rows as u64, Ordering::AcqRel);
        self.write_pending();
        // The database takes rows again: failures too.
        if self.has_waiting.swap(false, Ordering::AcqRel) {
            self.options.audit.store_waiting(self.brain.store(), self.brain.workspace());
        }
        self.tell(Became::Stored(rows as u64));
    }

    fn fail_by(&self, error: &StoreError, times: u64) {
        // Messages of the store never hold page text or queries.
        match error.failure_reason() {
            // A database that took no capture for so long takes no failure either.
            FailureReason::DbDown => {
                self.fail_to_file(FailureReason::DbDown, times, &error.to_string());
            }
            reason => self.fail(reason, times, &error.to_string()),
        }
    }

    /// Keeps failures in the database, or where it can't take them, in the audit log.
    fn fail(&self, reason: FailureReason, times: u64, detail: &str) {
        let failures = self.failures(reason, times, detail);
        if self.brain.store().add_capture_failures(self.brain.workspace(), &failures).is_err() {
            self.append(&failures);
        }
        self.count_failed(reason, times);
    }

    /// Keeps failures in the audit log.
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
        self.tell(Became::Failed(reason, times));
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

    fn tell(&self, became: Became) {
        if let Some(Watch(watch)) = &self.options.watch {
            watch(self.brain.workspace(), became);
        }
    }

    /// Lets captures and logs go that are older than the owner wants to keep them.
    fn prune(&self) {
        let Some(days) = self.options.retention_days else { return };
        let kept = SignedDuration::from_hours(24 * i64::from(days));
        let Ok(until) = moment(std::time::SystemTime::now()).checked_sub(kept) else { return };
        let filter = CaptureFilter { until: Some(until), ..CaptureFilter::default() };
        // A store that can't do it now is asked again by the next process.
        let (store, ws) = (self.brain.store(), self.brain.workspace());
        let _ = store.prune_captures(ws, &filter);
        let _ = store.prune_live_logs(ws, until, None);
    }
}

/// Takes what comes within a moment after the first.
fn gather(items: &Receiver<Item>, first: Item) -> Vec<Item> {
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

/// Names one event among those of all processes.
fn event(at: Timestamp, n: u64) -> Hash {
    let parts = [at.as_nanosecond().to_string(), std::process::id().to_string(), n.to_string()];
    Hash::of(parts.join(" ").as_bytes())
}

/// A number from 0 to 1, as good as random.
fn draw(at: Timestamp, n: u64) -> f64 {
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
        let below = (0..10_000).filter(|n| draw(now, *n) < 0.25).count();
        assert!((2_300..2_700).contains(&below), "{below}");
    }
}
