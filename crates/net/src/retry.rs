//! When to try again, and how long to wait before it.

use std::time::Duration;

/// How often and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, at least one.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each.
    pub first: Duration,
    /// The longest wait, also when the other side asks for more: then the call has failed.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 4, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Retry {
    /// The wait after an attempt, the first being 1: what the other side asked for, or a random part of a
    /// wait that doubles, so that callers who failed together do not come back together. None if there
    /// is no further attempt. `random` is from 0 to 1.
    pub fn wait(&self, attempt: u32, asked: Option<Duration>, random: f64) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(attempt - 1));
        let own = doubled.min(self.longest).mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0);
        match asked {
            // Never before it was asked for, and not all at the same moment.
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked + self.first.mul_f64(random.clamp(0.0, 1.0) / 2.0)),
            None => Some(own),
        }
    }
}

/// What a `retry-after` header asks for: seconds, or a date of HTTP.
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
        let retry = Retry { attempts: 4, first: SECOND, longest: SECOND * 3 };
        assert_eq!(retry.wait(1, None, 1.0), Some(SECOND));
        assert_eq!(retry.wait(1, None, 0.0), Some(SECOND / 2));
        assert_eq!(retry.wait(2, None, 1.0), Some(SECOND * 2));
        assert_eq!(retry.wait(3, None, 1.0), Some(SECOND * 3));
        assert_eq!(retry.wait(4, None, 1.0), None);
    }

    #[test]
    fn what_is_asked_for_is_given_or_the_call_fails() {
        let retry = Retry { attempts: 4, first: SECOND, longest: SECOND * 30 };
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
