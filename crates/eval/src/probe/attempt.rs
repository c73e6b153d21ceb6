//! The result of a run under a claim, as an event and a report.

use gbrain_core::cross_modal::batch::VerdictCounts;
use gbrain_core::format::probe::{ProbeEvent, ProbeMeasured, ProbeReport};
use gbrain_core::money::Usd;
use gbrain_core::probe::{Event, ProbeConclusion, ProbeOutcome};
use gbrain_llm::Cassette;
use jiff::Timestamp;

use super::error::ProbeError;
use super::fixture;
use super::measure::{PreparedProbe, ProbeContext};

pub(super) struct ProbeAttempt {
    conclusion: ProbeConclusion,
    /// Upper bound of the cost.
    estimate: Usd,
    /// The measurement, if any question was asked.
    pub(super) measured: Option<ProbeMeasured>,
}

impl ProbeAttempt {
    /// Measures, if all models are available and the estimate is within the cap. Every failure
    /// becomes an outcome.
    pub(super) fn of(
        context: &ProbeContext<'_>,
        cap: Usd,
        tape: Option<Cassette>,
        began: Timestamp,
    ) -> Self {
        let mut estimate = Usd::ZERO;
        let measured = PreparedProbe::new(context, tape).and_then(|ready| {
            estimate = ready.estimate()?;
            if estimate > cap {
                return Err(ProbeError::TooDear { estimate, cap });
            }
            ready.run(began, estimate)
        });
        match measured {
            Ok(measured) => {
                let (conclusion, report) = (measured.conclusion, measured.report);
                Self { conclusion, estimate, measured: Some(report) }
            }
            Err(error) => Self { estimate, ..Self::bare(error.outcome(), Some(error.detail())) },
        }
    }

    /// The outcome of a run that asked no question.
    pub(super) fn bare(outcome: ProbeOutcome, detail: Option<String>) -> Self {
        let conclusion = ProbeConclusion { outcome, counts: VerdictCounts::default(), detail };
        Self { conclusion, estimate: Usd::ZERO, measured: None }
    }

    /// The outcome of a run whose attempts are used up.
    pub(super) fn given_up(times: u32) -> Self {
        let detail = format!("it was begun {times} times, and its process was killed each time");
        Self::bare(ProbeOutcome::Error, Some(detail))
    }

    /// Whether the run was complete before it was stopped.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.conclusion.outcome, ProbeOutcome::Pass | ProbeOutcome::Fail)
    }

    /// The event for the audit file.
    pub(super) fn event(&self, at: Timestamp, cost: Usd) -> Event {
        let ProbeConclusion { outcome, counts, detail } = self.conclusion.clone();
        let VerdictCounts { pass, fail, inconclusive, error, upstream_error, malformed } = counts;
        Event {
            at: milliseconds(at),
            outcome,
            pass,
            fail,
            inconclusive,
            error: error + upstream_error + malformed,
            estimate: self.estimate,
            cost,
            fixture_sha8: Some(fixture::sha8()),
            detail,
        }
    }

    pub(super) fn report(self, event: &Event, cap: Usd) -> ProbeReport {
        let report = ProbeReport::bare(ProbeEvent::from(event), cap.as_f64());
        ProbeReport { measured: self.measured, ..report }
    }
}

/// A timestamp in milliseconds, as the store keeps it, so that the row and the audit line match.
fn milliseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
