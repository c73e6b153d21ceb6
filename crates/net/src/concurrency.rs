//! A limit on concurrent calls.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::pause::CANCEL_POLL_INTERVAL;

/// Counting semaphore for calls in flight.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A permit; dropping it releases it.
#[derive(Debug)]
pub struct Permit<'a>(&'a ConcurrencyLimit);

impl ConcurrencyLimit {
    /// Creates a limit with this many permits, at least one.
    pub fn new(permits: usize) -> Self {
        Self { free: Mutex::new(permits.max(1)), freed: Condvar::new() }
    }

    pub fn acquire(&self) -> Permit<'_> {
        self.acquire_unless(&|| false).expect("an acquisition without cancellation waits")
    }

    /// Waits for a permit; `None` if the wait is cancelled.
    pub fn acquire_unless(&self, is_cancelled: &dyn Fn() -> bool) -> Option<Permit<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if is_cancelled() {
                return None;
            }
            let waited = self.freed.wait_timeout(free, CANCEL_POLL_INTERVAL);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_callers_than_permits() {
        let (concurrency, inside, most) =
            (ConcurrencyLimit::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let _permit = concurrency.acquire();
                    let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn a_wait_for_a_permit_can_be_cancelled() {
        let concurrency = ConcurrencyLimit::new(1);
        let permit = concurrency.acquire();
        assert!(concurrency.acquire_unless(&|| true).is_none());
        drop(permit);
        assert!(concurrency.acquire_unless(&|| true).is_some());
    }
}
