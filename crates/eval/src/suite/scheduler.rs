//! Queues due suite runs, in every workspace with an enabled suite.
//!
//! Any number of processes may schedule: firing moves a cursor and queues a job in one transaction,
//! so a due run is queued once. Each trigger of a suite has a cursor: a time, a generation of the
//! local feed, or the number of a reported event.
//!
//! Deliberately absent: deciding whether something is due ([`gbrain_core::suite::due`]), and
//! running it.

use std::collections::BTreeMap;

use gbrain_core::format::suite::SuiteEntry;
use gbrain_core::id::{Generation, WorkspaceId};
use gbrain_core::suite::Suite;
use gbrain_core::suite::due::{self, EventKind, PendingEvents, Trigger};
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::target::LOCAL;
use gbrain_store::{
    BacklogPolicy, ChangeSpan, CursorMove, EVENT_TRIGGER_PREFIX, NewDueRun, NewJob, Store,
    StoreError, StoredSuite, SuiteCursor, SuiteRunFilter, SuiteRunInfo, WatchedChanges, WriteKind,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::suites::{KIND, group, placeholder_suite, registered, run_key};
use super::{not_run, record};

/// Maximum number of attempts; the last one only reports that the others were killed.
pub const ATTEMPTS: u32 = 20;

/// Number of events read per batch.
const EVENTS: usize = 1_000;

/// The creator of scheduled jobs, and the trigger of runs that report an unreadable suite.
const SCHEDULER: &str = "scheduler";

/// The workspace of a global suite.
const EVERYWHERE: &str = "*";

/// A queued run, as workers read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteJob {
    pub suite: String,
    /// The name of the run, unique in the workspace.
    pub key: String,
    pub trigger: String,
    /// The generation that the local index must reach before the run.
    #[serde(default)]
    pub generation: Option<i64>,
}

impl SuiteJob {
    pub fn trigger(&self) -> RunTrigger<'_> {
        RunTrigger { key: &self.key, trigger: &self.trigger }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleResult {
    Fired {
        suite: String,
        key: String,
        job: i64,
    },
    /// A suite cannot be parsed.
    Broken {
        suite: String,
        why: String,
    },
}

/// Checks every enabled suite once and queues the due runs.
pub fn queue_due(
    store: &Store,
    now: Timestamp,
    on_scheduled: &mut dyn FnMut(&WorkspaceId, ScheduleResult),
) -> Result<(), StoreError> {
    let mut first: Result<(), StoreError> = Ok(());
    // An error in one workspace does not stop the next.
    let mut done = |result: Result<(), StoreError>| {
        if first.is_ok() {
            first = result;
        }
    };
    done(propagate_global_suites(store, now));
    for workspace in store.workspaces_with_suites()? {
        let pass = SchedulePass::new(store, &workspace, now);
        done(pass.and_then(|pass| pass.all(&mut |scheduled| on_scheduled(&workspace, scheduled))));
    }
    first
}

/// Enables a suite; `false` if there is none. Its triggers start now: earlier events do not fire
/// them.
pub fn enable(
    store: &Store,
    workspace: &WorkspaceId,
    name: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    if !store.enable_suite(workspace, name, now)? {
        return Ok(false);
    }
    let pass = SchedulePass::new(store, workspace, now)?;
    if let Some(stored) = store.suite(workspace, name)?
        && let Ok(suite) = registered(&stored)
    {
        pass.begin(&suite)?;
    }
    Ok(true)
}

/// Removes a registered suite and returns the workspaces it was removed from. A global suite is
/// removed from all workspaces, except from those with their own suite of that name. `None` if this
/// workspace has none.
pub fn remove(
    store: &Store,
    workspace: &WorkspaceId,
    name: &str,
) -> Result<Option<Vec<WorkspaceId>>, StoreError> {
    let is_for_all = |stored: &StoredSuite| {
        let entry = serde_json::from_str::<SuiteEntry>(&stored.spec);
        entry.is_ok_and(|entry| entry.workspace.as_deref() == Some(EVERYWHERE))
    };
    let Some(stored) = store.suite(workspace, name)? else { return Ok(None) };
    let mut meant = vec![workspace.clone()];
    if is_for_all(&stored) {
        meant = store.workspaces()?.into_iter().map(|one| one.id).collect();
    }
    let mut removed = Vec::new();
    for place in meant {
        let is_it = |one: StoredSuite| place == *workspace || is_for_all(&one);
        if store.suite(&place, name)?.is_some_and(is_it) && store.remove_suite(&place, name)? {
            removed.push(place);
        }
    }
    Ok(Some(removed))
}

/// Adds global suites to the workspaces that do not have them yet.
fn propagate_global_suites(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    // A copy of a global suite is global too, so each is considered once.
    let mut everywhere: BTreeMap<String, StoredSuite> = BTreeMap::new();
    for workspace in store.workspaces_with_suites()? {
        for suite in store.suites(&workspace)?.into_iter().filter(|suite| suite.enabled) {
            if registered(&suite).is_ok_and(|read| read.workspace == EVERYWHERE) {
                everywhere.entry(suite.name.clone()).or_insert(suite);
            }
        }
    }
    if everywhere.is_empty() {
        return Ok(());
    }
    for workspace in store.workspaces()? {
        let there = store.suites(&workspace.id)?;
        for (name, suite) in &everywhere {
            let is_new = match there.iter().find(|one| one.name == *name) {
                None => store.put_suite(&workspace.id, name, &suite.spec, now)? == WriteKind::Added,
                // A copy that is unchanged and disabled since it was added: the process that added
                // it stopped before enabling it.
                Some(there) => {
                    let is_as_given = there.updated_at == there.created_at;
                    !there.enabled && is_as_given && there.hash == suite.hash
                }
            };
            if is_new {
                enable(store, &workspace.id, name, now)?;
            }
        }
    }
    Ok(())
}

/// One scheduling pass over a workspace.
struct SchedulePass<'a> {
    store: &'a Store,
    workspace: &'a WorkspaceId,
    cursors: Vec<SuiteCursor>,
    now: Timestamp,
}

/// The source of events that a trigger follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventSource {
    /// The feed of the local brain.
    Feed(WatchedChanges),
    /// Events that were reported to this brain.
    Reported,
}

impl EventSource {
    /// The sources that a trigger of a suite follows; suites of the local brain also follow its own
    /// changes.
    fn of(suite: &Suite, kind: EventKind) -> Vec<Self> {
        let own = match kind {
            _ if suite.target != LOCAL => None,
            EventKind::KnowledgePersisted => Some(Self::Feed(WatchedChanges::Pages)),
            EventKind::GraphChanged => Some(Self::Feed(WatchedChanges::Links)),
            EventKind::RerankChanged | EventKind::DeployFinished => None,
        };
        own.into_iter().chain([Self::Reported]).collect()
    }

    fn cursor(self, kind: EventKind) -> String {
        match self {
            Self::Feed(_) => format!("event:{kind}"),
            Self::Reported => format!("{EVENT_TRIGGER_PREFIX}{kind}"),
        }
    }
}

impl<'a> SchedulePass<'a> {
    fn new(
        store: &'a Store,
        workspace: &'a WorkspaceId,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        Ok(Self { store, workspace, cursors: store.suite_cursors(workspace)?, now })
    }

    fn all(&self, on_scheduled: &mut dyn FnMut(ScheduleResult)) -> Result<(), StoreError> {
        let mut first: Result<(), StoreError> = Ok(());
        for stored in self.store.suites(self.workspace)?.iter().filter(|suite| suite.enabled) {
            let result = match registered(stored) {
                Ok(suite) => self.suite(&suite, on_scheduled),
                Err(error) => {
                    let why = error.to_string();
                    let recorded = self.record_broken(stored, &why);
                    on_scheduled(ScheduleResult::Broken { suite: stored.name.clone(), why });
                    recorded
                }
            };
            first = first.and(result);
        }
        first
    }

    /// Records a run for an unreadable suite, once until the suite runs again.
    fn record_broken(&self, stored: &StoredSuite, why: &str) -> Result<(), StoreError> {
        let own = SuiteRunFilter { suite: Some(stored.name.clone()), ..SuiteRunFilter::default() };
        let last = self.store.suite_runs(self.workspace, &own, 1)?.pop();
        let is_told =
            |run: &SuiteRunInfo| run.trigger == SCHEDULER && run.started_at >= stored.updated_at;
        if last.as_ref().is_some_and(is_told) {
            return Ok(());
        }
        let after = last.map_or(0, |run| run.id);
        let key = run_key(&stored.name, &format!("broken@{}@{after}", stored.hash.short()));
        let trigger = RunTrigger { key: &key, trigger: SCHEDULER };
        let reason = (InconclusiveReason::Broken, why);
        let run =
            not_run(&placeholder_suite(&stored.name), self.workspace, trigger, reason, self.now);
        record(self.store, self.workspace, &run, self.now)?;
        Ok(())
    }

    fn suite(
        &self,
        suite: &Suite,
        on_scheduled: &mut dyn FnMut(ScheduleResult),
    ) -> Result<(), StoreError> {
        self.begin(suite)?;
        self.forget_others(suite)?;
        for trigger in &suite.triggers {
            match trigger {
                Trigger::Manual | Trigger::Ci => (),
                Trigger::Cron(_) | Trigger::Every(_) => {
                    self.queue_timed(suite, trigger, on_scheduled)?
                }
                Trigger::Event(kind) => {
                    for source in EventSource::of(suite, *kind) {
                        self.queue_evented(suite, *kind, source, on_scheduled)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts the triggers that have no cursor yet.
    fn begin(&self, suite: &Suite) -> Result<(), StoreError> {
        let begin = |cursor: &str, at: i64| {
            let advance = CursorMove { from: None, to: at };
            self.store.advance_cursor(self.workspace, &suite.name, cursor, advance)
        };
        for trigger in &suite.triggers {
            match trigger {
                Trigger::Event(kind) => {
                    for source in EventSource::of(suite, *kind) {
                        let cursor = source.cursor(*kind);
                        if self.at(suite, &cursor).is_none() {
                            begin(&cursor, self.head(source)?)?;
                        }
                    }
                }
                trigger => {
                    if let Some(cursor) = trigger.cursor()
                        && self.at(suite, &cursor).is_none()
                    {
                        begin(&cursor, self.now.as_millisecond())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes the cursors of removed triggers; they start anew if they are added again.
    fn forget_others(&self, suite: &Suite) -> Result<(), StoreError> {
        let of_trigger = |trigger: &Trigger| match trigger {
            Trigger::Event(kind) => EventSource::of(suite, *kind)
                .into_iter()
                .map(|source| source.cursor(*kind))
                .collect(),
            trigger => trigger.cursor().into_iter().collect::<Vec<_>>(),
        };
        let wanted: Vec<String> = suite.triggers.iter().flat_map(of_trigger).collect();
        let own = self.cursors.iter().filter(|cursor| cursor.suite == suite.name);
        for cursor in own.filter(|cursor| !wanted.contains(&cursor.trigger)) {
            self.store.delete_cursor(self.workspace, &suite.name, &cursor.trigger)?;
        }
        Ok(())
    }

    fn head(&self, source: EventSource) -> Result<i64, StoreError> {
        match source {
            EventSource::Feed(_) => Ok(self.store.head(self.workspace)?.generation.0),
            EventSource::Reported => self.store.event_head(self.workspace),
        }
    }

    fn at(&self, suite: &Suite, trigger: &str) -> Option<i64> {
        let is_it = |one: &&SuiteCursor| one.suite == suite.name && one.trigger == trigger;
        self.cursors.iter().find(is_it).map(|one| one.at)
    }

    fn queue_timed(
        &self,
        suite: &Suite,
        trigger: &Trigger,
        on_scheduled: &mut dyn FnMut(ScheduleResult),
    ) -> Result<(), StoreError> {
        let Some(cursor) = trigger.cursor() else { return Ok(()) };
        let Some(from) = self.at(suite, &cursor) else { return Ok(()) };
        match due::scheduled_due_run(trigger, from, self.now) {
            Some(due) => {
                self.fire(suite, &cursor, &cursor, (from, due), BacklogPolicy::Add, on_scheduled)
            }
            None => Ok(()),
        }
    }

    fn queue_evented(
        &self,
        suite: &Suite,
        kind: EventKind,
        source: EventSource,
        on_scheduled: &mut dyn FnMut(ScheduleResult),
    ) -> Result<(), StoreError> {
        let cursor = source.cursor(kind);
        let Some(from) = self.at(suite, &cursor) else { return Ok(()) };
        let pending = match source {
            EventSource::Feed(which) => self.changes_since(suite, &cursor, from, which)?,
            EventSource::Reported => self.reported_events(suite, &cursor, from, kind)?,
        };
        let Some(mut due) = due::event_due_run(kind, pending, suite.debounce, self.now) else {
            return Ok(());
        };
        due.key = format!("{cursor}@{}", due.cursor);
        let trigger = format!("event:{kind}");
        self.fire(suite, &cursor, &trigger, (from, due), BacklogPolicy::Coalesce, on_scheduled)
    }

    /// Changes of the local brain that no run has covered. Irrelevant changes are skipped for good.
    fn changes_since(
        &self,
        suite: &Suite,
        cursor: &str,
        from: i64,
        which: WatchedChanges,
    ) -> Result<Option<PendingEvents>, StoreError> {
        let head = self.store.head(self.workspace)?.generation.0;
        if from == head {
            return Ok(None);
        }
        let found = match from < head {
            true => self.store.changes_since(self.workspace, Generation(from), which)?,
            // A store restored from a backup may be behind its cursors.
            false => None,
        };
        match found {
            Some(ChangeSpan { first, last, up_to }) => {
                Ok(Some(PendingEvents { first, last, up_to: up_to.0 }))
            }
            None => self.pass_over(suite, cursor, from, head),
        }
    }

    /// Reported events that no run has covered.
    fn reported_events(
        &self,
        suite: &Suite,
        cursor: &str,
        from: i64,
        kind: EventKind,
    ) -> Result<Option<PendingEvents>, StoreError> {
        let (mut pending, mut seen): (Option<PendingEvents>, i64) = (None, from);
        loop {
            let events = self.store.events_after(self.workspace, seen, EVENTS)?;
            let Some(last) = events.last() else { break };
            seen = last.seq;
            for event in events.iter().filter(|event| event.kind == kind.name()) {
                let first = pending.map_or(event.at, |known| known.first);
                pending = Some(PendingEvents { first, last: event.at, up_to: event.seq });
            }
        }
        match pending {
            None if seen > from => self.pass_over(suite, cursor, from, seen),
            pending => Ok(pending),
        }
    }

    fn pass_over(
        &self,
        suite: &Suite,
        cursor: &str,
        from: i64,
        to: i64,
    ) -> Result<Option<PendingEvents>, StoreError> {
        let advance = CursorMove { from: Some(from), to };
        self.store.advance_cursor(self.workspace, &suite.name, cursor, advance)?;
        Ok(None)
    }

    fn fire(
        &self,
        suite: &Suite,
        cursor: &str,
        trigger: &str,
        (from, due): (i64, due::DueRun),
        backlog: BacklogPolicy,
        on_scheduled: &mut dyn FnMut(ScheduleResult),
    ) -> Result<(), StoreError> {
        let key = run_key(&suite.name, &due.key);
        let is_of_feed = cursor.starts_with("event:");
        let job = SuiteJob {
            suite: suite.name.clone(),
            key: key.clone(),
            trigger: trigger.to_owned(),
            generation: is_of_feed.then_some(due.cursor),
        };
        let due = NewDueRun {
            suite: suite.name.clone(),
            trigger: cursor.to_owned(),
            cursor: Some(CursorMove { from: Some(from), to: due.cursor }),
            backlog,
            job: NewJob {
                kind: KIND.to_owned(),
                spec: super::json(&job),
                created_by: SCHEDULER.to_owned(),
                max_attempts: ATTEMPTS,
                key: Some(key.clone()),
                group: Some(group(&suite.name)),
            },
        };
        if let Some(job) = self.store.queue_due_run(self.workspace, &due, self.now)? {
            on_scheduled(ScheduleResult::Fired { suite: suite.name.clone(), key, job });
        }
        Ok(())
    }
}
