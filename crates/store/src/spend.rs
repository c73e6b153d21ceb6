//! Money in the store: budgets, and the charges against them.
//!
//! A call is charged with the most that it can cost before it is sent, in one transaction with the check
//! of its budgets, and with what it did cost when that is known. A process that is killed in between
//! leaves the worst case charged: nobody knows whether the call was made.

use gbrain_core::money::Usd;
use gbrain_core::named;
use jiff::Timestamp;

/// The name of the budgets that stand for a day, before the day.
pub const STANDING: &str = "day:";

/// A limit on what may be charged against a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Who names it shares it, in whatever process: 1 to 200 bytes.
    pub name: String,
    /// The most that may be charged, this caller's calls and everybody else's together.
    pub cap: Usd,
}

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCharge {
    /// The budget of the run.
    pub budget: Budget,
    /// A budget that stands beside those of runs, such as a day's.
    pub standing: Option<Budget>,
    /// Which model is asked, as `provider:model`.
    pub model: String,
    /// What for, such as `contradictions`.
    pub purpose: String,
    /// The most that it can cost.
    pub worst: Usd,
}

/// Names a charge: its budget, and its number in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChargeId {
    /// The budget of the run.
    pub budget: String,
    /// From 1, without gaps, in the order in which calls were charged.
    pub number: u64,
}

/// Where a charge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChargeState {
    /// The call may be under way. It is charged at its worst.
    Reserved,
    /// The call was answered and costs what its tokens cost.
    Settled,
    /// The call was refused before any token was made: it costs nothing.
    Released,
    /// Nobody knows what the call cost: it stays charged at its worst.
    Lost,
}

named! {
    ChargeState { Reserved = "reserved", Settled = "settled", Released = "released", Lost = "lost" }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Answered, at this cost.
    Cost {
        /// What its tokens cost.
        usd: Usd,
        /// Tokens that were sent.
        input: u64,
        /// Tokens that came back.
        output: u64,
    },
    /// Not answered, and by the provider's word not billed.
    Free,
    Unknown,
}

/// A call that was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub id: ChargeId,
    /// The standing budget that it counts against too.
    pub standing: Option<String>,
    /// Which model was asked.
    pub model: String,
    pub purpose: String,
    pub state: ChargeState,
    /// The most that it can cost.
    pub worst: Usd,
    /// What it costs, once it is known or given up.
    pub actual: Option<Usd>,
    /// Tokens that were sent, once it is settled.
    pub input: Option<u64>,
    /// Tokens that came back, once it is settled.
    pub output: Option<u64>,
    /// When it was charged.
    pub created_at: Timestamp,
}

/// A budget with what is charged against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetState {
    pub name: String,
    /// The limit that its latest caller gave.
    pub cap: Usd,
    /// What is charged: what calls did cost, and the worst that open and lost ones can.
    pub charged: Usd,
    /// How many calls were charged.
    pub calls: u64,
    /// When it was first charged.
    pub created_at: Timestamp,
}

/// What one model cost for one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendLine {
    pub model: String,
    pub purpose: String,
    pub calls: u64,
    /// Of them, those that are open or were lost.
    pub unsettled: u64,
    /// What is charged for all of them.
    pub charged: Usd,
}
