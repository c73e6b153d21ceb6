//! Errors that prevent a measurement.

use gbrain_brain::BrainError;
use gbrain_core::fault::chain;
use gbrain_core::money::Usd;
use gbrain_core::probe::ProbeOutcome;
use gbrain_embed::EmbedErrorKind;
use gbrain_index::IndexError;
use gbrain_llm::{ModelCallError, ModelCallErrorKind, ModelError};
use gbrain_store::StoreError;

use crate::EvalError;
use crate::cross_modal::JuryError;

/// The reason that nothing was measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    /// The estimate exceeds the cap.
    #[error(
        "it can cost {estimate}, and {cap} is allowed; allow more with `gbrain config set \
         autopilot.nightly_quality_probe.max_usd`"
    )]
    TooDear {
        /// Upper bound of the cost.
        estimate: Usd,
        cap: Usd,
    },
    #[error("there is no model that answers: set models.eval.longmemeval")]
    NoReader,
    /// Replaying a cassette, but the settings need models that no cassette records.
    #[error(
        "a cassette holds no vectors, other words or orders: replay with the built-in embedder, \
         without search.expand and without models.rerank"
    )]
    NotOnTape,
    /// A model setting is not a valid model name.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A setting is invalid.
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// A model is unavailable.
    #[error("{kind}: {message}", kind = .0.kind, message = .0.message)]
    Ask(#[from] ModelCallError),
    #[error(transparent)]
    Jury(#[from] JuryError),
    /// The questions could not be run.
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ProbeError {
    pub(super) fn outcome(&self) -> ProbeOutcome {
        match self {
            Self::TooDear { .. } => ProbeOutcome::BudgetExceeded,
            Self::Ask(error) if error.kind == ModelCallErrorKind::OverBudget => {
                ProbeOutcome::BudgetExceeded
            }
            Self::Brain(error) | Self::Eval(EvalError::Brain(error)) if is_unpaid(error) => {
                ProbeOutcome::BudgetExceeded
            }
            _ => ProbeOutcome::Error,
        }
    }

    /// The error with its causes, on one line.
    pub(super) fn detail(&self) -> String {
        chain(self)
    }
}

/// Whether the embedder stopped because the budget is exhausted.
fn is_unpaid(error: &BrainError) -> bool {
    match error {
        BrainError::Index(IndexError::Embed(error)) => error.cause() == EmbedErrorKind::OverBudget,
        _ => false,
    }
}
