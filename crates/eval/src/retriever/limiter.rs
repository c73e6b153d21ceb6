//! Concurrency limits, rate limits, timeouts and retries, shared by all remote targets.

use std::time::{Duration, Instant};

use gbrain_core::target::{TargetError, TargetErrorKind, TargetLimits};
use gbrain_net::{ConcurrencyLimit, RateLimiter, RetryPolicy, pause};

use super::TargetEnvironment;

/// The delay before the second attempt.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest delay that a target may request.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct AttemptError {
    pub(super) error: TargetError,
    /// The delay that the target requested.
    pub(super) after: Option<Duration>,
    /// The response that was not an answer, without secrets, shortened for display.
    pub(super) reply: Option<String>,
}

impl From<TargetError> for AttemptError {
    fn from(error: TargetError) -> Self {
        Self { error, after: None, reply: None }
    }
}

#[derive(Debug)]
pub(super) struct AttemptResult<T> {
    pub(super) value: T,
    pub(super) attempts: u32,
    pub(super) latency: Duration,
}

/// Applies the limits of a target to its requests.
pub(super) struct RequestLimiter {
    limits: TargetLimits,
    retry: RetryPolicy,
    concurrency: ConcurrencyLimit,
    rate_limiter: Option<RateLimiter>,
    environment: TargetEnvironment,
    random: fn() -> f64,
}

impl RequestLimiter {
    pub(super) fn new(limits: TargetLimits, environment: TargetEnvironment) -> Self {
        Self {
            retry: RetryPolicy {
                attempts: limits.attempts,
                first: FIRST_WAIT,
                max_wait: LONGEST_WAIT,
            },
            concurrency: ConcurrencyLimit::new(limits.concurrency),
            rate_limiter: limits.per_second.map(RateLimiter::new),
            limits,
            environment,
            random: fastrand::f64,
        }
    }

    /// Repeats attempts until one succeeds, a retry cannot help, or the time is up. Each attempt
    /// receives its time limit. Waiting for a turn does not count against the target's deadline,
    /// but it does against the caller's, `within`.
    pub(super) fn try_for<T>(
        &self,
        within: Option<Duration>,
        attempt: &dyn Fn(Duration) -> Result<T, AttemptError>,
    ) -> Result<AttemptResult<T>, TargetError> {
        let end = within.and_then(|within| Instant::now().checked_add(within));
        let _place = self.concurrency.acquire_unless(&|| self.is_over()).ok_or_else(cancelled)?;
        let mut deadline = Instant::now() + self.limits.deadline;
        let mut attempts = 0;
        loop {
            deadline += self.take_turn()?;
            attempts += 1;
            let started = Instant::now();
            let until = end.map_or(deadline, |end| end.min(deadline));
            let left = until.saturating_duration_since(started);
            if left.is_zero() {
                return Err(TargetError::new(TargetErrorKind::Timeout, "there was no time left"));
            }
            let failed = match attempt(self.limits.timeout.min(left)) {
                Ok(value) => {
                    return Ok(AttemptResult { value, attempts, latency: started.elapsed() });
                }
                Err(failed) => failed,
            };
            if self.is_over() {
                return Err(cancelled());
            }
            let wait = self.retry.wait(attempts, failed.after, (self.random)());
            let wait = wait.filter(|_| failed.error.kind.is_passing());
            let wait = wait.filter(|wait| Instant::now() + *wait < until);
            match wait {
                Some(wait) => self.wait(wait)?,
                None => return Err(after(attempts, failed.error)),
            }
        }
    }

    /// Waits for the rate limit; returns how long it took.
    fn take_turn(&self) -> Result<Duration, TargetError> {
        let wait = self
            .rate_limiter
            .as_ref()
            .map(|rate_limiter| rate_limiter.reserve(Instant::now()))
            .unwrap_or_default();
        self.wait(wait)?;
        Ok(wait)
    }

    fn wait(&self, wait: Duration) -> Result<(), TargetError> {
        if pause(wait, &|| self.is_over()) { Ok(()) } else { Err(cancelled()) }
    }

    fn is_over(&self) -> bool {
        self.environment.is_over()
    }
}

pub(super) fn cancelled() -> TargetError {
    TargetError::new(TargetErrorKind::Cancelled, "it was stopped")
}

fn after(attempts: u32, error: TargetError) -> TargetError {
    if attempts == 1 {
        return error;
    }
    TargetError { message: format!("{} (after {attempts} attempts)", error.message), ..error }
}
