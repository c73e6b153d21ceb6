//! The database plane of settings.

use gbrain_core::id::WorkspaceId;

use super::{workspaces, write};
use crate::Result;
use crate::driver::{Session, collect, first};

const GET: &str = "SELECT value FROM config WHERE workspace_id = $1 AND key = $2";
const SET: &str = "INSERT INTO config (workspace_id, key, value) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value";
const UNSET: &str = "DELETE FROM config WHERE workspace_id = $1 AND key = $2";
const LIST: &str = "SELECT key, value FROM config WHERE workspace_id = $1 ORDER BY key";

pub(super) fn get(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    key: &str,
) -> Result<Option<String>> {
    workspaces::ledger(session, ws)?;
    first(session, GET, &[ws.into(), key.into()], |row| row.text(0))
}

pub(super) fn set(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    key: &str,
    value: &str,
) -> Result<()> {
    workspaces::ledger(session, ws)?;
    write::refuse_nul_in(key, || "the key of a setting".to_owned())?;
    write::refuse_nul_in(value, || format!("the setting {key}"))?;
    session.execute(SET, &[ws.into(), key.into(), value.into()])?;
    Ok(())
}

pub(super) fn unset(session: &mut dyn Session, ws: &WorkspaceId, key: &str) -> Result<bool> {
    workspaces::ledger(session, ws)?;
    Ok(session.execute(UNSET, &[ws.into(), key.into()])? > 0)
}

pub(super) fn list(session: &mut dyn Session, ws: &WorkspaceId) -> Result<Vec<(String, String)>> {
    workspaces::ledger(session, ws)?;
    collect(session, LIST, &[ws.into()], |row| Ok((row.text(0)?, row.text(1)?)))
}
