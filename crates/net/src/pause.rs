//! A sleep that can be cancelled.

use std::time::Duration;

/// How often a wait checks for cancellation.
pub(crate) const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Sleeps; returns false if cancelled.
pub fn pause(mut left: Duration, is_cancelled: &dyn Fn() -> bool) -> bool {
    while !left.is_zero() {
        if is_cancelled() {
            return false;
        }
        let nap = left.min(CANCEL_POLL_INTERVAL);
        std::thread::sleep(nap);
        left -= nap;
    }
    !is_cancelled()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_wait_ends_on_a_stop_request() {
        assert!(pause(Duration::from_millis(1), &|| false));
        let started = Instant::now();
        let until = started + Duration::from_millis(20);
        assert!(!pause(Duration::from_secs(60), &|| Instant::now() > until));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
