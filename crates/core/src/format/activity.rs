//! What happened in a workspace by day: captures, spending, and changes of pages.

use schemars::JsonSchema;
use serde::Serialize;

use crate::activity::{CaptureDay, PageChange, SpendDay, SpendLine};

/// Captures of remote requests by day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureDays")]
pub struct CaptureDaysBody {
    /// The first day.
    pub from: String,
    /// The last day, which is today in UTC.
    pub to: String,
    /// Oldest first; days without captures and failures are left out.
    pub days: Vec<CaptureDay>,
}

/// The last changes of pages that are not private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PageChanges")]
pub struct PageChangesBody {
    /// The changes, newest first.
    pub changes: Vec<PageChange>,
}

/// The cost of model calls: the output of `gbrain spend --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Spending")]
pub struct SpendBody {
    /// Calls at this time or later are counted.
    pub since: String,
    /// The total in US dollars. Unsettled calls count at their maximum cost.
    pub usd: f64,
    /// Charges of today, in UTC.
    pub today_usd: f64,
    /// The budget of a day.
    pub max_usd_per_day: f64,
    /// Totals by model and purpose.
    pub lines: Vec<SpendLine>,
    /// Totals by day, oldest first; days without a call are left out.
    pub days: Vec<SpendDay>,
    /// Budgets of single runs and of days, newest first, at most 50.
    pub budgets: Vec<BudgetBody>,
}

/// A budget with its charges.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Budget")]
pub struct BudgetBody {
    pub name: String,
    /// The limit.
    pub max_usd: f64,
    pub usd: f64,
    pub calls: u64,
    /// When it was first charged.
    pub created_at: String,
}
