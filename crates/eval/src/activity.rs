//! What happened in a workspace by day, as bodies of `core/format`: the same for `--json` and the
//! API.

use gbrain_core::format::activity::{
    BudgetBody, CaptureDayBody, CaptureDaysBody, PageChangeBody, PageChangesBody, SpendBody,
    SpendDayBody, SpendLineBody,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::ModelCatalog;
use gbrain_store::{DAILY_PREFIX, PageChange, Store, StoreError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::suite::wire::date_of;

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
    let days = store.capture_days(workspace, since)?.into_iter();
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date().to_string();
    Ok(CaptureDaysBody {
        from: day(since),
        to: day(now),
        days: days
            .map(|one| CaptureDayBody {
                day: date_of(one.day),
                stored: one.stored,
                failed: one.failed,
            })
            .collect(),
    })
}

/// The last changes of pages that are not private.
pub fn page_changes(
    store: &Store,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<PageChangesBody, StoreError> {
    let changes = store.recent_changes(workspace, limit)?.into_iter();
    Ok(PageChangesBody { changes: changes.map(page_change).collect() })
}

fn page_change(change: PageChange) -> PageChangeBody {
    let PageChange { page, title, version, is_delete, at } = change;
    let word = match (is_delete, version) {
        (true, _) => "deleted",
        (false, 1) => "added",
        (false, _) => "changed",
    };
    PageChangeBody {
        page: page.to_string(),
        title,
        version,
        change: word.to_owned(),
        at: format!("{at:.3}"),
    }
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
    let days = store.spend_days(workspace, since)?.into_iter();
    let budgets = store.budgets(workspace, since, BUDGETS)?.into_iter();
    Ok(SpendBody {
        since: since.to_string(),
        usd: total.as_f64(),
        today_usd: today.map_or(Usd::ZERO, |budget| budget.charged).as_f64(),
        max_usd_per_day: ModelCatalog::per_day(&config).as_f64(),
        lines: lines
            .into_iter()
            .map(|line| SpendLineBody {
                model: line.model,
                purpose: line.purpose,
                calls: line.calls,
                unsettled: line.unsettled,
                usd: line.charged.as_f64(),
            })
            .collect(),
        days: days
            .map(|one| SpendDayBody {
                day: date_of(one.day),
                calls: one.calls,
                usd: one.charged.as_f64(),
            })
            .collect(),
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
