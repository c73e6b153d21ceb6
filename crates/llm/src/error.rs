//! Why a model did not answer. Every kind has a name, for counters, reports and exit codes.

use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::hook::HookError;
use gbrain_core::money::Usd;
use gbrain_core::named;

use crate::ask::Bill;
use crate::model::ModelError;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AskErrorKind {
    /// There is no such provider, or it does not do this.
    NoProvider,
    /// The key is not where the settings say.
    NoKey,
    /// Nobody knows what the model costs.
    NoPrice,
    /// The budget has no room for the call.
    OverBudget,
    /// The provider wants fewer calls, and went on wanting it.
    RateLimited,
    /// No answer in time.
    Timeout,
    /// The provider failed, with a status of 500 and more.
    Unavailable,
    Unreachable,
    /// The provider does not accept the key.
    Denied,
    /// The provider does not accept the request.
    BadRequest,
    /// The model will not answer.
    Refusal,
    /// The answer ended at the limit of tokens.
    Truncated,
    /// The answer is not what the provider documents, or not what was asked for.
    Malformed,
    /// Somebody asked to stop.
    Cancelled,
    /// The cassette has an answer to this input, but to another prompt.
    StaleCassette,
    /// The cassette has no answer to this, and nothing else may be asked.
    NotRecorded,
    /// The ledger of charges can't be written.
    Ledger,
}

named! {
    AskErrorKind {
        NoProvider = "no_provider",
        NoKey = "no_key",
        NoPrice = "no_price",
        OverBudget = "over_budget",
        RateLimited = "rate_limited",
        Timeout = "timeout",
        Unavailable = "http_5xx",
        Unreachable = "unreachable",
        Denied = "denied",
        BadRequest = "bad_request",
        Refusal = "refusal",
        Truncated = "truncated",
        Malformed = "parse_fail",
        Cancelled = "cancelled",
        StaleCassette = "stale_cassette",
        NotRecorded = "not_recorded",
        Ledger = "ledger",
    }
}

impl AskErrorKind {
    /// Whether every further call would fail alike, so that a run should stop.
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

/// Why a model did not answer. The message never holds a key or what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AskError {
    pub kind: AskErrorKind,
    pub message: String,
    /// What its attempts are charged at. A failure may be billed too.
    pub cost: Usd,
}

impl AskError {
    pub(crate) fn new(kind: AskErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cost: Usd::ZERO }
    }

    /// The same, after attempts that cost this.
    pub(crate) fn after(self, bill: &Bill) -> Self {
        Self { cost: bill.cost, ..self }
    }
}

/// What a stage of a retrieval says of it.
impl From<AskErrorKind> for HookError {
    fn from(kind: AskErrorKind) -> Self {
        match kind {
            AskErrorKind::NoKey => Self::NoKey,
            AskErrorKind::NoProvider => Self::NoProvider,
            AskErrorKind::NoPrice => Self::NoPrice,
            AskErrorKind::OverBudget => Self::OverBudget,
            AskErrorKind::Timeout => Self::Timeout,
            _ => Self::Failed,
        }
    }
}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<AskError> for Fault {
    fn from(error: AskError) -> Self {
        let hint = match error.kind {
            AskErrorKind::NoPrice => {
                "add its price to prices.json in the home directory; `gbrain models prices` shows the form"
            }
            AskErrorKind::NoKey => {
                "set the variable, or name a file with `llm.providers.NAME.key_file`"
            }
            AskErrorKind::OverBudget => "allow more with --max-usd, or ask for less",
            AskErrorKind::StaleCassette | AskErrorKind::NotRecorded => {
                "record again with --cassette FILE, without --replay-only, where there is a key"
            }
            _ => "",
        };
        let kind = match error.kind {
            AskErrorKind::OverBudget => FaultKind::OverBudget,
            AskErrorKind::Timeout => FaultKind::Timeout,
            AskErrorKind::Cancelled => FaultKind::Cancelled,
            AskErrorKind::NoKey | AskErrorKind::NoPrice | AskErrorKind::NoProvider => {
                FaultKind::Config
            }
            _ => FaultKind::Model,
        };
        let fault = Self::new(kind, format!("{}: {error}", error.kind));
        if hint.is_empty() { fault } else { fault.hint(hint) }
    }
}
