//! Reads earlier runs of a suite, for trends over several runs.
//!
//! Promises: a run against another target, or one that was stopped, does not count for the suite.
//! Reading is bounded, however many runs there are.

use std::ops::ControlFlow;

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::trend::{DecliningMeasure, WATCHED, sustained, weeks};
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_store::{Store, StoreError, SuiteRunFilter, SuiteRunInfo};
use jiff::{SignedDuration, Timestamp};

use super::recorder;

/// The first and the largest page size: most callers need only the newest runs.
const PAGE: (usize, usize) = (4, 500);
/// Maximum number of runs read: more than a year of an hourly suite.
const MOST: usize = 10_000;

/// A stored run with its figures, if they can be parsed.
pub(crate) type StoredRun = (SuiteRunInfo, Option<SuiteRun>);

/// Visits the runs that count for their suites, newest first, until the visitor breaks. An
/// unreadable run counts.
fn each(
    store: &Store,
    workspace: &WorkspaceId,
    mut filter: SuiteRunFilter,
    visit: &mut dyn FnMut(StoredRun) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let (mut page, mut seen) = (PAGE.0, 0);
    while seen < MOST {
        let runs = store.suite_runs(workspace, &filter, page)?;
        let is_last = runs.len() < page;
        filter.before = runs.last().map(|run| run.id);
        seen += runs.len();
        for run in runs {
            let summary = recorder::figures(&run);
            let counts = summary.as_ref().is_none_or(SuiteRun::counts);
            if counts && visit((run, summary)).is_break() {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
        page = (4 * page).min(PAGE.1);
    }
    Ok(())
}

/// The newest run that counts for its suite.
pub(crate) fn newest_run(
    store: &Store,
    workspace: &WorkspaceId,
    filter: SuiteRunFilter,
) -> Result<Option<StoredRun>, StoreError> {
    let mut found = None;
    each(store, workspace, filter, &mut |run| {
        found = Some(run);
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// The measures that fell week after week, including this run.
pub(super) fn falls(
    store: &Store,
    workspace: &WorkspaceId,
    suite: &Suite,
    now: &SuiteRun,
) -> Result<Vec<DecliningMeasure>, StoreError> {
    let began: Option<Timestamp> = now.started_at.parse().ok().filter(|_| now.counts());
    let Some(began) = began else { return Ok(Vec::new()) };
    // The weeks that fell, the week before them, and the rest of that week.
    let weeks_back = SignedDuration::from_hours(7 * 24 * (suite.drops as i64 + 1));
    let filter = SuiteRunFilter {
        suite: Some(suite.name.clone()),
        since: began.checked_sub(weeks_back).ok(),
        ..SuiteRunFilter::default()
    };
    // An inconclusive run or an outage says nothing about the week.
    let values = |verdict: Verdict, run: &SuiteRun| {
        let is_whole = verdict != Verdict::Inconclusive && run.errors.is_empty();
        WATCHED.map(|measure| run.value(measure).filter(|_| is_whole))
    };
    let mut runs = vec![(began, values(now.verdict, now))];
    each(store, workspace, filter, &mut |(run, summary)| {
        if let Some(summary) = summary.filter(|_| run.key.as_deref() != Some(&now.key)) {
            runs.push((run.started_at, values(run.verdict, &summary)));
        }
        ControlFlow::Continue(())
    })?;
    let of = |(at, measure)| {
        let values: Vec<_> = runs.iter().map(|(when, values)| (*when, values[at])).collect();
        sustained(measure, &weeks(&values), suite.drops)
    };
    Ok(WATCHED.into_iter().enumerate().filter_map(of).collect())
}
