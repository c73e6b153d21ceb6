//! The calls of one question, each recorded once.

use super::tally::Tally;
use super::{
    Call, CallOutcome, HIGHEST, JudgeVote, LOWEST, MAX_CYCLES, PanelSeat, PanelSlot, QUORUM, Rubric,
};

/// Why a panel is invalid, or a call does not belong to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// Fewer than two seats, or a duplicate slot.
    #[error("a panel has two or three seats, each slot once")]
    Seats,
    /// A model in two seats would agree with itself.
    #[error("the model `{0}` has two seats; a panel needs different models")]
    SameModel(String),
    #[error("{0} cycles; use 1 to {MAX_CYCLES}")]
    Cycles(u8),
    #[error("slot {slot} has no cycle {cycle} on this panel")]
    NoSuchCall { slot: PanelSlot, cycle: u8 },
    /// A recorded outcome cannot be replaced.
    #[error("cycle {cycle} of slot {slot} is already recorded")]
    Again { slot: PanelSlot, cycle: u8 },
    #[error("the vote of slot {0} does not have the rubric's dimensions")]
    OtherRubric(PanelSlot),
}

/// The calls of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    keys: Vec<String>,
    seats: Vec<PanelSeat>,
    cycles: u8,
    calls: Vec<Call>,
}

impl Panel {
    /// A panel without calls.
    pub fn new(rubric: &Rubric, seats: &[PanelSeat], cycles: u8) -> Result<Self, PanelError> {
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

    /// Records the outcome of a call.
    pub fn record(&mut self, call: Call) -> Result<(), PanelError> {
        let Call { slot, cycle, ref outcome, .. } = call;
        let is_seat = self.seats.iter().any(|seat| seat.slot == slot);
        if !is_seat || !(1..=self.cycles).contains(&cycle) {
            return Err(PanelError::NoSuchCall { slot, cycle });
        }
        if self.calls.iter().any(|other| (other.slot, other.cycle) == (slot, cycle)) {
            return Err(PanelError::Again { slot, cycle });
        }
        if let CallOutcome::Scored(vote) = outcome {
            let is_score = |score: &u8| (LOWEST..=HIGHEST).contains(score);
            if vote.scores.len() != self.keys.len() || !vote.scores.iter().all(is_score) {
                return Err(PanelError::OtherRubric(slot));
            }
        }
        self.calls.push(call);
        self.calls.sort_by_key(|call| (call.cycle, call.slot));
        Ok(())
    }

    pub fn seats(&self) -> &[PanelSeat] {
        &self.seats
    }

    /// Number of calls per model.
    pub fn cycles(&self) -> u8 {
        self.cycles
    }

    /// The recorded calls, by cycle and slot.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The calls without a record, by cycle and slot.
    pub fn missing_calls(&self) -> Vec<(PanelSlot, u8)> {
        let all = (1..=self.cycles)
            .flat_map(|cycle| self.seats.iter().map(move |seat| (seat.slot, cycle)));
        all.filter(|(slot, cycle)| {
            !self.calls.iter().any(|call| (call.slot, call.cycle) == (*slot, *cycle))
        })
        .collect()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.keys.len()
    }

    /// The votes of each seat, and the number of its calls that can still be made.
    pub(super) fn tallies(&self) -> Vec<(Tally, u8)> {
        let of_seat = |seat: &PanelSeat| {
            let (mut tally, mut made) = (Tally::default(), 0);
            for call in self.calls.iter().filter(|call| call.slot == seat.slot) {
                made += u8::from(!matches!(call.outcome, CallOutcome::NotMade(_)));
                if let CallOutcome::Scored(vote) = &call.outcome {
                    tally.add(&vote.scores);
                }
            }
            (tally, self.cycles - made)
        };
        self.seats.iter().map(of_seat).collect()
    }

    /// The votes, by cycle and slot.
    pub(super) fn votes(&self) -> impl Iterator<Item = &JudgeVote> {
        self.calls.iter().filter_map(|call| match &call.outcome {
            CallOutcome::Scored(vote) => Some(vote),
            _ => None,
        })
    }
}
