//! Stores suite runs, each once, as a full report and as figures, and reads them back.

use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_store::{Lease, NewSuiteRun, Store, StoreError, StoredSuiteRun, SuiteRunInfo};
use jiff::Timestamp;

/// Records a run without a job and returns its number; `None` if its key is already recorded.
pub fn record(
    store: &Store,
    workspace: &WorkspaceId,
    run: &SuiteRun,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    store.add_suite_run(workspace, &row(run, now), now)
}

/// Records the run of a job and finishes the job in one transaction; `None` if the worker lost its
/// lease.
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

/// The figures of a recorded run; `None` if they cannot be parsed.
pub fn figures(run: &SuiteRunInfo) -> Option<SuiteRun> {
    serde_json::from_str(&run.summary).ok()
}

/// The full run; `None` if it was pruned or cannot be parsed.
pub fn parse_run(run: &StoredSuiteRun) -> Option<SuiteRun> {
    serde_json::from_str(run.report.as_deref()?).ok()
}

/// The full run, or its figures if the rest was pruned.
pub fn read(run: &StoredSuiteRun) -> Option<SuiteRun> {
    let finished_at = || Some(format!("{:.3}", run.info.finished_at));
    let figures = || Some(SuiteRun { finished_at: finished_at(), ..figures(&run.info)? });
    parse_run(run).or_else(figures)
}
