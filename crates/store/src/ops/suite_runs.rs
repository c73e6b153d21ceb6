//! Recorded runs of suites. Their counter is locked until the end of the transaction: numbers
//! increase in the order in which runs become visible, and concurrent runs with one key are
//! recorded once.

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, counters, leases, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, SqlValue, collect, first};
use crate::job::{JobOutcome, Lease};
use crate::store::Store;
use crate::suite::{NewSuiteRun, StoredSuiteRun, SuiteRunFilter, SuiteRunInfo};
use crate::{Result, row};

const ADD: &str = "INSERT INTO suite_runs (workspace_id, id, suite, key, trigger, job_id, attempt, \
     started_at, finished_at, verdict, summary, report) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const RECORDED: &str = "SELECT id FROM suite_runs \
     WHERE workspace_id = $1 AND suite = $2 AND key = $3";
/// The columns that [`info`] reads.
macro_rules! info {
    () => {
        "id, suite, key, trigger, job_id, attempt, started_at, finished_at, verdict, summary"
    };
}
pub(super) const LIST: &str =
    concat!("SELECT ", info!(), " FROM suite_runs WHERE workspace_id = $1");
const GET: &str =
    concat!("SELECT ", info!(), ", report FROM suite_runs WHERE workspace_id = $1 AND id = $2");

impl Store {
    /// Records a run that is not a job; returns its number. `None` if its key is already recorded.
    pub fn add_suite_run(
        &self,
        ws: &WorkspaceId,
        run: &NewSuiteRun,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let RecordedRun { id, is_new } = record(session, ws, run, None, now)?;
            Ok(is_new.then_some(id))
        })
    }

    /// Records the run of a job and ends the job as done, in one transaction; returns the number of
    /// the run, from which `result` makes the job's result. `None` for a worker that lost its job:
    /// nothing is written. If the key is already recorded, the job ends and the number of that run
    /// is returned.
    pub fn finish_suite_run(
        &self,
        ws: &WorkspaceId,
        job: i64,
        lease: &Lease,
        run: &NewSuiteRun,
        result: &(dyn Fn(i64) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| finish(session, ws, (job, lease), run, result, now))
    }

    pub fn suite_run(&self, ws: &WorkspaceId, id: i64) -> Result<Option<StoredSuiteRun>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            first(session, GET, &[ws.into(), id.into()], |row| {
                Ok(StoredSuiteRun { info: info(row)?, report: row.opt_text(10)? })
            })
        })
    }

    /// Recorded runs, newest first, at most `limit`.
    pub fn suite_runs(
        &self,
        ws: &WorkspaceId,
        filter: &SuiteRunFilter,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let SuiteRunFilter { suite, verdict, since, until, before } = filter;
            refuse_nul(&[suite.as_deref().unwrap_or("")])?;
            let narrowings: [(&str, Option<SqlValue<'_>>); 5] = [
                ("suite =", suite.as_deref().map(SqlValue::from)),
                ("verdict =", verdict.map(|verdict| verdict.name().into())),
                ("finished_at >=", since.map(|since| captures::first_millisecond(since).into())),
                ("finished_at <", until.map(|until| captures::first_millisecond(until).into())),
                ("id <", before.map(SqlValue::from)),
            ];
            let (mut sql, mut params) =
                captures::add_conditions(LIST.to_owned(), vec![ws.into()], narrowings);
            params.push(limit.into());
            sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", params.len()));
            collect(session, &sql, &params, info)
        })
    }

    /// Recorded runs with a higher number than `id`, by number, at most `limit`. Numbers become
    /// visible in order: a reader that has seen one has seen all before it.
    pub fn suite_runs_after(
        &self,
        ws: &WorkspaceId,
        id: i64,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let sql = format!("{LIST} AND id > $2 ORDER BY id LIMIT $3");
            collect(session, &sql, &[ws.into(), id.into(), limit.into()], info)
        })
    }
}

/// The number of the run with a key.
pub(super) fn recorded(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    suite: &str,
    key: &str,
) -> Result<Option<i64>> {
    refuse_nul(&[suite, key])?;
    first(session, RECORDED, &[ws.into(), suite.into(), key.into()], |row| row.int(0))
}

/// Returns the number of the run; `None` for a worker that lost its job.
pub(super) fn finish(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    (job, lease): (i64, &Lease),
    run: &NewSuiteRun,
    result: &(dyn Fn(i64) -> String + Sync),
    now: Timestamp,
) -> Result<Option<i64>> {
    // From here to the commit the job cannot be claimed.
    if !leases::hold(session, ws, job, lease)? {
        return Ok(None);
    }
    let id = record(session, ws, run, Some((job, lease)), now)?.id;
    leases::finish(session, ws, job, lease, &JobOutcome::Done(result(id)), now)?;
    Ok(Some(id))
}

struct RecordedRun {
    id: i64,
    is_new: bool,
}

fn record(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    run: &NewSuiteRun,
    job: Option<(i64, &Lease)>,
    now: Timestamp,
) -> Result<RecordedRun> {
    let NewSuiteRun { suite, key, trigger, started_at, verdict, summary, report } = run;
    refuse_nul(&[suite, key.as_deref().unwrap_or(""), trigger, summary, report])?;
    counters::take(session, ws, "suite_runs", 0)?;
    if let Some(key) = key
        && let Some(id) = recorded(session, ws, suite, key)?
    {
        return Ok(RecordedRun { id, is_new: false });
    }
    let id = counters::take(session, ws, "suite_runs", 1)?;
    let params = [
        ws.into(),
        id.into(),
        suite.as_str().into(),
        key.as_deref().into(),
        trigger.as_str().into(),
        job.map(|(job, _)| job).into(),
        job.map_or(0, |(_, lease)| lease.attempt).into(),
        started_at.as_millisecond().into(),
        now.as_millisecond().into(),
        verdict.name().into(),
        summary.as_str().into(),
        report.as_str().into(),
    ];
    session.execute(ADD, &params)?;
    Ok(RecordedRun { id, is_new: true })
}

pub(super) fn info(row: &dyn SqlRow) -> Result<SuiteRunInfo> {
    Ok(SuiteRunInfo {
        id: row.int(0)?,
        suite: row.text(1)?,
        key: row.opt_text(2)?,
        trigger: row.text(3)?,
        job: row.opt_int(4)?,
        attempt: row::small(row, 5)?,
        started_at: row::timestamp(row.int(6)?)?,
        finished_at: row::timestamp(row.int(7)?)?,
        verdict: row::name(row, 8, Verdict::from_name)?,
        summary: row.text(9)?,
    })
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the run".to_owned()))
}
