//! The subject of a triage: a run by its number, or the run that an alert names.

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_core::triage::TriageSubject;
use gbrain_store::{AlertState, AlertStatus, Store, SuiteRunFilter, SuiteRunInfo};
use serde_json::Value;

use super::TriageError;
use crate::suite::recorder;

/// Number of failing runs searched for one whose cases are stored.
const MAX_FAILING_RUNS: usize = 20;

/// Finds the run with a number, or the run of an alert's key.
pub fn find(store: &Store, ws: &WorkspaceId, what: &str) -> Result<TriageSubject, TriageError> {
    if let Ok(number) = what.parse() {
        return Ok(TriageSubject {
            run: number,
            body: body(store, ws, number)?,
            alert: None,
            notes: Vec::new(),
        });
    }
    let board = store.alert_board(ws)?;
    let state = board.states.iter().find(|state| state.dedup_key == what);
    let state = state.ok_or_else(|| TriageError::NoAlert(what.to_owned()))?;
    let is_over = state.state == AlertStatus::Resolved;
    let (run, notes) = match (run_of(state), newest_failing(store, ws, state)) {
        // A run without cases cannot be triaged, nor can the run that resolved the alert.
        (Some(run), _) if !is_over && has_cases(store, ws, run)? => (run, Vec::new()),
        // No run failed: the alert was about an inconclusive run and is resolved.
        (Some(run), Err(TriageError::NoFailingRun { .. })) if is_over => (run, Vec::new()),
        (named, newest) => {
            let run = newest?;
            let why = match named {
                _ if is_over => "the alert is over".to_owned(),
                Some(gone) => format!("the alert tells of run {gone}, whose cases are gone"),
                None => "the alert tells of no run".to_owned(),
            };
            (run, vec![format!("{why}; this is the newest run of its suite that failed")])
        }
    };
    Ok(TriageSubject { run, body: body(store, ws, run)?, alert: Some(what.to_owned()), notes })
}

fn body(store: &Store, ws: &WorkspaceId, run: i64) -> Result<SuiteRun, TriageError> {
    let found = store.suite_run(ws, run)?.ok_or(TriageError::NoRun(run))?;
    let report = found.report.ok_or(TriageError::Gone(run))?;
    serde_json::from_str(&report).map_err(|_| TriageError::Unreadable(run))
}

/// The run that an alert names, if its body can be parsed.
fn run_of(state: &AlertState) -> Option<i64> {
    let body: Value = serde_json::from_str(&state.body).ok()?;
    body["run"].as_i64().or_else(|| body["alert"]["run"].as_i64())
}

fn newest_failing(store: &Store, ws: &WorkspaceId, state: &AlertState) -> Result<i64, TriageError> {
    let named = || state.dedup_key.strip_prefix(&format!("gbrain/{ws}/"))?.split('/').next();
    let suite = state.suite.as_deref().or_else(named).unwrap_or_default().to_owned();
    let filter = SuiteRunFilter {
        suite: Some(suite.clone()),
        verdict: Some(Verdict::Fail),
        ..SuiteRunFilter::default()
    };
    let mut runs = store.suite_runs(ws, &filter, MAX_FAILING_RUNS)?;
    runs.retain(is_own);
    let newest = runs.first().map(|run| run.id);
    for run in runs {
        if has_cases(store, ws, run.id)? {
            return Ok(run.id);
        }
    }
    newest.ok_or_else(|| TriageError::NoFailingRun { key: state.dedup_key.clone(), suite })
}

/// Whether a run used its suite's own target; an unreadable run may have.
fn is_own(run: &SuiteRunInfo) -> bool {
    recorder::figures(run).is_none_or(|figures| figures.counts())
}

/// Whether the full report of a run is stored.
fn has_cases(store: &Store, ws: &WorkspaceId, run: i64) -> Result<bool, TriageError> {
    Ok(store.suite_run(ws, run)?.is_some_and(|run| run.report.is_some()))
}
