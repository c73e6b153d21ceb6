//! The contract of what suites, calibration and alerts keep. A part of [`Store`](crate::Store), and
//! under its rules: every method is one transaction, and a workspace that does not exist is an error.

use std::ops::ControlFlow;

use gbrain_core::id::{Generation, WorkspaceId};
use jiff::Timestamp;

use crate::Result;
use crate::alert::*;
use crate::calibration::*;
use crate::incident::{Incident, IncidentState};
use crate::job::Lease;
use crate::query_set::*;
use crate::retrieval_log::*;
use crate::suite::*;
use crate::types::WriteKind;

/// What suites, calibration and alerts keep. None of it waits for writers of pages on PostgreSQL.
pub trait Playbook {
    /// Keeps a suite: a new one, switched off, or a new spec for the one of that name.
    fn put_suite(
        &self,
        ws: &WorkspaceId,
        name: &str,
        spec: &str,
        now: Timestamp,
    ) -> Result<WriteKind>;

    /// A suite.
    fn suite(&self, ws: &WorkspaceId, name: &str) -> Result<Option<Suite>>;

    /// All suites, by name.
    fn suites(&self, ws: &WorkspaceId) -> Result<Vec<Suite>>;

    /// The workspaces with a suite that is on, by name.
    fn workspaces_with_suites(&self) -> Result<Vec<WorkspaceId>>;

    /// Lets the triggers of a suite fire; whether there is one of that name.
    fn enable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool>;

    /// Keeps the triggers of a suite from firing; whether there is one of that name. Its cursors go: when it
    /// is switched on again, what it missed is not made up for.
    fn disable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool>;

    /// Erases a suite with its cursors; whether there was one. Its runs stay.
    fn remove_suite(&self, ws: &WorkspaceId, name: &str) -> Result<bool>;

    /// How far the triggers of all suites have been fired, by suite and trigger.
    fn suite_cursors(&self, ws: &WorkspaceId) -> Result<Vec<SuiteCursor>>;

    /// Moves a cursor without a run. False, and nothing happens, if it is not where it was seen or the
    /// suite is not on.
    fn advance_cursor(
        &self,
        ws: &WorkspaceId,
        suite: &str,
        trigger: &str,
        advance: Advance,
    ) -> Result<bool>;

    /// Queues a due run and moves its trigger's cursor, both or neither; the number of the job. Whoever
    /// fires for a suite waits for others who do. None if there is nothing to queue:
    /// - the cursor is not where it was seen, or the suite is not on: nothing happens;
    /// - the key is queued or recorded already, or a run that waits covers this one: only the cursor moves.
    fn fire(&self, ws: &WorkspaceId, due: &Due, now: Timestamp) -> Result<Option<i64>>;

    /// Keeps an event. One of the same kind, document and version is kept once.
    fn add_event(&self, ws: &WorkspaceId, event: &NewEvent, now: Timestamp)
    -> Result<EventReceipt>;

    /// Events with a higher number than `seq`, by number, at most `limit`. Numbers become visible in order:
    /// whoever has seen one has seen all before it.
    fn events_after(&self, ws: &WorkspaceId, seq: i64, limit: usize) -> Result<Vec<SuiteEvent>>;

    /// The number of the last event; 0 if there was none.
    fn event_head(&self, ws: &WorkspaceId) -> Result<i64>;

    /// Changes of the corpus after a generation, in short; none if there are none.
    fn stirred(
        &self,
        ws: &WorkspaceId,
        after: Generation,
        which: Stirring,
    ) -> Result<Option<Stirred>>;

    /// Records a run that is no job; its number. None if its key is recorded already.
    fn add_suite_run(
        &self,
        ws: &WorkspaceId,
        run: &NewSuiteRun,
        now: Timestamp,
    ) -> Result<Option<i64>>;

    /// Records the run that a job was and ends the job as done, both or neither; the number of the run, from
    /// which `result` makes the job's result. None for a worker that lost its job: nothing is
    /// written. A key that is recorded already is not recorded again: its number is told, and the job ends.
    fn finish_suite_run(
        &self,
        ws: &WorkspaceId,
        job: i64,
        lease: &Lease,
        run: &NewSuiteRun,
        result: &(dyn Fn(i64) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<i64>>;

    /// A recorded run.
    fn suite_run(&self, ws: &WorkspaceId, id: i64) -> Result<Option<SuiteRun>>;

    /// Recorded runs, newest first, at most `limit`.
    fn suite_runs(
        &self,
        ws: &WorkspaceId,
        filter: &SuiteRunFilter,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>>;

    /// Recorded runs with a higher number than `id`, by number, at most `limit`. Numbers become visible in
    /// order: whoever has seen one has seen all before it.
    fn suite_runs_after(
        &self,
        ws: &WorkspaceId,
        id: i64,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>>;

    /// Forgets how far a trigger was fired; whether it was known.
    fn forget_cursor(&self, ws: &WorkspaceId, suite: &str, trigger: &str) -> Result<bool>;

    /// How much [`prune_suite_history`](Self::prune_suite_history) would erase.
    fn count_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
    ) -> Result<SuiteHistory>;

    /// Erases what suites left behind before `until`: of runs what `parts` says, their logs with what was
    /// said of them, and events, which are news if they are told again; at most so many of each, so that
    /// nobody waits long. Numbers are not used again. The last run of a suite stays, and so does what
    /// somebody waits for: runs that were not looked at for alerts, events that a suite that is on was not
    /// fired by yet, and for a day logs of a run that is not recorded.
    fn prune_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
        most: usize,
    ) -> Result<SuiteHistory>;

    /// Keeps canonical queries, all or none; what became of them, in order. One of the same text is there
    /// once: `known` says which stays.
    fn put_queries(
        &self,
        ws: &WorkspaceId,
        queries: &[NewQuery],
        known: Known,
        now: Timestamp,
    ) -> Result<Vec<QueryPut>>;

    /// A canonical query.
    fn canonical_query(&self, ws: &WorkspaceId, id: i64) -> Result<Option<CanonicalQuery>>;

    /// Canonical queries, by number, at most `limit`.
    fn canonical_queries(
        &self,
        ws: &WorkspaceId,
        filter: &QueryFilter,
        limit: usize,
    ) -> Result<Vec<CanonicalQuery>>;

    /// Says where a canonical query is to be; whether there is one.
    fn set_query_state(
        &self,
        ws: &WorkspaceId,
        id: i64,
        state: QueryState,
        now: Timestamp,
    ) -> Result<bool>;

    /// Erases a canonical query; whether there was one.
    fn delete_query(&self, ws: &WorkspaceId, id: i64) -> Result<bool>;

    /// Logs retrievals with what is known of them, all or none; their numbers, in order.
    fn add_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<Vec<i64>>;

    /// Keeps something that was said of a logged retrieval; its number. None if there is no such
    /// retrieval.
    fn add_feedback(
        &self,
        ws: &WorkspaceId,
        log: i64,
        feedback: &NewFeedback,
        now: Timestamp,
    ) -> Result<Option<i64>>;

    /// Reads logged retrievals, newest first, as they are at one moment and in constant memory, until
    /// `each` has had enough. Its errors end the reading and come back.
    fn scan_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        filter: &RetrievalFilter,
        each: &mut dyn FnMut(RetrievalLog) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// Logged retrievals, newest first. For many of them, [`Playbook::scan_retrieval_logs`] takes less room.
    fn retrieval_logs(
        &self,
        ws: &WorkspaceId,
        filter: &RetrievalFilter,
    ) -> Result<Vec<RetrievalLog>> {
        let mut logs = Vec::new();
        self.scan_retrieval_logs(ws, filter, &mut |log| {
            logs.push(log);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(logs)
    }

    /// What was said of logged retrievals, in the order of `logs`, each by number.
    fn feedback(&self, ws: &WorkspaceId, logs: &[i64]) -> Result<Vec<Vec<Feedback>>>;

    /// Erases retrievals of live traffic that were asked before `until` with what was said of them, and says
    /// how many. Those of runs stay, and so do those of the user `except`.
    fn prune_live_logs(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        except: Option<&str>,
    ) -> Result<u64>;

    /// Keeps pairs, all or none; what became of them, in order.
    fn put_pairs(
        &self,
        ws: &WorkspaceId,
        pairs: &[NewPair],
        now: Timestamp,
    ) -> Result<Vec<PairPut>>;

    /// Pairs, newest first, at most `limit`; those with a label, or all.
    fn pairs(
        &self,
        ws: &WorkspaceId,
        label: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CalibrationPair>>;

    /// Erases a pair; whether there was one. Scores that it had stay.
    fn delete_pair(&self, ws: &WorkspaceId, id: i64) -> Result<bool>;

    /// Keeps a threshold as a candidate with its scores, all or none; its number.
    fn add_threshold(
        &self,
        ws: &WorkspaceId,
        threshold: &NewThreshold,
        now: Timestamp,
    ) -> Result<i64>;

    /// Says where a threshold is to be; whether there is one. The active one of the same model is
    /// superseded by one that becomes active, and the settings are set with it: all or nothing.
    fn set_threshold_status(
        &self,
        ws: &WorkspaceId,
        id: i64,
        status: ThresholdStatus,
        settings: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<bool>;

    /// Writes what else is known of a threshold anew, made of what it says: nobody else changes it
    /// meanwhile. The threshold as it is then; none if there is none.
    fn edit_threshold(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&RerankThreshold) -> String + Sync),
    ) -> Result<Option<RerankThreshold>>;

    /// A threshold.
    fn threshold(&self, ws: &WorkspaceId, id: i64) -> Result<Option<RerankThreshold>>;

    /// Thresholds, newest first, at most `limit`; those of a model, or all.
    fn thresholds(
        &self,
        ws: &WorkspaceId,
        model: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RerankThreshold>>;

    /// The scores that a threshold was made of, by pair.
    fn rerank_scores(&self, ws: &WorkspaceId, threshold: i64) -> Result<Vec<RerankScore>>;

    /// The alerts, and how far runs have been looked at for them, at one moment.
    fn alert_board(&self, ws: &WorkspaceId) -> Result<AlertBoard>;

    /// Keeps what looking at runs up to `run` gave: states, each in place of the one of its key, and messages
    /// to send, in their order. All or nothing: false, and nothing is written, if somebody else has
    /// looked since the board was read, so every run is looked at once.
    fn raise_alerts(
        &self,
        ws: &WorkspaceId,
        seen: AlertCursor,
        run: i64,
        states: &[AlertState],
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<bool>;

    /// Queues messages, all or none; their numbers, in order.
    fn add_deliveries(
        &self,
        ws: &WorkspaceId,
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<Vec<i64>>;

    /// Gives a sender messages that are due or whose sender let its lease run out, of all workspaces in
    /// turn and the oldest first. Of a channel and a key only the first that is neither sent nor dead
    /// is ever given, and to one sender: none passes another. Looking opens no write transaction.
    fn claim_deliveries(&self, claim: &DeliveryClaim, now: Timestamp) -> Result<Vec<Delivery>>;

    /// Says what became of an attempt to send; false if the message is not this sender's any more.
    fn end_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        end: &DeliveryEnd,
        now: Timestamp,
    ) -> Result<bool>;

    /// Queues a message again that was given up, unless one behind it has passed it for good.
    fn requeue_delivery(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<Requeued>;

    /// Gives a message up that is queued and that nobody is sending. The next one passes it.
    fn drop_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        why: &str,
        now: Timestamp,
    ) -> Result<Dropped>;

    /// Messages, newest first, at most `limit`.
    fn deliveries(
        &self,
        ws: &WorkspaceId,
        filter: &DeliveryFilter,
        limit: usize,
    ) -> Result<Vec<Delivery>>;

    /// Messages in figures.
    fn delivery_counts(&self, ws: &WorkspaceId) -> Result<DeliveryCounts>;

    /// Erases messages that were sent or given up before `until`, and says how many.
    fn prune_deliveries(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64>;

    /// Keeps a silence; its number.
    fn add_silence(&self, ws: &WorkspaceId, silence: &NewSilence) -> Result<i64>;

    /// Silences that are not over at a time, or all, by number.
    fn silences(&self, ws: &WorkspaceId, at: Option<Timestamp>) -> Result<Vec<Silence>>;

    /// Ends a silence; whether there was one that was not over. One to come never is.
    fn end_silence(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<bool>;

    /// Opens an incident; its number.
    fn open_incident(
        &self,
        ws: &WorkspaceId,
        title: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<i64>;

    /// Writes the record of an incident anew, made of what it says: nobody else changes it meanwhile. The
    /// incident as it is then; none if there is none.
    fn edit_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
    ) -> Result<Option<Incident>>;

    /// Ends an incident, with its record written anew. None if there is none that is open.
    fn resolve_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<Incident>>;

    /// An incident.
    fn incident(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Incident>>;

    /// Incidents, newest first, at most `limit`; those in a state, or all.
    fn incidents(
        &self,
        ws: &WorkspaceId,
        state: Option<IncidentState>,
        limit: usize,
    ) -> Result<Vec<Incident>>;
}
