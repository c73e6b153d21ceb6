//! A limit on how often calls may start.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Spaces calls evenly: a token bucket of size one. In any period at most one call more than the
/// rate starts.
#[derive(Debug)]
pub struct RateLimiter {
    every: Duration,
    next: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// Creates a limiter; a rate that is not a finite number above zero means no limit.
    pub fn new(per_second: f64) -> Self {
        let is_rate = per_second.is_finite() && per_second > 0.0;
        let every =
            if is_rate { Duration::from_secs_f64(1.0 / per_second) } else { Duration::ZERO };
        Self { every, next: Mutex::default() }
    }

    /// Reserves the next call and returns the wait until it may begin.
    pub fn reserve(&self, now: Instant) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.map_or(now, |next| next.max(now));
        *next = at.checked_add(self.every);
        at.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_spread_evenly() {
        let (rate_limiter, now) = (RateLimiter::new(10.0), Instant::now());
        let tenth = Duration::from_millis(100);
        assert_eq!(rate_limiter.reserve(now), Duration::ZERO);
        assert_eq!(rate_limiter.reserve(now), tenth);
        assert_eq!(rate_limiter.reserve(now + tenth), tenth);
        // A pause saves nothing up.
        assert_eq!(rate_limiter.reserve(now + tenth * 50), Duration::ZERO);
        assert_eq!(rate_limiter.reserve(now + tenth * 50), tenth);
    }

    #[test]
    fn an_invalid_rate_is_no_limit() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let (rate_limiter, now) = (RateLimiter::new(rate), Instant::now());
            assert_eq!(
                (rate_limiter.reserve(now), rate_limiter.reserve(now)),
                (Duration::ZERO, Duration::ZERO)
            );
        }
    }
}
