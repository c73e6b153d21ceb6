//! What workers do with jobs: claim, tell how far they are, end.
//!
//! Every word of a worker is fenced: it counts while the job runs under the same worker and the
//! same attempt, and changes nothing otherwise. The number of an attempt is never used again, so an
//! attempt that is given back is given as one more that is allowed.

use gbrain_core::clock::moment_of_milliseconds;
use gbrain_core::fault::Fault;
use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::request::Viewer;
use jiff::Timestamp;

use super::jobs::{self, emptied};
use super::{counters, judging, workspaces, write};
use crate::driver::{Scope, Session, Value, collect, first};
use crate::job::{Beat, Claim, Job, JobStep, Lease, NewJob, Outcome, Progress};
use crate::judging::{Run, RunKind};
use crate::store::Store;
use crate::types::{DeleteOutcome, PageWrite, WriteOutcome};
use crate::{Result, StoreError};

/// What a worker may take at the moment `$1`: not what is of a group that another job is at work for.
const CLAIMABLE: &str = "state IN ('queued', 'running') \
     AND ((state = 'queued' AND run_after <= $1) OR (state = 'running' AND lease_until <= $1)) \
     AND (grp IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS busy WHERE busy.state = 'running' \
     AND busy.workspace_id = jobs.workspace_id AND busy.grp = jobs.grp AND busy.id <> jobs.id))";
/// The index that lets one job of a group run.
const ONE_AT_WORK: &str = "jobs_at_work";
/// How many races for a group a claim may lose. Whoever lost one finds the group at work, so two in a row
/// are rare.
const RACES: usize = 100;
/// How many jobs of a workspace somebody works on.
const AT_WORK: &str = "SELECT count(*) FROM jobs AS held WHERE held.state = 'running' \
     AND held.workspace_id = jobs.workspace_id AND held.lease_until > $1";
/// Whose job it is. The first four parameters of what a worker says.
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
    /// [`Store::write_pages`], and the job's checkpoint moves with the pages: both or neither. A
    /// worker that lost its job writes nothing, which is
    /// [`LeaseLost`](crate::StoreError::LeaseLost); so the pages of a step are written once, and
    /// never again over what somebody else wrote since.
    ///
    /// After [`Down`](crate::StoreError::Down), the job's checkpoint tells whether it happened:
    /// read it before writing again.
    pub fn write_pages_in_job(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        self.write_pages_in_job_by(Viewer::Trusted, ws, writes, step, now)
    }

    /// The time by the database's clock, which is the same for everybody who works on it. Also the
    /// least that can be asked, to see whether it answers.
    pub fn clock(&self) -> Result<Timestamp> {
        self.read(Scope::Directory, |session| clock(session, self.clock_query()))
    }

    /// Gives a worker a job that is due or whose worker let its lease run out: of the workspaces that
    /// have one, that with the fewest jobs at work, and among equals the next after
    /// [`Claim::last`] by name; of its jobs the oldest whose group is not at work. One that was to be
    /// cancelled, or has used up its attempts, is closed instead (the latter as failed, with an error
    /// of kind `attempts_exhausted`). No two workers get one
    /// attempt, and nobody waits: jobs that others are looking at are passed over on PostgreSQL,
    /// so none may also mean that others are at it. Looking opens no write transaction.
    pub fn claim_job(&self, claim: &Claim, now: Timestamp) -> Result<Option<Job>> {
        let skip_locked = self.skip_locked();
        for ws in self.read(Scope::Directory, |session| {
            jobs::refuse_nul(&[&claim.worker])?;
            if claim.kinds.is_empty() {
                return Ok(Vec::new());
            }
            let last = claim.last.as_ref().map_or("", WorkspaceId::as_str);
            let mut sql = format!("SELECT workspace_id FROM jobs WHERE {CLAIMABLE}");
            let mut params = vec![now.as_millisecond().into(), last.into()];
            jobs::narrow_to_kinds(&mut sql, &mut params, &claim.kinds)?;
            sql.push_str(&format!(
                " GROUP BY workspace_id ORDER BY ({AT_WORK}), \
         CASE WHEN workspace_id > $2 THEN 0 ELSE 1 END, workspace_id"
            ));
            collect(session, &sql, &params, |row| Ok(WorkspaceId::new(&row.text(0)?)?))
        })? {
            let claimed = unless_beaten(|| {
                self.write_beside(&ws, |session| claim_due(session, &ws, skip_locked, claim, now))
            });
            // Nothing: others were quicker there.
            if let Some(job) = claimed? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// Gives a worker the one job of its kind: the open one if it is due or its worker let its lease run
    /// out, else a new one. None while the open one is another's, so that what is done through here is
    /// done by one at a time, in whatever process; and one whose worker died goes on under its number.
    pub fn take_job(
        &self,
        ws: &WorkspaceId,
        job: &NewJob,
        worker: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Job>> {
        let (worker, kinds) = (worker.to_owned(), vec![job.kind.clone()]);
        let claim = Claim { worker, kinds, lease_until, last: None };
        let skip_locked = self.skip_locked();
        unless_beaten(|| {
            self.write_beside(ws, |session| take(session, ws, skip_locked, job, &claim, now))
        })
    }

    /// Tells how far a job is, and keeps it until `lease_until`.
    pub fn beat_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        progress: &Progress,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Beat> {
        self.write_beside(ws, |session| {
            let Progress { done, total, note } = progress;
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
                None => Beat::Lost,
                Some(true) => Beat::Cancel,
                Some(false) => Beat::Go,
            })
        })
    }

    /// [`Store::delete_pages`] in the same way.
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

    /// Ends a job; false if it is not this worker's any more.
    pub fn finish_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| finish(session, ws, id, lease, outcome, now))
    }

    /// [`Store::finish_job`], and what the job measured is kept with it: both or neither. A worker that
    /// lost its job keeps nothing, so a measurement that was begun twice is kept once.
    pub fn finish_job_with_run(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        (kind, run): (RunKind, &Run),
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
    /// its last attempt, or cancelled if somebody asked for that. False if it is not this worker's
    /// any more.
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

    /// Gives a job back, for a worker that stops: it is due at once and has one attempt more, or is
    /// cancelled if somebody asked for that. False if it is not this worker's any more.
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

/// The time by which leases run out.
pub(super) fn clock(session: &mut dyn Session, sql: &str) -> Result<Timestamp> {
    let time = first(session, sql, &[], |row| Ok(moment_of_milliseconds(row.int(0)?)))?;
    time.ok_or_else(|| StoreError::corrupt("the database has no time"))
}

/// Takes the oldest claimable job of a workspace that nobody else is taking, and closes those on
/// the way to it that are not to be run again.
fn claim_due(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    skip_locked: &str,
    claim: &Claim,
    now: Timestamp,
) -> Result<Option<Job>> {
    let at = now.as_millisecond();
    while let Some(found) = oldest(session, ws, skip_locked, claim, now)? {
        let Found { id, attempt, max_attempts, cancel_requested } = found;
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

/// Takes the open job of a kind, or makes one if none is open. The counter is held to the end of the
/// transaction, so of two who find none open only one makes one.
pub(super) fn take(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    skip_locked: &str,
    job: &NewJob,
    taker: &Claim,
    now: Timestamp,
) -> Result<Option<Job>> {
    workspaces::ledger(session, ws)?;
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

/// Claims again when another job of the group was claimed at the same moment: the group is at work then,
/// and its other jobs are passed over.
pub(super) fn unless_beaten<T>(claim: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 0..RACES {
        match claim() {
            Err(StoreError::Constraint { which }) if which == ONE_AT_WORK => {}
            claimed => return claimed,
        }
    }
    Err(StoreError::Busy)
}

/// What decides about a claimable job.
struct Found {
    id: i64,
    attempt: i64,
    max_attempts: i64,
    cancel_requested: bool,
}

fn oldest(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    skip_locked: &str,
    claim: &Claim,
    now: Timestamp,
) -> Result<Option<Found>> {
    let mut sql = format!(
        "SELECT id, attempt, max_attempts, cancel_requested FROM jobs WHERE {CLAIMABLE} \
         AND workspace_id = $2"
    );
    let mut params = vec![now.as_millisecond().into(), ws.into()];
    jobs::narrow_to_kinds(&mut sql, &mut params, &claim.kinds)?;
    sql.push_str(&format!(" ORDER BY created_at, id LIMIT 1 {skip_locked}"));
    first(session, &sql, &params, |row| {
        Ok(Found {
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

/// Refuses early what [`checkpoint`] would refuse after the work.
pub(super) fn require<T>(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    step: &JobStep<'_, T>,
) -> Result<()> {
    let params = fence(session, ws, step.id, step.lease)?;
    first(session, &format!("SELECT 1 FROM jobs {FENCE}"), &params, |_| Ok(()))?
        .ok_or(StoreError::LeaseLost { job: step.id })
}

/// Moves the checkpoint, or fails and with it the transaction. From here to the commit nobody can
/// claim the job.
pub(super) fn checkpoint<T>(
    session: &mut dyn Session,
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

/// Whether the job is this worker's. If so it stays that to the end of the transaction.
pub(super) fn hold(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
) -> Result<bool> {
    let params = fence(session, ws, id, lease)?;
    Ok(session.execute(&format!("UPDATE jobs SET state = state {FENCE}"), &params)? > 0)
}

pub(super) fn finish(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<bool> {
    let (result, error) = match outcome {
        Outcome::Done(result) => (Some(result.as_str()), None),
        Outcome::Failed(error) => (None, Some(error.as_str())),
        Outcome::Cancelled => (None, None),
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
    session: &mut dyn Session,
    ws: &'a WorkspaceId,
    id: i64,
    lease: &'a Lease,
) -> Result<Vec<Value<'a>>> {
    workspaces::ledger(session, ws)?;
    let Lease { worker, attempt } = lease;
    jobs::refuse_nul(&[worker])?;
    Ok(vec![ws.into(), id.into(), worker.as_str().into(), (*attempt).into()])
}
