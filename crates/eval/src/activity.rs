//! What happened in a workspace by day, as bodies of `core/format`: the same for `--json` and the
//! API.

use gbrain_core::format::activity::{BudgetBody, CaptureDaysBody, PageChangesBody, SpendBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::ModelCatalog;
use gbrain_store::{DAILY_PREFIX, Store, StoreError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Budgets that are listed.
const BUDGETS: usize = 50;

/// Captures by day, of the last `days` days.
pub fn capture_days(
    store: &Store,
    workspace: &WorkspaceId,
    days: u16,
    now: Timestamp,
) -> Result<CaptureDaysBody, StoreError> {
    let back = SignedDuration::from_hours(24 * i64::from(days.saturating_sub(1)));
    let since = now.saturating_sub(back).unwrap_or(Timestamp::UNIX_EPOCH);
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date().to_string();
    Ok(CaptureDaysBody {
        from: day(since),
        to: day(now),
        days: store.capture_days(workspace, since)?,
    })
}

/// The last changes of pages that are not private.
pub fn page_changes(
    store: &Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<PageChangesBody, StoreError> {
    Ok(PageChangesBody { changes: store.recent_changes(workspace, limit)? })
}

/// The cost of model calls at `since` or later.
pub fn spending(
    store: &Store,
    workspace: &WorkspaceId,
    since: Timestamp,
    now: Timestamp,
) -> Result<SpendBody, StoreError> {
    let lines = store.spend(workspace, since)?;
    let today = now.to_zoned(TimeZone::UTC).date();
    let today = store.budget(workspace, &format!("{DAILY_PREFIX}{today}"))?;
    let config = store.config_list(workspace)?.into_iter().collect();
    let total: Usd = lines.iter().map(|line| line.charged).sum();
    let budgets = store.budgets(workspace, since, BUDGETS)?.into_iter();
    Ok(SpendBody {
        since: since.to_string(),
        usd: total.as_f64(),
        today_usd: today.map_or(Usd::ZERO, |budget| budget.charged).as_f64(),
        max_usd_per_day: ModelCatalog::per_day(&config).as_f64(),
        lines,
        days: store.spend_days(workspace, since)?,
        budgets: budgets
            .map(|one| BudgetBody {
                name: one.name,
                max_usd: one.cap.as_f64(),
                usd: one.charged.as_f64(),
                calls: one.calls,
                created_at: format!("{:.3}", one.created_at),
            })
            .collect(),
    })
}
