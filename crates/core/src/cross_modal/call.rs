//! Who sits on a panel, and what came of asking each of them.

use super::Vote;
use crate::money::Usd;
use crate::named;

/// A place on the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    A,
    B,
    C,
}

named! { Slot { A = "A", B = "B", C = "C" } }

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub slot: Slot,
    /// The model, as `provider:model`.
    pub model: String,
}

/// One call of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
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
    Scored(Vote),
    /// No answer, or one that is no vote.
    Failed(String),
    /// It was not made.
    NotMade(Unmade),
}

/// Why a call was not made. Unlike a failure it is no fact about the model, so it leaves open what the
/// model would have said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmade {
    /// The verdict could not change any more. The amount is what it would have cost at most.
    Settled(Usd),
    /// There was no money left for it.
    OverBudget,
    /// Somebody asked to stop.
    Cancelled,
    /// Only a cassette may answer, and it was recorded with another prompt.
    StaleCassette,
    /// Only a cassette may answer, and it holds no answer to this.
    NotRecorded,
}

impl Unmade {
    /// Its name in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::OverBudget => "over_budget",
            Self::Cancelled => "cancelled",
            Self::StaleCassette => "stale_cassette",
            Self::NotRecorded => "not_recorded",
        }
    }
}
