//! Looking: what recorded runs and silence change, kept in one transaction with the messages about it.

use gbrain_core::alert::{
    Board, Change, Heard, Known, Looked, closed, released, silent, unreadable, withdrawn,
};
use gbrain_core::alert::{Subject, decide};
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::Suite;
use gbrain_store::{
    Store, StoreError, StoredSuiteRun, Suite as StoredSuite, SuiteRunFilter, SuiteRunInfo,
};
use jiff::Timestamp;

use super::book::{AlertSettings, ChannelBook, Directory};
use super::round::Round;
use crate::suite::{history, recorder, registered};

/// Runs that are looked at together.
const RUNS: usize = 100;
/// How often somebody else may be quicker before it is left to them.
const RACES: usize = 20;

/// Somebody who looks.
#[derive(Clone, Copy)]
pub struct Lookout<'a> {
    /// Where runs and alerts are.
    pub store: &'a Store,
    /// Where channels are looked up.
    pub book: &'a ChannelBook,
    /// How alerts are told.
    pub settings: &'a AlertSettings,
}

/// What a look gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Raised {
    /// Runs that were looked at.
    pub runs: usize,
    /// Alerts that began, or that somebody is told of for the first time, as they are named everywhere.
    pub raised: Vec<String>,
    /// Alerts that are over.
    pub resolved: Vec<String>,
    /// Alerts that a run did not resolve although it found nothing wrong, with why.
    pub still_open: Vec<(String, String)>,
    /// Messages that were queued, by channel.
    pub queued: Vec<String>,
    /// What somebody should know.
    pub problems: Vec<String>,
}

impl Lookout<'_> {
    /// Looks at every workspace, and tells what came of it.
    pub fn look_at_all(
        &self,
        now: Timestamp,
        told: &mut dyn FnMut(&WorkspaceId, Result<Raised, StoreError>),
    ) -> Result<(), StoreError> {
        for workspace in self.store.workspaces()? {
            // What one workspace holds keeps nobody from looking at the next.
            told(&workspace.id, self.look(&workspace.id, now));
        }
        Ok(())
    }

    /// Looks at what was recorded since somebody last did, and at what was not.
    pub fn look(&self, workspace: &WorkspaceId, now: Timestamp) -> Result<Raised, StoreError> {
        let directory = (self.book.read)();
        let mut raised = Raised::default();
        for _ in 0..RACES {
            loop {
                match self.once(workspace, &directory, now)? {
                    // Somebody else was quicker: what they did is looked at anew.
                    None => break,
                    Some((seen, is_last)) => {
                        raised.add(seen);
                        if is_last {
                            return Ok(raised);
                        }
                    }
                }
            }
        }
        raised.problems.push("others looked at the same time, and it is left to them".to_owned());
        Ok(raised)
    }

    /// Takes an alert back by hand, and tells those who were told of it; none if it does not fire.
    pub fn close(
        &self,
        workspace: &WorkspaceId,
        key: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Raised>, StoreError> {
        let directory = (self.book.read)();
        loop {
            let board = self.store.alert_board(workspace)?;
            let mut round = Round::new(self, workspace, &directory, &board, &[], now)?;
            let fires = |one: &&Known| one.is_firing && one.alert.key == key;
            let Some(known) = round.board().known.iter().find(fires) else { return Ok(None) };
            let change = closed(known, reason, now);
            round.apply(vec![change])?;
            let (states, messages, raised) = round.end();
            let seen = board.cursor;
            if self.store.raise_alerts(workspace, seen, seen.run, &states, &messages, now)? {
                return Ok(Some(raised));
            }
        }
    }

    /// One batch; whether it was the last. None if somebody else looked meanwhile.
    fn once(
        &self,
        workspace: &WorkspaceId,
        directory: &Directory,
        now: Timestamp,
    ) -> Result<Option<(Raised, bool)>, StoreError> {
        let board = self.store.alert_board(workspace)?;
        let runs = self.store.suite_runs_after(workspace, board.cursor.run, RUNS)?;
        let suites = self.store.suites(workspace)?;
        let is_last = runs.len() < RUNS;
        let mut round = Round::new(self, workspace, directory, &board, &suites, now)?;
        for run in &runs {
            // One that was pruned since says nothing any more.
            if let Some(whole) = self.store.suite_run(workspace, run.id)? {
                let stored = suites.iter().find(|one| one.name == run.suite);
                round.apply(self.judged(workspace, &whole, stored, &round.board(), now))?;
            }
        }
        if is_last {
            for stored in &suites {
                let change = self.silence(workspace, stored, &round.board(), now)?;
                round.apply(change.into_iter().collect())?;
            }
            round.apply(unwatched(&suites, &round.board(), now))?;
            round.apply(released(&round.board(), now))?;
        }
        let up_to = runs.last().map_or(board.cursor.run, |run| run.id);
        let (states, messages, mut raised) = round.end();
        raised.runs = runs.len();
        if runs.is_empty() && states.is_empty() {
            return Ok(Some((raised, is_last)));
        }
        let was_heard =
            self.store.raise_alerts(workspace, board.cursor, up_to, &states, &messages, now)?;
        Ok(was_heard.then_some((raised, is_last)))
    }

    /// What a run changes. One that can't be read is an alert.
    fn judged(
        &self,
        workspace: &WorkspaceId,
        run: &StoredSuiteRun,
        stored: Option<&StoredSuite>,
        board: &Board<'_>,
        now: Timestamp,
    ) -> Vec<Change> {
        let SuiteRunInfo { id, suite, .. } = &run.info;
        let policy = &self.settings.policy;
        let Some(mut body) = recorder::read(run) else {
            let owners = stored.and_then(|one| Some(registered(one).ok()?.owners));
            let owners = owners.unwrap_or_default();
            let whose = (workspace.as_str(), suite.as_str(), owners.as_slice());
            return vec![unreadable(whose, *id, board, policy, now)];
        };
        // Where it lies says whose it is.
        body.workspace = workspace.as_str().to_owned();
        body.suite = suite.clone();
        let looked = Looked { id: *id, run: &body, recalibrate: !body.recalibrate.is_empty() };
        decide(&looked, board, policy, now)
    }

    /// What the lack of runs of a suite changes. The days are counted from its last run of its own target, or
    /// from when it was last switched on or written anew.
    fn silence(
        &self,
        workspace: &WorkspaceId,
        stored: &StoredSuite,
        board: &Board<'_>,
        now: Timestamp,
    ) -> Result<Option<Change>, StoreError> {
        let Some((suite, days)) = watched(stored) else { return Ok(None) };
        let changed = stored.updated_at;
        let own = SuiteRunFilter {
            suite: Some(stored.name.clone()),
            since: Some(changed),
            ..SuiteRunFilter::default()
        };
        let ran = history::last(self.store, workspace, own)?;
        let heard = Heard { ran: ran.map(|(run, _)| (run.id, run.finished_at)), changed };
        let whose = (workspace.as_str(), stored.name.as_str(), suite.owners.as_slice());
        Ok(silent(whose, &heard, days, board, &self.settings.policy, now))
    }
}

/// A suite whose silence is told of, and after how many days.
fn watched(stored: &StoredSuite) -> Option<(Suite, u32)> {
    let suite = registered(stored).ok().filter(|_| stored.enabled)?;
    let days = suite.alerts.silent_after_days?;
    Some((suite, days))
}

/// Silence of suites that are not watched any more is over.
fn unwatched(suites: &[StoredSuite], board: &Board<'_>, now: Timestamp) -> Vec<Change> {
    let is_watched =
        |name: &str| suites.iter().any(|one| one.name == name && watched(one).is_some());
    let is_left = |alert: &gbrain_core::alert::Alert| {
        alert.subject == Subject::Silent && !is_watched(&alert.suite)
    };
    let left = board.known.iter().filter(|known| known.is_firing && is_left(&known.alert));
    left.map(|known| withdrawn(known, now)).collect()
}

impl Raised {
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
