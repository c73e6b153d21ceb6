//! How long is kept what suites leave behind: runs, logs of what they asked, events that they were told of.
//!
//! Nothing goes that somebody still waits for: the last run of a suite, runs that nobody has looked at for
//! alerts, events that a suite that is on was not fired by yet. Figures of runs are small and stay, unless
//! whole runs are to go.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, workspaces};
use crate::Result;
use crate::driver::{Session, Value, first};
use crate::row;
use crate::suite::{RunParts, SuiteHistory, TOLD};

/// Runs that may go. The workspace is `$1` and the moment `$2`, here and below.
const OLD: &str = "finished_at < $2 \
     AND id <= coalesce((SELECT run_id FROM alert_cursors WHERE workspace_id = $1), 0) \
     AND id < (SELECT max(newest.id) FROM suite_runs AS newest \
         WHERE newest.workspace_id = $1 AND newest.suite = suite_runs.suite)";
/// Events that nobody waits for any more.
const OLD_EVENTS: &str = "suite_events WHERE workspace_id = $1 AND at < $2 \
     AND NOT EXISTS (SELECT 1 FROM suite_cursors AS waiting JOIN suites \
         ON suites.workspace_id = waiting.workspace_id AND suites.name = waiting.suite \
         WHERE waiting.workspace_id = $1 AND suites.enabled \
         AND waiting.trigger LIKE $3 AND waiting.at < suite_events.id)";

fn old_runs(parts: RunParts) -> String {
    let has_some = match parts {
        RunParts::Reports => " AND report IS NOT NULL",
        RunParts::All => "",
    };
    format!("suite_runs WHERE workspace_id = $1 AND {OLD}{has_some}")
}

/// Logs of suites whose run may go, or was never recorded.
fn old_logs() -> String {
    format!(
        "retrieval_logs WHERE workspace_id = $1 AND created_at < $2 AND experiment_id IS NOT NULL \
         AND experiment_id NOT IN (SELECT key FROM suite_runs \
             WHERE workspace_id = $1 AND key IS NOT NULL AND NOT ({OLD}))"
    )
}

/// How much may go.
pub(super) fn count(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory> {
    workspaces::ledger(session, ws)?;
    let params = params(ws, until);
    let mut count = |rows: &str, params: &[Value<'_>]| -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {rows}");
        Ok(first(session, &sql, params, |row| row::natural(row, 0))?.unwrap_or(0))
    };
    Ok(SuiteHistory {
        logs: count(&old_logs(), &params[..2])?,
        runs: count(&old_runs(parts), &params[..2])?,
        events: count(OLD_EVENTS, &params)?,
    })
}

/// Lets it go; how much it was.
pub(super) fn prune(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory> {
    workspaces::ledger(session, ws)?;
    let params = params(ws, until);
    let erase_runs = match parts {
        RunParts::Reports => format!(
            "UPDATE suite_runs SET report = NULL WHERE workspace_id = $1 AND {OLD} AND report IS NOT NULL"
        ),
        RunParts::All => format!("DELETE FROM {}", old_runs(parts)),
    };
    // Logs first: which of them may go is known by the runs that may.
    Ok(SuiteHistory {
        logs: session.execute(&format!("DELETE FROM {}", old_logs()), &params[..2])?,
        runs: session.execute(&erase_runs, &params[..2])?,
        events: session.execute(&format!("DELETE FROM {OLD_EVENTS}"), &params)?,
    })
}

fn params(ws: &WorkspaceId, until: Timestamp) -> [Value<'_>; 3] {
    [ws.into(), captures::reached(until).into(), format!("{TOLD}%").into()]
}
