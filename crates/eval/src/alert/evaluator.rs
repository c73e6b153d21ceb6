//! Evaluation: what recorded runs, and the lack of them, change about alerts, stored in one transaction with the
//! messages about it.

use std::collections::BTreeMap;

use gbrain_core::alert::channel::routed;
use gbrain_core::alert::{
    Alert, AlertStates, Change, EvaluatedRun, LastRun, Message, Severity, Subject, closed, decide,
    released, silent, unreadable, withdrawn,
};
use gbrain_core::format::alert::SilenceRecord;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::{Alerting, Suite, SuiteRun};
use gbrain_store::{
    AlertBoard, AlertState, DeliveryAction, NewDelivery, Store, StoreError, StoredSuiteRun,
    Suite as StoredSuite, SuiteRunFilter, SuiteRunInfo,
};
use jiff::Timestamp;
use serde_json::json;

use super::channels::{AlertSettings, ChannelRegistry, Channels};
use crate::suite::{history, recorder, registered, stored};

/// Runs that are evaluated together.
const RUNS: usize = 100;
/// How often another process may be quicker before the rest is left to it.
const RACES: usize = 20;

/// Evaluates the recorded runs of workspaces.
#[derive(Clone, Copy)]
pub struct AlertEvaluator<'a> {
    /// Where runs and alerts are.
    pub store: &'a Store,
    /// Where channels are looked up.
    pub registry: &'a ChannelRegistry,
    /// How alerts are told.
    pub settings: &'a AlertSettings,
}

/// What an evaluation changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evaluation {
    /// Runs that were evaluated.
    pub runs: usize,
    /// Keys of alerts that began, or that a channel is notified of for the first time.
    pub raised: Vec<String>,
    /// Keys of alerts that are over.
    pub resolved: Vec<String>,
    /// Keys of alerts that a run did not resolve although it found nothing wrong, with why.
    pub still_open: Vec<(String, String)>,
    /// Messages that were queued, by channel.
    pub queued: Vec<String>,
    /// What the owner should know.
    pub problems: Vec<String>,
}

impl AlertEvaluator<'_> {
    /// Evaluates every workspace. An error in one does not keep the next from being evaluated.
    pub fn evaluate_all(
        &self,
        now: Timestamp,
        on_evaluated: &mut dyn FnMut(&WorkspaceId, Result<Evaluation, StoreError>),
    ) -> Result<(), StoreError> {
        for workspace in self.store.workspaces()? {
            on_evaluated(&workspace.id, self.evaluate(&workspace.id, now));
        }
        Ok(())
    }

    /// Evaluates what was recorded since the last evaluation, and what was not recorded.
    pub fn evaluate(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Evaluation, StoreError> {
        let channels = (self.registry.read)();
        let mut evaluation = Evaluation::default();
        for _ in 0..RACES {
            loop {
                match self.batch(workspace, &channels, now)? {
                    // Another process was quicker: what it stored is read anew.
                    None => break,
                    Some((seen, is_last)) => {
                        evaluation.add(seen);
                        if is_last {
                            return Ok(evaluation);
                        }
                    }
                }
            }
        }
        let problem = "others looked at the same time, and it is left to them";
        evaluation.problems.push(problem.to_owned());
        Ok(evaluation)
    }

    /// Evaluates one batch of runs; whether it was the last. None if another process stored an evaluation meanwhile.
    fn batch(
        &self,
        workspace: &WorkspaceId,
        channels: &Channels,
        now: Timestamp,
    ) -> Result<Option<(Evaluation, bool)>, StoreError> {
        let board = self.store.alert_board(workspace)?;
        let runs = self.store.suite_runs_after(workspace, board.cursor.run, RUNS)?;
        let suites = self.store.suites(workspace)?;
        let is_last = runs.len() < RUNS;
        let mut pass = EvaluationPass::new(self, workspace, channels, &board, &suites, now)?;
        for run in &runs {
            // One that was pruned since says nothing any more.
            if let Some(stored) = self.store.suite_run(workspace, run.id)? {
                let suite = suites.iter().find(|one| one.name == run.suite);
                pass.apply(pass.changes(&stored, suite))?;
            }
        }
        if is_last {
            for suite in &suites {
                let change = pass.silence(suite)?;
                pass.apply(change.into_iter().collect())?;
            }
            pass.apply(pass.unwatched(&suites))?;
            pass.apply(released(&pass.states(), now))?;
        }
        let up_to = runs.last().map_or(board.cursor.run, |run| run.id);
        let (states, messages, mut evaluation) = pass.end();
        evaluation.runs = runs.len();
        if runs.is_empty() && states.is_empty() {
            return Ok(Some((evaluation, is_last)));
        }
        let is_stored =
            self.store.raise_alerts(workspace, board.cursor, up_to, &states, &messages, now)?;
        Ok(is_stored.then_some((evaluation, is_last)))
    }

    /// Resolves an alert by hand, and notifies the channels that know of it; none if it does not fire.
    pub fn close(
        &self,
        workspace: &WorkspaceId,
        key: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Evaluation>, StoreError> {
        let channels = (self.registry.read)();
        loop {
            let board = self.store.alert_board(workspace)?;
            let mut pass = EvaluationPass::new(self, workspace, &channels, &board, &[], now)?;
            let fires = |one: &&Alert| one.is_firing() && one.key == key;
            let Some(alert) = pass.alerts.iter().find(fires) else { return Ok(None) };
            let change = closed(alert, reason, now);
            pass.apply(vec![change])?;
            let (states, messages, evaluation) = pass.end();
            let seen = board.cursor;
            if self.store.raise_alerts(workspace, seen, seen.run, &states, &messages, now)? {
                return Ok(Some(evaluation));
            }
        }
    }
}

/// One evaluation of a workspace while it is made: the alerts, what changed of them, and the messages about it.
struct EvaluationPass<'a> {
    evaluator: &'a AlertEvaluator<'a>,
    workspace: &'a WorkspaceId,
    channels: &'a Channels,
    alerting: BTreeMap<String, Alerting>,
    now: Timestamp,
    alerts: Vec<Alert>,
    silenced: Vec<String>,
    /// Keys that changed, in the order in which they first did.
    changed: Vec<String>,
    messages: Vec<NewDelivery>,
    evaluation: Evaluation,
    /// The texts of queries by id; read when they are needed first.
    queries: Option<BTreeMap<String, String>>,
}

impl<'a> EvaluationPass<'a> {
    fn new(
        evaluator: &'a AlertEvaluator<'a>,
        workspace: &'a WorkspaceId,
        channels: &'a Channels,
        board: &AlertBoard,
        suites: &[StoredSuite],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut problems: Vec<String> = channels.problem.iter().cloned().collect();
        let mut alerts = Vec::new();
        for state in &board.states {
            match read(state) {
                Some(alert) => alerts.push(alert),
                None => problems.push(format!("what is kept of {} can't be read", state.dedup_key)),
            }
        }
        let mut silenced = Vec::new();
        for silence in evaluator.store.silences(workspace, Some(now))? {
            match serde_json::from_str::<SilenceRecord>(&silence.body) {
                Ok(record) if silence.starts_at <= now => silenced.push(record.key),
                Ok(_) => (),
                Err(_) => {
                    problems.push(format!("what silence {} is about can't be read", silence.id));
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
            evaluation: Evaluation { problems, ..Evaluation::default() },
            queries: None,
        })
    }

    /// The alerts as they are now.
    fn states(&self) -> AlertStates<'_> {
        AlertStates { alerts: &self.alerts, silenced: &self.silenced }
    }

    /// What a run changes. One that can't be read is an alert.
    fn changes(&self, stored: &StoredSuiteRun, suite: Option<&StoredSuite>) -> Vec<Change> {
        let SuiteRunInfo { id, suite: name, .. } = &stored.info;
        let (workspace, policy) = (self.workspace.as_str(), &self.evaluator.settings.policy);
        let Some(run) = recorder::read(stored) else {
            let owners = suite.and_then(|one| Some(registered(one).ok()?.owners));
            let owners = owners.unwrap_or_default();
            let whose = (workspace, name.as_str(), owners.as_slice());
            return vec![unreadable(whose, *id, &self.states(), policy, self.now)];
        };
        // The row says whose run it is.
        let run = SuiteRun { workspace: workspace.to_owned(), suite: name.clone(), ..run };
        decide(&EvaluatedRun { id: *id, run: &run }, &self.states(), policy, self.now)
    }

    /// What the lack of runs of a suite changes. The days are counted from its last run of its own target, or
    /// from when it was last switched on or written anew.
    fn silence(&self, stored: &StoredSuite) -> Result<Option<Change>, StoreError> {
        let Some((suite, days)) = watched(stored) else { return Ok(None) };
        let changed = stored.updated_at;
        let own = SuiteRunFilter {
            suite: Some(stored.name.clone()),
            since: Some(changed),
            ..SuiteRunFilter::default()
        };
        let ran = history::last(self.evaluator.store, self.workspace, own)?;
        let last = LastRun { ran: ran.map(|(run, _)| (run.id, run.finished_at)), changed };
        let whose = (self.workspace.as_str(), stored.name.as_str(), suite.owners.as_slice());
        let policy = &self.evaluator.settings.policy;
        Ok(silent(whose, &last, days, &self.states(), policy, self.now))
    }

    /// Silence of suites that are not watched any more is over.
    fn unwatched(&self, suites: &[StoredSuite]) -> Vec<Change> {
        let is_watched =
            |name: &str| suites.iter().any(|one| one.name == name && watched(one).is_some());
        let is_left = |alert: &&Alert| {
            alert.is_firing() && alert.subject == Subject::Silent && !is_watched(&alert.suite)
        };
        self.alerts.iter().filter(is_left).map(|alert| withdrawn(alert, self.now)).collect()
    }

    /// Takes changes in, with the messages about them.
    fn apply(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        for change in changes {
            let is_told = change.is_told();
            let before = self.before(&change.alert().key).cloned();
            // A new alert is news, whether a channel is notified of it or not.
            let is_new = before.as_ref().is_none_or(|before| !before.is_firing());
            if is_new && !matches!(change, Change::Resolve(_)) {
                self.evaluation.raised.push(change.alert().key.clone());
            }
            match change {
                Change::Raise(alert) => self.raise(alert, before)?,
                Change::Keep(alert) => {
                    let open = alert.still_open.clone();
                    let open = open.map(|why| (alert.key.clone(), why));
                    self.evaluation.still_open.extend(open);
                    self.keep(alert);
                }
                Change::Resolve(mut alert) => {
                    let names = std::mem::take(&mut alert.channels);
                    if is_told {
                        self.notify(&alert, DeliveryAction::Resolve, &names)?;
                    }
                    self.evaluation.resolved.push(alert.key.clone());
                    self.put(alert);
                }
            }
        }
        Ok(())
    }

    fn raise(&mut self, mut alert: Alert, before: Option<Alert>) -> Result<(), StoreError> {
        let before = before.filter(Alert::is_firing);
        let names = self.routed(&alert.suite, alert.severity);
        if names.is_empty() {
            // No channel is there. It is told when one is.
            let told_at = before.and_then(|before| before.told_at);
            self.keep(Alert { told_at, held: true, ..alert });
            return Ok(());
        }
        if before.is_some_and(|before| before.told_at.is_none()) {
            self.evaluation.raised.push(alert.key.clone());
        }
        self.notify(&alert, DeliveryAction::Trigger, &names)?;
        alert.channels.extend(names);
        alert.channels.sort();
        alert.channels.dedup();
        self.put(alert);
        Ok(())
    }

    fn keep(&mut self, alert: Alert) {
        // An alert that is as it was is no change.
        if self.before(&alert.key) != Some(&alert) {
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
        let mut message = Message::new(alert, action.name(), at, url);
        if settings.with_queries && action == DeliveryAction::Trigger {
            message.queries = self.texts(&alert.failing)?;
        }
        for channel in names {
            // A name that the store refuses would keep the whole evaluation from being stored.
            if !(1..=200).contains(&channel.len()) || channel.contains('\0') {
                self.evaluation.problems.push(format!("{channel:?} is no name of a channel"));
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

    /// The texts of queries, as they are stored: scrubbed.
    fn texts(&mut self, ids: &[String]) -> Result<Vec<String>, StoreError> {
        if self.queries.is_none() {
            let all = stored(self.evaluator.store, self.workspace)?;
            self.queries = Some(all.into_iter().map(|one| (one.id, one.text)).collect());
        }
        let queries = self.queries.iter().flatten().collect::<BTreeMap<_, _>>();
        Ok(ids.iter().filter_map(|id| queries.get(id)).map(|text| (*text).clone()).collect())
    }

    /// The channels of a suite; none where that can't be said now.
    fn routed(&self, suite: &str, severity: Severity) -> Vec<String> {
        let own = self.alerting.get(suite).cloned();
        let alerting = own.or_else(|| self.channels.alerting(suite, self.workspace.as_str()));
        let alerting = alerting.unwrap_or_default();
        let is_all = alerting.page.is_empty() && alerting.notify.is_empty();
        if is_all && self.channels.problem.is_some() {
            return Vec::new();
        }
        routed(&alerting, severity, self.channels.channels.keys())
    }

    fn before(&self, key: &str) -> Option<&Alert> {
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

    /// The alerts that changed, as the store keeps them, and the messages in their order.
    fn end(self) -> (Vec<AlertState>, Vec<NewDelivery>, Evaluation) {
        let Self { alerts, changed, messages, evaluation, now, .. } = self;
        let is_changed = |one: &&Alert| changed.contains(&one.key);
        let states = alerts.iter().filter(is_changed).map(|one| state(one, now)).collect();
        (states, messages, evaluation)
    }
}

/// A suite whose silence is told of, and after how many days.
fn watched(stored: &StoredSuite) -> Option<(Suite, u32)> {
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

/// A stored alert; none if it can't be read.
pub(super) fn read(stored: &AlertState) -> Option<Alert> {
    let AlertState { dedup_key, state, severity, suite, since, updated_at, body } = stored;
    let columns = json!({
        "key": dedup_key, "state": state, "severity": severity, "suite": suite,
        "since": since.to_string(), "updated_at": updated_at.to_string(), "silenced": false,
    });
    Alert::read(columns, body)
}

impl Evaluation {
    fn add(&mut self, other: Self) {
        let Self { runs, raised, resolved, still_open, queued, problems } = other;
        self.runs += runs;
        self.raised.extend(raised);
        self.resolved.extend(resolved);
        self.still_open.extend(still_open);
        self.queued.extend(queued);
        self.problems.extend(problems);
    }
}
