//! How often calls may begin.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A rate of calls, spread evenly: a bucket that holds one. So in no stretch of time do more begin than the
/// rate allows, but for one.
#[derive(Debug)]
pub struct Pace {
    every: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// So many a second; a rate that is no number above zero is no limit.
    pub fn new(per_second: f64) -> Self {
        let is_rate = per_second.is_finite() && per_second > 0.0;
        let every =
            if is_rate { Duration::from_secs_f64(1.0 / per_second) } else { Duration::ZERO };
        Self { every, next: Mutex::default() }
    }

    /// Takes the next turn, and says how long it is until then.
    pub fn turn(&self, now: Instant) -> Duration {
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
        let (pace, now) = (Pace::new(10.0), Instant::now());
        let tenth = Duration::from_millis(100);
        assert_eq!(pace.turn(now), Duration::ZERO);
        assert_eq!(pace.turn(now), tenth);
        assert_eq!(pace.turn(now + tenth), tenth);
        // A pause saves nothing up.
        assert_eq!(pace.turn(now + tenth * 50), Duration::ZERO);
        assert_eq!(pace.turn(now + tenth * 50), tenth);
    }

    #[test]
    fn what_is_no_rate_is_no_limit() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let (pace, now) = (Pace::new(rate), Instant::now());
            assert_eq!((pace.turn(now), pace.turn(now)), (Duration::ZERO, Duration::ZERO));
        }
    }
}
