//! What happened in a workspace by day: captures, spending, and changes of pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Captures of remote requests by day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CaptureDays")]
pub struct CaptureDaysBody {
    /// The first day.
    pub from: String,
    /// The last day, which is today in UTC.
    pub to: String,
    /// Oldest first; days without captures and failures are left out.
    pub days: Vec<CaptureDayBody>,
}

/// Captures of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CaptureDay")]
pub struct CaptureDayBody {
    /// The day, in UTC.
    pub day: String,
    /// Number of stored captures.
    pub stored: u64,
    /// Number of captures that could not be stored.
    pub failed: u64,
}

/// The last changes of pages that are not private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageChanges")]
pub struct PageChangesBody {
    /// The changes, newest first.
    pub changes: Vec<PageChangeBody>,
}

/// A change of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageChange")]
pub struct PageChangeBody {
    /// The page, as `source::slug`.
    pub page: String,
    pub title: String,
    /// The version that the change made.
    pub version: u32,
    /// One of: added, changed, deleted.
    pub change: String,
    pub at: String,
}

/// The cost of model calls: the output of `gbrain spend --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub lines: Vec<SpendLineBody>,
    /// Totals by day, oldest first; days without a call are left out.
    #[serde(default)]
    pub days: Vec<SpendDayBody>,
    /// Budgets of single runs and of days, newest first, at most 50.
    #[serde(default)]
    pub budgets: Vec<BudgetBody>,
}

/// The cost of a model for a purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SpendLine")]
pub struct SpendLineBody {
    pub model: String,
    pub purpose: String,
    pub calls: u64,
    /// Calls in progress and calls whose cost is unknown: they count at their maximum cost.
    pub unsettled: u64,
    pub usd: f64,
}

/// The cost of a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SpendDay")]
pub struct SpendDayBody {
    /// The day, in UTC.
    pub day: String,
    pub calls: u64,
    pub usd: f64,
}

/// A budget with its charges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
