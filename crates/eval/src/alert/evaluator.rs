//! Evaluation: applies recorded runs, and missing ones, to the alerts, and stores the changes in
//! one transaction with their messages.

use std::collections::BTreeMap;

use gbrain_core::alert::channel::channels_to_notify;
use gbrain_core::alert::{
    Alert, AlertChange, AlertMessage, AlertSeverity, AlertStates, AlertSubject, EvaluatedRun,
    LastRun, check_overdue, close_alert, decide, release_held, resolve_withdrawn, unreadable,
};
use gbrain_core::format::alert::SilenceRecord;
use gbrain_core::format::suite::{ChangedAlerts, OpenAlert};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::{AlertRouting, Suite, SuiteRun};
use gbrain_store::{
    AlertBoard, AlertState, DeliveryAction, NewDelivery, Store, StoreError, StoredSuite,
    StoredSuiteRun, SuiteRunFilter, SuiteRunInfo,
};
use jiff::Timestamp;
use serde_json::json;

use super::channels::{AlertSettings, ChannelRegistry, ChannelSettings};
use crate::suite::{history, recorder, registered, stored};

const BATCH_SIZE: usize = 100;
/// Maximum number of conflicts with other processes.
const MAX_CONFLICTS: usize = 20;

/// Evaluates the recorded runs of workspaces.
#[derive(Clone, Copy)]
pub struct AlertEvaluator<'a> {
    pub store: &'a Store,
    pub registry: &'a ChannelRegistry,
    pub settings: &'a AlertSettings,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertEvaluation {
    pub runs: usize,
    pub changes: ChangedAlerts,
    /// Channels of the queued messages.
    pub queued: Vec<String>,
    /// Problems to report to the owner.
    pub problems: Vec<String>,
}

impl AlertEvaluator<'_> {
    /// Evaluates every workspace. An error in one does not stop the others.
    pub fn evaluate_all(
        &self,
        now: Timestamp,
        on_evaluated: &mut dyn FnMut(&WorkspaceId, Result<AlertEvaluation, StoreError>),
    ) -> Result<(), StoreError> {
        for workspace in self.store.workspaces()? {
            on_evaluated(&workspace.id, self.evaluate(&workspace.id, now));
        }
        Ok(())
    }

    /// Evaluates the runs recorded since the last evaluation, and missing runs.
    pub fn evaluate(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<AlertEvaluation, StoreError> {
        let channels = (self.registry.read)();
        let mut evaluation = AlertEvaluation::default();
        for _ in 0..MAX_CONFLICTS {
            loop {
                match self.batch(workspace, &channels, now)? {
                    // Another process stored an evaluation first: read the states again.
                    None => break,
                    Some((batch, is_last)) => {
                        evaluation.add(batch);
                        if is_last {
                            return Ok(evaluation);
                        }
                    }
                }
            }
        }
        let problem = "other processes are evaluating this workspace at the same time";
        evaluation.problems.push(problem.to_owned());
        Ok(evaluation)
    }

    /// Evaluates one batch of runs; returns whether it was the last. `None` if another process
    /// stored an evaluation meanwhile.
    fn batch(
        &self,
        workspace: &WorkspaceId,
        channels: &ChannelSettings,
        now: Timestamp,
    ) -> Result<Option<(AlertEvaluation, bool)>, StoreError> {
        let board = self.store.alert_board(workspace)?;
        let runs = self.store.suite_runs_after(workspace, board.cursor.run, BATCH_SIZE)?;
        let suites = self.store.suites(workspace)?;
        let is_last = runs.len() < BATCH_SIZE;
        let mut pass = EvaluationPass::new(self, workspace, channels, &board, &suites, now)?;
        for run in &runs {
            // A run may have been pruned since.
            if let Some(stored) = self.store.suite_run(workspace, run.id)? {
                let suite = suites.iter().find(|one| one.name == run.suite);
                pass.apply(pass.changes(&stored, suite))?;
            }
        }
        if is_last {
            for suite in &suites {
                let change = pass.check_missing_runs(suite)?;
                pass.apply(change.into_iter().collect())?;
            }
            pass.apply(pass.resolve_unmonitored(&suites))?;
            pass.apply(release_held(&pass.states(), now))?;
        }
        let up_to = runs.last().map_or(board.cursor.run, |run| run.id);
        let (states, messages, mut evaluation) = pass.end();
        evaluation.runs = runs.len();
        if runs.is_empty() && states.is_empty() {
            return Ok(Some((evaluation, is_last)));
        }
        let is_stored = self.store.store_alert_evaluation(
            workspace,
            board.cursor,
            up_to,
            &states,
            &messages,
            now,
        )?;
        Ok(is_stored.then_some((evaluation, is_last)))
    }

    /// Resolves an alert by hand and notifies its channels; `None` if it does not fire.
    pub fn close(
        &self,
        workspace: &WorkspaceId,
        key: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<AlertEvaluation>, StoreError> {
        let channels = (self.registry.read)();
        loop {
            let board = self.store.alert_board(workspace)?;
            let mut pass = EvaluationPass::new(self, workspace, &channels, &board, &[], now)?;
            let fires = |one: &&Alert| one.is_firing() && one.key == key;
            let Some(alert) = pass.alerts.iter().find(fires) else { return Ok(None) };
            let change = close_alert(alert, reason, now);
            pass.apply(vec![change])?;
            let (states, messages, evaluation) = pass.end();
            let batch = board.cursor;
            if self
                .store
                .store_alert_evaluation(workspace, batch, batch.run, &states, &messages, now)?
            {
                return Ok(Some(evaluation));
            }
        }
    }
}

/// State of one evaluation of a workspace: alerts, changes and messages.
struct EvaluationPass<'a> {
    evaluator: &'a AlertEvaluator<'a>,
    workspace: &'a WorkspaceId,
    channels: &'a ChannelSettings,
    alerting: BTreeMap<String, AlertRouting>,
    now: Timestamp,
    alerts: Vec<Alert>,
    silenced: Vec<String>,
    /// Changed keys, in the order of their first change.
    changed: Vec<String>,
    messages: Vec<NewDelivery>,
    evaluation: AlertEvaluation,
    /// Query texts by id, loaded on first use.
    queries: Option<BTreeMap<String, String>>,
}

impl<'a> EvaluationPass<'a> {
    fn new(
        evaluator: &'a AlertEvaluator<'a>,
        workspace: &'a WorkspaceId,
        channels: &'a ChannelSettings,
        board: &AlertBoard,
        suites: &[StoredSuite],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut problems: Vec<String> = channels.problem.iter().cloned().collect();
        let mut alerts = Vec::new();
        for state in &board.states {
            match read(state) {
                Some(alert) => alerts.push(alert),
                None => {
                    problems.push(format!("the stored alert {} cannot be parsed", state.dedup_key))
                }
            }
        }
        let mut silenced = Vec::new();
        for silence in evaluator.store.silences(workspace, Some(now))? {
            match serde_json::from_str::<SilenceRecord>(&silence.body) {
                Ok(record) if silence.starts_at <= now => silenced.push(record.key),
                Ok(_) => (),
                Err(_) => {
                    problems.push(format!("the stored silence {} cannot be parsed", silence.id));
                }
            }
        }
        let alerting =
            suites.iter().filter_map(|one| Some((one.name.clone(), registered(one).ok()?.alerts)));
        Ok(Self {
            evaluator,
            workspace,
            channels,
            alerting: alerting.collect(),
            now,
            alerts,
            silenced,
            changed: Vec::new(),
            messages: Vec::new(),
            evaluation: AlertEvaluation { problems, ..AlertEvaluation::default() },
            queries: None,
        })
    }

    fn states(&self) -> AlertStates<'_> {
        AlertStates { alerts: &self.alerts, silenced: &self.silenced }
    }

    /// The changes from a run. An unreadable run raises an alert.
    fn changes(&self, stored: &StoredSuiteRun, suite: Option<&StoredSuite>) -> Vec<AlertChange> {
        let SuiteRunInfo { id, suite: name, .. } = &stored.info;
        let (workspace, policy) = (self.workspace.as_str(), &self.evaluator.settings.policy);
        let Some(run) = recorder::read(stored) else {
            let owners = suite.and_then(|one| Some(registered(one).ok()?.owners));
            let owners = owners.unwrap_or_default();
            let owner = (workspace, name.as_str(), owners.as_slice());
            return vec![unreadable(owner, *id, &self.states(), policy, self.now)];
        };
        // The row determines workspace and suite.
        let run = SuiteRun { workspace: workspace.to_owned(), suite: name.clone(), ..run };
        decide(&EvaluatedRun { id: *id, run: &run }, &self.states(), policy, self.now)
    }

    /// The alert change if a suite has not run for too long. Days are counted from its last run
    /// against its own target, or from its last change.
    fn check_missing_runs(&self, stored: &StoredSuite) -> Result<Option<AlertChange>, StoreError> {
        let Some((suite, days)) = monitored(stored) else { return Ok(None) };
        let changed = stored.updated_at;
        let own = SuiteRunFilter {
            suite: Some(stored.name.clone()),
            since: Some(changed),
            ..SuiteRunFilter::default()
        };
        let ran = history::newest_run(self.evaluator.store, self.workspace, own)?;
        let last = LastRun { ran: ran.map(|(run, _)| (run.id, run.finished_at)), changed };
        let owner = (self.workspace.as_str(), stored.name.as_str(), suite.owners.as_slice());
        let policy = &self.evaluator.settings.policy;
        Ok(check_overdue(owner, &last, days, &self.states(), policy, self.now))
    }

    /// Resolves alerts about missing runs of suites that are no longer monitored.
    fn resolve_unmonitored(&self, suites: &[StoredSuite]) -> Vec<AlertChange> {
        let is_monitored =
            |name: &str| suites.iter().any(|one| one.name == name && monitored(one).is_some());
        let is_obsolete = |alert: &&Alert| {
            alert.is_firing()
                && alert.subject == AlertSubject::Silent
                && !is_monitored(&alert.suite)
        };
        self.alerts
            .iter()
            .filter(is_obsolete)
            .map(|alert| resolve_withdrawn(alert, self.now))
            .collect()
    }

    /// Applies changes and queues their messages.
    fn apply(&mut self, changes: Vec<AlertChange>) -> Result<(), StoreError> {
        for change in changes {
            let is_notified = change.is_notified();
            let previous = self.previous(&change.alert().key).cloned();
            // A new alert is reported, whether or not a channel is notified.
            let is_new = previous.as_ref().is_none_or(|previous| !previous.is_firing());
            if is_new && !matches!(change, AlertChange::Resolve(_)) {
                self.evaluation.changes.raised.push(change.alert().key.clone());
            }
            match change {
                AlertChange::Raise(alert) => self.raise(alert, previous)?,
                AlertChange::Keep(alert) => {
                    let open = |reason| OpenAlert { key: alert.key.clone(), reason };
                    let open = alert.still_open.clone().map(open);
                    self.evaluation.changes.still_open.extend(open);
                    self.store_state(alert);
                }
                AlertChange::Resolve(mut alert) => {
                    let names = std::mem::take(&mut alert.channels);
                    if is_notified {
                        self.notify(&alert, DeliveryAction::Resolve, &names)?;
                    }
                    self.evaluation.changes.resolved.push(alert.key.clone());
                    self.put(alert);
                }
            }
        }
        Ok(())
    }

    fn raise(&mut self, mut alert: Alert, previous: Option<Alert>) -> Result<(), StoreError> {
        let previous = previous.filter(Alert::is_firing);
        let names = self.channels_to_notify(&alert.suite, alert.severity);
        if names.is_empty() {
            // No channel is configured: the message waits until one is.
            let notified_at = previous.and_then(|previous| previous.notified_at);
            self.store_state(Alert { notified_at, held: true, ..alert });
            return Ok(());
        }
        if previous.is_some_and(|previous| previous.notified_at.is_none()) {
            self.evaluation.changes.raised.push(alert.key.clone());
        }
        self.notify(&alert, DeliveryAction::Trigger, &names)?;
        alert.channels.extend(names);
        alert.channels.sort();
        alert.channels.dedup();
        self.put(alert);
        Ok(())
    }

    fn store_state(&mut self, alert: Alert) {
        // An unchanged alert is not stored.
        if self.previous(&alert.key) != Some(&alert) {
            self.put(alert);
        }
    }

    fn notify(
        &mut self,
        alert: &Alert,
        action: DeliveryAction,
        names: &[String],
    ) -> Result<(), StoreError> {
        let settings = self.evaluator.settings;
        let at = format!("{:.0}", self.now);
        let url = settings.public_url.as_deref();
        let mut message = AlertMessage::new(alert, action.name(), at, url);
        if settings.with_queries && action == DeliveryAction::Trigger {
            message.queries = self.texts(&alert.failing)?;
        }
        for channel in names {
            // An invalid name would prevent the whole evaluation from being stored.
            if !(1..=200).contains(&channel.len()) || channel.contains('\0') {
                self.evaluation.problems.push(format!("{channel:?} is not a valid channel name"));
                continue;
            }
            self.evaluation.queued.push(channel.clone());
            self.messages.push(NewDelivery {
                channel: channel.clone(),
                dedup_key: alert.key.clone(),
                action,
                payload: crate::suite::json(&message),
            });
        }
        Ok(())
    }

    /// The texts of queries as stored, i.e. scrubbed.
    fn texts(&mut self, ids: &[String]) -> Result<Vec<String>, StoreError> {
        if self.queries.is_none() {
            let all = stored(self.evaluator.store, self.workspace)?;
            self.queries = Some(all.into_iter().map(|one| (one.id, one.text)).collect());
        }
        let queries = self.queries.iter().flatten().collect::<BTreeMap<_, _>>();
        Ok(ids.iter().filter_map(|id| queries.get(id)).map(|text| (*text).clone()).collect())
    }

    /// The channels of a suite; empty if the settings cannot be read.
    fn channels_to_notify(&self, suite: &str, severity: AlertSeverity) -> Vec<String> {
        let own = self.alerting.get(suite).cloned();
        let alerting = own.or_else(|| self.channels.alerting(suite, self.workspace.as_str()));
        let alerting = alerting.unwrap_or_default();
        let notifies_all = alerting.page.is_empty() && alerting.notify.is_empty();
        if notifies_all && self.channels.problem.is_some() {
            return Vec::new();
        }
        channels_to_notify(&alerting, severity, self.channels.channels.keys())
    }

    fn previous(&self, key: &str) -> Option<&Alert> {
        self.alerts.iter().find(|alert| alert.key == key)
    }

    fn put(&mut self, alert: Alert) {
        let key = alert.key.clone();
        self.alerts.retain(|one| one.key != key);
        self.alerts.push(alert);
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// The changed alerts as stored states, and the messages in order.
    fn end(self) -> (Vec<AlertState>, Vec<NewDelivery>, AlertEvaluation) {
        let Self { alerts, changed, messages, evaluation, now, .. } = self;
        let is_changed = |one: &&Alert| changed.contains(&one.key);
        let states = alerts.iter().filter(is_changed).map(|one| state(one, now)).collect();
        (states, messages, evaluation)
    }
}

/// A suite that is monitored for missing runs, and the days after which it is reported.
fn monitored(stored: &StoredSuite) -> Option<(Suite, u32)> {
    let suite = registered(stored).ok().filter(|_| stored.enabled)?;
    let days = suite.alerts.silent_after_days?;
    Some((suite, days))
}

fn state(alert: &Alert, now: Timestamp) -> AlertState {
    AlertState {
        dedup_key: alert.key.clone(),
        state: alert.state,
        severity: alert.severity.name().to_owned(),
        suite: Some(alert.suite.clone()),
        since: alert.since,
        updated_at: now,
        body: alert.record(),
    }
}

/// A stored alert; `None` if it cannot be parsed.
pub(super) fn read(stored: &AlertState) -> Option<Alert> {
    let AlertState { dedup_key, state, severity, suite, since, updated_at, body } = stored;
    let columns = json!({
        "key": dedup_key, "state": state, "severity": severity, "suite": suite,
        "since": since.to_string(), "updated_at": updated_at.to_string(), "silenced": false,
    });
    Alert::read(columns, body)
}

impl AlertEvaluation {
    fn add(&mut self, other: Self) {
        let Self { runs, changes, queued, problems } = other;
        let ChangedAlerts { raised, resolved, still_open } = changes;
        self.runs += runs;
        self.changes.raised.extend(raised);
        self.changes.resolved.extend(resolved);
        self.changes.still_open.extend(still_open);
        self.queued.extend(queued);
        self.problems.extend(problems);
    }
}
