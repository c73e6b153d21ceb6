//! Enforces retention: deletes finished jobs and messages after a fixed time, and the history of
//! suites after the time that a workspace sets.

use gbrain_core::config::{SUITES_RETENTION_DAYS, days};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{RunParts, Store, StoreError, SuiteHistory};
use jiff::{SignedDuration, Timestamp};

/// How long finished jobs and messages are kept.
const JOB_RETENTION: SignedDuration = SignedDuration::from_hours(24 * 30);

/// Maximum number of rows deleted in one transaction, which blocks other writers.
const BATCH: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneCounts {
    pub jobs: u64,
    pub messages: u64,
    /// Deleted reports, logs and events of suites.
    pub suites: SuiteHistory,
}

/// Deletes rows past their retention in every workspace and reports the counts. Any number of
/// processes may call it; an error in one workspace does not stop the next.
pub fn apply_retention(
    store: &Store,
    now: Timestamp,
    report: &mut dyn FnMut(&WorkspaceId, Result<PruneCounts, StoreError>),
) -> Result<(), StoreError> {
    for workspace in store.workspaces()? {
        report(&workspace.id, prune_workspace(store, &workspace.id, now));
    }
    Ok(())
}

fn prune_workspace(
    store: &Store,
    ws: &WorkspaceId,
    now: Timestamp,
) -> Result<PruneCounts, StoreError> {
    let ended = now.checked_sub(JOB_RETENTION).unwrap_or(Timestamp::MIN);
    let (jobs, messages) = (store.prune_jobs(ws, ended)?, store.prune_deliveries(ws, ended)?);
    let setting = store.config_get(ws, SUITES_RETENTION_DAYS)?;
    let suites = match setting.as_deref().and_then(days) {
        Some(days) => {
            let age = SignedDuration::from_hours(24 * i64::from(days));
            let until = now.checked_sub(age).unwrap_or(Timestamp::MIN);
            prune_suites(store, ws, until, RunParts::Reports)?
        }
        None => SuiteHistory::default(),
    };
    Ok(PruneCounts { jobs, messages, suites })
}

/// Deletes the history of suites before a time, in batches.
pub fn prune_suites(
    store: &Store,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory, StoreError> {
    let mut all = SuiteHistory::default();
    loop {
        let SuiteHistory { runs, logs, events } =
            store.prune_suite_history(ws, until, parts, BATCH)?;
        if runs + logs + events == 0 {
            return Ok(all);
        }
        all.runs += runs;
        all.logs += logs;
        all.events += events;
    }
}
