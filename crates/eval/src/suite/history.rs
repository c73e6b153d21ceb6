//! What earlier runs of a suite gave, for what only several of them can say.
//!
//! Promises: a run that asked somebody else than the suite's own target, or that somebody stopped, says
//! nothing about the suite. However many runs there are, some end is come to.

use std::ops::ControlFlow;

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::trend::{Trend, WATCHED, sustained, weeks};
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_store::{Store, StoreError, SuiteRunFilter, SuiteRunInfo};
use jiff::{SignedDuration, Timestamp};

use super::recorder;

/// Runs that are read together at first, and at last: most want the newest only.
const PAGE: (usize, usize) = (4, 500);
/// The most that are looked through: of a suite that runs every hour, more than a year.
const MOST: usize = 10_000;

/// A run that is kept, and its figures if they can be read.
pub(crate) type StoredRun = (SuiteRunInfo, Option<SuiteRun>);

/// Tells of runs that say how their suites are doing, the newest first, until somebody has heard enough.
/// What can't be read may be one of these.
fn each(
    store: &Store,
    workspace: &WorkspaceId,
    mut filter: SuiteRunFilter,
    told: &mut dyn FnMut(StoredRun) -> ControlFlow<()>,
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
            if counts && told((run, summary)).is_break() {
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

/// The newest run that says how its suite is doing.
pub(crate) fn last(
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

/// What fell week after week, this run included.
pub(super) fn falls(
    store: &Store,
    workspace: &WorkspaceId,
    suite: &Suite,
    now: &SuiteRun,
) -> Result<Vec<Trend>, StoreError> {
    let began: Option<Timestamp> = now.started_at.parse().ok().filter(|_| now.counts());
    let Some(began) = began else { return Ok(Vec::new()) };
    // The drops, the week before them, and what is left of that one.
    let weeks_back = SignedDuration::from_hours(7 * 24 * (suite.drops as i64 + 1));
    let filter = SuiteRunFilter {
        suite: Some(suite.name.clone()),
        since: began.checked_sub(weeks_back).ok(),
        ..SuiteRunFilter::default()
    };
    // What is inconclusive, or an outage, says nothing about the week.
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
