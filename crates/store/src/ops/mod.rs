//! The store's operations, written once for both engines: the contract of [`Store`] in terms of
//! sessions.

mod captures;
mod check;
mod config;
mod erase;
mod feed;
mod load;
mod read;
mod sources;
mod stats;
mod workspaces;
mod write;

use std::ops::ControlFlow;

use gbrain_core::capture::{CaptureFailure, CaptureFields, StoredCapture};
use gbrain_core::id::{Generation, PageKey, SourceId, WorkspaceId};
use gbrain_core::page::StoredPage;
use jiff::Timestamp;

use crate::Result;
use crate::capture::{CaptureFilter, CaptureSummary};
use crate::driver::{Driver, Scope};
use crate::store::Store;
use crate::types::*;

pub(crate) use workspaces::insert_workspace;

impl<D: Driver> Store for D {
    fn identity(&self) -> &str {
        Driver::identity(self)
    }

    fn engine(&self) -> Engine {
        Driver::engine(self)
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

    fn write_pages(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        write::refuse_nul(writes)?;
        let unchanged =
            self.read(Scope::Workspace(ws), |session| write::if_unchanged(session, ws, writes))?;
        match unchanged {
            Some(outcomes) => Ok(outcomes),
            None => self.write(ws, |session| write::pages(session, ws, writes, now)),
        }
    }

    fn delete_pages(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        let gone = self.read(Scope::Workspace(ws), |session| write::if_gone(session, ws, keys))?;
        match gone {
            Some(outcomes) => Ok(outcomes),
            None => self.write(ws, |session| write::deletions(session, ws, keys, now)),
        }
    }

    fn restore_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        self.write(ws, |session| write::restore(session, ws, key, now))
    }

    fn purge_page(&self, ws: &WorkspaceId, key: &PageKey, now: Timestamp) -> Result<Purged> {
        let purged = self.write(ws, |session| erase::page(session, ws, key, now))?;
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

    fn prune_capture_failures(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| captures::prune_failures(session, ws, until))
    }

    fn capture_summary(&self, ws: &WorkspaceId, now: Timestamp) -> Result<CaptureSummary> {
        self.read(Scope::Workspace(ws), |session| captures::summary(session, ws, now))
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
