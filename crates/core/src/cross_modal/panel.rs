//! Votes of a panel and what they add up to.
//!
//! A model's score of a dimension is the mean over its cycles that gave a vote. A panel passes if in
//! every dimension the mean of the models is at least 7 and no single score, of any model in any cycle,
//! is below 5, with votes of at least two models. A cycle that failed is counted and never made up for:
//! the others weigh no more than before. A call that was not made leaves the verdict open, unless no
//! score could have changed it.

use super::sequential::{Standing, standing};
use super::tally::{self, Tally};
use super::{HIGHEST, LOWEST, MAX_CYCLES, Rubric, Vote};
use crate::gate::Verdict;
use crate::money::Usd;
use crate::named;
use crate::stats::{Alpha, Metric, NoAlpha, krippendorff};

/// A place on the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The first.
    A,
    /// The second.
    B,
    /// The third.
    C,
}

named! { Slot { A = "A", B = "B", C = "C" } }

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The place.
    pub slot: Slot,
    /// The model, as `provider:model`.
    pub model: String,
}

/// One call of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Who was asked.
    pub slot: Slot,
    /// Which time, from 1.
    pub cycle: u8,
    /// What came of it.
    pub outcome: Outcome,
    /// What it cost, a failure too.
    pub cost: Usd,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A vote.
    Scored(Vote),
    /// No answer, or one that is no vote.
    Failed(String),
    /// It was not made.
    NotMade(Unmade),
}

/// Why a call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmade {
    /// The verdict could not change any more. The amount is what it would have cost at most.
    Settled(Usd),
    /// There was no money left for it.
    OverBudget,
}

/// Why a dimension fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The mean of the models is below 7.
    MeanBelow7,
    /// A score is below 5.
    MinBelow5,
}

named! { Reason { MeanBelow7 = "mean_below_7", MinBelow5 = "min_below_5" } }

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsure {
    /// Fewer than two models voted.
    TooFewModels,
    /// Calls that were not made could have changed it.
    CallsNotMade,
}

named! { Unsure { TooFewModels = "too_few_models", CallsNotMade = "calls_not_made" } }

/// What a panel says of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionResult {
    /// The dimension.
    pub key: String,
    /// The mean of the models' means, for reading; the verdict does not use it.
    pub mean: Option<f64>,
    /// The lowest single score.
    pub min: Option<u8>,
    /// The highest single score.
    pub max: Option<u8>,
    /// Each model's mean over its cycles, by seat.
    pub by_seat: Vec<Option<f64>>,
    /// Why it fails.
    pub reasons: Vec<Reason>,
}

/// What a panel says.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is none.
    pub unsure: Option<Unsure>,
    /// Every dimension, in the rubric's order.
    pub dimensions: Vec<DimensionResult>,
    /// The mean of the dimensions' means.
    pub overall: Option<f64>,
    /// How many models voted.
    pub contributing: usize,
    /// How many calls gave a vote.
    pub votes: usize,
    /// How many failed.
    pub failed: usize,
    /// How many were not made.
    pub not_made: usize,
    /// What would make it better: at most ten, none twice.
    pub improvements: Vec<String>,
    /// How far the models agree over the dimensions.
    pub agreement: Result<Alpha, NoAlpha>,
    /// What all calls cost.
    pub cost: Usd,
    /// What calls that were not needed would have cost at most.
    pub saved: Usd,
}

/// Why a panel can't be, or a call is not one of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// Fewer than two seats, or one slot twice.
    #[error("a panel has two or three seats, each slot once")]
    Seats,
    /// One model in two seats agrees with itself.
    #[error("the model `{0}` sits twice; a panel takes different models")]
    SameModel(String),
    /// Too few or too many cycles.
    #[error("{0} cycles; a panel takes 1 to {MAX_CYCLES}")]
    Cycles(u8),
    /// The panel has no such call.
    #[error("slot {slot} has no cycle {cycle} on this panel")]
    NoSuchCall {
        /// The slot.
        slot: Slot,
        /// The cycle.
        cycle: u8,
    },
    /// It has been recorded: a later outcome does not replace an earlier.
    #[error("cycle {cycle} of slot {slot} is recorded; it can't be recorded again")]
    Again {
        /// The slot.
        slot: Slot,
        /// The cycle.
        cycle: u8,
    },
    /// The vote is of another rubric.
    #[error("the vote of slot {0} does not have the rubric's dimensions")]
    OtherRubric(Slot),
}

/// The most improvements.
const IMPROVEMENTS: usize = 10;
/// Improvements that begin alike are one.
const ALIKE: usize = 40;

/// The calls of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    keys: Vec<String>,
    seats: Vec<Seat>,
    cycles: u8,
    calls: Vec<Call>,
}

impl Panel {
    /// A panel that has not been asked.
    pub fn new(rubric: &Rubric, seats: &[Seat], cycles: u8) -> Result<Self, PanelError> {
        if seats.len() < super::QUORUM || !seats.is_sorted_by(|a, b| a.slot < b.slot) {
            return Err(PanelError::Seats);
        }
        if !(1..=MAX_CYCLES).contains(&cycles) {
            return Err(PanelError::Cycles(cycles));
        }
        for (at, seat) in seats.iter().enumerate() {
            if seats[..at].iter().any(|other| other.model == seat.model) {
                return Err(PanelError::SameModel(seat.model.clone()));
            }
        }
        let keys = rubric.dimensions.iter().map(|dimension| dimension.key.clone()).collect();
        Ok(Self { keys, seats: seats.to_vec(), cycles, calls: Vec::new() })
    }

    /// Takes what came of a call, each once.
    pub fn record(&mut self, call: Call) -> Result<(), PanelError> {
        let Call { slot, cycle, ref outcome, .. } = call;
        let is_seat = self.seats.iter().any(|seat| seat.slot == slot);
        if !is_seat || !(1..=self.cycles).contains(&cycle) {
            return Err(PanelError::NoSuchCall { slot, cycle });
        }
        if self.calls.iter().any(|other| (other.slot, other.cycle) == (slot, cycle)) {
            return Err(PanelError::Again { slot, cycle });
        }
        if let Outcome::Scored(vote) = outcome {
            let is_score = |score: &u8| (LOWEST..=HIGHEST).contains(score);
            if vote.scores.len() != self.keys.len() || !vote.scores.iter().all(is_score) {
                return Err(PanelError::OtherRubric(slot));
            }
        }
        self.calls.push(call);
        self.calls.sort_by_key(|call| (call.cycle, call.slot));
        Ok(())
    }

    /// Who sits on it.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// How often each model is asked.
    pub fn cycles(&self) -> u8 {
        self.cycles
    }

    /// What was recorded, by cycle and slot.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The keys of its dimensions.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The calls that were not recorded yet, by cycle and slot.
    pub fn left(&self) -> Vec<(Slot, u8)> {
        let all = (1..=self.cycles)
            .flat_map(|cycle| self.seats.iter().map(move |seat| (seat.slot, cycle)));
        all.filter(|(slot, cycle)| {
            !self.calls.iter().any(|call| (call.slot, call.cycle) == (*slot, *cycle))
        })
        .collect()
    }

    /// What the votes add up to.
    pub fn aggregate(&self) -> Aggregate {
        let tallies: Vec<Tally> = self.tallies().into_iter().map(|(tally, _)| tally).collect();
        let dimensions: Vec<DimensionResult> =
            (0..self.keys.len()).map(|at| self.dimension(&tallies, at)).collect();
        let standing = standing(self);
        let contributing = tally::contributing(&tallies);
        let unsure = match standing {
            Standing::Settled(Verdict::Inconclusive) => Some(Unsure::TooFewModels),
            Standing::Settled(_) => None,
            Standing::Open => Some(Unsure::CallsNotMade),
        };
        let means: Option<Vec<f64>> = dimensions.iter().map(|dimension| dimension.mean).collect();
        let (votes, failed, not_made) = self.counts();
        Aggregate {
            verdict: match standing {
                Standing::Settled(verdict) => verdict,
                Standing::Open => Verdict::Inconclusive,
            },
            unsure,
            overall: means.and_then(|means| crate::stats::mean(&means)),
            agreement: agreement(dimensions.iter()),
            dimensions,
            contributing,
            votes,
            failed,
            not_made,
            improvements: self.improvements(),
            cost: self.calls.iter().map(|call| call.cost).sum(),
            saved: self.calls.iter().map(saved).sum(),
        }
    }

    /// How many dimensions it scores.
    pub(super) fn dimensions(&self) -> usize {
        self.keys.len()
    }

    /// Each seat's votes, and how many of its calls could still be made.
    pub(super) fn tallies(&self) -> Vec<(Tally, u8)> {
        let of_seat = |seat: &Seat| {
            let (mut tally, mut made) = (Tally::default(), 0);
            for call in self.calls.iter().filter(|call| call.slot == seat.slot) {
                made += u8::from(!matches!(call.outcome, Outcome::NotMade(_)));
                if let Outcome::Scored(vote) = &call.outcome {
                    tally.add(&vote.scores);
                }
            }
            (tally, self.cycles - made)
        };
        self.seats.iter().map(of_seat).collect()
    }

    fn dimension(&self, tallies: &[Tally], at: usize) -> DimensionResult {
        let by_seat: Vec<Option<f64>> = tallies.iter().map(|tally| tally.mean(at)).collect();
        let means: Vec<f64> = by_seat.iter().flatten().copied().collect();
        let min = tally::lowest(tallies, at);
        let mut reasons = Vec::new();
        if min.is_some() && !tally::reaches_mean(tallies, at) {
            reasons.push(Reason::MeanBelow7);
        }
        if min.is_some_and(|min| min < super::SCORE_FLOOR) {
            reasons.push(Reason::MinBelow5);
        }
        DimensionResult {
            key: self.keys[at].clone(),
            mean: crate::stats::mean(&means),
            min,
            max: self.votes().map(|vote| vote.scores[at]).max(),
            by_seat,
            reasons,
        }
    }

    fn votes(&self) -> impl Iterator<Item = &Vote> {
        self.calls.iter().filter_map(|call| match &call.outcome {
            Outcome::Scored(vote) => Some(vote),
            _ => None,
        })
    }

    /// Votes, failures, and calls that were not made or not recorded.
    fn counts(&self) -> (usize, usize, usize) {
        let votes = self.votes().count();
        let is_failed = |call: &&Call| matches!(call.outcome, Outcome::Failed(_));
        let failed = self.calls.iter().filter(is_failed).count();
        let all = self.seats.len() * usize::from(self.cycles);
        (votes, failed, all - votes - failed)
    }

    /// The first ten that do not begin alike, by cycle and slot.
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

/// How far models agree: Krippendorff's alpha for intervals, with models as raters and dimensions, of
/// one question or of many, as units.
pub fn agreement<'a>(
    dimensions: impl Iterator<Item = &'a DimensionResult>,
) -> Result<Alpha, NoAlpha> {
    let units: Vec<Vec<Option<f64>>> =
        dimensions.map(|dimension| dimension.by_seat.clone()).collect();
    krippendorff(&units, Metric::Interval)
}

fn saved(call: &Call) -> Usd {
    match call.outcome {
        Outcome::NotMade(Unmade::Settled(saved)) => saved,
        _ => Usd::ZERO,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Three models that have not been asked.
    pub(in super::super) fn panel(rubric: &Rubric, cycles: u8) -> Panel {
        Panel::new(rubric, &seats(["one", "two", "three"]), cycles).unwrap()
    }

    /// A vote.
    pub(in super::super) fn scored(scores: &[u8]) -> Outcome {
        Outcome::Scored(Vote {
            scores: scores.to_vec(),
            improvements: Vec::new(),
            repairs: BTreeSet::new(),
        })
    }

    fn seats(models: [&str; 3]) -> Vec<Seat> {
        let seat = |(slot, model): (&Slot, &str)| Seat { slot: *slot, model: model.to_owned() };
        Slot::ALL.iter().zip(models).map(seat).collect()
    }

    fn call(slot: Slot, cycle: u8, outcome: Outcome) -> Call {
        Call { slot, cycle, outcome, cost: Usd::cents(2) }
    }

    /// Both dimensions of the first cycle; none is a failure.
    fn asked(scores: [Option<[u8; 2]>; 3]) -> Aggregate {
        let mut panel = panel(&Rubric::qa(), 1);
        for (slot, scores) in Slot::ALL.iter().zip(scores) {
            let failed = || Outcome::Failed("timeout".to_owned());
            let outcome = scores.map_or_else(failed, |scores| scored(&scores));
            panel.record(call(*slot, 1, outcome)).unwrap();
        }
        panel.aggregate()
    }

    #[test]
    fn a_pass_by_hand() {
        let found = asked([Some([8, 7]), Some([7, 7]), Some([9, 7])]);
        assert_eq!((found.verdict, found.unsure), (Verdict::Pass, None));
        assert_eq!((found.contributing, found.votes, found.failed, found.not_made), (3, 3, 0, 0));
        let first = &found.dimensions[0];
        assert_eq!((first.mean, first.min, first.max), (Some(8.0), Some(7), Some(9)));
        assert_eq!(first.by_seat, [Some(8.0), Some(7.0), Some(9.0)]);
        assert_eq!(found.overall, Some(7.5));
        assert_eq!((found.cost, found.saved), (Usd::cents(6), Usd::ZERO));
    }

    #[test]
    fn reasons_of_a_fail() {
        let reasons = |scores| -> Vec<Vec<Reason>> {
            asked(scores).dimensions.into_iter().map(|dimension| dimension.reasons).collect()
        };
        use Reason::{MeanBelow7, MinBelow5};
        assert_eq!(reasons([Some([8, 7]), Some([7, 7]), Some([5, 7])]), [vec![MeanBelow7], vec![]]);
        assert_eq!(
            reasons([Some([10, 7]), Some([10, 7]), Some([4, 7])]),
            [vec![MinBelow5], vec![]]
        );
        assert_eq!(
            reasons([Some([4, 7]), Some([4, 7]), None]),
            [vec![MeanBelow7, MinBelow5], vec![]]
        );
    }

    #[test]
    fn one_survivor_decides_nothing() {
        let found = asked([Some([10, 10]), None, None]);
        assert_eq!(
            (found.verdict, found.unsure),
            (Verdict::Inconclusive, Some(Unsure::TooFewModels))
        );
        assert_eq!((found.votes, found.failed), (1, 2));
        assert_eq!(found.agreement, Err(NoAlpha::NoPairs));
    }

    /// Best-of would take the second cycle.
    #[test]
    fn cycles_are_pooled() {
        let rubric = Rubric::qa();
        let mut panel = panel(&rubric, 2);
        for slot in Slot::ALL {
            panel.record(call(*slot, 1, scored(&[6, 6]))).unwrap();
            panel.record(call(*slot, 2, scored(&[7, 7]))).unwrap();
        }
        let found = panel.aggregate();
        assert_eq!((found.verdict, found.overall), (Verdict::Fail, Some(6.5)));
    }

    #[test]
    fn a_failed_cycle_is_counted_and_not_replaced() {
        let rubric = Rubric::qa();
        let mut panel = panel(&rubric, 2);
        panel.record(call(Slot::A, 1, Outcome::Failed("no JSON".to_owned()))).unwrap();
        let again = panel.record(call(Slot::A, 1, scored(&[9, 9])));
        assert_eq!(again, Err(PanelError::Again { slot: Slot::A, cycle: 1 }));
        for (slot, cycle) in panel.left() {
            panel.record(call(slot, cycle, scored(&[9, 9]))).unwrap();
        }
        let found = panel.aggregate();
        assert_eq!((found.verdict, found.votes, found.failed), (Verdict::Pass, 5, 1));
    }

    #[test]
    fn what_was_not_asked_is_no_pass() {
        let rubric = Rubric::qa();
        let mut open = panel(&rubric, 1);
        open.record(call(Slot::A, 1, scored(&[9, 9]))).unwrap();
        open.record(call(Slot::B, 1, scored(&[9, 9]))).unwrap();
        let mut refused = open.clone();
        refused.record(call(Slot::C, 1, Outcome::NotMade(Unmade::OverBudget))).unwrap();
        for panel in [open, refused] {
            let found = panel.aggregate();
            assert_eq!(found.verdict, Verdict::Inconclusive);
            assert_eq!((found.unsure, found.not_made), (Some(Unsure::CallsNotMade), 1));
        }
    }

    #[test]
    fn what_could_not_change_it_is_saved() {
        let mut panel = panel(&Rubric::qa(), 1);
        panel.record(call(Slot::A, 1, scored(&[2, 9]))).unwrap();
        panel.record(call(Slot::B, 1, scored(&[9, 9]))).unwrap();
        let settled = Outcome::NotMade(Unmade::Settled(Usd::cents(5)));
        panel.record(Call { slot: Slot::C, cycle: 1, outcome: settled, cost: Usd::ZERO }).unwrap();
        let found = panel.aggregate();
        assert_eq!((found.verdict, found.unsure), (Verdict::Fail, None));
        assert_eq!((found.cost, found.saved), (Usd::cents(4), Usd::cents(5)));
    }

    #[test]
    fn improvements_that_begin_alike_are_one() {
        let rubric = Rubric::qa();
        let mut panel = panel(&rubric, 1);
        let improvements = |texts: Vec<String>| {
            let vote = Vote { scores: vec![7, 7], improvements: texts, repairs: BTreeSet::new() };
            Outcome::Scored(vote)
        };
        let long = "Name the sources of each of these claims, ";
        panel.record(call(Slot::A, 1, improvements(vec![format!("{long}please")]))).unwrap();
        let alike = vec![format!("{}now", long.to_uppercase()), "Be brief".to_owned()];
        panel.record(call(Slot::B, 1, improvements(alike))).unwrap();
        let many = (0..20).map(|n| format!("{n}")).collect();
        panel.record(call(Slot::C, 1, improvements(many))).unwrap();
        let found = panel.aggregate().improvements;
        assert_eq!(found.len(), 10);
        assert_eq!(found[..3], [format!("{long}please"), "Be brief".to_owned(), "0".to_owned()]);
    }

    #[test]
    fn panels_that_can_not_be() {
        let rubric = Rubric::qa();
        let new = |seats: &[Seat], cycles| Panel::new(&rubric, seats, cycles).unwrap_err();
        let three = seats(["one", "two", "three"]);
        assert_eq!(new(&three[..1], 1), PanelError::Seats);
        assert_eq!(new(&[three[1].clone(), three[0].clone()], 1), PanelError::Seats);
        assert_eq!(new(&three, 0), PanelError::Cycles(0));
        assert_eq!(new(&three, 4), PanelError::Cycles(4));
        assert_eq!(new(&seats(["one", "two", "one"]), 1), PanelError::SameModel("one".to_owned()));
        let mut two = Panel::new(&rubric, &three[..2], 1).unwrap();
        let stranger = two.record(call(Slot::C, 1, scored(&[7, 7])));
        assert_eq!(stranger, Err(PanelError::NoSuchCall { slot: Slot::C, cycle: 1 }));
        assert_eq!(
            two.record(call(Slot::A, 1, scored(&[7]))),
            Err(PanelError::OtherRubric(Slot::A))
        );
        assert_eq!(
            two.record(call(Slot::A, 1, scored(&[7, 11]))),
            Err(PanelError::OtherRubric(Slot::A))
        );
    }
}
