//! Suites, runs and events of the store as bodies of `core/format`, for `--json` and the API.

use gbrain_core::format::suite::{
    EventBody, RecordedSuiteRun, SuiteFile, SuiteInfo, SuiteRunLine, TriggerEntry,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::due::Trigger;
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_store::{Store, StoreError, StoredSuiteRun, SuiteEvent, SuiteRunFilter, SuiteRunInfo};

use super::suites::{drift, placeholder_suite, registered};
use super::{history, recorder};

/// The suites of a workspace, by name: registered ones, and those that only a file defines.
pub fn suites(
    store: &Store,
    workspace: &WorkspaceId,
    file: Option<&SuiteFile>,
) -> Result<Vec<SuiteInfo>, StoreError> {
    let mut infos = Vec::new();
    for stored in store.suites(workspace)? {
        let (suite, problem) = match registered(&stored) {
            Ok(suite) => (suite, None),
            Err(error) => (placeholder_suite(&stored.name), Some(error.to_string())),
        };
        let last_run = last_run(store, workspace, &stored.name)?;
        let (registered, enabled) = (true, stored.enabled);
        let drift = file.and_then(|file| drift(file, &stored, workspace));
        infos.push(SuiteInfo { registered, enabled, drift, problem, last_run, ..info(&suite) });
    }
    let is_here = |own: &str| own == "*" || own == workspace.as_str();
    for entry in file.iter().flat_map(|file| &file.suites) {
        let is_known = infos.iter().any(|info| info.name == entry.name);
        if is_known || !is_here(entry.workspace.as_deref().unwrap_or("default")) {
            continue;
        }
        let (suite, problem) = match entry.suite() {
            Ok(suite) => (suite, None),
            Err(error) => (placeholder_suite(&entry.name), Some(error.to_string())),
        };
        let last_run = last_run(store, workspace, &entry.name)?;
        infos.push(SuiteInfo { problem, last_run, ..info(&suite) });
    }
    infos.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(infos)
}

fn info(suite: &Suite) -> SuiteInfo {
    SuiteInfo {
        name: suite.name.clone(),
        kind: suite.kind,
        workspace: suite.workspace.clone(),
        target: suite.target.clone(),
        owners: suite.owners.clone(),
        triggers: suite.triggers.iter().map(trigger).collect(),
        registered: false,
        enabled: false,
        drift: None,
        problem: None,
        last_run: None,
    }
}

fn trigger(trigger: &Trigger) -> String {
    match TriggerEntry::from(trigger) {
        TriggerEntry::Manual => "manual".to_owned(),
        TriggerEntry::Ci => "ci".to_owned(),
        TriggerEntry::Event(kind) => format!("event:{kind}"),
        TriggerEntry::Cron(cron) => format!("cron:{cron}"),
        TriggerEntry::Interval(interval) => format!("interval:{interval}"),
    }
}

/// The last run that counts for a suite: runs against another target are ignored.
fn last_run(
    store: &Store,
    workspace: &WorkspaceId,
    name: &str,
) -> Result<Option<SuiteRunLine>, StoreError> {
    let filter = SuiteRunFilter { suite: Some(name.to_owned()), ..SuiteRunFilter::default() };
    Ok(history::newest_run(store, workspace, filter)?.map(|(run, _)| run_line(&run)))
}

/// A run as one line of a listing. Fields that its summary lacks are left empty.
pub fn run_line(run: &SuiteRunInfo) -> SuiteRunLine {
    let summary = recorder::figures(run);
    let breaches = summary.as_ref().map_or_else(Vec::new, breaches);
    SuiteRunLine {
        id: run.id,
        suite: run.suite.clone(),
        key: run.key.clone(),
        trigger: run.trigger.clone(),
        target: summary.as_ref().map_or_else(String::new, |one| one.target.clone()),
        ad_hoc: summary.as_ref().is_some_and(|one| one.ad_hoc),
        started_at: format!("{:.3}", run.started_at),
        finished_at: format!("{:.3}", run.finished_at),
        verdict: run.verdict,
        inconclusive_reasons: summary
            .as_ref()
            .map_or_else(Vec::new, |one| one.inconclusive_reasons.clone()),
        planned: summary.as_ref().map_or(0, |one| one.planned),
        asked: summary.as_ref().map_or(0, |one| one.asked),
        failing: summary.as_ref().map_or(0, |one| one.failing.unwrap_or_default()),
        sample: summary.as_ref().and_then(|one| one.sample.clone()),
        breaches,
        recalibrate: summary.as_ref().is_some_and(|one| !one.recalibrate.is_empty()),
    }
}

/// The causes of a failed run, each once: the outage of its target, and breached measures.
fn breaches(run: &SuiteRun) -> Vec<String> {
    let outage = run.outage().map(|outage| outage.in_words());
    let causes = run.causes();
    let measures = causes.iter().map(|breach| {
        let one = breach.measure;
        let value = one.value.map_or_else(String::new, |value| format!(" {value:.3}"));
        format!("{} of {}{value}", one.measure, breach.segments().join(" and "))
    });
    outage.into_iter().chain(measures).collect()
}

/// A full run; `None` if it cannot be parsed.
pub fn recorded_run(run: &StoredSuiteRun) -> Option<RecordedSuiteRun> {
    let summary = recorder::figures(&run.info)?;
    Some(RecordedSuiteRun { id: run.info.id, summary, run: recorder::parse_run(run) })
}

pub fn event(event: &SuiteEvent) -> EventBody {
    let SuiteEvent { seq, kind, document, version, body: _, at } = event;
    EventBody {
        seq: *seq,
        kind: kind.clone(),
        document: document.clone(),
        version: version.clone(),
        at: Some(format!("{at:.3}")),
        is_new: None,
    }
}
