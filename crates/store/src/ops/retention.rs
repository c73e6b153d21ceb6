//! Retention of suite history: runs, their retrieval logs, and events.
//!
//! Rows that are still needed stay: the last run of a suite, runs not yet evaluated for alerts,
//! events that an enabled suite has not processed yet, and logs of a running run. The summaries of
//! runs are small and stay, unless whole runs are pruned.

use gbrain_core::id::WorkspaceId;
use jiff::{SignedDuration, Timestamp};

use super::{captures, workspaces};
use crate::driver::{RowScope, SqlSession, SqlValue, first};
use crate::store::Store;
use crate::suite::{EVENT_TRIGGER_PREFIX, RunParts, SuiteHistory};
use crate::{Result, row};

/// Runs that may be pruned. The workspace is `$1` and the time `$2`, here and below.
const OLD: &str = "finished_at < $2 \
     AND id <= coalesce((SELECT run_id FROM alert_cursors WHERE workspace_id = $1), 0) \
     AND id < (SELECT max(newest.id) FROM suite_runs AS newest \
         WHERE newest.workspace_id = $1 AND newest.suite = suite_runs.suite)";
/// Events that no enabled suite waits for.
const OLD_EVENTS: &str = "at < $2 \
     AND NOT EXISTS (SELECT 1 FROM suite_cursors AS waiting JOIN suites \
         ON suites.workspace_id = waiting.workspace_id AND suites.name = waiting.suite \
         WHERE waiting.workspace_id = $1 AND suites.enabled \
         AND waiting.trigger LIKE $3 AND waiting.at < suite_events.id)";
/// Logs are written before their run is recorded; after this time the run is considered lost.
const UNRECORDED: SignedDuration = SignedDuration::from_hours(24);

impl Store {
    /// The number of rows that [`prune_suite_history`](Self::prune_suite_history) would delete.
    pub fn count_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
    ) -> Result<SuiteHistory> {
        self.read(RowScope::Workspace(ws), |session| count(session, ws, until, parts))
    }

    /// Deletes suite history before `until`: the parts of runs that `parts` selects, their logs
    /// with feedback, and events, which count as new if reported again. Deletes at most `limit` of
    /// each, to keep the transaction short. Numbers are not reused. The last run of a suite stays,
    /// and so do runs not yet evaluated for alerts, events that an enabled suite has not processed
    /// yet, and for a day logs of a run that is not recorded.
    pub fn prune_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
        limit: usize,
    ) -> Result<SuiteHistory> {
        let skip_locked = self.skip_locked();
        let prune =
            |session: &mut dyn SqlSession| prune(session, ws, skip_locked, until, parts, limit);
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

/// Logs of runs that may be pruned, and of runs that were never recorded.
fn old_logs() -> String {
    format!(
        "created_at < $2 AND experiment_id IS NOT NULL AND (experiment_id IN (SELECT key \
             FROM suite_runs WHERE workspace_id = $1 AND {OLD}) \
         OR created_at < $3 AND experiment_id NOT IN (SELECT key \
             FROM suite_runs WHERE workspace_id = $1 AND key IS NOT NULL))"
    )
}

/// The rows of one table that may be pruned.
struct RetentionRule<'a> {
    table: &'static str,
    erase: &'static str,
    condition: String,
    params: Vec<SqlValue<'a>>,
}

/// Logs first, because the runs decide which of them may be pruned.
fn old(ws: &WorkspaceId, until: Timestamp, parts: RunParts) -> [RetentionRule<'_>; 3] {
    let of = |table, erase, condition: String, third: Option<SqlValue<'static>>| {
        let mut params: Vec<SqlValue<'_>> =
            vec![ws.into(), captures::first_millisecond(until).into()];
        params.extend(third);
        RetentionRule { table, erase, condition, params }
    };
    let unrecorded = until.checked_sub(UNRECORDED).unwrap_or(Timestamp::MIN);
    let (logs, events) = ("DELETE FROM retrieval_logs", "DELETE FROM suite_events");
    let runs = match parts {
        RunParts::Reports => "UPDATE suite_runs SET report = NULL",
        RunParts::All => "DELETE FROM suite_runs",
    };
    [
        of(
            "retrieval_logs",
            logs,
            old_logs(),
            Some(captures::first_millisecond(unrecorded).into()),
        ),
        of("suite_runs", runs, old_runs(parts), None),
        of(
            "suite_events",
            events,
            OLD_EVENTS.to_owned(),
            Some(format!("{EVENT_TRIGGER_PREFIX}%").into()),
        ),
    ]
}

pub(super) fn count(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    until: Timestamp,
    parts: RunParts,
) -> Result<SuiteHistory> {
    workspaces::workspace_state(session, ws)?;
    each(old(ws, until, parts), |RetentionRule { table, erase: _, condition, params }| {
        let sql = format!("SELECT count(*) FROM {table} WHERE workspace_id = $1 AND {condition}");
        Ok(first(session, &sql, &params, |row| row::natural(row, 0))?.unwrap_or(0))
    })
}

/// Prunes at most `limit` rows of each table; returns their numbers. Rows locked by another
/// transaction, such as a purge, are left for the next time, so neither waits.
pub(super) fn prune(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    skip_locked: &str,
    until: Timestamp,
    parts: RunParts,
    limit: usize,
) -> Result<SuiteHistory> {
    workspaces::workspace_state(session, ws)?;
    each(old(ws, until, parts), |RetentionRule { table, erase, condition, mut params }| {
        params.push(limit.into());
        let last = params.len();
        // Materialized: PostgreSQL may run a subquery more than once, and each run could lock other
        // rows.
        let sql = format!(
            "WITH chosen AS MATERIALIZED (SELECT id FROM {table} WHERE workspace_id = $1 \
             AND {condition} ORDER BY id LIMIT ${last} {skip_locked}) \
             {erase} WHERE workspace_id = $1 AND id IN (SELECT id FROM chosen)"
        );
        session.execute(&sql, &params)
    })
}

fn each(
    [logs, runs, events]: [RetentionRule<'_>; 3],
    mut work: impl FnMut(RetentionRule<'_>) -> Result<u64>,
) -> Result<SuiteHistory> {
    Ok(SuiteHistory { logs: work(logs)?, runs: work(runs)?, events: work(events)? })
}
