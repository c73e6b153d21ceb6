//! Lets go by itself of what suites left behind long ago, in workspaces that say after how long.

use gbrain_core::config::{SUITES_RETENTION_DAYS, days};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{RunParts, Store, StoreError, SuiteHistory};
use jiff::{SignedDuration, Timestamp};

/// Erases reports, logs and events that are older than their workspace keeps them, and tells how many. Any
/// number of processes may: where there is nothing to do nothing is written.
pub fn retain(
    store: &dyn Store,
    now: Timestamp,
    told: &mut dyn FnMut(&WorkspaceId, SuiteHistory),
) -> Result<(), StoreError> {
    for workspace in store.workspaces()? {
        let kept = store.config_get(&workspace.id, SUITES_RETENTION_DAYS)?;
        let Some(days) = kept.as_deref().and_then(days) else { continue };
        let age = SignedDuration::from_hours(24 * i64::from(days));
        let Ok(until) = now.checked_sub(age) else { continue };
        let (id, parts) = (&workspace.id, RunParts::Reports);
        if store.count_suite_history(id, until, parts)? != SuiteHistory::default() {
            told(id, store.prune_suite_history(id, until, parts)?);
        }
    }
    Ok(())
}
