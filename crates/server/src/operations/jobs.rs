//! Jobs and runs: start, inspect, cancel, fetch the result.

use gbrain_brain::wire;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::serving::{CancelledBody, JobBody as JobShown, JobsBody, QueuedBody};
use gbrain_core::job::JobState;
use gbrain_store::{JobCounts, JobFilter, JobInfo, NewJob};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::{NoParameters, OperationCall, Reply, is_internal};
use crate::jobs::{ATTEMPTS, JOBS, JobBody, RUNS, RunBody};

/// Most unfinished jobs per workspace. Each may be as large as a body.
const OPEN_JOBS: u64 = 100;
/// Kinds whose results remote callers may see. The result of a file import names files, including
/// private ones.
const REMOTE_RESULT_KINDS: &[&str] = &["import", "reindex"];

/// Which jobs to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListJobs {
    /// Only jobs in this state: queued, running, done, failed or cancelled.
    state: Option<JobState>,
    /// Jobs with a lower id than this.
    before: Option<i64>,
    /// The maximum number of jobs; 50 by default.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// A job by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobNumber {
    /// The id of the job, as returned when it was started.
    #[schemars(range(min = 1))]
    id: i64,
}

/// Starts a job that changes the brain.
pub(crate) fn start_job(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: JobBody,
) -> Result<Reply, Fault> {
    match &body {
        JobBody::Import(spec) => {
            spec.check()?;
            start(call, "import", spec)
        }
        JobBody::Reindex(spec) => start(call, "reindex", spec),
    }
}

pub(crate) fn start_run(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: RunBody,
) -> Result<Reply, Fault> {
    match &body {
        RunBody::Replay(spec) => {
            spec.check()?;
            start(call, "replay", spec)
        }
        RunBody::Gate(spec) => {
            spec.check()?;
            start(call, "gate", spec)
        }
    }
}

fn start(call: &OperationCall<'_>, kind: &str, spec: &impl Serialize) -> Result<Reply, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let JobCounts { queued, running } = store.job_counts_of(ws)?;
    if queued + running >= OPEN_JOBS {
        return Err(Fault::overloaded(format!("{OPEN_JOBS} jobs are unfinished"))
            .hint("wait until some have finished, or cancel some"));
    }
    let spec = serde_json::to_string(spec).map_err(|error| Fault::internal(error.to_string()))?;
    let job = NewJob {
        kind: kind.to_owned(),
        spec,
        created_by: call.principal.name.clone(),
        max_attempts: ATTEMPTS,
        key: None,
        group: None,
    };
    let id = store.add_job(ws, &job, store.clock()?)?;
    let state = JobState::Queued.name();
    Reply::accepted(&QueuedBody { id, kind: kind.to_owned(), state })
}

pub(crate) fn list_jobs(call: &OperationCall<'_>, input: ListJobs) -> Result<Reply, Fault> {
    list(call, input, &[])
}

pub(crate) fn list_runs(call: &OperationCall<'_>, input: ListJobs) -> Result<Reply, Fault> {
    list(call, input, RUNS)
}

fn list(call: &OperationCall<'_>, input: ListJobs, kinds: &[&str]) -> Result<Reply, Fault> {
    let limit = usize::from(input.limit.unwrap_or(50));
    if !(1..=200).contains(&limit) {
        return Err(Fault::usage("`limit` must be from 1 to 200"));
    }
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let filter = JobFilter { state: input.state, kinds, before: input.before };
    let mut jobs = call.registry.store().jobs(&call.principal.workspace, &filter, limit + 1)?;
    let next_before = wire::truncate_page(&mut jobs, limit).map(|job| job.id);
    Reply::json(&JobsBody { jobs: jobs.iter().map(shown).collect(), next_before })
}

pub(crate) fn show_job(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    Reply::json(&shown(&find(call, input.id, &[])?))
}

pub(crate) fn show_run(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    Reply::json(&shown(&find(call, input.id, RUNS)?))
}

pub(crate) fn cancel_job(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    cancel(call, input.id, JOBS)
}

pub(crate) fn cancel_run(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    cancel(call, input.id, RUNS)
}

fn cancel(call: &OperationCall<'_>, id: i64, kinds: &[&str]) -> Result<Reply, Fault> {
    find(call, id, kinds)?;
    let state = call.registry.store().cancel_job(&call.principal.workspace, id, call.now)?;
    let state = state.ok_or_else(|| no_job(id))?.name();
    Reply::json(&CancelledBody { id, state })
}

pub(crate) fn run_result(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    result(call, input.id, RUNS)
}

pub(crate) fn job_result(call: &OperationCall<'_>, input: JobNumber) -> Result<Reply, Fault> {
    result(call, input.id, REMOTE_RESULT_KINDS)
}

fn result(call: &OperationCall<'_>, id: i64, kinds: &[&str]) -> Result<Reply, Fault> {
    let job = call.registry.store().job(&call.principal.workspace, id)?;
    let job =
        job.filter(|job| kinds.contains(&job.info.kind.as_str())).ok_or_else(|| no_job(id))?;
    match (job.info.state, job.result) {
        (JobState::Done, Some(result)) => Ok(Reply::Json(result.into_bytes())),
        (state, _) => Err(Fault::conflict(format!("the job is {state}: there is no result"))),
    }
}

/// The job with this id, if it is of one of these kinds.
pub(crate) fn find(call: &OperationCall<'_>, id: i64, kinds: &[&str]) -> Result<JobInfo, Fault> {
    // Listing does not load the large texts of a job.
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let filter = JobFilter { state: None, kinds, before: Some(id.saturating_add(1)) };
    let found = call.registry.store().jobs(&call.principal.workspace, &filter, 1)?;
    found.into_iter().find(|job| job.id == id).ok_or_else(|| no_job(id))
}

fn no_job(id: i64) -> Fault {
    Fault::not_found(format!("there is no such job: {id}"))
}

/// A job as shown to remote callers: without the worker's host and without internal errors, which
/// may name files and hosts. Errors about the rows of a run are hidden too.
pub(crate) fn shown(job: &JobInfo) -> JobShown {
    let mut shown = shown_to_owner(job);
    shown.worker = None;
    if let Some(error) = &shown.error {
        let is_of_rows =
            error.error.kind == FaultKind::Input.name() && RUNS.contains(&job.kind.as_str());
        if is_of_rows || is_internal_kind(&error.error.kind) {
            let general = Fault::internal("the job failed: see the worker's log");
            shown.error = Some(general.wire_body());
        }
    }
    shown
}

/// Unknown kinds count as internal.
fn is_internal_kind(kind: &str) -> bool {
    FaultKind::from_name(kind).is_none_or(is_internal)
}

/// A job with all details, for its owner.
pub fn shown_to_owner(job: &JobInfo) -> JobShown {
    let JobInfo {
        workspace: _,
        id,
        kind,
        state,
        attempt,
        max_attempts,
        run_after: _,
        done,
        total,
        note,
        error,
        worker,
        lease_until: _,
        cancel_requested,
        created_by,
        created_at,
        started_at,
        updated_at,
        finished_at,
        key: _,
        group: _,
    } = job;
    JobShown {
        id: *id,
        kind: kind.clone(),
        state: state.name(),
        done: *done,
        total: *total,
        note: note.clone(),
        attempt: *attempt,
        max_attempts: *max_attempts,
        cancel_requested: *cancel_requested,
        error: error.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        worker: worker.clone(),
        created_by: created_by.clone(),
        created_at: format!("{created_at:.3}"),
        started_at: started_at.map(|at| format!("{at:.3}")),
        updated_at: format!("{updated_at:.3}"),
        finished_at: finished_at.map(|at| format!("{at:.3}")),
    }
}
