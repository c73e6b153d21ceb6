//! Why a run has nothing to tell but that.

use gbrain_brain::BrainError;
use gbrain_core::fault::chain;
use gbrain_core::money::Usd;
use gbrain_core::probe::ProbeOutcome;
use gbrain_embed::Cause;
use gbrain_index::IndexError;
use gbrain_llm::{AskError, AskErrorKind, ModelError};
use gbrain_store::StoreError;

use crate::EvalError;
use crate::cross_modal::JuryError;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// It may cost more than it may.
    #[error(
        "it can cost {estimate}, and {cap} is allowed; allow more with `gbrain config set \
         autopilot.nightly_quality_probe.max_usd`"
    )]
    TooDear {
        /// What it can cost.
        estimate: Usd,
        cap: Usd,
    },
    #[error("there is no model that answers: set models.eval.longmemeval")]
    NoReader,
    /// A cassette alone was to answer, and others are asked too.
    #[error(
        "a cassette holds no vectors, other words or orders: replay with the built-in embedder, \
         without search.expand and without models.rerank"
    )]
    NotOnTape,
    /// What names a model is none.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A setting can't be used.
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// A model can't be asked.
    #[error("{kind}: {message}", kind = .0.kind, message = .0.message)]
    Ask(#[from] AskError),
    /// The panel can't be asked.
    #[error(transparent)]
    Jury(#[from] JuryError),
    /// The questions could not be asked.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Trouble {
    /// What the run is called.
    pub(super) fn outcome(&self) -> ProbeOutcome {
        match self {
            Self::TooDear { .. } => ProbeOutcome::BudgetExceeded,
            Self::Ask(error) if error.kind == AskErrorKind::OverBudget => {
                ProbeOutcome::BudgetExceeded
            }
            Self::Brain(error) | Self::Eval(EvalError::Brain(error)) if is_unpaid(error) => {
                ProbeOutcome::BudgetExceeded
            }
            _ => ProbeOutcome::Error,
        }
    }

    /// Why, in a line.
    pub(super) fn detail(&self) -> String {
        chain(self)
    }
}

/// Whether vectors are missing for want of money.
fn is_unpaid(error: &BrainError) -> bool {
    match error {
        BrainError::Index(IndexError::Embed(error)) => error.cause() == Cause::OverBudget,
        _ => false,
    }
}
