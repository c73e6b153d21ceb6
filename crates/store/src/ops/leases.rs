//! Operations of workers on jobs: claim, heartbeat, checkpoint, finish, retry, release.
//!
//! Updates of a worker are fenced: they apply only while the job runs under the same worker and
//! attempt. Attempt numbers are never reused, so releasing an attempt increases the maximum.

use gbrain_core::clock::moment_of_milliseconds;
use gbrain_core::fault::Fault;
use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::request::Viewer;
use jiff::Timestamp;

use super::jobs::{self, emptied};
use super::{counters, judging, workspaces, write};
use crate::driver::{RowScope, SqlSession, SqlValue, collect, first};
use crate::job::{HeartbeatReply, Job, JobClaim, JobOutcome, JobProgress, JobStep, Lease, NewJob};
use crate::judging::{JudgingRun, RunKind};
use crate::store::Store;
use crate::types::{DeleteOutcome, PageWrite, WriteOutcome};
use crate::{Result, StoreError};

/// The condition for jobs that may be claimed at the time `$1`: no other job of the group is
/// running.
const CLAIMABLE: &str = "state IN ('queued', 'running') \
     AND ((state = 'queued' AND run_after <= $1) OR (state = 'running' AND lease_until <= $1)) \
     AND (grp IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS busy WHERE busy.state = 'running' \
     AND busy.workspace_id = jobs.workspace_id AND busy.grp = jobs.grp AND busy.id <> jobs.id))";
/// The index that allows one running job per group.
const ONE_JOB_PER_GROUP_INDEX: &str = "jobs_at_work";
/// How many races for a group a claim may lose. The loser of one finds the group running, so two in
/// a row are rare.
const MAX_LOST_RACES: usize = 100;
/// The number of a workspace's jobs with a valid lease.
const LEASED_JOBS: &str = "SELECT count(*) FROM jobs AS held WHERE held.state = 'running' \
     AND held.workspace_id = jobs.workspace_id AND held.lease_until > $1";
/// The condition that a worker holds the lease on a job. Uses the first four parameters.
const FENCE: &str = "WHERE workspace_id = $1 AND id = $2 AND worker = $3 AND attempt = $4 \
     AND state = 'running'";
const CLAIM: &str = "UPDATE jobs SET state = 'running', attempt = attempt + 1, worker = $3, \
     lease_until = $4, started_at = coalesce(started_at, $5), updated_at = $5 \
     WHERE workspace_id = $1 AND id = $2";
const IS_OPEN: &str = "SELECT 1 FROM jobs WHERE workspace_id = $1 AND kind = $2 \
     AND state IN ('queued', 'running') LIMIT 1";
const EMPTIED: &str = emptied!();
const CLOSE_CANCELLED: &str = concat!(
    "UPDATE jobs SET state = 'cancelled', lease_until = NULL, finished_at = $3, updated_at = $3, ",
    emptied!(),
    " WHERE workspace_id = $1 AND id = $2"
);
const CLOSE_EXHAUSTED: &str = concat!(
    "UPDATE jobs SET state = 'failed', lease_until = NULL, finished_at = $3, updated_at = $3, \
     error = $4, ",
    emptied!(),
    " WHERE workspace_id = $1 AND id = $2"
);

impl Store {
    /// Like [`Store::write_pages`], but moves the job's checkpoint in the same transaction. A
    /// worker that lost its job writes nothing and gets
    /// [`LeaseLost`](crate::StoreError::LeaseLost); so the pages of a step are written once, and
    /// never over later writes of others.
    ///
    /// After [`Down`](crate::StoreError::Down), the job's checkpoint shows whether the write
    /// happened: read it before writing again.
    pub fn write_pages_in_job(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        self.write_pages_in_job_by(Viewer::Trusted, ws, writes, step, now)
    }

    /// The time by the database's clock, which all processes share. Also the cheapest query to
    /// check that the database responds.
    pub fn clock(&self) -> Result<Timestamp> {
        self.read(RowScope::Directory, |session| clock(session, self.clock_query()))
    }

    /// Claims a job that is due or whose worker's lease expired: in the workspace with the fewest
    /// running jobs, and among equals the next after [`JobClaim::last`] by name; there the oldest
    /// job whose group is not running. A job whose cancellation was requested, or that has used all
    /// attempts, is closed instead (the latter as failed, with an error of kind
    /// `attempts_exhausted`). No two workers get one attempt, and no worker waits: on PostgreSQL,
    /// jobs locked by others are skipped, so `None` may also mean that others are claiming them.
    /// The search opens no write transaction.
    pub fn claim_job(&self, claim: &JobClaim, now: Timestamp) -> Result<Option<Job>> {
        let skip_locked = self.skip_locked();
        for ws in self.read(RowScope::Directory, |session| {
            jobs::refuse_nul(&[&claim.worker])?;
            if claim.kinds.is_empty() {
                return Ok(Vec::new());
            }
            let last = claim.last.as_ref().map_or("", WorkspaceId::as_str);
            let mut sql = format!("SELECT workspace_id FROM jobs WHERE {CLAIMABLE}");
            let mut params = vec![now.as_millisecond().into(), last.into()];
            jobs::add_kinds(&mut sql, &mut params, &claim.kinds)?;
            sql.push_str(&format!(
                " GROUP BY workspace_id ORDER BY ({LEASED_JOBS}), \
         CASE WHEN workspace_id > $2 THEN 0 ELSE 1 END, workspace_id"
            ));
            collect(session, &sql, &params, |row| Ok(WorkspaceId::new(&row.text(0)?)?))
        })? {
            let claimed = retry_lost_race(|| {
                self.write_beside(&ws, |session| claim_due(session, &ws, skip_locked, claim, now))
            });
            // Other workers claimed the jobs of this workspace.
            if let Some(job) = claimed? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// Claims the only job of its kind: the open one if it is due or its worker's lease expired,
    /// otherwise a new one. `None` while another worker holds it, so that this work is done by one
    /// process at a time; a job whose worker died continues under its number.
    pub fn take_job(
        &self,
        ws: &WorkspaceId,
        job: &NewJob,
        worker: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Job>> {
        let (worker, kinds) = (worker.to_owned(), vec![job.kind.clone()]);
        let claim = JobClaim { worker, kinds, lease_until, last: None };
        let skip_locked = self.skip_locked();
        retry_lost_race(|| {
            self.write_beside(ws, |session| take(session, ws, skip_locked, job, &claim, now))
        })
    }

    /// Records progress, and extends the lease to `lease_until`.
    pub fn heartbeat_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        progress: &JobProgress,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<HeartbeatReply> {
        self.write_beside(ws, |session| {
            let JobProgress { done, total, note } = progress;
            jobs::refuse_nul(&[note])?;
            let sql = format!(
                "UPDATE jobs SET done = $5, total = $6, note = $7, lease_until = $8, \
                 updated_at = $9 {FENCE} RETURNING cancel_requested"
            );
            let mut params = fence(session, ws, id, lease)?;
            params.extend([
                (*done).into(),
                (*total).into(),
                note.as_str().into(),
                lease_until.as_millisecond().into(),
                now.as_millisecond().into(),
            ]);
            Ok(match first(session, &sql, &params, |row| row.flag(0))? {
                None => HeartbeatReply::Lost,
                Some(true) => HeartbeatReply::Cancel,
                Some(false) => HeartbeatReply::Continue,
            })
        })
    }

    /// Like [`Store::delete_pages`], but moves the job's checkpoint in the same transaction.
    pub fn delete_pages_in_job(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        step: &JobStep<'_, DeleteOutcome>,
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        self.write(ws, |session| {
            require(session, ws, step)?;
            let outcomes = write::deletions(session, ws, keys, Viewer::Trusted, now)?;
            checkpoint(session, ws, step, &outcomes, now)?;
            Ok(outcomes)
        })
    }

    /// Ends a job; returns false if the worker has lost its lease.
    pub fn finish_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &JobOutcome,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| finish(session, ws, id, lease, outcome, now))
    }

    /// Like [`Store::finish_job`], but stores the job's measurement in the same transaction. A
    /// worker that lost its job stores nothing, so a measurement that was started twice is stored
    /// once.
    pub fn finish_job_with_run(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &JobOutcome,
        (kind, run): (RunKind, &JudgingRun),
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            let was_heard = finish(session, ws, id, lease, outcome, now)?;
            if was_heard {
                judging::add_run(session, ws, kind, run)?;
            }
            Ok(was_heard)
        })
    }

    /// Ends an attempt with an error: the job is due again at `run_after`, or failed if that was
    /// its last attempt, or cancelled if that was requested. Returns false if the worker has lost
    /// its lease.
    pub fn retry_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        error: &str,
        run_after: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            jobs::refuse_nul(&[error])?;
            let over = "cancel_requested OR attempt >= max_attempts";
            let sql = format!(
                "UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' \
         WHEN attempt >= max_attempts THEN 'failed' ELSE 'queued' END, \
         finished_at = CASE WHEN {over} THEN CAST($7 AS bigint) END, \
         spec = CASE WHEN {over} THEN '' ELSE spec END, \
         checkpoint = CASE WHEN {over} THEN NULL ELSE checkpoint END, \
         error = $5, run_after = $6, lease_until = NULL, updated_at = $7 {FENCE}"
            );
            let mut params = fence(session, ws, id, lease)?;
            params.extend([
                error.into(),
                run_after.as_millisecond().into(),
                now.as_millisecond().into(),
            ]);
            Ok(session.execute(&sql, &params)? > 0)
        })
    }

    /// Releases a job when its worker stops: it is due immediately with one more attempt, or
    /// cancelled if that was requested. Returns false if the worker has lost its lease.
    pub fn release_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            let sql = format!(
                "UPDATE jobs SET \
                 state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
                 finished_at = CASE WHEN cancel_requested THEN CAST($5 AS bigint) END, \
                 spec = CASE WHEN cancel_requested THEN '' ELSE spec END, \
                 checkpoint = CASE WHEN cancel_requested THEN NULL ELSE checkpoint END, \
                 max_attempts = max_attempts + 1, run_after = $5, lease_until = NULL, \
                 updated_at = $5 {FENCE}"
            );
            let mut params = fence(session, ws, id, lease)?;
            params.push(now.as_millisecond().into());
            Ok(session.execute(&sql, &params)? > 0)
        })
    }
}

/// The clock that determines when leases expire.
pub(super) fn clock(session: &mut dyn SqlSession, sql: &str) -> Result<Timestamp> {
    let time = first(session, sql, &[], |row| Ok(moment_of_milliseconds(row.int(0)?)))?;
    time.ok_or_else(|| StoreError::corrupt("the database has no time"))
}

/// Claims the oldest claimable job of a workspace that is not locked, and closes cancelled and
/// exhausted jobs on the way.
fn claim_due(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    skip_locked: &str,
    claim: &JobClaim,
    now: Timestamp,
) -> Result<Option<Job>> {
    let at = now.as_millisecond();
    while let Some(found) = oldest(session, ws, skip_locked, claim, now)? {
        let ClaimableJob { id, attempt, max_attempts, cancel_requested } = found;
        if cancel_requested {
            session.execute(CLOSE_CANCELLED, &[ws.into(), id.into(), at.into()])?;
        } else if attempt >= max_attempts {
            let error = exhausted(max_attempts);
            session.execute(CLOSE_EXHAUSTED, &[ws.into(), id.into(), at.into(), error.into()])?;
        } else {
            let (worker, until) = (claim.worker.as_str(), claim.lease_until.as_millisecond());
            let params = [ws.into(), id.into(), worker.into(), until.into(), at.into()];
            session.execute(CLAIM, &params)?;
            return jobs::get(session, ws, id);
        }
    }
    Ok(None)
}

/// Claims the open job of a kind, or adds one if none is open. The counter is locked until the end
/// of the transaction, so of two concurrent callers only one adds a job.
pub(super) fn take(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    skip_locked: &str,
    job: &NewJob,
    taker: &JobClaim,
    now: Timestamp,
) -> Result<Option<Job>> {
    workspaces::workspace_state(session, ws)?;
    jobs::refuse_nul(&[&taker.worker])?;
    counters::take(session, ws, "jobs", 0)?;
    if let Some(job) = claim_due(session, ws, skip_locked, taker, now)? {
        return Ok(Some(job));
    }
    let params = [ws.into(), job.kind.as_str().into()];
    if first(session, IS_OPEN, &params, |_| Ok(()))?.is_some() {
        return Ok(None);
    }
    jobs::add(session, ws, job, now)?;
    claim_due(session, ws, skip_locked, taker, now)
}

/// Retries a claim when another job of the group was claimed at the same time: the group is running
/// then, and its other jobs are skipped.
pub(super) fn retry_lost_race<T>(claim: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 0..MAX_LOST_RACES {
        match claim() {
            Err(StoreError::Constraint { which }) if which == ONE_JOB_PER_GROUP_INDEX => {}
            claimed => return claimed,
        }
    }
    Err(StoreError::Busy)
}

/// The columns that decide whether a job is claimed or closed.
struct ClaimableJob {
    id: i64,
    attempt: i64,
    max_attempts: i64,
    cancel_requested: bool,
}

fn oldest(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    skip_locked: &str,
    claim: &JobClaim,
    now: Timestamp,
) -> Result<Option<ClaimableJob>> {
    let mut sql = format!(
        "SELECT id, attempt, max_attempts, cancel_requested FROM jobs WHERE {CLAIMABLE} \
         AND workspace_id = $2"
    );
    let mut params = vec![now.as_millisecond().into(), ws.into()];
    jobs::add_kinds(&mut sql, &mut params, &claim.kinds)?;
    sql.push_str(&format!(" ORDER BY created_at, id LIMIT 1 {skip_locked}"));
    first(session, &sql, &params, |row| {
        Ok(ClaimableJob {
            id: row.int(0)?,
            attempt: row.int(1)?,
            max_attempts: row.int(2)?,
            cancel_requested: row.flag(3)?,
        })
    })
}

fn exhausted(attempts: i64) -> String {
    let message = format!("all {attempts} attempts ended without a word from their worker");
    Fault::attempts_exhausted(message).to_json().to_string()
}

/// Fails before the work if [`checkpoint`] would fail after it.
pub(super) fn require<T>(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    step: &JobStep<'_, T>,
) -> Result<()> {
    let params = fence(session, ws, step.id, step.lease)?;
    first(session, &format!("SELECT 1 FROM jobs {FENCE}"), &params, |_| Ok(()))?
        .ok_or(StoreError::LeaseLost { job: step.id })
}

/// Moves the checkpoint, or fails and aborts the transaction. From here to the commit the job
/// cannot be claimed.
pub(super) fn checkpoint<T>(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    step: &JobStep<'_, T>,
    outcomes: &[T],
    now: Timestamp,
) -> Result<()> {
    let JobStep { id, lease, checkpoint, done, total } = step;
    let checkpoint = checkpoint(outcomes);
    jobs::refuse_nul(&[&checkpoint])?;
    let sql =
        format!("UPDATE jobs SET checkpoint = $5, done = $6, total = $7, updated_at = $8 {FENCE}");
    let mut params = fence(session, ws, *id, lease)?;
    params.extend([
        checkpoint.into(),
        (*done).into(),
        (*total).into(),
        now.as_millisecond().into(),
    ]);
    match session.execute(&sql, &params)? {
        0 => Err(StoreError::LeaseLost { job: *id }),
        _ => Ok(()),
    }
}

/// Whether the worker holds the lease. If so, the job is locked until the end of the transaction.
pub(super) fn hold(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
) -> Result<bool> {
    let params = fence(session, ws, id, lease)?;
    Ok(session.execute(&format!("UPDATE jobs SET state = state {FENCE}"), &params)? > 0)
}

pub(super) fn finish(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
    outcome: &JobOutcome,
    now: Timestamp,
) -> Result<bool> {
    let (result, error) = match outcome {
        JobOutcome::Done(result) => (Some(result.as_str()), None),
        JobOutcome::Failed(error) => (None, Some(error.as_str())),
        JobOutcome::Cancelled => (None, None),
    };
    jobs::refuse_nul(&[result.or(error).unwrap_or("")])?;
    let sql = format!(
        "UPDATE jobs SET state = $5, result = $6, error = $7, lease_until = NULL, \
         finished_at = $8, updated_at = $8, {EMPTIED} {FENCE}"
    );
    let mut params = fence(session, ws, id, lease)?;
    params.extend([
        outcome.state().name().into(),
        result.into(),
        error.into(),
        now.as_millisecond().into(),
    ]);
    Ok(session.execute(&sql, &params)? > 0)
}

/// The parameters of [`FENCE`], for a workspace that must exist.
fn fence<'a>(
    session: &mut dyn SqlSession,
    ws: &'a WorkspaceId,
    id: i64,
    lease: &'a Lease,
) -> Result<Vec<SqlValue<'a>>> {
    workspaces::workspace_state(session, ws)?;
    let Lease { worker, attempt } = lease;
    jobs::refuse_nul(&[worker])?;
    Ok(vec![ws.into(), id.into(), worker.as_str().into(), (*attempt).into()])
}
