//! The store's operations, written once for both engines: the contract of [`Store`] in terms of
//! sessions.

mod alerts;
mod calibration;
mod captures;
mod check;
mod config;
mod counters;
mod deliveries;
mod documents;
mod erase;
mod events;
mod feed;
mod forget;
mod incidents;
mod jobs;
mod judging;
mod kept;
mod labels;
mod leases;
mod load;
mod playbook;
mod queries;
#[cfg(test)]
mod races;
mod read;
mod retrievals;
mod sources;
mod spend;
mod stats;
mod suite_runs;
mod suites;
mod texts;
mod tokens;
mod workspaces;
mod write;

use std::ops::ControlFlow;

use gbrain_core::capture::{CaptureFailure, CaptureFields, StoredCapture};
use gbrain_core::erasure::ErasedPage;
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageKey, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::Trust as Caller;
use jiff::Timestamp;

use crate::Result;
use crate::capture::{CaptureFilter, CaptureSummary};
use crate::document::{Document, DocumentInfo, DocumentKind};
use crate::driver::{Driver, Scope, first};
use crate::job::{
    Beat, Claim, Job, JobCounts, JobFilter, JobInfo, JobStep, Lease, NewJob, Outcome, Progress,
};
use crate::judging::{AnswerKind, ModelAnswer, Run, RunKind};
use crate::label::{Label, NewLabel};
use crate::retrieval_log::NewRetrievalLog;
use crate::spend::{BudgetState, Charge, ChargeId, NewCharge, Settlement, SpendLine};
use crate::store::Store;
use crate::token::{NewToken, Token};
use crate::types::*;

use texts::BeforeWrite;

pub(crate) use workspaces::insert_workspace;

impl<D: Driver> Store for D {
    fn identity(&self) -> &str {
        Driver::identity(self)
    }

    fn engine(&self) -> Engine {
        Driver::engine(self)
    }

    fn role_without_row_security(&self) -> Result<Option<String>> {
        let Some(sql) = self.security_bypass_query() else { return Ok(None) };
        self.read(Scope::Directory, |session| first(session, sql, &[], |row| row.text(0)))
    }

    fn clock(&self) -> Result<Timestamp> {
        self.read(Scope::Directory, |session| leases::clock(session, self.clock_query()))
    }

    fn workspaces(&self) -> Result<Vec<Workspace>> {
        self.read(Scope::Directory, workspaces::list)
    }

    fn add_workspace(&self, id: &WorkspaceId, now: Timestamp) -> Result<()> {
        self.write(id, |session| workspaces::add(session, id, now))
    }

    fn remove_workspace(&self, id: &WorkspaceId) -> Result<()> {
        self.write(id, |session| workspaces::remove(session, id))?;
        self.scrub().map(|_| ())
    }

    fn sources(&self, ws: &WorkspaceId) -> Result<Vec<Source>> {
        self.read(Scope::Workspace(ws), |session| sources::list(session, ws))
    }

    fn add_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        name: &str,
        trust: Trust,
        now: Timestamp,
    ) -> Result<()> {
        self.write(ws, |session| sources::add(session, ws, id, name, trust, now))
    }

    fn remove_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        removal: Removal,
        now: Timestamp,
    ) -> Result<u64> {
        self.write(ws, |session| sources::remove(session, ws, id, removal, now))
    }

    fn set_source_trust(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        trust: Trust,
        now: Timestamp,
    ) -> Result<()> {
        self.write(ws, |session| sources::set_trust(session, ws, id, trust, now))
    }

    fn write_pages_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        write::refuse_nul(writes)?;
        match texts::before_write(self, ws, writes, writer)? {
            BeforeWrite::Unchanged(outcomes) => Ok(outcomes),
            BeforeWrite::Write(damaged) => {
                self.write(ws, |session| write::pages(session, ws, writes, &damaged, writer, now))
            }
        }
    }

    fn delete_pages_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        let gone =
            self.read(Scope::Workspace(ws), |session| write::if_gone(session, ws, keys, writer))?;
        match gone {
            Some(outcomes) => Ok(outcomes),
            None => self.write(ws, |session| write::deletions(session, ws, keys, writer, now)),
        }
    }

    fn restore_page_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        self.write(ws, |session| write::restore(session, ws, key, writer, now))
    }

    fn erased_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
    ) -> Result<Option<ErasedPage>> {
        self.read(Scope::Workspace(ws), |session| forget::erased_page(session, ws, key, keys))
    }

    fn erase_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
        now: Timestamp,
    ) -> Result<Purged> {
        let purged = self.write(ws, |session| erase::page(session, ws, key, keys, now))?;
        Ok(Purged { scrubbed: self.scrub()?, ..purged })
    }

    fn pages(&self, ws: &WorkspaceId, keys: &[PageKey]) -> Result<Vec<Option<StoredPage>>> {
        self.read(Scope::Workspace(ws), |session| read::pages(session, ws, keys))
    }

    fn page_at_version(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        version: u32,
    ) -> Result<Option<StoredPage>> {
        self.read(Scope::Workspace(ws), |session| read::page_at(session, ws, key, version))
    }

    fn texts(&self, ws: &WorkspaceId, versions: &[PageVersion]) -> Result<Vec<Option<String>>> {
        self.read(Scope::Workspace(ws), |session| load::texts(session, ws, versions))
    }

    fn text_hashes(&self, ws: &WorkspaceId, versions: &[PageVersion]) -> Result<Vec<Option<Hash>>> {
        texts::hashes(self, ws, versions)
    }

    fn history(&self, ws: &WorkspaceId, key: &PageKey) -> Result<Vec<VersionInfo>> {
        self.read(Scope::Workspace(ws), |session| read::history(session, ws, key))
    }

    fn list(
        &self,
        ws: &WorkspaceId,
        filter: &PageFilter,
        after: Option<&PageKey>,
        limit: usize,
    ) -> Result<Vec<PageInfo>> {
        let has_tag = self.tag_filter();
        self.read(Scope::Workspace(ws), |session| {
            read::list(session, ws, has_tag, filter, after, limit)
        })
    }

    fn visibilities(&self, ws: &WorkspaceId, keys: &[PageKey]) -> Result<Vec<Option<Visibility>>> {
        self.read(Scope::Workspace(ws), |session| read::visibilities(session, ws, keys))
    }

    fn visible_pages(&self, ws: &WorkspaceId) -> Result<Vec<(SourceId, u64)>> {
        self.read(Scope::Workspace(ws), |session| read::visible_pages(session, ws))
    }

    fn digests(&self, ws: &WorkspaceId, source: &SourceId) -> Result<Vec<PageDigest>> {
        self.read(Scope::Workspace(ws), |session| read::digests(session, ws, source))
    }

    fn head(&self, ws: &WorkspaceId) -> Result<Head> {
        self.read(Scope::Workspace(ws), |session| Ok(workspaces::ledger(session, ws)?.head))
    }

    fn head_at(&self, ws: &WorkspaceId, generation: Generation) -> Result<Option<Head>> {
        self.read(Scope::Workspace(ws), |session| feed::head_at(session, ws, generation))
    }

    fn read_feed(&self, ws: &WorkspaceId, range: &FeedRange) -> Result<ChangeBatch> {
        self.read(Scope::Workspace(ws), |session| feed::read(session, ws, range))
    }

    fn config_get(&self, ws: &WorkspaceId, key: &str) -> Result<Option<String>> {
        self.read(Scope::Workspace(ws), |session| config::get(session, ws, key))
    }

    fn config_set(&self, ws: &WorkspaceId, key: &str, value: &str) -> Result<()> {
        self.write(ws, |session| config::set(session, ws, key, value))
    }

    fn config_unset(&self, ws: &WorkspaceId, key: &str) -> Result<bool> {
        self.write(ws, |session| config::unset(session, ws, key))
    }

    fn config_list(&self, ws: &WorkspaceId) -> Result<Vec<(String, String)>> {
        self.read(Scope::Workspace(ws), |session| config::list(session, ws))
    }

    fn add_captures(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        now: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| captures::add(session, ws, captures, now))
    }

    fn add_observed(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| {
            captures::add(session, ws, captures, now)?;
            retrievals::add(session, ws, logs, now).map(|_| ())
        })
    }

    fn close_captures(&self, ws: &WorkspaceId, until: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| captures::close(session, ws, until))
    }

    fn captures(
        &self,
        ws: &WorkspaceId,
        filter: &CaptureFilter,
        each: &mut dyn FnMut(StoredCapture) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan(Scope::Workspace(ws), |session| captures::read(session, ws, filter, each))
    }

    fn count_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64> {
        self.read(Scope::Workspace(ws), |session| captures::count(session, ws, filter))
    }

    fn prune_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64> {
        let pruned = self.write_beside(ws, |session| captures::prune(session, ws, filter))?;
        if pruned > 0 {
            self.scrub()?;
        }
        Ok(pruned)
    }

    fn add_capture_failures(&self, ws: &WorkspaceId, failures: &[CaptureFailure]) -> Result<()> {
        self.write_beside(ws, |session| captures::add_failures(session, ws, failures))
    }

    fn capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CaptureFailure>> {
        self.read(Scope::Workspace(ws), |session| captures::failures(session, ws, since, limit))
    }

    fn count_capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64> {
        self.read(Scope::Workspace(ws), |session| {
            captures::count_failures(session, ws, since, until)
        })
    }

    fn prune_capture_failures(&self, ws: &WorkspaceId, until: Option<Timestamp>) -> Result<u64> {
        self.write_beside(ws, |session| captures::prune_failures(session, ws, until))
    }

    fn redate_captures(&self, ws: &WorkspaceId, now: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| captures::redate(session, ws, now))
    }

    fn capture_summary(&self, ws: &WorkspaceId, now: Timestamp) -> Result<CaptureSummary> {
        self.read(Scope::Workspace(ws), |session| captures::summary(session, ws, now))
    }

    fn add_token(&self, ws: &WorkspaceId, token: &NewToken, now: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| tokens::add(session, ws, token, now))
    }

    fn tokens(&self, ws: &WorkspaceId) -> Result<Vec<Token>> {
        self.read(Scope::Workspace(ws), |session| tokens::list(session, ws))
    }

    fn find_token(&self, id: &str) -> Result<Option<Token>> {
        if id.contains('\0') {
            return Ok(None);
        }
        self.read(Scope::Directory, |session| tokens::find(session, id))
    }

    fn has_live_tokens(&self, now: Timestamp) -> Result<bool> {
        self.read(Scope::Directory, |session| tokens::has_live(session, now))
    }

    fn has_tokens(&self) -> Result<bool> {
        self.read(Scope::Directory, tokens::has_any)
    }

    fn revoke_token(&self, ws: &WorkspaceId, id: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| tokens::revoke(session, ws, id, now))
    }

    fn touch_token(&self, ws: &WorkspaceId, id: &str, at: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| tokens::touch(session, ws, id, at))
    }

    fn add_job(&self, ws: &WorkspaceId, job: &NewJob, now: Timestamp) -> Result<i64> {
        self.write_beside(ws, |session| jobs::add(session, ws, job, now))
    }

    fn job(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Job>> {
        self.read(Scope::Workspace(ws), |session| jobs::get(session, ws, id))
    }

    fn jobs(&self, ws: &WorkspaceId, filter: &JobFilter, limit: usize) -> Result<Vec<JobInfo>> {
        self.read(Scope::Workspace(ws), |session| jobs::list(session, ws, filter, limit))
    }

    fn claim_job(&self, claim: &Claim, now: Timestamp) -> Result<Option<Job>> {
        let skip_locked = self.skip_locked();
        for ws in self.read(Scope::Directory, |session| leases::claimable(session, claim, now))? {
            let claimed = leases::unless_beaten(|| {
                self.write_beside(&ws, |session| {
                    leases::claim(session, &ws, skip_locked, claim, now)
                })
            });
            // Nothing: others were quicker there.
            if let Some(job) = claimed? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    fn take_job(
        &self,
        ws: &WorkspaceId,
        job: &NewJob,
        worker: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Job>> {
        let (worker, kinds) = (worker.to_owned(), vec![job.kind.clone()]);
        let claim = Claim { worker, kinds, lease_until, last: None };
        let skip_locked = self.skip_locked();
        leases::unless_beaten(|| {
            self.write_beside(ws, |session| {
                leases::take(session, ws, skip_locked, job, &claim, now)
            })
        })
    }

    fn beat_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        progress: &Progress,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Beat> {
        self.write_beside(ws, |session| {
            leases::beat(session, ws, id, lease, progress, lease_until, now)
        })
    }

    fn write_pages_in_job_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        write::refuse_nul(writes)?;
        let damaged = match texts::before_write(self, ws, writes, writer)? {
            BeforeWrite::Unchanged(outcomes) => {
                self.write_beside(ws, |session| leases::step(session, ws, step, &outcomes, now))?;
                return Ok(outcomes);
            }
            BeforeWrite::Write(damaged) => damaged,
        };
        self.write(ws, |session| {
            leases::require(session, ws, step)?;
            let outcomes = write::pages(session, ws, writes, &damaged, writer, now)?;
            // Last, so that the worker's beats do not wait for its own pages.
            leases::step(session, ws, step, &outcomes, now)?;
            Ok(outcomes)
        })
    }

    fn delete_pages_in_job(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        step: &JobStep<'_, DeleteOutcome>,
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        self.write(ws, |session| {
            leases::require(session, ws, step)?;
            let outcomes = write::deletions(session, ws, keys, Caller::Trusted, now)?;
            leases::step(session, ws, step, &outcomes, now)?;
            Ok(outcomes)
        })
    }

    fn finish_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| leases::finish(session, ws, id, lease, outcome, now))
    }

    fn finish_job_with_run(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        (kind, run): (RunKind, &Run),
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            let was_heard = leases::finish(session, ws, id, lease, outcome, now)?;
            if was_heard {
                judging::add_run(session, ws, kind, run)?;
            }
            Ok(was_heard)
        })
    }

    fn retry_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        error: &str,
        run_after: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            leases::retry(session, ws, id, lease, error, run_after, now)
        })
    }

    fn release_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| leases::release(session, ws, id, lease, now))
    }

    fn cancel_job(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<Option<JobState>> {
        self.write_beside(ws, |session| jobs::cancel(session, ws, id, now))
    }

    fn prune_jobs(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| jobs::prune(session, ws, until))
    }

    fn job_counts_of(&self, ws: &WorkspaceId) -> Result<JobCounts> {
        self.read(Scope::Workspace(ws), |session| jobs::counts_of(session, ws))
    }

    fn put_document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| documents::put(session, ws, kind, name, body, now))
    }

    fn document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
    ) -> Result<Option<Document>> {
        self.read(Scope::Workspace(ws), |session| documents::get(session, ws, kind, name))
    }

    fn documents(&self, ws: &WorkspaceId, kind: DocumentKind) -> Result<Vec<DocumentInfo>> {
        self.read(Scope::Workspace(ws), |session| documents::list(session, ws, kind))
    }

    fn delete_document(&self, ws: &WorkspaceId, kind: DocumentKind, name: &str) -> Result<bool> {
        self.write_beside(ws, |session| documents::delete(session, ws, kind, name))
    }

    fn put_labels(
        &self,
        ws: &WorkspaceId,
        labels: &[NewLabel],
        by: &str,
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| labels::put(session, ws, labels, by, now))
    }

    fn labels(&self, ws: &WorkspaceId, after: Option<i64>, limit: usize) -> Result<Vec<Label>> {
        self.read(Scope::Workspace(ws), |session| labels::list(session, ws, after, limit))
    }

    fn delete_label(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| labels::delete(session, ws, id))
    }

    fn reserve(&self, ws: &WorkspaceId, charge: &NewCharge, now: Timestamp) -> Result<ChargeId> {
        self.write_beside(ws, |session| spend::reserve(session, ws, charge, now))
    }

    fn settle(
        &self,
        ws: &WorkspaceId,
        id: &ChargeId,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| spend::settle(session, ws, id, settlement, now))
    }

    fn budget(&self, ws: &WorkspaceId, name: &str) -> Result<Option<BudgetState>> {
        self.read(Scope::Workspace(ws), |session| spend::budget(session, ws, name))
    }

    fn charges(&self, ws: &WorkspaceId, budget: &str) -> Result<Vec<Charge>> {
        self.read(Scope::Workspace(ws), |session| spend::charges(session, ws, budget))
    }

    fn spend(&self, ws: &WorkspaceId, since: Timestamp) -> Result<Vec<SpendLine>> {
        self.read(Scope::Workspace(ws), |session| spend::lines(session, ws, since))
    }

    fn model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        keys: &[Hash],
        now: Timestamp,
    ) -> Result<Vec<Option<String>>> {
        self.read(Scope::Workspace(ws), |session| judging::answers(session, ws, kind, keys, now))
    }

    fn keep_model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        answers: &[ModelAnswer],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| judging::keep(session, ws, kind, answers, now, until))
    }

    fn add_run(&self, ws: &WorkspaceId, kind: RunKind, run: &Run) -> Result<bool> {
        self.write_beside(ws, |session| judging::add_run(session, ws, kind, run))
    }

    fn runs(
        &self,
        ws: &WorkspaceId,
        kind: RunKind,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Run>> {
        self.read(Scope::Workspace(ws), |session| judging::runs(session, ws, kind, since, limit))
    }

    fn stats(&self, ws: &WorkspaceId) -> Result<Stats> {
        let size = self.size_query();
        self.read(Scope::Workspace(ws), |session| stats::read(session, ws, size))
    }

    fn check(&self, ws: &WorkspaceId) -> Result<Vec<Finding>> {
        let mut findings = self.structure()?;
        findings.extend(self.read(Scope::Workspace(ws), |session| check::run(session, ws))?);
        Ok(findings)
    }
}
