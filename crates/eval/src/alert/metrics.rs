//! Data for metrics and exported rules: last runs, firing alerts, queued messages, and the suites'
//! thresholds.

use std::collections::BTreeMap;

use gbrain_core::alert::AlertSeverity;
use gbrain_core::alert::export::ExportedSuite;
use gbrain_core::alert::metrics::{SuiteAlertMetrics, SuiteMetrics};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::run::RunMeasure;
use gbrain_store::{AlertStatus, Store, StoreError, SuiteRunFilter};
use jiff::Timestamp;

use crate::suite::history::{self, StoredRun};
use crate::suite::{recorder, registered};

/// How many recent runs are searched for the last run of each suite, before suites are queried one
/// by one.
const RECENT: usize = 200;

/// The metrics data of a workspace.
pub fn workspace_metrics(
    store: &Store,
    workspace: &WorkspaceId,
    now: Timestamp,
) -> Result<SuiteAlertMetrics, StoreError> {
    let mut last: BTreeMap<String, StoredRun> = BTreeMap::new();
    // Measures come from the last conclusive run: those of a smaller sample or an outage would look
    // like a recovery.
    let mut measured: BTreeMap<String, Vec<RunMeasure>> = BTreeMap::new();
    for run in store.suite_runs(workspace, &SuiteRunFilter::default(), RECENT)? {
        let summary = recorder::figures(&run);
        if summary.as_ref().is_none_or(SuiteRun::counts) {
            if let Some(solid) = summary.as_ref().filter(|one| one.inconclusive_reasons.is_empty())
            {
                measured.entry(run.suite.clone()).or_insert_with(|| solid.measures.clone());
            }
            last.entry(run.suite.clone()).or_insert((run, summary));
        }
    }
    for suite in store.suites(workspace)? {
        if !last.contains_key(&suite.name) {
            let own =
                SuiteRunFilter { suite: Some(suite.name.clone()), ..SuiteRunFilter::default() };
            let found = history::newest_run(store, workspace, own)?;
            if let Some((_, Some(summary))) = &found
                && summary.inconclusive_reasons.is_empty()
            {
                measured.insert(suite.name.clone(), summary.measures.clone());
            }
            last.extend(found.map(|run| (suite.name, run)));
        }
    }
    let suites = last.into_values().map(|(run, _)| SuiteMetrics {
        measures: measured.remove(&run.suite).unwrap_or_default(),
        suite: run.suite,
        verdict: run.verdict,
        at: run.finished_at,
    });
    let board = store.alert_board(workspace)?;
    let firing = board.states.iter().filter(|one| one.state == AlertStatus::Firing);
    let counts = store.delivery_counts(workspace)?;
    let waited = counts.oldest_queued.map(|since| now.duration_since(since).as_secs_f64());
    Ok(SuiteAlertMetrics {
        workspace: workspace.as_str().to_owned(),
        suites: suites.collect(),
        firing: firing.filter_map(|one| AlertSeverity::from_name(&one.severity)).collect(),
        queued: counts.queued,
        dead: counts.dead,
        oldest_queued: waited.unwrap_or(0.0).max(0.0),
    })
}

/// Every suite with its workspace and thresholds: registered suites, and those only in a file,
/// which have no schedule.
pub fn suites_with_thresholds(
    store: &Store,
    file: Option<&SuiteFile>,
) -> Result<Vec<ExportedSuite>, StoreError> {
    let mut all: BTreeMap<(String, String), ExportedSuite> = BTreeMap::new();
    for workspace in store.workspaces()? {
        let name = workspace.id.as_str();
        for stored in store.suites(&workspace.id)? {
            if let Ok(suite) = registered(&stored) {
                let exported =
                    ExportedSuite { workspace: name.to_owned(), suite, is_on: stored.enabled };
                all.insert((name.to_owned(), stored.name), exported);
            }
        }
        for entry in file.iter().flat_map(|file| &file.suites) {
            let own = entry.workspace.as_deref().unwrap_or("default");
            let (Some(file), true) = (file, own == "*" || own == name) else { continue };
            if let Ok(suite) = file.standing(entry, name).suite() {
                let exported = ExportedSuite { workspace: name.to_owned(), suite, is_on: false };
                all.entry((name.to_owned(), entry.name.clone())).or_insert(exported);
            }
        }
    }
    Ok(all.into_values().collect())
}
