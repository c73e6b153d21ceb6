//! Why an external model could not serve a retrieval stage.
//!
//! An expander, a reranker and a remote embedder fail in the same few ways. The ranking contains
//! the reason as a stable name; the caller that called the model reports the details.

use crate::named;

/// Why a model gave a stage no usable output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookError {
    /// The model was unreachable or rejected the call.
    Failed,
    Timeout,
    /// The call would exceed the budget.
    OverBudget,
    /// No API key is configured.
    NoKey,
    /// A model is configured, but no provider for it.
    NoProvider,
    /// No price is configured for the model.
    NoPrice,
    /// The model answered, but nothing in its answer is usable.
    Empty,
    /// The number of scores is wrong, or a score is not a number.
    BadScores,
}

named! {
    HookError {
        Failed = "failed",
        Timeout = "timeout",
        OverBudget = "over_budget",
        NoKey = "no_key",
        NoProvider = "no_provider",
        NoPrice = "no_price",
        Empty = "empty",
        BadScores = "bad_scores",
    }
}

impl std::error::Error for HookError {}
