//! Sources. A removed source keeps its row, marked, because its pages' history stays.

use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::request::Viewer;
use jiff::Timestamp;

use super::{workspaces, write};
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::plan::ChangeOp;
use crate::store::Store;
use crate::types::{Source, SourceRemovalMode, SourceTrust};
use crate::{Result, StoreError, row};

const LIST: &str = "SELECT id, name, trusted, created_at FROM sources \
     WHERE workspace_id = $1 AND removed_at IS NULL ORDER BY id";
const FIND: &str = "SELECT trusted, removed_at FROM sources WHERE workspace_id = $1 AND id = $2";
const ADD: &str = "INSERT INTO sources (workspace_id, id, name, trusted, created_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, id) DO UPDATE SET \
     name = excluded.name, trusted = excluded.trusted, created_at = excluded.created_at, \
     removed_at = NULL";
const SET_TRUST: &str = "UPDATE sources SET trusted = $3 WHERE workspace_id = $1 AND id = $2";
const REMOVE: &str = "UPDATE sources SET removed_at = $3 WHERE workspace_id = $1 AND id = $2";
const LIVE_SLUGS: &str = "SELECT slug FROM pages WHERE workspace_id = $1 AND source_id = $2 \
     AND deleted_at IS NULL ORDER BY slug";

impl Store {
    /// The sources of a workspace, by id.
    pub fn sources(&self, ws: &WorkspaceId) -> Result<Vec<Source>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, LIST, &[ws.into()], row::source)
        })
    }

    /// Adds a source, or restores a removed one. Recorded in the feed.
    pub fn add_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        name: &str,
        trust: SourceTrust,
        now: Timestamp,
    ) -> Result<()> {
        self.write(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            if trust_of(session, ws, id)?.is_some() {
                return Err(StoreError::SourceExists(id.clone()));
            }
            write::refuse_nul_in(name, || format!("the name of source {id}"))?;
            let trusted = trust == SourceTrust::Trusted;
            let at = now.as_millisecond();
            session.execute(
                ADD,
                &[ws.into(), id.as_str().into(), name.into(), trusted.into(), at.into()],
            )?;
            record_in_feed(session, ws, now)
        })
    }

    /// Removes a source; its pages' history stays. `default` cannot be removed. Returns how many
    /// live pages were deleted with it. Recorded in the feed.
    pub fn remove_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        removal: SourceRemovalMode,
        now: Timestamp,
    ) -> Result<u64> {
        self.write(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            if *id == SourceId::default() {
                return Err(StoreError::Protected { what: "source" });
            }
            require(session, ws, id)?;
            let keys = live_keys(session, ws, id)?;
            let pages = keys.len() as u64;
            if removal == SourceRemovalMode::OnlyEmpty && pages > 0 {
                return Err(StoreError::SourceInUse { id: id.clone(), pages });
            }
            write::deletions(session, ws, &keys, Viewer::Trusted, now)?;
            session
                .execute(REMOVE, &[ws.into(), id.as_str().into(), now.as_millisecond().into()])?;
            record_in_feed(session, ws, now)?;
            Ok(pages)
        })
    }

    /// Sets whether a source is trusted. A change is recorded in the feed.
    pub fn set_source_trust(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        trust: SourceTrust,
        now: Timestamp,
    ) -> Result<()> {
        self.write(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            if require(session, ws, id)? == trust {
                return Ok(());
            }
            let trusted = trust == SourceTrust::Trusted;
            session.execute(SET_TRUST, &[ws.into(), id.as_str().into(), trusted.into()])?;
            record_in_feed(session, ws, now)
        })
    }
}

/// The trust of a source, if it exists.
fn trust_of(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: &SourceId,
) -> Result<Option<SourceTrust>> {
    let found = first(session, FIND, &[ws.into(), id.as_str().into()], |row| {
        Ok((row.flag(0)?, row.opt_int(1)?.is_some()))
    })?;
    Ok(match found {
        Some((true, false)) => Some(SourceTrust::Trusted),
        Some((false, false)) => Some(SourceTrust::Untrusted),
        _ => None,
    })
}

/// The trust of a source that must exist.
pub(super) fn require(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: &SourceId,
) -> Result<SourceTrust> {
    trust_of(session, ws, id)?.ok_or_else(|| StoreError::UnknownSource(id.clone()))
}

fn live_keys(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: &SourceId,
) -> Result<Vec<PageKey>> {
    collect(session, LIVE_SLUGS, &[ws.into(), id.as_str().into()], |row| {
        Ok(PageKey::new(id.clone(), Slug::new(&row.text(0)?)?))
    })
}

fn record_in_feed(session: &mut dyn SqlSession, ws: &WorkspaceId, now: Timestamp) -> Result<()> {
    let mut workspace_state = workspaces::workspace_state(session, ws)?;
    let change = workspace_state.record(ChangeOp::Source, None, None);
    workspaces::save(session, ws, &workspace_state, &[change], now)
}
