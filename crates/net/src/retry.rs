//! When to retry, and how long to wait before it.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in total, at least one.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each attempt.
    pub first: Duration,
    /// The longest wait. If the server asks for a longer one, the call fails.
    pub max_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 4, first: Duration::from_millis(500), max_wait: Duration::from_secs(60) }
    }
}

impl RetryPolicy {
    /// The wait after attempt number `attempt` (from 1): the wait the server requested, or
    /// exponential backoff with jitter, so that callers that failed together do not retry together.
    /// `None` if no attempt is left. `random` is from 0 to 1.
    pub fn wait(&self, attempt: u32, requested: Option<Duration>, random: f64) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(attempt - 1));
        let own = doubled.min(self.max_wait).mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0);
        match requested {
            // Not before the requested time, and with jitter.
            Some(requested) if requested > self.max_wait => None,
            Some(requested) => Some(requested + self.first.mul_f64(random.clamp(0.0, 1.0) / 2.0)),
            None => Some(own),
        }
    }
}

/// Parses a `retry-after` header: seconds or an HTTP date.
pub fn retry_after(header: &str, now: jiff::Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        let is_wait = seconds.is_finite() && (0.0..1e9).contains(&seconds);
        return is_wait.then(|| Duration::from_secs_f64(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(header).ok()?.timestamp();
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_and_end() {
        let retry = RetryPolicy { attempts: 4, first: SECOND, max_wait: SECOND * 3 };
        assert_eq!(retry.wait(1, None, 1.0), Some(SECOND));
        assert_eq!(retry.wait(1, None, 0.0), Some(SECOND / 2));
        assert_eq!(retry.wait(2, None, 1.0), Some(SECOND * 2));
        assert_eq!(retry.wait(3, None, 1.0), Some(SECOND * 3));
        assert_eq!(retry.wait(4, None, 1.0), None);
    }

    #[test]
    fn requested_retry_delays_are_honoured_or_the_call_fails() {
        let retry = RetryPolicy { attempts: 4, first: SECOND, max_wait: SECOND * 30 };
        assert_eq!(retry.wait(1, Some(SECOND * 7), 0.0), Some(SECOND * 7));
        assert!(retry.wait(1, Some(SECOND * 7), 1.0) > Some(SECOND * 7));
        assert_eq!(retry.wait(1, Some(SECOND * 31), 0.0), None);
    }

    #[test]
    fn headers() {
        let now: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let check = |header: &str, seconds: Option<u64>| {
            assert_eq!(retry_after(header, now), seconds.map(Duration::from_secs), "{header}");
        };
        check("7", Some(7));
        check(" 0 ", Some(0));
        check("Thu, 01 Jan 2026 00:01:00 GMT", Some(60));
        check("Wed, 01 Jan 2025 00:01:00 GMT", Some(0));
        check("-1", None);
        check("NaN", None);
        check("soon", None);
    }
}
