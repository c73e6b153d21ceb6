//! Timing captured requests again, off the caller's path and for a bounded share of the machine.
//!
//! A capture's CPU time is measured in the recorder's thread, after the answer, by asking the same
//! request a few times more. That costs several retrievals for one capture, so a process spends at most
//! [`BURST`] of CPU time on it at once and [`SHARE`] of its time in the long run. A command that asks
//! once is always timed; a server under load times what it can, and the other rows have no CPU time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::latency::CpuTime;
use gbrain_core::request::Request;

use crate::Snapshot;
use crate::cpu::thread_cpu_time;

/// CPU time that may be spent at once.
const BURST: Duration = Duration::from_secs(1);
/// One part in so many of the process's life may be spent.
const SHARE: u32 = 20;

/// CPU time of a caller's call, in milliseconds, above which its request is not asked again: a command
/// ends after its capture is stored, and has only so long for it.
const MAX_CALL_MS: f64 = 100.0;

/// What may be spent on measuring.
pub(super) struct CpuBudget {
    started: Instant,
    /// Nanoseconds of CPU time.
    spent: AtomicU64,
}

impl CpuBudget {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), spent: AtomicU64::new(0) }
    }

    /// The CPU time of a request whose caller's call took so much of it; none when the budget is spent,
    /// the request is too expensive to ask again, or it can't be measured.
    pub(super) fn measure(
        &self,
        snapshot: &Snapshot,
        request: &Request,
        call_cpu_ms: Option<f64>,
    ) -> Option<CpuTime> {
        let is_cheap = call_cpu_ms.is_some_and(|ms| ms <= MAX_CALL_MS);
        if !is_cheap || !is_left(self.spent(), self.started.elapsed()) {
            return None;
        }
        let started = thread_cpu_time()?;
        let found = snapshot.cpu_time(request);
        let took = thread_cpu_time()?.saturating_sub(started);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(took, Ordering::Relaxed);
        found
    }

    fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }
}

/// Whether a process that has lived so long may spend more.
fn is_left(spent: Duration, lived: Duration) -> bool {
    spent < BURST + lived / SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_time_is_spent_and_no_more() {
        let check = |spent: u64, lived: u64, expected: bool| {
            let is = is_left(Duration::from_millis(spent), Duration::from_secs(lived));
            assert_eq!(is, expected, "{spent} ms in {lived} s");
        };
        check(0, 0, true);
        check(999, 0, true);
        check(1_000, 0, false);
        check(1_000, 1, true);
        check(6_000, 100, false);
        check(5_999, 100, true);
    }
}
