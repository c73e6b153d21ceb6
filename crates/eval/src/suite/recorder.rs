//! Runs in the store: recorded once, whole and in figures, and read back.

use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_store::{Lease, NewSuiteRun, Store, StoreError, StoredSuiteRun, SuiteRunInfo};
use jiff::Timestamp;

/// Records a run that is no job; its number. None if its key is recorded already.
pub fn record(
    store: &Store,
    workspace: &WorkspaceId,
    run: &SuiteRun,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    store.add_suite_run(workspace, &row(run, now), now)
}

/// Records the run of a job and ends the job, both or neither; none for a worker that lost its lease.
pub fn record_job(
    store: &Store,
    workspace: &WorkspaceId,
    (job, lease): (i64, &Lease),
    run: &SuiteRun,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let result = |id: i64| serde_json::json!({ "run_id": id, "verdict": run.verdict }).to_string();
    store.finish_suite_run(workspace, job, lease, &row(run, now), &result, now)
}

fn row(run: &SuiteRun, now: Timestamp) -> NewSuiteRun {
    NewSuiteRun {
        suite: run.suite.clone(),
        key: Some(run.key.clone()),
        trigger: run.trigger.clone(),
        started_at: run.started_at.parse().unwrap_or(now),
        verdict: run.verdict,
        summary: super::json(&run.figures()),
        report: super::json(run),
    }
}

/// The figures of a recorded run; none if they can't be read.
pub fn figures(run: &SuiteRunInfo) -> Option<SuiteRun> {
    serde_json::from_str(&run.summary).ok()
}

/// The whole run; none if it was pruned or can't be read.
pub fn whole(run: &StoredSuiteRun) -> Option<SuiteRun> {
    serde_json::from_str(run.report.as_deref()?).ok()
}

/// The run: whole, or its figures where the rest was pruned.
pub fn read(run: &StoredSuiteRun) -> Option<SuiteRun> {
    let finished_at = || Some(format!("{:.3}", run.info.finished_at));
    let figures = || Some(SuiteRun { finished_at: finished_at(), ..figures(&run.info)? });
    whole(run).or_else(figures)
}
