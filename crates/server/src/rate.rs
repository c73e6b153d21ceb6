//! Rate limits by key: token buckets.
//!
//! The clock is an argument. The number of buckets is bounded; full ones are dropped first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const MAX_BUCKETS: usize = 10_000;

/// The refill rate and size of a bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

impl Rate {
    /// This many requests a second, and a burst of twice as many.
    pub(crate) fn per_second(requests: u32) -> Self {
        let per_second = f64::from(requests.max(1));
        Self { per_second, burst: 2.0 * per_second }
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// One bucket per key.
#[derive(Debug)]
pub(crate) struct RateLimiters<K> {
    buckets: Mutex<HashMap<K, Bucket>>,
}

impl<K: Hash + Eq> Default for RateLimiters<K> {
    fn default() -> Self {
        Self { buckets: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone> RateLimiters<K> {
    /// Takes one token; otherwise returns the wait until there is one.
    pub(crate) fn take(&self, key: &K, rate: Rate, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(key) {
            make_room(&mut buckets, rate, now);
        }
        let bucket = buckets.entry(key.clone()).or_insert(Bucket { left: rate.burst, at: now });
        bucket.left = level(bucket, rate, now);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / rate.per_second))
    }

    /// Whether a bucket is empty, without taking from it.
    pub(crate) fn is_empty(&self, key: &K, rate: Rate, now: Instant) -> bool {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.get(key).is_some_and(|bucket| level(bucket, rate, now) < 1.0)
    }
}

fn level(bucket: &Bucket, rate: Rate, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
    (bucket.left + passed * rate.per_second).min(rate.burst)
}

/// Drops the buckets that are full again; if there are none, all of them: that allows too much
/// rather than too little.
fn make_room<K: Hash + Eq>(buckets: &mut HashMap<K, Bucket>, rate: Rate, now: Instant) {
    buckets.retain(|_, bucket| level(bucket, rate, now) < rate.burst);
    if buckets.len() >= MAX_BUCKETS {
        buckets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_steady_rate() {
        let limits = RateLimiters::default();
        let rate = Rate { per_second: 2.0, burst: 3.0 };
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limits.take(&"a", rate, start), Ok(()));
        }
        assert_eq!(limits.take(&"a", rate, start), Err(Duration::from_millis(500)));
        assert!(limits.is_empty(&"a", rate, start));
        assert_eq!(limits.take(&"b", rate, start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(limits.take(&"a", rate, later), Ok(()));
        assert!(limits.take(&"a", rate, later).is_err());
    }

    #[test]
    fn buckets_are_bounded() {
        let limits = RateLimiters::default();
        let rate = Rate::per_second(1);
        let now = Instant::now();
        for n in 0..3 * MAX_BUCKETS {
            assert_eq!(limits.take(&n, rate, now), Ok(()));
        }
        assert!(limits.buckets.lock().unwrap().len() <= MAX_BUCKETS);
    }

    #[test]
    fn a_clock_that_goes_back_fills_nothing() {
        let limits = RateLimiters::default();
        let rate = Rate { per_second: 1.0, burst: 1.0 };
        let now = Instant::now() + Duration::from_secs(10);
        assert_eq!(limits.take(&1, rate, now), Ok(()));
        assert!(limits.take(&1, rate, now - Duration::from_secs(5)).is_err());
    }
}
