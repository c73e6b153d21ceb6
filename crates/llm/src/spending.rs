//! The budget of a client: charges before and after an attempt.
//!
//! A charge counts against the budget of the run and of the day on which it was made, and is
//! settled on that day's budget even after midnight.

use std::sync::Arc;

use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_store::{Budget, ChargeId, DAILY_PREFIX, NewCharge, Settlement, Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::model::ModelRef;
use crate::price::Price;
use crate::wire::Usage;

/// The budgets that calls are charged to.
#[derive(Clone)]
pub struct Spending {
    pub store: Arc<Store>,
    pub workspace: WorkspaceId,
    /// The budget of this run; without one only the daily budget is charged.
    pub budget: Option<Budget>,
    /// The most that may be charged in a day (UTC) by all runs of the workspace.
    pub per_day: Option<Usd>,
    pub purpose: String,
}

/// The remaining amount, and the limit that determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub left: Usd,
    pub limit: SpendingLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendingLimit {
    Run,
    /// The daily budget of all runs of the workspace.
    Day,
}

impl Spending {
    /// The amount that the budgets of the run and of the day leave. A caller compares an estimate
    /// with it before the first call; each call is still charged against both.
    pub(crate) fn allowance(&self, now: Timestamp) -> Result<Allowance, ModelCallError> {
        let run = self.budget.clone().map(|budget| (budget, SpendingLimit::Run));
        let day = self.day(now).map(|budget| (budget, SpendingLimit::Day));
        let mut tightest = None;
        for (budget, limit) in run.into_iter().chain(day) {
            let state = self.store.budget(&self.workspace, &budget.name);
            let state = state.map_err(|error| {
                ModelCallError::new(ModelCallErrorKind::Ledger, error.to_string())
            })?;
            let left = budget.cap.saturating_sub(state.map_or(Usd::ZERO, |state| state.charged));
            if tightest.is_none_or(|tightest: Allowance| left < tightest.left) {
                tightest = Some(Allowance { left, limit });
            }
        }
        tightest.ok_or_else(without_budget)
    }

    fn day(&self, now: Timestamp) -> Option<Budget> {
        let day = now.to_zoned(TimeZone::UTC).date();
        self.per_day.map(|cap| Budget { name: format!("{DAILY_PREFIX}{day}"), cap })
    }

    /// Charges the maximum cost of an attempt.
    pub(crate) fn reserve(
        &self,
        model: &ModelRef,
        worst: Usd,
        now: Timestamp,
    ) -> Result<ChargeId, ModelCallError> {
        let (budget, standing) = match (&self.budget, self.day(now)) {
            (Some(budget), day) => (budget.clone(), day),
            (None, Some(day)) => (day, None),
            (None, None) => return Err(without_budget()),
        };
        let charge = NewCharge {
            budget,
            standing,
            model: model.to_string(),
            purpose: self.purpose.clone(),
            worst,
        };
        self.store.reserve(&self.workspace, &charge, now).map_err(|error| {
            let kind = match error {
                StoreError::OverBudget { .. } => ModelCallErrorKind::OverBudget,
                _ => ModelCallErrorKind::Ledger,
            };
            ModelCallError::new(kind, error.to_string())
        })
    }

    /// Settles an answered call at its actual cost and returns the charge. If the response reports
    /// no usage, or none although the call has a cost (some proxies do not count, or report tokens
    /// where searches are billed), the maximum stays charged.
    pub(crate) fn settle(
        &self,
        charge: &ChargeId,
        used: Option<(Usage, &Price)>,
        worst: Usd,
        now: Timestamp,
    ) -> Usd {
        let used = used.map(|(used, price)| (used, price.of_usage(used)));
        let known = used.filter(|(_, usd)| *usd > Usd::ZERO || worst == Usd::ZERO);
        let Some((used, usd)) = known else { return self.give_up(charge, true, worst, now) };
        let settlement = Settlement::Cost { usd, input: used.input, output: used.output };
        if self.write(charge, &settlement, now) { usd } else { worst }
    }

    /// Refunds a failed call unless it may be billed; returns the charge.
    pub(crate) fn give_up(
        &self,
        charge: &ChargeId,
        billed: bool,
        worst: Usd,
        now: Timestamp,
    ) -> Usd {
        let settlement = if billed { Settlement::Unknown } else { Settlement::Free };
        if self.write(charge, &settlement, now) && !billed { Usd::ZERO } else { worst }
    }

    /// Whether the ledger was updated. If not, the maximum stays charged, which is never too
    /// little.
    fn write(&self, charge: &ChargeId, settlement: &Settlement, now: Timestamp) -> bool {
        self.store.settle(&self.workspace, charge, settlement, now).unwrap_or(false)
    }
}

fn without_budget() -> ModelCallError {
    ModelCallError::new(ModelCallErrorKind::OverBudget, "no budget is set")
}

#[cfg(test)]
mod tests {
    use gbrain_store::{ChargeState, Location, OpenMode};

    use super::*;

    const WORST: Usd = Usd::cents(10);

    fn spending(dir: &tempfile::TempDir) -> Spending {
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let store =
            gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::UNIX_EPOCH).unwrap();
        Spending {
            store: store.into(),
            workspace: WorkspaceId::default(),
            budget: Some(Budget { name: "run".to_owned(), cap: Usd::cents(100) }),
            per_day: Some(Usd::cents(15)),
            purpose: "test".to_owned(),
        }
    }

    fn charged(spending: &Spending, budget: &str) -> Usd {
        let state = spending.store.budget(&spending.workspace, budget).unwrap();
        state.map_or(Usd::ZERO, |state| state.charged)
    }

    fn model() -> ModelRef {
        "a:b".parse().unwrap()
    }

    #[test]
    fn a_call_over_midnight_is_of_the_day_on_which_it_began() {
        let dir = tempfile::tempdir().unwrap();
        let spending = spending(&dir);
        let before: Timestamp = "2026-01-31T23:59:59.999Z".parse().unwrap();
        let after: Timestamp = "2026-02-01T00:00:00Z".parse().unwrap();
        let first = spending.reserve(&model(), WORST, before).unwrap();
        let days =
            || ["day:2026-01-31", "day:2026-02-01", "run"].map(|name| charged(&spending, name));
        assert_eq!(days(), [WORST, Usd::ZERO, WORST]);
        assert!(spending.reserve(&model(), WORST, before).is_err(), "that day is full");
        let second = spending.reserve(&model(), WORST, after).unwrap();
        assert_eq!(spending.give_up(&first, false, WORST, after), Usd::ZERO);
        assert_eq!(days(), [Usd::ZERO, WORST, WORST]);
        // A clock that is put back.
        assert_eq!(spending.give_up(&second, true, WORST, before), WORST);
        assert_eq!(days(), [Usd::ZERO, WORST, WORST]);
    }

    #[test]
    fn the_allowance_is_what_the_tighter_budget_leaves() {
        let dir = tempfile::tempdir().unwrap();
        let mut spending = spending(&dir);
        let (today, tomorrow) = (Timestamp::UNIX_EPOCH, "1970-01-02T00:00:00Z".parse().unwrap());
        let check = |spending: &Spending, now, cents, limit| {
            let expected = Allowance { left: Usd::cents(cents), limit };
            assert_eq!(spending.allowance(now).unwrap(), expected);
        };
        check(&spending, today, 15, SpendingLimit::Day);
        spending.reserve(&model(), WORST, today).unwrap();
        check(&spending, today, 5, SpendingLimit::Day);
        check(&spending, tomorrow, 15, SpendingLimit::Day);
        spending.per_day = Some(Usd::cents(500));
        check(&spending, today, 90, SpendingLimit::Run);
        spending.budget = Some(Budget { name: "run".to_owned(), cap: Usd::cents(5) });
        check(&spending, today, 0, SpendingLimit::Run);
        (spending.budget, spending.per_day) = (None, None);
        assert!(spending.allowance(today).is_err());
    }

    /// Reported usage, the resulting charge and its state.
    #[track_caller]
    fn check(used: Option<Usage>, price: &str, cents: u32, state: ChargeState) {
        let dir = tempfile::tempdir().unwrap();
        let spending = spending(&dir);
        let price = format!(r#"{{"a:b": {{{price}, "source": "a test", "date": "2026-01-01"}}}}"#);
        let prices = crate::Prices::parse(&price).unwrap();
        let price = prices.iter().next().unwrap().1;
        let now = Timestamp::UNIX_EPOCH;
        let charge = spending.reserve(&model(), WORST, now).unwrap();
        let charge_total = spending.settle(&charge, used.map(|used| (used, price)), WORST, now);
        assert_eq!((charge_total, charged(&spending, "run")), (Usd::cents(cents), charge_total));
        let charges = spending.store.charges(&spending.workspace, "run").unwrap();
        assert_eq!(charges[0].state, state);
    }

    #[test]
    fn answers_without_usage_are_never_free() {
        let by_tokens = r#""input_usd_per_million": 10000, "output_usd_per_million": 20000"#;
        let by_searches = r#""usd_per_thousand_searches": 20"#;
        let used = |input, output, searches| Some(Usage { input, output, searches });
        check(used(1, 1, 0), by_tokens, 3, ChargeState::Settled);
        check(None, by_tokens, 10, ChargeState::Lost);
        check(used(0, 0, 0), by_tokens, 10, ChargeState::Lost);
        check(used(0, 0, 1), by_searches, 2, ChargeState::Settled);
        check(used(700, 0, 0), by_searches, 10, ChargeState::Lost);
        // Dearer than its worst: in full.
        check(used(20, 0, 0), by_tokens, 20, ChargeState::Settled);
    }
}
