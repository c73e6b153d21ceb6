//! Why an external model could not serve a retrieval stage.
//!
//! An expander, a reranker and a remote embedder fail in the same few ways. The ranking contains
//! the reason as a stable name; the caller that called the model reports the details.

use crate::named;

named! {
    /// Why a model gave a stage no usable output.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum HookError {
        /// The model was unreachable or rejected the call.
        Failed = "failed",
        Timeout = "timeout",
        /// The call would exceed the budget.
        OverBudget = "over_budget",
        /// No API key is configured.
        NoKey = "no_key",
        /// A model is configured, but no provider for it.
        NoProvider = "no_provider",
        /// No price is configured for the model.
        NoPrice = "no_price",
        /// The model answered, but nothing in its answer is usable.
        Empty = "empty",
        /// The number of scores is wrong, or a score is not a number.
        BadScores = "bad_scores",
    }
}

impl std::error::Error for HookError {}
