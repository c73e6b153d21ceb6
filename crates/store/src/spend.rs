//! Budgets, and the charges against them.
//!
//! A call is charged with its maximum cost before it is sent, in one transaction with the check of
//! its budgets, and corrected to its actual cost when that is known. A process that is killed in
//! between leaves the maximum charged, because it is unknown whether the call was made.

use gbrain_core::money::Usd;
use gbrain_core::named;
use jiff::Timestamp;

/// The prefix of the names of daily budgets.
pub const DAILY_PREFIX: &str = "day:";

/// A limit on the charges under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// All callers that use this name, in any process, share the budget: 1 to 200 bytes.
    pub name: String,
    /// The maximum total of all callers.
    pub cap: Usd,
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCharge {
    /// The budget of the run.
    pub budget: Budget,
    /// An additional budget across runs, such as a daily one.
    pub standing: Option<Budget>,
    /// The model, as `provider:model`.
    pub model: String,
    /// The purpose of the call, such as `contradictions`.
    pub purpose: String,
    /// The maximum cost of the call, which is charged before it is sent.
    pub worst: Usd,
}

/// Identifies a charge: its budget, and its number in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChargeId {
    /// The budget of the run.
    pub budget: String,
    /// From 1, without gaps, in the order in which calls were charged.
    pub number: u64,
}

named! {
    /// The state of a charge.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ChargeState {
        /// The call may be in progress. Charged at its maximum cost.
        Reserved = "reserved",
        /// The call was answered. Charged at the cost of its tokens.
        Settled = "settled",
        /// The call was refused before any token was generated: it costs nothing.
        Released = "released",
        /// The cost of the call is unknown: it stays charged at its maximum.
        Lost = "lost",
    }
}

/// The actual cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Answered, at this cost.
    Cost {
        /// The cost of its tokens.
        usd: Usd,
        /// The number of tokens sent, as billed.
        input: u64,
        /// The number of tokens received, as billed.
        output: u64,
    },
    /// Not answered and, according to the provider, not billed.
    Free,
    Unknown,
}

/// A charge with its state and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub id: ChargeId,
    /// The additional budget that it counts against.
    pub standing: Option<String>,
    pub model: String,
    pub purpose: String,
    pub state: ChargeState,
    /// The maximum cost of the call, which is charged before it is sent.
    pub worst: Usd,
    /// The final cost, once it is settled or lost.
    pub actual: Option<Usd>,
    /// Tokens sent, once it is settled.
    pub input: Option<u64>,
    /// Tokens received, once it is settled.
    pub output: Option<u64>,
    pub created_at: Timestamp,
}

/// A budget and its charges so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetState {
    pub name: String,
    /// The limit given by its latest caller.
    pub cap: Usd,
    /// The actual cost of settled calls plus the maximum cost of open and lost ones.
    pub charged: Usd,
    pub calls: u64,
    /// When it was first charged.
    pub created_at: Timestamp,
}
