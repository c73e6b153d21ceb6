//! What is due, fired: looked at now and then, in every workspace with a suite that is on.
//!
//! Any number of processes may look: firing moves a cursor and queues a job in one transaction, so a due
//! run is queued once. What a suite waits for is a cursor per trigger: a time, a generation of the local
//! feed, or the number of an event that was told.
//!
//! Deliberately absent: whether something is due ([`gbrain_core::suite::due`]), and running it.

use std::collections::BTreeMap;

use gbrain_core::format::suite::SuiteEntry;
use gbrain_core::id::{Generation, WorkspaceId};
use gbrain_core::suite::Suite;
use gbrain_core::suite::due::{self, EventKind, Pending, Trigger};
use gbrain_core::suite::report::Reason;
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::target::LOCAL;
use gbrain_store::{
    Advance, Backlog, Due, NewJob, Stirred, Stirring, Store, StoreError, Suite as StoredSuite,
    SuiteCursor, SuiteRunFilter, SuiteRunInfo, TOLD, WriteKind,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::suites::{KIND, group, registered, run_key, stand_in};
use super::{not_run, record};

/// How often a run is begun before it is given up; the last time only tells of the others.
pub const ATTEMPTS: u32 = 20;

/// So many events are looked at together.
const EVENTS: usize = 1_000;

/// Who runs what nobody asked for, and tells of what can't be run.
const SCHEDULER: &str = "scheduler";

/// A suite that is for every workspace.
const EVERYWHERE: &str = "*";

/// A run that is queued, as workers read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteJob {
    pub suite: String,
    /// What names the run.
    pub key: String,
    pub trigger: String,
    /// What the local index must hold before anything is asked.
    #[serde(default)]
    pub generation: Option<i64>,
}

impl SuiteJob {
    /// Why the run takes place.
    pub fn trigger(&self) -> RunTrigger<'_> {
        RunTrigger { key: &self.key, trigger: &self.trigger }
    }
}

/// What came of a look at a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheduled {
    /// A run was queued.
    Fired { suite: String, key: String, job: i64 },
    /// A suite can't be read.
    Broken { suite: String, why: String },
}

/// Looks once at every suite that is on, and queues what is due.
pub fn queue_due(
    store: &Store,
    now: Timestamp,
    told: &mut dyn FnMut(&WorkspaceId, Scheduled),
) -> Result<(), StoreError> {
    let mut first: Result<(), StoreError> = Ok(());
    // What goes wrong in one workspace keeps nobody from the next.
    let mut done = |looked: Result<(), StoreError>| {
        if first.is_ok() {
            first = looked;
        }
    };
    done(spread_out(store, now));
    for workspace in store.workspaces_with_suites()? {
        let look = Look::new(store, &workspace, now);
        done(look.and_then(|look| look.all(&mut |scheduled| told(&workspace, scheduled))));
    }
    first
}

/// Switches a suite on; whether there is one. Its triggers begin at this moment: what was before is no
/// reason to run.
pub fn enable(
    store: &Store,
    workspace: &WorkspaceId,
    name: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    if !store.enable_suite(workspace, name, now)? {
        return Ok(false);
    }
    let look = Look::new(store, workspace, now)?;
    if let Some(stored) = store.suite(workspace, name)?
        && let Ok(suite) = registered(&stored)
    {
        look.begin(&suite)?;
    }
    Ok(true)
}

/// Takes out what is registered of a suite; from where it was. One that is for every workspace goes from all
/// of them, but for those that have one of their own under its name. None if there is none here.
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

/// Gives the suites that are for every workspace to those that do not have them yet.
fn spread_out(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    // Whoever was given one has it for every workspace, too: each is looked at once.
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
                // One that nobody has switched since it was given: whoever gave it did not get further.
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

/// A look at one workspace.
struct Look<'a> {
    store: &'a Store,
    workspace: &'a WorkspaceId,
    cursors: Vec<SuiteCursor>,
    now: Timestamp,
}

/// What an event trigger follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The feed of the local brain.
    Feed(Stirring),
    /// Events that were told.
    Told,
}

impl Source {
    /// What a trigger of a suite follows: of the local brain its own changes too.
    fn of(suite: &Suite, kind: EventKind) -> Vec<Self> {
        let own = match kind {
            _ if suite.target != LOCAL => None,
            EventKind::KnowledgePersisted => Some(Self::Feed(Stirring::Pages)),
            EventKind::GraphChanged => Some(Self::Feed(Stirring::Links)),
            EventKind::RerankChanged | EventKind::DeployFinished => None,
        };
        own.into_iter().chain([Self::Told]).collect()
    }

    fn cursor(self, kind: EventKind) -> String {
        match self {
            Self::Feed(_) => format!("event:{kind}"),
            Self::Told => format!("{TOLD}{kind}"),
        }
    }
}

impl<'a> Look<'a> {
    fn new(
        store: &'a Store,
        workspace: &'a WorkspaceId,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        Ok(Self { store, workspace, cursors: store.suite_cursors(workspace)?, now })
    }

    fn all(&self, told: &mut dyn FnMut(Scheduled)) -> Result<(), StoreError> {
        let mut first: Result<(), StoreError> = Ok(());
        for stored in self.store.suites(self.workspace)?.iter().filter(|suite| suite.enabled) {
            let looked = match registered(stored) {
                Ok(suite) => self.suite(&suite, told),
                Err(error) => {
                    let why = error.to_string();
                    let kept = self.tell_broken(stored, &why);
                    told(Scheduled::Broken { suite: stored.name.clone(), why });
                    kept
                }
            };
            first = first.and(looked);
        }
        first
    }

    /// A suite that can't be read says so as a run, once until it ran again.
    fn tell_broken(&self, stored: &StoredSuite, why: &str) -> Result<(), StoreError> {
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
        let reason = (Reason::Broken, why);
        let run = not_run(&stand_in(&stored.name), self.workspace, trigger, reason, self.now);
        record(self.store, self.workspace, &run, self.now)?;
        Ok(())
    }

    fn suite(&self, suite: &Suite, told: &mut dyn FnMut(Scheduled)) -> Result<(), StoreError> {
        self.begin(suite)?;
        self.forget_others(suite)?;
        for trigger in &suite.triggers {
            match trigger {
                Trigger::Manual | Trigger::Ci => (),
                Trigger::Cron(_) | Trigger::Every(_) => self.timed(suite, trigger, told)?,
                Trigger::Event(kind) => {
                    for source in Source::of(suite, *kind) {
                        self.evented(suite, *kind, source, told)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Triggers that have no cursor yet begin now.
    fn begin(&self, suite: &Suite) -> Result<(), StoreError> {
        let begin = |cursor: &str, at: i64| {
            let advance = Advance { from: None, to: at };
            self.store.advance_cursor(self.workspace, &suite.name, cursor, advance)
        };
        for trigger in &suite.triggers {
            match trigger {
                Trigger::Event(kind) => {
                    for source in Source::of(suite, *kind) {
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

    /// Triggers that a suite has no more wait for nothing, and begin anew if they come back.
    fn forget_others(&self, suite: &Suite) -> Result<(), StoreError> {
        let of_trigger = |trigger: &Trigger| match trigger {
            Trigger::Event(kind) => {
                Source::of(suite, *kind).into_iter().map(|source| source.cursor(*kind)).collect()
            }
            trigger => trigger.cursor().into_iter().collect::<Vec<_>>(),
        };
        let wanted: Vec<String> = suite.triggers.iter().flat_map(of_trigger).collect();
        let own = self.cursors.iter().filter(|cursor| cursor.suite == suite.name);
        for cursor in own.filter(|cursor| !wanted.contains(&cursor.trigger)) {
            self.store.forget_cursor(self.workspace, &suite.name, &cursor.trigger)?;
        }
        Ok(())
    }

    fn head(&self, source: Source) -> Result<i64, StoreError> {
        match source {
            Source::Feed(_) => Ok(self.store.head(self.workspace)?.generation.0),
            Source::Told => self.store.event_head(self.workspace),
        }
    }

    fn at(&self, suite: &Suite, trigger: &str) -> Option<i64> {
        let is_it = |one: &&SuiteCursor| one.suite == suite.name && one.trigger == trigger;
        self.cursors.iter().find(is_it).map(|one| one.at)
    }

    fn timed(
        &self,
        suite: &Suite,
        trigger: &Trigger,
        told: &mut dyn FnMut(Scheduled),
    ) -> Result<(), StoreError> {
        let Some(cursor) = trigger.cursor() else { return Ok(()) };
        let Some(from) = self.at(suite, &cursor) else { return Ok(()) };
        match due::timed(trigger, from, self.now) {
            Some(due) => self.fire(suite, &cursor, &cursor, (from, due), Backlog::Add, told),
            None => Ok(()),
        }
    }

    fn evented(
        &self,
        suite: &Suite,
        kind: EventKind,
        source: Source,
        told: &mut dyn FnMut(Scheduled),
    ) -> Result<(), StoreError> {
        let cursor = source.cursor(kind);
        let Some(from) = self.at(suite, &cursor) else { return Ok(()) };
        let pending = match source {
            Source::Feed(which) => self.stirred(suite, &cursor, from, which)?,
            Source::Told => self.told(suite, &cursor, from, kind)?,
        };
        let Some(mut due) = due::evented(kind, pending, suite.debounce, self.now) else {
            return Ok(());
        };
        due.key = format!("{cursor}@{}", due.cursor);
        let trigger = format!("event:{kind}");
        self.fire(suite, &cursor, &trigger, (from, due), Backlog::Coalesce, told)
    }

    /// Changes of the local brain that no run has covered. Those that do not matter are passed over for
    /// good.
    fn stirred(
        &self,
        suite: &Suite,
        cursor: &str,
        from: i64,
        which: Stirring,
    ) -> Result<Option<Pending>, StoreError> {
        let head = self.store.head(self.workspace)?.generation.0;
        if from == head {
            return Ok(None);
        }
        let found = match from < head {
            true => self.store.stirred(self.workspace, Generation(from), which)?,
            // A store that was put back from a backup is behind what was seen of it.
            false => None,
        };
        match found {
            Some(Stirred { first, last, up_to }) => {
                Ok(Some(Pending { first, last, up_to: up_to.0 }))
            }
            None => self.pass_over(suite, cursor, from, head),
        }
    }

    /// Events that were told and that no run has covered.
    fn told(
        &self,
        suite: &Suite,
        cursor: &str,
        from: i64,
        kind: EventKind,
    ) -> Result<Option<Pending>, StoreError> {
        let (mut pending, mut seen): (Option<Pending>, i64) = (None, from);
        loop {
            let events = self.store.events_after(self.workspace, seen, EVENTS)?;
            let Some(last) = events.last() else { break };
            seen = last.seq;
            for event in events.iter().filter(|event| event.kind == kind.name()) {
                let first = pending.map_or(event.at, |known| known.first);
                pending = Some(Pending { first, last: event.at, up_to: event.seq });
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
    ) -> Result<Option<Pending>, StoreError> {
        let advance = Advance { from: Some(from), to };
        self.store.advance_cursor(self.workspace, &suite.name, cursor, advance)?;
        Ok(None)
    }

    fn fire(
        &self,
        suite: &Suite,
        cursor: &str,
        trigger: &str,
        (from, due): (i64, due::Due),
        backlog: Backlog,
        told: &mut dyn FnMut(Scheduled),
    ) -> Result<(), StoreError> {
        let key = run_key(&suite.name, &due.key);
        let is_of_feed = cursor.starts_with("event:");
        let job = SuiteJob {
            suite: suite.name.clone(),
            key: key.clone(),
            trigger: trigger.to_owned(),
            generation: is_of_feed.then_some(due.cursor),
        };
        let due = Due {
            suite: suite.name.clone(),
            trigger: cursor.to_owned(),
            cursor: Some(Advance { from: Some(from), to: due.cursor }),
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
        if let Some(job) = self.store.fire(self.workspace, &due, self.now)? {
            told(Scheduled::Fired { suite: suite.name.clone(), key, job });
        }
        Ok(())
    }
}
