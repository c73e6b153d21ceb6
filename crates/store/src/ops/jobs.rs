//! Background jobs: queueing, listing, cancelling. Operations of workers are in `leases`.

use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use jiff::Timestamp;

use super::{captures, counters, workspaces, write};
use crate::driver::{RowScope, SqlSession, SqlValue, collect, first};
use crate::job::{Job, JobCounts, JobFilter, JobInfo, NewJob};
use crate::store::Store;
use crate::{Result, row};

/// The columns that [`row::job_info`] reads.
macro_rules! info {
    () => {
        "workspace_id, id, kind, state, attempt, max_attempts, run_after, done, total, note, \
         error, worker, lease_until, cancel_requested, created_by, created_at, started_at, \
         updated_at, finished_at, key, grp"
    };
}
/// Specification and checkpoint are useless when a job has ended, and may be long.
macro_rules! emptied {
    () => {
        "spec = '', checkpoint = NULL"
    };
}
pub(super) use emptied;

const ADD: &str = "INSERT INTO jobs (workspace_id, id, kind, state, attempt, max_attempts, \
     run_after, done, note, cancel_requested, created_by, created_at, updated_at, spec, key, grp) \
     VALUES ($1, $2, $3, 'queued', 0, $4, $5, 0, '', FALSE, $6, $5, $5, $7, $8, $9)";
const KEYED: &str = "SELECT id FROM jobs WHERE workspace_id = $1 AND kind = $2 AND key = $3";
const GET: &str = concat!(
    "SELECT ",
    info!(),
    ", spec, checkpoint, result FROM jobs WHERE workspace_id = $1 AND id = $2"
);
const LIST: &str = concat!("SELECT ", info!(), " FROM jobs WHERE workspace_id = $1");
const CANCEL: &str = "UPDATE jobs SET cancel_requested = TRUE, updated_at = $3, \
     state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END, \
     finished_at = CASE WHEN state = 'queued' THEN CAST($3 AS bigint) END, \
     spec = CASE WHEN state = 'queued' THEN '' ELSE spec END, \
     checkpoint = CASE WHEN state = 'queued' THEN NULL ELSE checkpoint END \
     WHERE workspace_id = $1 AND id = $2 AND state IN ('queued', 'running') RETURNING state";
const STATE: &str = "SELECT state FROM jobs WHERE workspace_id = $1 AND id = $2";
const PRUNE: &str = "DELETE FROM jobs WHERE workspace_id = $1 AND finished_at < $2";
const COUNTS: &str = "SELECT count(CASE WHEN state = 'queued' THEN 1 END), \
     count(CASE WHEN state = 'running' THEN 1 END) FROM jobs WHERE state IN ('queued', 'running')";

impl Store {
    /// Queues a job, due immediately; returns its number. Numbers of a workspace are dense and not
    /// reused. If a job with the same kind and key exists, ended or not, nothing is queued and its
    /// number is returned.
    pub fn add_job(&self, ws: &WorkspaceId, job: &NewJob, now: Timestamp) -> Result<i64> {
        self.write_beside(ws, |session| add(session, ws, job, now))
    }

    pub fn job(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Job>> {
        self.read(RowScope::Workspace(ws), |session| get(session, ws, id))
    }

    /// Jobs, newest first, at most `limit`.
    pub fn jobs(&self, ws: &WorkspaceId, filter: &JobFilter, limit: usize) -> Result<Vec<JobInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let JobFilter { state, kinds, before } = filter;
            let (mut sql, mut params) = (LIST.to_owned(), vec![ws.into()]);
            if let Some(state) = state {
                params.push(state.name().into());
                sql.push_str(&format!(" AND state = ${}", params.len()));
            }
            if let Some(before) = before {
                params.push((*before).into());
                sql.push_str(&format!(" AND id < ${}", params.len()));
            }
            if !kinds.is_empty() {
                add_kinds(&mut sql, &mut params, kinds)?;
            }
            params.push(limit.into());
            sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", params.len()));
            collect(session, &sql, &params, row::job_info)
        })
    }

    /// Requests the cancellation of a job; returns its state. A queued job is cancelled
    /// immediately, the worker of a running one is notified at its next heartbeat, and an ended one
    /// does not change.
    pub fn cancel_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        now: Timestamp,
    ) -> Result<Option<JobState>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let state = |row: &dyn crate::driver::SqlRow| row::name(row, 0, JobState::from_name);
            let params = [ws.into(), id.into(), now.as_millisecond().into()];
            match first(session, CANCEL, &params, state)? {
                Some(state) => Ok(Some(state)),
                None => first(session, STATE, &params[..2], state),
            }
        })
    }

    /// Deletes jobs that ended before `until`; returns their number.
    pub fn prune_jobs(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            session.execute(PRUNE, &[ws.into(), captures::first_millisecond(until).into()])
        })
    }

    /// Numbers of a workspace's jobs that have not ended.
    pub fn job_counts_of(&self, ws: &WorkspaceId) -> Result<JobCounts> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let sql = format!("{COUNTS} AND workspace_id = $1");
            Ok(first(session, &sql, &[ws.into()], row::job_counts)?.unwrap_or_default())
        })
    }
}

pub(super) fn add(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    job: &NewJob,
    now: Timestamp,
) -> Result<i64> {
    workspaces::workspace_state(session, ws)?;
    if let Some(id) = keyed(session, ws, job)? {
        return Ok(id);
    }
    let NewJob { kind, spec, created_by, max_attempts, key, group } = job;
    refuse_nul(&[kind, spec, created_by, group.as_deref().unwrap_or("")])?;
    let id = counters::take(session, ws, "jobs", 1)?;
    let params = [
        ws.into(),
        id.into(),
        kind.as_str().into(),
        (*max_attempts).into(),
        now.as_millisecond().into(),
        created_by.as_str().into(),
        spec.as_str().into(),
        key.as_deref().into(),
        group.as_deref().into(),
    ];
    session.execute(ADD, &params)?;
    Ok(id)
}

/// The job with the key of this one. The counter is locked until the end of the transaction, so of
/// two concurrent callers only one adds a job.
pub(super) fn keyed(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    job: &NewJob,
) -> Result<Option<i64>> {
    let NewJob { kind, key, .. } = job;
    let Some(key) = key else { return Ok(None) };
    refuse_nul(&[kind, key])?;
    counters::take(session, ws, "jobs", 0)?;
    first(session, KEYED, &[ws.into(), kind.as_str().into(), key.as_str().into()], |row| row.int(0))
}

pub(super) fn get(session: &mut dyn SqlSession, ws: &WorkspaceId, id: i64) -> Result<Option<Job>> {
    workspaces::workspace_state(session, ws)?;
    first(session, GET, &[ws.into(), id.into()], row::job)
}

/// Adds ` AND kind IN (...)` to a statement.
pub(super) fn add_kinds<'a>(
    sql: &mut String,
    params: &mut Vec<SqlValue<'a>>,
    kinds: &'a [String],
) -> Result<()> {
    let first = params.len() + 1;
    for kind in kinds {
        refuse_nul(&[kind])?;
        params.push(kind.as_str().into());
    }
    let places: Vec<String> = (first..=params.len()).map(|at| format!("${at}")).collect();
    sql.push_str(&format!(" AND kind IN ({})", places.join(", ")));
    Ok(())
}

pub(super) fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the job".to_owned()))
}
