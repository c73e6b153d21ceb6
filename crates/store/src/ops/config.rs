//! Settings stored in the database.

use gbrain_core::id::WorkspaceId;

use super::{workspaces, write};
use crate::Result;
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::store::Store;

const GET: &str = "SELECT value FROM config WHERE workspace_id = $1 AND key = $2";
const SET: &str = "INSERT INTO config (workspace_id, key, value) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value";
const UNSET: &str = "DELETE FROM config WHERE workspace_id = $1 AND key = $2";
const LIST: &str = "SELECT key, value FROM config WHERE workspace_id = $1 ORDER BY key";

impl Store {
    pub fn config_get(&self, ws: &WorkspaceId, key: &str) -> Result<Option<String>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            first(session, GET, &[ws.into(), key.into()], |row| row.text(0))
        })
    }

    pub fn config_set(&self, ws: &WorkspaceId, key: &str, value: &str) -> Result<()> {
        self.write(ws, |session| set(session, ws, key, value))
    }

    /// Removes a setting; returns whether it existed.
    pub fn config_unset(&self, ws: &WorkspaceId, key: &str) -> Result<bool> {
        self.write(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            Ok(session.execute(UNSET, &[ws.into(), key.into()])? > 0)
        })
    }

    /// All settings, by key.
    pub fn config_list(&self, ws: &WorkspaceId) -> Result<Vec<(String, String)>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, LIST, &[ws.into()], |row| Ok((row.text(0)?, row.text(1)?)))
        })
    }
}

pub(super) fn set(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    key: &str,
    value: &str,
) -> Result<()> {
    workspaces::workspace_state(session, ws)?;
    write::refuse_nul_in(key, || "the key of a setting".to_owned())?;
    write::refuse_nul_in(value, || format!("the setting {key}"))?;
    session.execute(SET, &[ws.into(), key.into(), value.into()])?;
    Ok(())
}
