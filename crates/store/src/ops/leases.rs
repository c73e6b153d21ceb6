//! What workers do with jobs: claim, tell how far they are, end.
//!
//! Every word of a worker is fenced: it counts while the job runs under the same worker and the
//! same attempt, and changes nothing otherwise. The number of an attempt is never used again, so an
//! attempt that is given back is given as one more that is allowed.

use gbrain_core::clock::moment_of_milliseconds;
use gbrain_core::fault::Fault;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::jobs::{self, emptied};
use super::{counters, workspaces};
use crate::driver::{Session, Value, collect, first};
use crate::job::{Beat, Claim, Job, JobStep, Lease, NewJob, Outcome, Progress};
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

/// The time by which leases run out.
pub(super) fn clock(session: &mut dyn Session, sql: &str) -> Result<Timestamp> {
    let time = first(session, sql, &[], |row| Ok(moment_of_milliseconds(row.int(0)?)))?;
    time.ok_or_else(|| StoreError::corrupt("the database has no time"))
}

/// Workspaces with something to claim: those with the fewest jobs at work first, and among equals
/// in turn, so that nobody's queue keeps another's waiting for long.
pub(super) fn claimable(
    session: &mut dyn Session,
    claim: &Claim,
    now: Timestamp,
) -> Result<Vec<WorkspaceId>> {
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
}

/// Takes the oldest claimable job of a workspace that nobody else is taking, and closes those on
/// the way to it that are not to be run again.
pub(super) fn claim(
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
    if let Some(job) = claim(session, ws, skip_locked, taker, now)? {
        return Ok(Some(job));
    }
    let params = [ws.into(), job.kind.as_str().into()];
    if first(session, IS_OPEN, &params, |_| Ok(()))?.is_some() {
        return Ok(None);
    }
    jobs::add(session, ws, job, now)?;
    claim(session, ws, skip_locked, taker, now)
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

pub(super) fn beat(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
    progress: &Progress,
    lease_until: Timestamp,
    now: Timestamp,
) -> Result<Beat> {
    let Progress { done, total, note } = progress;
    jobs::refuse_nul(&[note])?;
    let sql = format!(
        "UPDATE jobs SET done = $5, total = $6, note = $7, lease_until = $8, updated_at = $9 \
         {FENCE} RETURNING cancel_requested"
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
}

/// Refuses early what [`step`] would refuse after the work.
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
pub(super) fn step<T>(
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

pub(super) fn retry(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
    error: &str,
    run_after: Timestamp,
    now: Timestamp,
) -> Result<bool> {
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
    params.extend([error.into(), run_after.as_millisecond().into(), now.as_millisecond().into()]);
    Ok(session.execute(&sql, &params)? > 0)
}

pub(super) fn release(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: i64,
    lease: &Lease,
    now: Timestamp,
) -> Result<bool> {
    let sql = format!(
        "UPDATE jobs SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END, \
         finished_at = CASE WHEN cancel_requested THEN CAST($5 AS bigint) END, \
         spec = CASE WHEN cancel_requested THEN '' ELSE spec END, \
         checkpoint = CASE WHEN cancel_requested THEN NULL ELSE checkpoint END, \
         max_attempts = max_attempts + 1, run_after = $5, lease_until = NULL, \
         updated_at = $5 {FENCE}"
    );
    let mut params = fence(session, ws, id, lease)?;
    params.push(now.as_millisecond().into());
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
