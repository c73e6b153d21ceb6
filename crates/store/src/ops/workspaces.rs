//! Workspaces and the states of their corpora.

use gbrain_core::hash::Hash;
use gbrain_core::id::{SourceId, WorkspaceId};
use jiff::Timestamp;

use crate::driver::{RowScope, SqlSession, collect, first};
use crate::plan::{PlannedChange, WorkspaceState};
use crate::row;
use crate::schema::CHANGES;
use crate::store::Store;
use crate::types::CorpusHead;
use crate::types::Workspace;
use crate::{Result, StoreError};

const LIST: &str = "SELECT head, pages, chunks, root, id, created_at FROM workspaces ORDER BY id";
const LEDGER: &str = "SELECT head, pages, chunks, root, last_page_id FROM workspaces WHERE id = $1";
const SAVE: &str = "UPDATE workspaces SET head = $2, pages = $3, chunks = $4, root = $5, \
     last_page_id = $6 WHERE id = $1";
const ADD: &str = "INSERT INTO workspaces (id, created_at, root) VALUES ($1, $2, $3)";
const ADD_SOURCE: &str = "INSERT INTO sources (workspace_id, id, name, trusted, created_at) \
     VALUES ($1, $2, $3, $4, $5)";
const REMOVE: &str = "DELETE FROM workspaces WHERE id = $1";

impl Store {
    /// All workspaces, by name.
    pub fn workspaces(&self) -> Result<Vec<Workspace>> {
        self.read(RowScope::Directory, list)
    }

    /// Creates a workspace with its `default` source, trusted.
    pub fn add_workspace(&self, id: &WorkspaceId, now: Timestamp) -> Result<()> {
        self.write(id, |session| match workspace_state(session, id) {
            Ok(_) => Err(StoreError::WorkspaceExists(id.clone())),
            Err(StoreError::UnknownWorkspace(_)) => insert_workspace(session, id, now),
            Err(error) => Err(error),
        })
    }

    /// Deletes a workspace with everything in it. `default` cannot be removed.
    pub fn remove_workspace(&self, id: &WorkspaceId) -> Result<()> {
        self.write(id, |session| {
            if *id == WorkspaceId::default() {
                return Err(StoreError::Protected { what: "workspace" });
            }
            match session.execute(REMOVE, &[id.into()])? {
                0 => Err(StoreError::UnknownWorkspace(id.clone())),
                _ => Ok(()),
            }
        })?;
        self.scrub().map(|_| ())
    }

    /// The current state of the corpus.
    pub fn head(&self, ws: &WorkspaceId) -> Result<CorpusHead> {
        self.read(RowScope::Workspace(ws), |session| Ok(workspace_state(session, ws)?.head))
    }
}

pub(super) fn list(session: &mut dyn SqlSession) -> Result<Vec<Workspace>> {
    collect(session, LIST, &[], row::workspace)
}

/// The state of a workspace that must exist.
pub(super) fn workspace_state(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
) -> Result<WorkspaceState> {
    first(session, LEDGER, &[ws.into()], row::workspace_state)?
        .ok_or_else(|| StoreError::UnknownWorkspace(ws.clone()))
}

/// Writes the state of a workspace and the changes that led to it.
pub(super) fn save(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    workspace_state: &WorkspaceState,
    changes: &[PlannedChange],
    now: Timestamp,
) -> Result<()> {
    let head = &workspace_state.head;
    session.execute(
        SAVE,
        &[
            ws.into(),
            head.generation.0.into(),
            head.pages.into(),
            head.chunks.into(),
            head.root.to_hex().into(),
            workspace_state.last_page.into(),
        ],
    )?;
    let mut values = Vec::with_capacity(changes.len() * CHANGES.columns.len());
    for change in changes {
        values.extend([
            change.head.generation.0.into(),
            change.op.name().into(),
            change.page.map(|page| page.0).into(),
            change.version.into(),
            change.head.root.to_hex().into(),
            change.head.pages.into(),
            change.head.chunks.into(),
            now.as_millisecond().into(),
        ]);
    }
    session.insert(&CHANGES, ws, &values)
}

/// Creates a workspace and its `default` source.
pub(crate) fn insert_workspace(
    session: &mut dyn SqlSession,
    id: &WorkspaceId,
    now: Timestamp,
) -> Result<()> {
    let at = now.as_millisecond();
    session.execute(ADD, &[id.into(), at.into(), Hash::default().to_hex().into()])?;
    let source = SourceId::default();
    let (source_id, name) = (source.as_str(), source.as_str());
    session
        .execute(ADD_SOURCE, &[id.into(), source_id.into(), name.into(), true.into(), at.into()])?;
    Ok(())
}
