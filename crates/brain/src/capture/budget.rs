//! Measures the CPU time of captured requests, off the caller's path and within a CPU budget.
//!
//! The recorder's thread measures a capture after the answer, by repeating its request a few times.
//! That costs several retrievals per capture, so a process spends at most [`BURST`] of CPU time at
//! once and a [`SHARE`]th of its lifetime in the long run. A command that asks once is always
//! measured; a server under load measures what the budget allows, and the other rows have no CPU
//! time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::latency::CpuTime;
use gbrain_core::request::Request;

use crate::Snapshot;
use crate::cpu::thread_cpu_time;

/// CPU time that may be spent at once.
const BURST: Duration = Duration::from_secs(1);
/// Divisor: one part in this many of the process's lifetime may be spent.
const SHARE: u32 = 20;

/// Requests whose first call took more CPU milliseconds are not repeated: a command waits only a
/// limited time for its capture.
const MAX_CALL_MS: f64 = 100.0;

/// CPU budget for measurements.
pub(super) struct CpuBudget {
    started: Instant,
    /// Nanoseconds of CPU time.
    spent: AtomicU64,
}

impl CpuBudget {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), spent: AtomicU64::new(0) }
    }

    /// The CPU time of a request; `None` if the budget is spent, the request is too expensive to
    /// repeat, or it cannot be measured.
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
