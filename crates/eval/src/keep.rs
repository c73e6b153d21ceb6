//! How long is kept what nobody needs any more: jobs and messages that ended, and what suites left behind
//! where a workspace says after how long.

use gbrain_core::config::{SUITES_RETENTION_DAYS, days};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{RunParts, Store, StoreError, SuiteHistory};
use jiff::{SignedDuration, Timestamp};

/// How long jobs and messages are kept when they have ended.
const ENDED: SignedDuration = SignedDuration::from_hours(24 * 30);

/// So much is erased in one transaction, for which others wait.
const TOGETHER: usize = 2_000;

/// What was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LetGo {
    pub jobs: u64,
    pub messages: u64,
    /// Of suites: reports, logs and events.
    pub suites: SuiteHistory,
}

/// Lets go in every workspace of what was kept long enough, and tells what it was. Any number of processes
/// may; what goes wrong in one workspace keeps nobody from the next.
pub fn let_go(
    store: &Store,
    now: Timestamp,
    told: &mut dyn FnMut(&WorkspaceId, Result<LetGo, StoreError>),
) -> Result<(), StoreError> {
    for workspace in store.workspaces()? {
        told(&workspace.id, of_workspace(store, &workspace.id, now));
    }
    Ok(())
}

fn of_workspace(store: &Store, ws: &WorkspaceId, now: Timestamp) -> Result<LetGo, StoreError> {
    let ended = now.checked_sub(ENDED).unwrap_or(Timestamp::MIN);
    let (jobs, messages) = (store.prune_jobs(ws, ended)?, store.prune_deliveries(ws, ended)?);
    let kept = store.config_get(ws, SUITES_RETENTION_DAYS)?;
    let suites = match kept.as_deref().and_then(days) {
        Some(days) => {
            let age = SignedDuration::from_hours(24 * i64::from(days));
            let until = now.checked_sub(age).unwrap_or(Timestamp::MIN);
            prune_suites(store, ws, until, RunParts::Reports)?
        }
        None => SuiteHistory::default(),
    };
    Ok(LetGo { jobs, messages, suites })
}

/// Erases what suites left behind before a moment, a part after the other.
pub fn prune_suites(
    store: &Store,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory, StoreError> {
    let mut all = SuiteHistory::default();
    loop {
        let SuiteHistory { runs, logs, events } =
            store.prune_suite_history(ws, until, parts, TOGETHER)?;
        if runs + logs + events == 0 {
            return Ok(all);
        }
        all.runs += runs;
        all.logs += logs;
        all.events += events;
    }
}
