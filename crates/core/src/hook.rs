//! Models that a retrieval asks through its caller: why one of them could not help.
//!
//! An expander, a reranker and a remote embedder fail in the same few ways. The reason goes into the
//! answer as a stable word; what exactly was said is for whoever asked the model to tell.

use crate::named;

/// Why a model gave a stage nothing to work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookError {
    /// It could not be reached, or said no.
    Failed,
    /// It did not answer in time.
    Timeout,
    /// Asking it would have cost more than was left.
    OverBudget,
    /// There is no key to ask it with.
    NoKey,
    /// It was asked for, and there is nobody to ask.
    NoProvider,
    /// Nobody knows what asking it costs.
    NoPrice,
    /// It answered, and nothing of it could be used.
    Empty,
    /// It gave the wrong number of scores, or scores that are no numbers.
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
