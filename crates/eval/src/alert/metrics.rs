//! What is read for numbers and rules: the last runs, what fires, what waits; and what suites are held against.

use std::collections::BTreeMap;

use gbrain_core::alert::Severity;
use gbrain_core::alert::export::Held;
use gbrain_core::alert::metrics::{Reading, SuiteReading};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::run::RunMeasure;
use gbrain_store::{AlertStatus, Store, StoreError, SuiteRunFilter};
use jiff::Timestamp;

use crate::suite::history::{self, StoredRun};
use crate::suite::{recorder, registered};

/// Runs that are looked through for the last of each suite, before suites are asked for one by one.
const RECENT: usize = 200;

/// What a workspace has to say in numbers.
pub fn reading(
    store: &Store,
    workspace: &WorkspaceId,
    now: Timestamp,
) -> Result<Reading, StoreError> {
    let mut last: BTreeMap<String, StoredRun> = BTreeMap::new();
    // Measures are those of the last run that says enough: what a smaller sample or an outage left would
    // look like a recovery.
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
            let found = history::last(store, workspace, own)?;
            if let Some((_, Some(summary))) = &found
                && summary.inconclusive_reasons.is_empty()
            {
                measured.insert(suite.name.clone(), summary.measures.clone());
            }
            last.extend(found.map(|run| (suite.name, run)));
        }
    }
    let suites = last.into_values().map(|(run, _)| SuiteReading {
        measures: measured.remove(&run.suite).unwrap_or_default(),
        suite: run.suite,
        verdict: run.verdict,
        at: run.finished_at,
    });
    let board = store.alert_board(workspace)?;
    let firing = board.states.iter().filter(|one| one.state == AlertStatus::Firing);
    let counts = store.delivery_counts(workspace)?;
    let waited = counts.oldest_queued.map(|since| now.duration_since(since).as_secs_f64());
    Ok(Reading {
        workspace: workspace.as_str().to_owned(),
        suites: suites.collect(),
        firing: firing.filter_map(|one| Severity::from_name(&one.severity)).collect(),
        queued: counts.queued,
        dead: counts.dead,
        oldest_queued: waited.unwrap_or(0.0).max(0.0),
    })
}

/// Every suite with its workspace, as it is held against its thresholds: those that are registered, and
/// those that only a file knows, which nothing fires.
pub fn held_against(store: &Store, file: Option<&SuiteFile>) -> Result<Vec<Held>, StoreError> {
    let mut all: BTreeMap<(String, String), Held> = BTreeMap::new();
    for workspace in store.workspaces()? {
        let name = workspace.id.as_str();
        for stored in store.suites(&workspace.id)? {
            if let Ok(suite) = registered(&stored) {
                let held = Held { workspace: name.to_owned(), suite, is_on: stored.enabled };
                all.insert((name.to_owned(), stored.name), held);
            }
        }
        for entry in file.iter().flat_map(|file| &file.suites) {
            let own = entry.workspace.as_deref().unwrap_or("default");
            let (Some(file), true) = (file, own == "*" || own == name) else { continue };
            if let Ok(suite) = file.standing(entry, name).suite() {
                let held = Held { workspace: name.to_owned(), suite, is_on: false };
                all.entry((name.to_owned(), entry.name.clone())).or_insert(held);
            }
        }
    }
    Ok(all.into_values().collect())
}
