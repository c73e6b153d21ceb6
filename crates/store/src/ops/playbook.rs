//! The contract of [`Playbook`] in terms of sessions.

use std::ops::ControlFlow;

use gbrain_core::id::{Generation, WorkspaceId};
use jiff::Timestamp;

use super::{
    alerts, calibration, deliveries, events, incidents, kept, queries, retrievals, suite_runs,
    suites,
};
use crate::Result;
use crate::alert::*;
use crate::calibration::*;
use crate::driver::{Driver, Scope, Session};
use crate::incident::{Incident, IncidentState};
use crate::job::Lease;
use crate::playbook::Playbook;
use crate::query_set::*;
use crate::retrieval_log::*;
use crate::suite::*;
use crate::types::WriteKind;

impl<D: Driver> Playbook for D {
    fn put_suite(
        &self,
        ws: &WorkspaceId,
        name: &str,
        spec: &str,
        now: Timestamp,
    ) -> Result<WriteKind> {
        self.write_beside(ws, |session| suites::put(session, ws, name, spec, now))
    }

    fn suite(&self, ws: &WorkspaceId, name: &str) -> Result<Option<Suite>> {
        self.read(Scope::Workspace(ws), |session| suites::get(session, ws, name))
    }

    fn suites(&self, ws: &WorkspaceId) -> Result<Vec<Suite>> {
        self.read(Scope::Workspace(ws), |session| suites::list(session, ws))
    }

    fn workspaces_with_suites(&self) -> Result<Vec<WorkspaceId>> {
        self.read(Scope::Directory, suites::with_suites)
    }

    fn enable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| suites::switch(session, ws, name, true, now))
    }

    fn disable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| suites::switch(session, ws, name, false, now))
    }

    fn remove_suite(&self, ws: &WorkspaceId, name: &str) -> Result<bool> {
        self.write_beside(ws, |session| suites::remove(session, ws, name))
    }

    fn suite_cursors(&self, ws: &WorkspaceId) -> Result<Vec<SuiteCursor>> {
        self.read(Scope::Workspace(ws), |session| suites::cursors(session, ws))
    }

    fn advance_cursor(
        &self,
        ws: &WorkspaceId,
        suite: &str,
        trigger: &str,
        advance: Advance,
    ) -> Result<bool> {
        self.write_beside(ws, |session| suites::advance(session, ws, suite, trigger, advance))
    }

    fn fire(&self, ws: &WorkspaceId, due: &Due, now: Timestamp) -> Result<Option<i64>> {
        self.write_beside(ws, |session| suites::fire(session, ws, due, now))
    }

    fn add_event(
        &self,
        ws: &WorkspaceId,
        event: &NewEvent,
        now: Timestamp,
    ) -> Result<EventReceipt> {
        self.write_beside(ws, |session| events::add(session, ws, event, now))
    }

    fn events_after(&self, ws: &WorkspaceId, seq: i64, limit: usize) -> Result<Vec<SuiteEvent>> {
        self.read(Scope::Workspace(ws), |session| events::after(session, ws, seq, limit))
    }

    fn event_head(&self, ws: &WorkspaceId) -> Result<i64> {
        self.read(Scope::Workspace(ws), |session| events::head(session, ws))
    }

    fn stirred(
        &self,
        ws: &WorkspaceId,
        after: Generation,
        which: Stirring,
    ) -> Result<Option<Stirred>> {
        self.read(Scope::Workspace(ws), |session| events::stirred(session, ws, after, which))
    }

    fn add_suite_run(
        &self,
        ws: &WorkspaceId,
        run: &NewSuiteRun,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| suite_runs::add(session, ws, run, now))
    }

    fn finish_suite_run(
        &self,
        ws: &WorkspaceId,
        job: i64,
        lease: &Lease,
        run: &NewSuiteRun,
        result: &(dyn Fn(i64) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| {
            suite_runs::finish(session, ws, (job, lease), run, result, now)
        })
    }

    fn suite_run(&self, ws: &WorkspaceId, id: i64) -> Result<Option<SuiteRun>> {
        self.read(Scope::Workspace(ws), |session| suite_runs::get(session, ws, id))
    }

    fn suite_runs(
        &self,
        ws: &WorkspaceId,
        filter: &SuiteRunFilter,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>> {
        self.read(Scope::Workspace(ws), |session| suite_runs::list(session, ws, filter, limit))
    }

    fn suite_runs_after(
        &self,
        ws: &WorkspaceId,
        id: i64,
        limit: usize,
    ) -> Result<Vec<SuiteRunInfo>> {
        self.read(Scope::Workspace(ws), |session| suite_runs::after(session, ws, id, limit))
    }

    fn forget_cursor(&self, ws: &WorkspaceId, suite: &str, trigger: &str) -> Result<bool> {
        self.write_beside(ws, |session| suites::forget_cursor(session, ws, suite, trigger))
    }

    fn count_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
    ) -> Result<SuiteHistory> {
        self.read(Scope::Workspace(ws), |session| kept::count(session, ws, until, parts))
    }

    fn prune_suite_history(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        parts: RunParts,
        most: usize,
    ) -> Result<SuiteHistory> {
        let skip_locked = self.skip_locked();
        let prune =
            |session: &mut dyn Session| kept::prune(session, ws, skip_locked, until, parts, most);
        let pruned = self.write_beside(ws, prune)?;
        if pruned != SuiteHistory::default() {
            self.scrub()?;
        }
        Ok(pruned)
    }

    fn put_queries(
        &self,
        ws: &WorkspaceId,
        queries: &[NewQuery],
        known: Known,
        now: Timestamp,
    ) -> Result<Vec<QueryPut>> {
        self.write_beside(ws, |session| queries::put(session, ws, queries, known, now))
    }

    fn canonical_query(&self, ws: &WorkspaceId, id: i64) -> Result<Option<CanonicalQuery>> {
        self.read(Scope::Workspace(ws), |session| queries::get(session, ws, id))
    }

    fn canonical_queries(
        &self,
        ws: &WorkspaceId,
        filter: &QueryFilter,
        limit: usize,
    ) -> Result<Vec<CanonicalQuery>> {
        self.read(Scope::Workspace(ws), |session| queries::list(session, ws, filter, limit))
    }

    fn set_query_state(
        &self,
        ws: &WorkspaceId,
        id: i64,
        state: QueryState,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| queries::set_state(session, ws, id, state, now))
    }

    fn delete_query(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| queries::delete(session, ws, id))
    }

    fn add_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| retrievals::add(session, ws, logs, now))
    }

    fn add_feedback(
        &self,
        ws: &WorkspaceId,
        log: i64,
        feedback: &NewFeedback,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| retrievals::add_feedback(session, ws, log, feedback, now))
    }

    fn scan_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        filter: &RetrievalFilter,
        each: &mut dyn FnMut(RetrievalLog) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan(Scope::Workspace(ws), |session| retrievals::scan(session, ws, filter, each))
    }

    fn feedback(&self, ws: &WorkspaceId, logs: &[i64]) -> Result<Vec<Vec<Feedback>>> {
        self.read(Scope::Workspace(ws), |session| retrievals::feedback(session, ws, logs))
    }

    fn prune_live_logs(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        except: Option<&str>,
    ) -> Result<u64> {
        self.write_beside(ws, |session| retrievals::prune_live(session, ws, until, except))
    }

    fn put_pairs(
        &self,
        ws: &WorkspaceId,
        pairs: &[NewPair],
        now: Timestamp,
    ) -> Result<Vec<PairPut>> {
        self.write_beside(ws, |session| calibration::put_pairs(session, ws, pairs, now))
    }

    fn pairs(
        &self,
        ws: &WorkspaceId,
        label: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CalibrationPair>> {
        self.read(Scope::Workspace(ws), |session| calibration::pairs(session, ws, label, limit))
    }

    fn delete_pair(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| calibration::delete_pair(session, ws, id))
    }

    fn add_threshold(
        &self,
        ws: &WorkspaceId,
        threshold: &NewThreshold,
        now: Timestamp,
    ) -> Result<i64> {
        self.write_beside(ws, |session| calibration::add_threshold(session, ws, threshold, now))
    }

    fn set_threshold_status(
        &self,
        ws: &WorkspaceId,
        id: i64,
        status: ThresholdStatus,
        settings: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            calibration::set_status(session, ws, id, status, settings, now)
        })
    }

    fn edit_threshold(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&RerankThreshold) -> String + Sync),
    ) -> Result<Option<RerankThreshold>> {
        self.write_beside(ws, |session| calibration::edit(session, ws, id, edit))
    }

    fn threshold(&self, ws: &WorkspaceId, id: i64) -> Result<Option<RerankThreshold>> {
        self.read(Scope::Workspace(ws), |session| calibration::threshold(session, ws, id))
    }

    fn thresholds(
        &self,
        ws: &WorkspaceId,
        model: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RerankThreshold>> {
        self.read(Scope::Workspace(ws), |session| {
            calibration::thresholds(session, ws, model, limit)
        })
    }

    fn rerank_scores(&self, ws: &WorkspaceId, threshold: i64) -> Result<Vec<RerankScore>> {
        self.read(Scope::Workspace(ws), |session| calibration::scores(session, ws, threshold))
    }

    fn alert_board(&self, ws: &WorkspaceId) -> Result<AlertBoard> {
        self.read(Scope::Workspace(ws), |session| alerts::board(session, ws))
    }

    fn raise_alerts(
        &self,
        ws: &WorkspaceId,
        seen: AlertCursor,
        run: i64,
        states: &[AlertState],
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            alerts::raise(session, ws, seen, run, states, deliveries, now)
        })
    }

    fn add_deliveries(
        &self,
        ws: &WorkspaceId,
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| deliveries::add(session, ws, deliveries, now))
    }

    fn claim_deliveries(&self, claim: &DeliveryClaim, now: Timestamp) -> Result<Vec<Delivery>> {
        let skip_locked = self.skip_locked();
        let workspaces =
            self.read(Scope::Directory, |session| deliveries::claimable(session, claim, now))?;
        let mut claimed = Vec::new();
        for (at, ws) in workspaces.iter().enumerate() {
            // What is left, shared with those behind it.
            let share = (claim.limit - claimed.len()).div_ceil(workspaces.len() - at);
            if share == 0 {
                break;
            }
            let taken = self.write_beside(ws, |session| {
                deliveries::claim(session, ws, skip_locked, claim, share, now)
            });
            match taken {
                Ok(taken) => claimed.extend(taken),
                Err(error) if claimed.is_empty() => return Err(error),
                // What was taken is sent; who can't be asked now is asked the next time.
                Err(_) => break,
            }
        }
        Ok(claimed)
    }

    fn end_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        end: &DeliveryEnd,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| deliveries::end(session, ws, id, lease, end, now))
    }

    fn requeue_delivery(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<Requeued> {
        self.write_beside(ws, |session| deliveries::requeue(session, ws, id, now))
    }

    fn drop_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        why: &str,
        now: Timestamp,
    ) -> Result<Dropped> {
        self.write_beside(ws, |session| deliveries::drop(session, ws, id, why, now))
    }

    fn deliveries(
        &self,
        ws: &WorkspaceId,
        filter: &DeliveryFilter,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        self.read(Scope::Workspace(ws), |session| deliveries::list(session, ws, filter, limit))
    }

    fn delivery_counts(&self, ws: &WorkspaceId) -> Result<DeliveryCounts> {
        self.read(Scope::Workspace(ws), |session| deliveries::counts(session, ws))
    }

    fn prune_deliveries(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| deliveries::prune(session, ws, until))
    }

    fn add_silence(&self, ws: &WorkspaceId, silence: &NewSilence) -> Result<i64> {
        self.write_beside(ws, |session| alerts::add_silence(session, ws, silence))
    }

    fn silences(&self, ws: &WorkspaceId, at: Option<Timestamp>) -> Result<Vec<Silence>> {
        self.read(Scope::Workspace(ws), |session| alerts::silences(session, ws, at))
    }

    fn end_silence(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| alerts::end_silence(session, ws, id, now))
    }

    fn open_incident(
        &self,
        ws: &WorkspaceId,
        title: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<i64> {
        self.write_beside(ws, |session| incidents::open(session, ws, title, body, now))
    }

    fn edit_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
    ) -> Result<Option<Incident>> {
        self.write_beside(ws, |session| incidents::edit(session, ws, id, edit, None))
    }

    fn resolve_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<Incident>> {
        self.write_beside(ws, |session| incidents::edit(session, ws, id, edit, Some(now)))
    }

    fn incident(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Incident>> {
        self.read(Scope::Workspace(ws), |session| incidents::get(session, ws, id))
    }

    fn incidents(
        &self,
        ws: &WorkspaceId,
        state: Option<IncidentState>,
        limit: usize,
    ) -> Result<Vec<Incident>> {
        self.read(Scope::Workspace(ws), |session| incidents::list(session, ws, state, limit))
    }
}
