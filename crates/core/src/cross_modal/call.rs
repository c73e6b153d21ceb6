//! The models of a panel, and the outcomes of their calls.

use super::JudgeVote;
use crate::money::Usd;
use crate::named;

named! {
    /// A position on the panel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PanelSlot {
        A = "A",
        B = "B",
        C = "C",
    }
}

/// A slot with its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelSeat {
    pub slot: PanelSlot,
    /// The model, as `provider:model`.
    pub model: String,
}

/// One call of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub slot: PanelSlot,
    /// Number of the cycle, from 1.
    pub cycle: u8,
    pub outcome: CallOutcome,
    /// The cost; a failed call can have one too.
    pub cost: Usd,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    Scored(JudgeVote),
    /// No answer, or an answer that is not a vote.
    Failed(String),
    NotMade(CallSkipReason),
}

/// Why a call was not made. Unlike a failure it says nothing about the model, so the model's vote
/// remains open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSkipReason {
    /// The verdict could no longer change. The amount is the maximum cost that was saved.
    Settled(Usd),
    /// The budget was exhausted.
    OverBudget,
    /// The run was cancelled.
    Cancelled,
    /// The run uses a cassette, which was recorded with another prompt.
    StaleCassette,
    /// The run uses a cassette, which has no answer to this call.
    NotRecorded,
}

impl CallSkipReason {
    /// The name used in receipts.
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
