//! The nightly quality probe: rate limit, outcomes and health.
//!
//! A run that reaches a verdict or its budget uses up a window of 24 hours. A failed run does not,
//! so that a short outage does not cost a night; each further failure doubles the wait, so that a
//! probe that fails after spending money cannot spend it every few minutes.
//!
//! Guarantees: every outcome has its own name; only a pass is green; an enabled probe that does not
//! run is reported.
//!
//! Not here: the clock, the audit file and the run itself.

mod conclude;
mod health;

pub use conclude::{ProbeConclusion, ProbeQuestions, UnansweredQuestion, conclude};
pub(crate) use health::ENABLE;
pub use health::{Health, health};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::cross_modal::batch::BatchVerdict;
use crate::money::Usd;
use crate::named;

/// The window that a counted run uses up.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Wait after the first failure. Each further failure doubles it, up to the window.
pub const RETRY: SignedDuration = SignedDuration::from_hours(1);

named! {
    /// The outcome of a run or of a request for one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ProbeOutcome {
        Pass = "pass",
        Fail = "fail",
        Inconclusive = "inconclusive",
        Error = "error",
        /// The estimate or the cost exceeds the budget.
        BudgetExceeded = "budget_exceeded",
        /// The last run is too recent.
        RateLimited = "rate_limited",
        /// The embedder is remote and has no API key.
        NoEmbeddingKey = "no_embedding_key",
        Disabled = "disabled",
    }
}

/// Whether the budget was sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Every call was within the budget.
    Within,
    /// Some calls were skipped because of the budget.
    Exceeded,
}

impl ProbeOutcome {
    /// The outcome of a batch of judged questions. A verdict that was reached before the budget ran
    /// out stands.
    pub(crate) fn of_batch(verdict: BatchVerdict, spending: Spending) -> Self {
        match (verdict, spending) {
            (BatchVerdict::Pass, _) => Self::Pass,
            (BatchVerdict::Fail, _) => Self::Fail,
            (BatchVerdict::Inconclusive, Spending::Exceeded) => Self::BudgetExceeded,
            (BatchVerdict::Inconclusive, Spending::Within) => Self::Inconclusive,
            (BatchVerdict::Error, _) => Self::Error,
        }
    }

    /// Whether it uses up the window: it reached a verdict or its budget.
    pub fn counts(self) -> bool {
        matches!(self, Self::Pass | Self::Fail | Self::Inconclusive | Self::BudgetExceeded)
    }

    /// The next step after a manual run.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Pass => None,
            Self::Fail => Some("inspect the answers: gbrain eval probe history --json"),
            Self::Inconclusive => Some("check which judges answer: gbrain models"),
            Self::Error => Some("check which models are available: gbrain models"),
            Self::BudgetExceeded => Some(
                "allow more: gbrain config set autopilot.nightly_quality_probe.max_usd 5.00, or choose \
                 cheaper models: gbrain models",
            ),
            Self::RateLimited => Some("run it anyway: gbrain eval probe run --force"),
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

    /// The exit code: 0 pass, 1 fail, 2 inconclusive.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            _ => 2,
        }
    }
}

/// An audit entry of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    pub outcome: ProbeOutcome,
    pub pass: usize,
    pub fail: usize,
    /// Number of questions without a verdict.
    pub inconclusive: usize,
    /// Number of questions that could not be answered or judged.
    pub error: usize,
    /// Estimated cost of the whole run, answers and judges.
    pub estimate: Usd,
    pub cost: Usd,
    pub fixture_sha8: Option<String>,
    /// Further details, if the outcome needs an explanation.
    pub detail: Option<String>,
}

impl Event {
    /// An outcome without questions.
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
    /// Whether the budget rejected the run before any call: nothing was spent or measured.
    pub fn is_refusal(&self) -> bool {
        self.outcome == ProbeOutcome::BudgetExceeded
            && self.cost == Usd::ZERO
            && self.pass + self.fail + self.inconclusive + self.error == 0
    }

    /// Whether the next run waits for the end of the window. It does not after a rejection, so that
    /// a larger budget takes effect at once.
    pub(crate) fn uses_window(&self) -> bool {
        self.outcome.counts() && !self.is_refusal()
    }

    /// Whether it repeats the last rejection for the same reason. Recording each check would fill
    /// the audit.
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

/// The embedder's location and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedder {
    /// A built-in or local model that needs no key.
    Local,
    /// A provider with a key.
    Remote,
    /// A provider without a key.
    RemoteWithoutKey,
}

/// Whether the probe is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeSwitch {
    On,
    Off,
}

/// Whether the probe runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeDecision {
    Go,
    /// The run is skipped, with the outcome.
    Not(ProbeOutcome),
}

/// Decides whether the probe runs now, from past runs in any order.
pub fn decide(
    switch: ProbeSwitch,
    past: &[Event],
    now: Timestamp,
    embedder: Embedder,
) -> ProbeDecision {
    match (switch, embedder) {
        (ProbeSwitch::Off, _) => ProbeDecision::Not(ProbeOutcome::Disabled),
        (ProbeSwitch::On, _) if due(past, now).is_some() => {
            ProbeDecision::Not(ProbeOutcome::RateLimited)
        }
        (ProbeSwitch::On, Embedder::RemoteWithoutKey) => {
            ProbeDecision::Not(ProbeOutcome::NoEmbeddingKey)
        }
        (ProbeSwitch::On, Embedder::Local | Embedder::Remote) => ProbeDecision::Go,
    }
}

/// Whether an outcome is recorded in the audit. The probe is checked every few minutes, so a
/// rate-limited check is never recorded, and a missing key once per window.
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

/// The audit file name for a time, by ISO year and week.
pub fn file_name(at: Timestamp) -> String {
    let week = at.to_zoned(TimeZone::UTC).date().iso_week_date();
    format!("quality-probe-{}-W{:02}.jsonl", week.year(), week.week())
}

/// When the next run is due, from past runs in any order; none if now.
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

/// Merges runs from several sources, oldest first, without duplicates.
pub fn merged(lists: impl IntoIterator<Item = Vec<Event>>) -> Vec<Event> {
    let mut events: Vec<Event> = lists.into_iter().flatten().collect();
    events.sort_by_key(|event| (event.at, event.outcome));
    events.dedup_by_key(|event| (event.at, event.outcome));
    events
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// The wait after a number of failures in a row.
fn pause(failures: usize) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(5) as u32;
    (RETRY * 2i32.pow(doublings)).min(WINDOW)
}

/// Whether two times are closer than `span`, in either order: a clock that was set back must
/// neither open the window nor keep it closed for long.
fn is_within(at: Timestamp, now: Timestamp, span: SignedDuration) -> bool {
    now.duration_since(at).abs() < span
}

#[cfg(test)]
mod tests;
