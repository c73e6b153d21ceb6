//! The nightly quality probe: whether it may run, what its result is called, and how it has been doing.
//!
//! A run that reached a verdict, or its budget, uses up a window of 24 hours. A run that failed does
//! not, so that one bad minute does not cost a night; it waits longer after each failure, so that a probe
//! that fails after it has spent money can't spend it every few minutes.
//!
//! Promises: every outcome has its own name; only a pass is green; a probe that is on and silent is told.
//!
//! Deliberately absent: the clock, the audit file and the run itself.

mod conclude;
mod health;

pub use conclude::{Asked, Conclusion, Unanswered, conclude};
pub(crate) use health::ENABLE;
pub use health::{Health, health};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::cross_modal::batch::BatchVerdict;
use crate::money::Usd;
use crate::named;

/// How long a run that counts keeps the next one off.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// How long the first failure keeps the next run off. Each further one doubles it, up to the window.
pub const RETRY: SignedDuration = SignedDuration::from_hours(1);

/// What came of a run, or of asking for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeOutcome {
    Pass,
    Fail,
    /// There is no verdict.
    Inconclusive,
    Error,
    /// It would cost, or has cost, more than it may.
    BudgetExceeded,
    /// It ran not long ago.
    RateLimited,
    /// The embedder is remote and has no key.
    NoEmbeddingKey,
    Disabled,
}

named! { ProbeOutcome {
    Pass = "pass",
    Fail = "fail",
    Inconclusive = "inconclusive",
    Error = "error",
    BudgetExceeded = "budget_exceeded",
    RateLimited = "rate_limited",
    NoEmbeddingKey = "no_embedding_key",
    Disabled = "disabled",
} }

/// Whether the budget held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Every call could be paid.
    Within,
    /// Calls were not made for want of money.
    Exceeded,
}

impl ProbeOutcome {
    /// What a batch of judged questions is called. A verdict that was reached before the money ran out
    /// stands.
    pub(crate) fn of_batch(verdict: BatchVerdict, spending: Spending) -> Self {
        match (verdict, spending) {
            (BatchVerdict::Pass, _) => Self::Pass,
            (BatchVerdict::Fail, _) => Self::Fail,
            (BatchVerdict::Inconclusive, Spending::Exceeded) => Self::BudgetExceeded,
            (BatchVerdict::Inconclusive, Spending::Within) => Self::Inconclusive,
            (BatchVerdict::Error, _) => Self::Error,
        }
    }

    /// Whether it uses up the window: it reached a verdict, or spent what it may.
    pub fn counts(self) -> bool {
        matches!(self, Self::Pass | Self::Fail | Self::Inconclusive | Self::BudgetExceeded)
    }

    /// What whoever asked for it by hand can do about it.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Pass => None,
            Self::Fail => Some("look at the answers: gbrain eval probe history --json"),
            Self::Inconclusive => Some("look which judges answer: gbrain models"),
            Self::Error => Some("look who can be asked: gbrain models"),
            Self::BudgetExceeded => Some(
                "allow more: gbrain config set autopilot.nightly_quality_probe.max_usd 5.00, or choose \
                 cheaper models: gbrain models",
            ),
            Self::RateLimited => Some("run it all the same: gbrain eval probe run --force"),
            Self::NoEmbeddingKey => Some(
                "set the key of the embedder that config.json names, or remove `embedder` for the \
                 built-in one: gbrain models",
            ),
            Self::Disabled => Some(
                "turn it on: gbrain config set autopilot.nightly_quality_probe.enabled true; or run it \
                 once: gbrain eval probe run --force",
            ),
        }
    }

    /// The exit code: 0 is a pass, 1 a measured fail, 2 no verdict.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            _ => 2,
        }
    }
}

/// A run in the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    /// What came of it.
    pub outcome: ProbeOutcome,
    pub pass: usize,
    pub fail: usize,
    /// Questions without a verdict.
    pub inconclusive: usize,
    /// Questions that could not be answered or judged.
    pub error: usize,
    /// About what the whole run, answers and judges, was expected to cost.
    pub estimate: Usd,
    pub cost: Usd,
    pub fixture_sha8: Option<String>,
    /// Why, where the outcome alone does not tell.
    pub detail: Option<String>,
}

impl Event {
    /// An outcome without any questions.
    pub fn bare(at: Timestamp, outcome: ProbeOutcome, detail: Option<String>) -> Self {
        Self {
            at,
            outcome,
            pass: 0,
            fail: 0,
            inconclusive: 0,
            error: 0,
            estimate: Usd::ZERO,
            cost: Usd::ZERO,
            fixture_sha8: None,
            detail,
        }
    }
}

impl Event {
    /// Whether the budget refused it before anything was asked: nothing was spent and nothing measured.
    pub fn is_refusal(&self) -> bool {
        self.outcome == ProbeOutcome::BudgetExceeded
            && self.cost == Usd::ZERO
            && self.pass + self.fail + self.inconclusive + self.error == 0
    }

    /// Whether the next run waits for the end of the window: not after a refusal, so that a larger budget
    /// counts at once.
    pub(crate) fn uses_window(&self) -> bool {
        self.outcome.counts() && !self.is_refusal()
    }

    /// Whether it is the last refusal again, for the same reason: what is asked every few minutes would fill the
    /// audit.
    pub fn repeats(&self, past: &[Self]) -> bool {
        let latest = past.iter().max_by_key(|event| event.at);
        self.is_refusal()
            && latest.is_some_and(|last| {
                last.is_refusal()
                    && last.detail == self.detail
                    && is_within(last.at, self.at, WINDOW)
            })
    }
}

/// Where meaning comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedder {
    /// The model in the binary, or one on disk: no key is needed.
    Local,
    /// A provider whose key is there.
    Remote,
    /// A provider whose key is missing.
    RemoteWithoutKey,
}

/// Whether somebody turned the probe on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    /// It may not; the default.
    Off,
}

/// Whether the probe runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Go,
    /// It does not, and this is why.
    Not(ProbeOutcome),
}

/// Whether the probe runs now, from its past runs in any order.
pub fn decide(switch: Switch, past: &[Event], now: Timestamp, embedder: Embedder) -> Decision {
    match (switch, embedder) {
        (Switch::Off, _) => Decision::Not(ProbeOutcome::Disabled),
        (Switch::On, _) if due(past, now).is_some() => Decision::Not(ProbeOutcome::RateLimited),
        (Switch::On, Embedder::RemoteWithoutKey) => Decision::Not(ProbeOutcome::NoEmbeddingKey),
        (Switch::On, Embedder::Local | Embedder::Remote) => Decision::Go,
    }
}

/// Whether an outcome goes into the audit: what is asked every few minutes would fill it, so a run that
/// was not due never does, and a missing key once in a window.
pub fn is_recorded(outcome: ProbeOutcome, past: &[Event], now: Timestamp) -> bool {
    match outcome {
        ProbeOutcome::Disabled | ProbeOutcome::RateLimited => false,
        ProbeOutcome::NoEmbeddingKey => {
            let latest = past.iter().max_by_key(|event| event.at);
            !latest
                .is_some_and(|event| event.outcome == outcome && is_within(event.at, now, WINDOW))
        }
        _ => true,
    }
}

/// The audit file of a moment, by ISO year and week.
pub fn file_name(at: Timestamp) -> String {
    let week = at.to_zoned(TimeZone::UTC).date().iso_week_date();
    format!("quality-probe-{}-W{:02}.jsonl", week.year(), week.week())
}

/// When the next run is due, from past runs in any order; none if it is now.
pub fn due(past: &[Event], now: Timestamp) -> Option<Timestamp> {
    let last_that_counts = past.iter().filter(|event| event.uses_window()).max_by_key(|e| e.at);
    if let Some(event) = last_that_counts.filter(|event| is_within(event.at, now, WINDOW)) {
        return Some(later(event.at, WINDOW));
    }
    let since = last_that_counts.map_or(Timestamp::MIN, |event| event.at);
    let is_failure = |event: &&Event| event.outcome == ProbeOutcome::Error && event.at > since;
    let pause = pause(past.iter().filter(is_failure).count());
    let last_failure = past.iter().filter(is_failure).map(|event| event.at).max()?;
    is_within(last_failure, now, pause).then(|| later(last_failure, pause))
}

/// Runs from several places as one list, oldest first, each once.
pub fn merged(lists: impl IntoIterator<Item = Vec<Event>>) -> Vec<Event> {
    let mut events: Vec<Event> = lists.into_iter().flatten().collect();
    events.sort_by_key(|event| (event.at, event.outcome));
    events.dedup_by_key(|event| (event.at, event.outcome));
    events
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// How long to wait after so many failures in a row.
fn pause(failures: usize) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(5) as u32;
    (RETRY * 2i32.pow(doublings)).min(WINDOW)
}

/// Whether two moments are closer than that, whichever comes first: a clock that was set back must
/// neither open the window nor keep it shut for long.
fn is_within(at: Timestamp, now: Timestamp, span: SignedDuration) -> bool {
    now.duration_since(at).abs() < span
}

#[cfg(test)]
mod tests;
