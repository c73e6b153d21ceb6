//! The calls of one question: which there are, and each recorded once.

use super::tally::Tally;
use super::{Call, HIGHEST, LOWEST, MAX_CYCLES, Outcome, QUORUM, Rubric, Seat, Slot, Vote};

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
    NoSuchCall { slot: Slot, cycle: u8 },
    /// It has been recorded: a later outcome does not replace an earlier.
    #[error("cycle {cycle} of slot {slot} is recorded; it can't be recorded again")]
    Again { slot: Slot, cycle: u8 },
    /// The vote is of another rubric.
    #[error("the vote of slot {0} does not have the rubric's dimensions")]
    OtherRubric(Slot),
}

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
        if seats.len() < QUORUM || !seats.is_sorted_by(|a, b| a.slot < b.slot) {
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

    /// The votes, by cycle and slot.
    pub(super) fn votes(&self) -> impl Iterator<Item = &Vote> {
        self.calls.iter().filter_map(|call| match &call.outcome {
            Outcome::Scored(vote) => Some(vote),
            _ => None,
        })
    }
}
