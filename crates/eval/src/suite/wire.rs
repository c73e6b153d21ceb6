//! Suites, runs and events of the store as bodies of `core/format`, for `--json` and the API.

use gbrain_core::clock::moment_of_milliseconds;
use gbrain_core::format::suite::{
    EventBody, MeasuredRun, RecordedSuiteRun, SuiteDaysBody, SuiteDaysLine, SuiteFile, SuiteInfo,
    SuiteRunLine, SuiteTrendLine, SuiteTrendsBody, TriggerEntry, trends,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::due::Trigger;
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_store::{
    Store, StoreError, StoredSuiteRun, SuiteCursor, SuiteEvent, SuiteRunFilter, SuiteRunInfo,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::suites::{drift, placeholder_suite, registered};
use super::{history, recorder};

/// The suites of a workspace, by name: registered ones, and those that only a file defines. The
/// number of statements does not depend on the number of suites, unless the newest runs of a suite
/// do not count for it.
pub fn suites(
    store: &Store,
    workspace: &WorkspaceId,
    file: Option<&SuiteFile>,
    now: Timestamp,
) -> Result<Vec<SuiteInfo>, StoreError> {
    let mut infos = Vec::new();
    let last = LastRuns::read(store, workspace)?;
    let cursors = store.suite_cursors(workspace)?;
    for stored in store.suites(workspace)? {
        let (suite, problem) = match registered(&stored) {
            Ok(suite) => (suite, None),
            Err(error) => (placeholder_suite(&stored.name), Some(error.to_string())),
        };
        let last_run = last.of(&stored.name)?;
        let (registered, enabled) = (true, stored.enabled);
        let drift = file.and_then(|file| drift(file, &stored, workspace));
        let next_run = next_run(&suite, &cursors, now).filter(|_| enabled);
        let next_run = next_run.map(|at| format!("{at:.0}"));
        let info = info(&suite);
        infos.push(SuiteInfo { registered, enabled, drift, problem, last_run, next_run, ..info });
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
        let last_run = last.of(&entry.name)?;
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
        next_run: None,
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

/// When the schedules of a suite fire next: the first of them.
fn next_run(suite: &Suite, cursors: &[SuiteCursor], now: Timestamp) -> Option<Timestamp> {
    let next = |trigger: &Trigger| match trigger {
        Trigger::Cron(cron) => cron.after(now),
        Trigger::Every(interval) => {
            let name = trigger.cursor()?;
            let is_its = |one: &&SuiteCursor| one.suite == suite.name && one.trigger == name;
            let last = cursors.iter().find(is_its)?;
            Some(interval.after(moment_of_milliseconds(last.at)).max(now))
        }
        Trigger::Manual | Trigger::Ci | Trigger::Event(_) => None,
    };
    suite.triggers.iter().filter_map(next).min()
}

/// The newest runs of all suites.
struct LastRuns<'a> {
    store: &'a Store,
    workspace: &'a WorkspaceId,
    newest: Vec<SuiteRunInfo>,
}

impl<'a> LastRuns<'a> {
    /// Runs of a suite that are read at once.
    const EACH: usize = 3;

    fn read(store: &'a Store, workspace: &'a WorkspaceId) -> Result<Self, StoreError> {
        let newest = store.newest_suite_runs(workspace, None, Self::EACH)?;
        Ok(Self { store, workspace, newest })
    }

    /// The last run that counts for a suite: runs against another target are ignored.
    fn of(&self, name: &str) -> Result<Option<SuiteRunLine>, StoreError> {
        let own: Vec<&SuiteRunInfo> = self.newest.iter().filter(|run| run.suite == name).collect();
        let counts = |run: &SuiteRunInfo| recorder::figures(run).is_none_or(|one| one.counts());
        if let Some(run) = own.iter().find(|run| counts(run)) {
            return Ok(Some(run_line(run)));
        }
        if own.len() < Self::EACH {
            return Ok(None);
        }
        let filter = SuiteRunFilter {
            suite: Some(name.to_owned()),
            before: own.last().map(|run| run.id),
            ..SuiteRunFilter::default()
        };
        Ok(history::newest_run(self.store, self.workspace, filter)?.map(|(run, _)| run_line(&run)))
    }
}

/// Verdicts of all suites by day, of the last `days` days.
pub fn days(
    store: &Store,
    workspace: &WorkspaceId,
    days: u16,
    now: Timestamp,
) -> Result<SuiteDaysBody, StoreError> {
    let back = SignedDuration::from_hours(24 * i64::from(days.saturating_sub(1)));
    let since = now.saturating_sub(back).unwrap_or(Timestamp::UNIX_EPOCH);
    let mut suites: Vec<SuiteDaysLine> = Vec::new();
    for (suite, day) in store.suite_days(workspace, since)? {
        match suites.last_mut().filter(|line| line.suite == suite) {
            Some(line) => line.days.push(day),
            None => suites.push(SuiteDaysLine { suite, days: vec![day] }),
        }
    }
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date().to_string();
    Ok(SuiteDaysBody { from: day(since), to: day(now), suites })
}

/// The values of measures in the newest runs: of one suite all measures, of all suites one each.
pub fn suite_trends(
    store: &Store,
    workspace: &WorkspaceId,
    suite: Option<&str>,
    runs: usize,
) -> Result<SuiteTrendsBody, StoreError> {
    /// Measures of one suite that are shown.
    const MEASURES: usize = 20;
    let limit = if suite.is_some() { MEASURES } else { 1 };
    let newest = store.newest_suite_runs(workspace, suite, runs)?;
    let mut suites = Vec::new();
    for own in newest.chunk_by(|a, b| a.suite == b.suite) {
        let read: Vec<(&SuiteRunInfo, SuiteRun)> = own
            .iter()
            .filter_map(|run| Some((run, recorder::figures(run).filter(SuiteRun::counts)?)))
            .collect();
        let runs: Vec<MeasuredRun<'_>> = read
            .iter()
            .map(|(run, figures)| MeasuredRun {
                id: run.id,
                at: format!("{:.3}", run.finished_at),
                verdict: run.verdict,
                measures: &figures.measures,
            })
            .collect();
        let name = own.first().map_or_else(String::new, |run| run.suite.clone());
        suites.push(SuiteTrendLine { suite: name, measures: trends(&runs, limit) });
    }
    Ok(SuiteTrendsBody { suites })
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
