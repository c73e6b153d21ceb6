//! Turns, time limits and further attempts: the same for every target that may fail.

use std::time::{Duration, Instant};

use gbrain_core::target::{TargetError, TargetErrorKind, TargetLimits};
use gbrain_net::{Lane, Pace, Retry, pause};

use super::Surroundings;

/// The wait before the second attempt.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest wait that a target may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An attempt that gave no answer.
#[derive(Debug)]
pub(super) struct Missed {
    pub(super) error: TargetError,
    /// The wait that the target asked for.
    pub(super) after: Option<Duration>,
    /// What it said instead of an answer, without secrets, as far as a person reads it.
    pub(super) said: Option<String>,
}

impl From<TargetError> for Missed {
    fn from(error: TargetError) -> Self {
        Self { error, after: None, said: None }
    }
}

/// An attempt that gave one.
#[derive(Debug)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) attempts: u32,
    pub(super) latency: Duration,
}

/// How patiently a target is asked.
pub(super) struct Patience {
    limits: TargetLimits,
    retry: Retry,
    lane: Lane,
    pace: Option<Pace>,
    surroundings: Surroundings,
    random: fn() -> f64,
}

impl Patience {
    pub(super) fn new(limits: TargetLimits, surroundings: Surroundings) -> Self {
        Self {
            retry: Retry { attempts: limits.attempts, first: FIRST_WAIT, longest: LONGEST_WAIT },
            lane: Lane::new(limits.concurrency),
            pace: limits.per_second.map(Pace::new),
            limits,
            surroundings,
            random: fastrand::f64,
        }
    }

    /// Attempts until one gives an answer, none may help, or the time is up. An attempt is told how long
    /// it may take. Waiting for a turn does not count as time of the target, but it does as time of
    /// whoever asks, who may have only so much: `within`.
    pub(super) fn try_for<T>(
        &self,
        within: Option<Duration>,
        attempt: &dyn Fn(Duration) -> Result<T, Missed>,
    ) -> Result<Given<T>, TargetError> {
        let end = within.and_then(|within| Instant::now().checked_add(within));
        let _place = self.lane.enter_unless(&|| self.is_over()).ok_or_else(cancelled)?;
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
            let missed = match attempt(self.limits.timeout.min(left)) {
                Ok(value) => return Ok(Given { value, attempts, latency: started.elapsed() }),
                Err(missed) => missed,
            };
            if self.is_over() {
                return Err(cancelled());
            }
            let wait = self.retry.wait(attempts, missed.after, (self.random)());
            let wait = wait.filter(|_| missed.error.kind.is_passing());
            let wait = wait.filter(|wait| Instant::now() + *wait < until);
            match wait {
                Some(wait) => self.wait(wait)?,
                None => return Err(after(attempts, missed.error)),
            }
        }
    }

    /// Waits for the next turn, where there are only so many a second; how long it took.
    fn take_turn(&self) -> Result<Duration, TargetError> {
        let wait = self.pace.as_ref().map(|pace| pace.turn(Instant::now())).unwrap_or_default();
        self.wait(wait)?;
        Ok(wait)
    }

    fn wait(&self, wait: Duration) -> Result<(), TargetError> {
        if pause(wait, &|| self.is_over()) { Ok(()) } else { Err(cancelled()) }
    }

    fn is_over(&self) -> bool {
        self.surroundings.is_over()
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
