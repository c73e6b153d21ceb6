//! Aggregates the votes of a panel into a verdict.
//!
//! A model's score of a dimension is the mean over its cycles with a vote. A panel passes if in
//! every dimension the mean of the models is at least 7 and no single score is below 5, with votes
//! of at least two models. A failed cycle is counted, and the other cycles do not gain weight. A
//! call that was not made leaves the verdict open, unless no score could have changed it.

use super::sequential::{VerdictState, verdict_state};
use super::tally::{self, Tally};
use super::{Call, CallOutcome, CallSkipReason, Panel, SCORE_FLOOR};
use crate::gate::Verdict;
use crate::money::Usd;
use crate::named;
use crate::stats::{Alpha, AlphaError, krippendorff, mean};

named! {
    /// Why a dimension fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DimensionFailure {
        /// The mean of the models is below 7.
        MeanBelow7 = "mean_below_7",
        /// A score is below 5.
        MinBelow5 = "min_below_5",
    }
}

named! {
    /// Why there is no verdict.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum UndecidedReason {
        /// Fewer than two models voted.
        TooFewModels = "too_few_models",
        /// Calls that were not made could have changed the verdict.
        CallsNotMade = "calls_not_made",
    }
}

/// The aggregated scores of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionResult {
    pub key: String,
    /// The mean of the models' means, for display; the verdict does not use it.
    pub mean: Option<f64>,
    /// The lowest single score.
    pub min: Option<u8>,
    /// The highest single score.
    pub max: Option<u8>,
    /// Each model's mean over its cycles, by seat.
    pub by_seat: Vec<Option<f64>>,
    pub reasons: Vec<DimensionFailure>,
}

/// The aggregated result of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub verdict: Verdict,
    /// The reason, if the verdict is inconclusive.
    pub unsure: Option<UndecidedReason>,
    /// Every dimension, in the rubric's order.
    pub dimensions: Vec<DimensionResult>,
    /// The mean of the dimensions' means.
    pub overall: Option<f64>,
    /// Number of models that voted.
    pub contributing: usize,
    /// Number of calls with a vote.
    pub votes: usize,
    pub failed: usize,
    /// Number of calls that were not made.
    pub not_made: usize,
    /// At most ten suggested improvements, without duplicates.
    pub improvements: Vec<String>,
    /// Agreement of the models over the dimensions.
    pub agreement: Result<Alpha, AlphaError>,
    /// Cost of all calls.
    pub cost: Usd,
    /// Maximum cost of the calls that were not needed.
    pub saved: Usd,
}

const IMPROVEMENTS: usize = 10;
/// Improvements with the same first characters are duplicates.
const ALIKE: usize = 40;

impl Panel {
    /// Aggregates the votes of a panel.
    pub fn aggregate(&self) -> Aggregate {
        let tallies: Vec<Tally> = self.tallies().into_iter().map(|(tally, _)| tally).collect();
        let dimensions: Vec<DimensionResult> =
            (0..self.keys().len()).map(|at| self.dimension(&tallies, at)).collect();
        let standing = verdict_state(self);
        let contributing = tally::contributing(&tallies);
        let unsure = match standing {
            VerdictState::Settled(Verdict::Inconclusive) => Some(UndecidedReason::TooFewModels),
            VerdictState::Settled(_) => None,
            VerdictState::Open => Some(UndecidedReason::CallsNotMade),
        };
        let means: Option<Vec<f64>> = dimensions.iter().map(|dimension| dimension.mean).collect();
        let (votes, failed, not_made) = self.counts();
        Aggregate {
            verdict: match standing {
                VerdictState::Settled(verdict) => verdict,
                VerdictState::Open => Verdict::Inconclusive,
            },
            unsure,
            overall: means.and_then(|means| mean(&means)),
            agreement: agreement(dimensions.iter()),
            dimensions,
            contributing,
            votes,
            failed,
            not_made,
            improvements: self.improvements(),
            cost: self.calls().iter().map(|call| call.cost).sum(),
            saved: self.calls().iter().map(saved).sum(),
        }
    }

    fn dimension(&self, tallies: &[Tally], at: usize) -> DimensionResult {
        let by_seat: Vec<Option<f64>> = tallies.iter().map(|tally| tally.mean(at)).collect();
        let means: Vec<f64> = by_seat.iter().flatten().copied().collect();
        let min = tally::lowest(tallies, at);
        let mut reasons = Vec::new();
        if min.is_some() && !tally::reaches_mean(tallies, at) {
            reasons.push(DimensionFailure::MeanBelow7);
        }
        if min.is_some_and(|min| min < SCORE_FLOOR) {
            reasons.push(DimensionFailure::MinBelow5);
        }
        DimensionResult {
            key: self.keys()[at].clone(),
            mean: mean(&means),
            min,
            max: self.votes().map(|vote| vote.scores[at]).max(),
            by_seat,
            reasons,
        }
    }

    /// Votes, failures, and calls that were not made or not recorded.
    fn counts(&self) -> (usize, usize, usize) {
        let votes = self.votes().count();
        let is_failed = |call: &&Call| matches!(call.outcome, CallOutcome::Failed(_));
        let failed = self.calls().iter().filter(is_failed).count();
        let all = self.seats().len() * usize::from(self.cycles());
        (votes, failed, all - votes - failed)
    }

    /// The first ten distinct improvements, by cycle and slot.
    fn improvements(&self) -> Vec<String> {
        let mut seen = Vec::new();
        let mut kept = Vec::new();
        for improvement in self.votes().flat_map(|vote| &vote.improvements) {
            let start: String = improvement.to_lowercase().chars().take(ALIKE).collect();
            if kept.len() < IMPROVEMENTS && !seen.contains(&start) {
                seen.push(start);
                kept.push(improvement.clone());
            }
        }
        kept
    }
}

/// Agreement of models: Krippendorff's alpha for interval data, with models as raters and
/// dimensions, of one question or several, as units.
pub fn agreement<'a>(
    dimensions: impl Iterator<Item = &'a DimensionResult>,
) -> Result<Alpha, AlphaError> {
    let units: Vec<Vec<Option<f64>>> =
        dimensions.map(|dimension| dimension.by_seat.clone()).collect();
    krippendorff(&units)
}

fn saved(call: &Call) -> Usd {
    match call.outcome {
        CallOutcome::NotMade(CallSkipReason::Settled(saved)) => saved,
        _ => Usd::ZERO,
    }
}

#[cfg(test)]
pub(super) mod tests;
