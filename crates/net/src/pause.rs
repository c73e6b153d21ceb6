//! Waiting that can be ended.

use std::time::Duration;

/// How often somebody's wish to stop is looked at.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// Waits so long; false if somebody wanted to stop meanwhile.
pub fn pause(mut left: Duration, is_over: &dyn Fn() -> bool) -> bool {
    while !left.is_zero() {
        if is_over() {
            return false;
        }
        let nap = left.min(GLANCE);
        std::thread::sleep(nap);
        left -= nap;
    }
    !is_over()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_wait_ends_when_somebody_wants_to_stop() {
        assert!(pause(Duration::from_millis(1), &|| false));
        let started = Instant::now();
        let until = started + Duration::from_millis(20);
        assert!(!pause(Duration::from_secs(60), &|| Instant::now() > until));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
