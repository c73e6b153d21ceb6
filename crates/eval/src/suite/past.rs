//! What earlier runs of a suite gave, for what only several of them can say.

use gbrain_core::format::suite::{SuiteRunBody, SuiteSummary};
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::Suite;
use gbrain_core::suite::measure::Measure;
use gbrain_core::suite::trend::{Sustained, WATCHED, sustained, weeks};
use gbrain_store::{Store, StoreError, SuiteRunFilter};
use jiff::Timestamp;

/// As many runs are looked at: of a suite that runs every day, more than a quarter.
const RUNS: usize = 100;

/// What fell week after week, this run included.
pub(super) fn falls(
    store: &dyn Store,
    workspace: &WorkspaceId,
    suite: &Suite,
    now: &SuiteRunBody,
) -> Result<Vec<Sustained>, StoreError> {
    let filter = SuiteRunFilter { suite: Some(suite.name.clone()), ..SuiteRunFilter::default() };
    let past = store.suite_runs(workspace, &filter, RUNS)?;
    let mut runs: Vec<(Timestamp, Verdict, SuiteSummary)> = past
        .into_iter()
        .filter(|run| run.key.as_deref() != Some(&now.key))
        .filter_map(|run| {
            Some((run.started_at, run.verdict, serde_json::from_str(&run.summary).ok()?))
        })
        .collect();
    if let Ok(began) = now.started_at.parse() {
        runs.push((began, now.verdict, SuiteSummary::from(now)));
    }
    let of = |measure: &Measure| {
        let value = |(at, verdict, run): &(Timestamp, Verdict, SuiteSummary)| {
            // What is inconclusive says nothing about the week.
            let is_sure = *verdict != Verdict::Inconclusive;
            (*at, run.value(*measure).filter(|_| is_sure))
        };
        let values: Vec<_> = runs.iter().map(value).collect();
        sustained(*measure, &weeks(&values), suite.drops)
    };
    Ok(WATCHED.iter().filter_map(of).collect())
}
