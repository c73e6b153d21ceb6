//! What was done under a claim, as an event and a report.

use gbrain_core::cross_modal::batch::Counts;
use gbrain_core::format::probe::{ProbeEvent, ProbeMeasured, ProbeReport};
use gbrain_core::money::Usd;
use gbrain_core::probe::{Conclusion, Event, ProbeOutcome};
use gbrain_llm::Cassette;
use jiff::Timestamp;

use super::fixture;
use super::measure::{Means, Ready};
use super::trouble::Trouble;

pub(super) struct Made {
    conclusion: Conclusion,
    /// What it could have cost at most.
    estimate: Usd,
    /// What was found, if anything was asked.
    pub(super) measured: Option<ProbeMeasured>,
}

impl Made {
    /// Measures, if everybody can be asked and it is not too dear. Whatever goes wrong is an outcome.
    pub(super) fn of(
        means: &Means<'_>,
        cap: Usd,
        tape: Option<Cassette>,
        began: Timestamp,
    ) -> Self {
        let mut estimate = Usd::ZERO;
        let measured = Ready::new(means, tape).and_then(|ready| {
            estimate = ready.estimate()?;
            if estimate > cap {
                return Err(Trouble::TooDear { estimate, cap });
            }
            ready.run(began, estimate)
        });
        match measured {
            Ok(measured) => {
                let (conclusion, report) = (measured.conclusion, measured.report);
                Self { conclusion, estimate, measured: Some(report) }
            }
            Err(trouble) => {
                Self { estimate, ..Self::bare(trouble.outcome(), Some(trouble.detail())) }
            }
        }
    }

    /// An outcome without any question.
    pub(super) fn bare(outcome: ProbeOutcome, detail: Option<String>) -> Self {
        let conclusion = Conclusion { outcome, counts: Counts::default(), detail };
        Self { conclusion, estimate: Usd::ZERO, measured: None }
    }

    /// A run that is not begun again.
    pub(super) fn given_up(times: u32) -> Self {
        let detail = format!("it was begun {times} times, and its process was killed each time");
        Self::bare(ProbeOutcome::Error, Some(detail))
    }

    /// Whether a wish to stop came too late to matter.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.conclusion.outcome, ProbeOutcome::Pass | ProbeOutcome::Fail)
    }

    /// Its line in the audit.
    pub(super) fn event(&self, at: Timestamp, cost: Usd) -> Event {
        let Conclusion { outcome, counts, detail } = self.conclusion.clone();
        let Counts { pass, fail, inconclusive, error, upstream_error, malformed } = counts;
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

    /// Everything that is told of it.
    pub(super) fn report(self, event: &Event, cap: Usd) -> ProbeReport {
        let report = ProbeReport::bare(ProbeEvent::from(event), cap.as_f64());
        ProbeReport { measured: self.measured, ..report }
    }
}

/// A moment as it is kept, so that what is kept in two places is one run.
fn milliseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
