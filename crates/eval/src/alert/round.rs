//! One look at a workspace while it is made: what is known, what changed, and the messages about it.

use std::collections::BTreeMap;

use gbrain_core::alert::channel::routed;
use gbrain_core::alert::{Board, Change, Known, Message, Severity};
use gbrain_core::format::alert::{AlertRecord, Kept, SilenceRecord};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::Alerting;
use gbrain_store::{
    AlertBoard, AlertState, AlertStatus, DeliveryAction, NewDelivery, StoreError,
    Suite as StoredSuite,
};
use jiff::Timestamp;

use super::book::Directory;
use super::look::{Lookout, Raised};
use crate::suite::{registered, stored};

/// A look that is being made.
pub(super) struct Round<'a> {
    lookout: &'a Lookout<'a>,
    workspace: &'a WorkspaceId,
    directory: &'a Directory,
    alerting: BTreeMap<String, Alerting>,
    now: Timestamp,
    known: Vec<Known>,
    silenced: Vec<String>,
    /// Keys that changed, in the order in which they first did.
    changed: Vec<String>,
    messages: Vec<NewDelivery>,
    raised: Raised,
    /// What queries ask, by id; read when it is needed first.
    queries: Option<BTreeMap<String, String>>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        lookout: &'a Lookout<'a>,
        workspace: &'a WorkspaceId,
        directory: &'a Directory,
        board: &AlertBoard,
        suites: &[StoredSuite],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut raised = Raised::default();
        raised.problems.extend(directory.problem.clone());
        let mut known = Vec::new();
        for state in &board.states {
            match read(state) {
                Some(one) => known.push(one),
                None => raised
                    .problems
                    .push(format!("what is kept of {} can't be read", state.dedup_key)),
            }
        }
        let mut silenced = Vec::new();
        for silence in lookout.store.silences(workspace, Some(now))? {
            match serde_json::from_str::<SilenceRecord>(&silence.body) {
                Ok(record) if silence.starts_at <= now => silenced.push(record.key),
                Ok(_) => (),
                Err(_) => {
                    raised
                        .problems
                        .push(format!("what silence {} is about can't be read", silence.id));
                }
            }
        }
        let alerting =
            suites.iter().filter_map(|one| Some((one.name.clone(), registered(one).ok()?.alerts)));
        let alerting = alerting.collect();
        let (changed, messages, queries) = (Vec::new(), Vec::new(), None);
        Ok(Self {
            lookout,
            workspace,
            directory,
            alerting,
            now,
            known,
            silenced,
            changed,
            messages,
            raised,
            queries,
        })
    }

    /// What is known now.
    pub(super) fn board(&self) -> Board<'_> {
        Board { known: &self.known, silenced: &self.silenced }
    }

    /// Takes changes in, with the messages about them.
    pub(super) fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        for change in changes {
            let is_told = change.is_told();
            if !matches!(change, Change::Resolve(_)) {
                self.begin(change.known());
            }
            match change {
                Change::Raise(known) => self.raise(known)?,
                Change::Keep(known) => {
                    let open = known.alert.still_open.clone();
                    self.raised.still_open.extend(open.map(|why| (known.alert.key.clone(), why)));
                    self.keep(known);
                }
                Change::Resolve(known) => self.resolve(known, is_told)?,
            }
        }
        Ok(())
    }

    /// What begins is news, whether somebody is told of it or not.
    fn begin(&mut self, known: &Known) {
        if self.before(&known.alert.key).is_none_or(|before| !before.is_firing) {
            self.raised.raised.push(known.alert.key.clone());
        }
    }

    fn raise(&mut self, mut known: Known) -> Result<(), StoreError> {
        let before = self.before(&known.alert.key).cloned();
        let names = self.routed(&known.alert.suite, known.alert.severity);
        if names.is_empty() {
            // Nobody is there to be told. It is when somebody is.
            let told = before.and_then(|before| before.told.filter(|_| before.is_firing));
            self.keep(known.kept_back(told));
            return Ok(());
        }
        if before.is_some_and(|before| before.is_firing && before.told.is_none()) {
            self.raised.raised.push(known.alert.key.clone());
        }
        self.tell(&known, DeliveryAction::Trigger, &names)?;
        known.channels.extend(names);
        known.channels.sort();
        known.channels.dedup();
        self.put(known);
        Ok(())
    }

    fn keep(&mut self, known: Known) {
        // Looking again at what is as it was is no change.
        if self.before(&known.alert.key) != Some(&known) {
            self.put(known);
        }
    }

    fn resolve(&mut self, mut known: Known, is_told: bool) -> Result<(), StoreError> {
        let names = std::mem::take(&mut known.channels);
        if is_told {
            self.tell(&known, DeliveryAction::Resolve, &names)?;
        }
        self.raised.resolved.push(known.alert.key.clone());
        self.put(known);
        Ok(())
    }

    fn tell(
        &mut self,
        known: &Known,
        action: DeliveryAction,
        names: &[String],
    ) -> Result<(), StoreError> {
        let settings = self.lookout.settings;
        let at = format!("{:.0}", self.now);
        let url = settings.public_url.as_deref();
        let mut message = Message::new(&known.alert, action.name(), at, url);
        if settings.with_queries && action == DeliveryAction::Trigger {
            message.queries = self.asked(&known.alert.failing)?;
        }
        for channel in names {
            // What no channel can be called would keep the whole look from being kept.
            if !(1..=200).contains(&channel.len()) || channel.contains('\0') {
                self.raised.problems.push(format!("{channel:?} is no name of a channel"));
                continue;
            }
            self.raised.queued.push(channel.clone());
            self.messages.push(NewDelivery {
                channel: channel.clone(),
                dedup_key: known.alert.key.clone(),
                action,
                payload: crate::suite::json(&message),
            });
        }
        Ok(())
    }

    /// What cases ask, as it is kept: scrubbed.
    fn asked(&mut self, ids: &[String]) -> Result<Vec<String>, StoreError> {
        if self.queries.is_none() {
            let all = stored(self.lookout.store, self.workspace)?;
            self.queries = Some(all.into_iter().map(|one| (one.id, one.text)).collect());
        }
        let queries = self.queries.iter().flatten().collect::<BTreeMap<_, _>>();
        Ok(ids.iter().filter_map(|id| queries.get(id)).map(|text| (*text).clone()).collect())
    }

    /// Who is told of a suite; nobody where that can't be said now.
    fn routed(&self, suite: &str, severity: Severity) -> Vec<String> {
        let own = self.alerting.get(suite).cloned();
        let alerting = own.or_else(|| self.directory.alerting(suite, self.workspace.as_str()));
        let alerting = alerting.unwrap_or_default();
        let is_all = alerting.page.is_empty() && alerting.notify.is_empty();
        if is_all && self.directory.problem.is_some() {
            return Vec::new();
        }
        routed(&alerting, severity, self.directory.channels.keys())
    }

    fn before(&self, key: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.alert.key == key)
    }

    fn put(&mut self, known: Known) {
        let key = known.alert.key.clone();
        self.known.retain(|one| one.alert.key != key);
        self.known.push(known);
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// What changed, as the store keeps it; the messages in their order; what to tell of it.
    pub(super) fn end(self) -> (Vec<AlertState>, Vec<NewDelivery>, Raised) {
        let Self { known, changed, messages, raised, now, .. } = self;
        let is_changed = |one: &&Known| changed.contains(&one.alert.key);
        let states = known.iter().filter(is_changed).map(|one| state(one, now)).collect();
        (states, messages, raised)
    }
}

fn state(known: &Known, now: Timestamp) -> AlertState {
    AlertState {
        dedup_key: known.alert.key.clone(),
        state: if known.is_firing { AlertStatus::Firing } else { AlertStatus::Resolved },
        severity: known.alert.severity.name().to_owned(),
        suite: Some(known.alert.suite.clone()),
        since: known.since,
        updated_at: now,
        body: crate::suite::json(&AlertRecord::from(known)),
    }
}

/// An alert as it is kept; none if it can't be read.
pub(super) fn read(state: &AlertState) -> Option<Known> {
    let record: AlertRecord = serde_json::from_str(&state.body).ok()?;
    let kept = Kept {
        key: &state.dedup_key,
        is_firing: state.state == AlertStatus::Firing,
        severity: Severity::from_name(&state.severity)?,
        suite: state.suite.as_deref()?,
        since: state.since,
    };
    Some(record.known(&kept))
}
