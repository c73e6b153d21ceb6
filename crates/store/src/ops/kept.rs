//! How long is kept what suites leave behind: runs, logs of what they asked, events that they were told of.
//!
//! Nothing goes that somebody still waits for: the last run of a suite, runs that nobody has looked at for
//! alerts, events that a suite that is on was not fired by yet, logs of a run that is under way. Figures of
//! runs are small and stay, unless whole runs are to go.

use gbrain_core::id::WorkspaceId;
use jiff::{SignedDuration, Timestamp};

use super::{captures, workspaces};
use crate::driver::{Scope, Session, Value, first};
use crate::store::Store;
use crate::suite::{RunParts, SuiteHistory, TOLD};
use crate::{Result, row};

/// Runs that may go. The workspace is `$1` and the moment `$2`, here and below.
const OLD: &str = "finished_at < $2 \
     AND id <= coalesce((SELECT run_id FROM alert_cursors WHERE workspace_id = $1), 0) \
     AND id < (SELECT max(newest.id) FROM suite_runs AS newest \
         WHERE newest.workspace_id = $1 AND newest.suite = suite_runs.suite)";
/// Events that nobody waits for any more.
const OLD_EVENTS: &str = "at < $2 \
     AND NOT EXISTS (SELECT 1 FROM suite_cursors AS waiting JOIN suites \
         ON suites.workspace_id = waiting.workspace_id AND suites.name = waiting.suite \
         WHERE waiting.workspace_id = $1 AND suites.enabled \
         AND waiting.trigger LIKE $3 AND waiting.at < suite_events.id)";
/// Logs are written before their run is recorded; after so long nobody will record it.
const UNRECORDED: SignedDuration = SignedDuration::from_hours(24);

impl Store {
    /// How much [`prune_suite_history`](Self::prune_suite_history) would erase.
    pub fn count_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
    ) -> Result<SuiteHistory> {
        self.read(Scope::Workspace(ws), |session| count(session, ws, until, parts))
    }

    /// Erases what suites left behind before `until`: of runs what `parts` says, their logs with what was
    /// said of them, and events, which are news if they are told again; at most so many of each, so that
    /// nobody waits long. Numbers are not used again. The last run of a suite stays, and so does what
    /// somebody waits for: runs that were not looked at for alerts, events that a suite that is on was not
    /// fired by yet, and for a day logs of a run that is not recorded.
    pub fn prune_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
        most: usize,
    ) -> Result<SuiteHistory> {
        let skip_locked = self.skip_locked();
        let prune = |session: &mut dyn Session| prune(session, ws, skip_locked, until, parts, most);
        let pruned = self.write_beside(ws, prune)?;
        if pruned != SuiteHistory::default() {
            self.scrub()?;
        }
        Ok(pruned)
    }
}

fn old_runs(parts: RunParts) -> String {
    match parts {
        RunParts::Reports => format!("{OLD} AND report IS NOT NULL"),
        RunParts::All => OLD.to_owned(),
    }
}

/// Logs of runs that may go, and of those that were never recorded.
fn old_logs() -> String {
    format!(
        "created_at < $2 AND experiment_id IS NOT NULL AND (experiment_id IN (SELECT key \
             FROM suite_runs WHERE workspace_id = $1 AND {OLD}) \
         OR created_at < $3 AND experiment_id NOT IN (SELECT key \
             FROM suite_runs WHERE workspace_id = $1 AND key IS NOT NULL))"
    )
}

/// What may go of one table.
struct Old<'a> {
    table: &'static str,
    erase: &'static str,
    condition: String,
    params: Vec<Value<'a>>,
}

/// Logs first: which of them may go is known by the runs that may.
fn old(ws: &WorkspaceId, until: Timestamp, parts: RunParts) -> [Old<'_>; 3] {
    let of = |table, erase, condition: String, third: Option<Value<'static>>| {
        let mut params: Vec<Value<'_>> = vec![ws.into(), captures::reached(until).into()];
        params.extend(third);
        Old { table, erase, condition, params }
    };
    let unrecorded = until.checked_sub(UNRECORDED).unwrap_or(Timestamp::MIN);
    let (logs, events) = ("DELETE FROM retrieval_logs", "DELETE FROM suite_events");
    let runs = match parts {
        RunParts::Reports => "UPDATE suite_runs SET report = NULL",
        RunParts::All => "DELETE FROM suite_runs",
    };
    [
        of("retrieval_logs", logs, old_logs(), Some(captures::reached(unrecorded).into())),
        of("suite_runs", runs, old_runs(parts), None),
        of("suite_events", events, OLD_EVENTS.to_owned(), Some(format!("{TOLD}%").into())),
    ]
}

/// How much may go.
pub(super) fn count(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory> {
    workspaces::ledger(session, ws)?;
    each(old(ws, until, parts), |Old { table, erase: _, condition, params }| {
        let sql = format!("SELECT count(*) FROM {table} WHERE workspace_id = $1 AND {condition}");
        Ok(first(session, &sql, &params, |row| row::natural(row, 0))?.unwrap_or(0))
    })
}

/// Erases at most so many of each; how many it were. Rows that another transaction is changing, such as a purge, are left
/// to the next time: neither waits for the other.
pub(super) fn prune(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    skip_locked: &str,
    until: Timestamp,
    parts: RunParts,
    most: usize,
) -> Result<SuiteHistory> {
    workspaces::ledger(session, ws)?;
    each(old(ws, until, parts), |Old { table, erase, condition, mut params }| {
        params.push(most.into());
        let last = params.len();
        // Materialized: PostgreSQL may run a subquery more than once, and each time others are not locked.
        let sql = format!(
            "WITH chosen AS MATERIALIZED (SELECT id FROM {table} WHERE workspace_id = $1 \
             AND {condition} ORDER BY id LIMIT ${last} {skip_locked}) \
             {erase} WHERE workspace_id = $1 AND id IN (SELECT id FROM chosen)"
        );
        session.execute(&sql, &params)
    })
}

fn each(
    [logs, runs, events]: [Old<'_>; 3],
    mut work: impl FnMut(Old<'_>) -> Result<u64>,
) -> Result<SuiteHistory> {
    Ok(SuiteHistory { logs: work(logs)?, runs: work(runs)?, events: work(events)? })
}
