//! Model call errors. Every kind has a name, for counters, reports and exit codes.

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::hook::HookError;
use gbrain_core::money::Usd;
use gbrain_core::named;

use crate::client::CallCost;
use crate::model::ModelError;

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ModelCallErrorKind {
        /// The provider is unknown or does not support this kind of call.
        NoProvider = "no_provider",
        /// The key is missing from where the settings say.
        NoKey = "no_key",
        /// No price is configured for the model.
        NoPrice = "no_price",
        /// The remaining budget does not cover the call.
        OverBudget = "over_budget",
        /// The provider's rate limit was exceeded, also after retries.
        RateLimited = "rate_limited",
        Timeout = "timeout",
        /// The provider failed with a status of 500 or more.
        Unavailable = "http_5xx",
        Unreachable = "unreachable",
        /// The provider rejected the key.
        Denied = "denied",
        /// The provider rejected the request.
        BadRequest = "bad_request",
        /// The model refused to answer.
        Refusal = "refusal",
        /// The reply was cut off at the token limit.
        Truncated = "truncated",
        /// The response does not have the documented or requested form.
        Malformed = "parse_fail",
        Cancelled = "cancelled",
        /// The cassette has a reply to this input for another prompt.
        StaleCassette = "stale_cassette",
        /// The cassette has no reply, and calls are not allowed.
        NotRecorded = "not_recorded",
        /// The ledger of charges cannot be written.
        Ledger = "ledger",
    }
}

impl ModelCallErrorKind {
    /// Whether every further call would fail in the same way, so that a run should stop.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::NoProvider
                | Self::NoKey
                | Self::NoPrice
                | Self::OverBudget
                | Self::Denied
                | Self::Cancelled
                | Self::Ledger
        )
    }
}

/// A failed model call. The message never contains a key or the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelCallError {
    pub kind: ModelCallErrorKind,
    pub message: String,
    /// Charge of all attempts. A failed call may be billed too.
    pub cost: Usd,
}

impl ModelCallError {
    pub(crate) fn new(kind: ModelCallErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cost: Usd::ZERO }
    }

    /// The same error with the cost of the attempts.
    pub(crate) fn with_cost(self, bill: &CallCost) -> Self {
        Self { cost: bill.cost, ..self }
    }
}

/// The reason that a degraded retrieval stage reports.
impl From<ModelCallErrorKind> for HookError {
    fn from(kind: ModelCallErrorKind) -> Self {
        match kind {
            ModelCallErrorKind::NoKey => Self::NoKey,
            ModelCallErrorKind::NoProvider => Self::NoProvider,
            ModelCallErrorKind::NoPrice => Self::NoPrice,
            ModelCallErrorKind::OverBudget => Self::OverBudget,
            ModelCallErrorKind::Timeout => Self::Timeout,
            _ => Self::Failed,
        }
    }
}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<ModelCallError> for Fault {
    fn from(error: ModelCallError) -> Self {
        let hint = match error.kind {
            ModelCallErrorKind::NoPrice => {
                "add its price to prices.json in the home directory; `gbrain models prices` shows the form"
            }
            ModelCallErrorKind::NoKey => {
                "set the variable, or name a file with `llm.providers.NAME.key_file`"
            }
            ModelCallErrorKind::OverBudget => "allow more with --max-usd, or ask for less",
            ModelCallErrorKind::StaleCassette | ModelCallErrorKind::NotRecorded => {
                "record again with --cassette FILE, without --replay-only, where there is a key"
            }
            _ => "",
        };
        let kind = match error.kind {
            ModelCallErrorKind::OverBudget => FaultKind::OverBudget,
            ModelCallErrorKind::Timeout => FaultKind::Timeout,
            ModelCallErrorKind::Cancelled => FaultKind::Cancelled,
            ModelCallErrorKind::NoKey
            | ModelCallErrorKind::NoPrice
            | ModelCallErrorKind::NoProvider => FaultKind::Config,
            _ => FaultKind::Model,
        };
        let fault = Self::new(kind, format!("{}: {error}", error.kind));
        if hint.is_empty() { fault } else { fault.hint(hint) }
    }
}
