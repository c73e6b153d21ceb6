//! API tokens. They are looked up by id across all workspaces, and changed in their own.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{workspaces, write};
use crate::driver::{RowScope, SqlSession, SqlValue, collect, first};
use crate::store::Store;
use crate::token::{ApiToken, NewToken};
use crate::{Result, row};

const COLUMNS: &str = "SELECT workspace_id, id, name, scope, digest, rate_per_second, created_at, \
     expires_at, revoked_at, last_used_at FROM tokens";
const ADD: &str = "INSERT INTO tokens (workspace_id, id, name, scope, digest, rate_per_second, \
     created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const LIVE: &str = "SELECT count(*) FROM (SELECT 1 FROM tokens WHERE revoked_at IS NULL \
     AND (expires_at IS NULL OR expires_at > $1) LIMIT 1) AS live";
const ANY: &str = "SELECT count(*) FROM (SELECT 1 FROM tokens LIMIT 1) AS tokens_there";
const REVOKE: &str = "UPDATE tokens SET revoked_at = $3 \
     WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NULL";
const TOUCH: &str = "UPDATE tokens SET last_used_at = $3 WHERE workspace_id = $1 AND id = $2 \
     AND (last_used_at IS NULL OR last_used_at < $3)";

impl Store {
    /// Stores a token. Refuses an id that is taken, in any workspace.
    pub fn add_token(&self, ws: &WorkspaceId, token: &NewToken, now: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let NewToken { id, name, scope, digest, rate_per_second, expires_at } = token;
            for text in [id, name] {
                write::refuse_nul_in(text, || "the token".to_owned())?;
            }
            let params = [
                ws.into(),
                id.as_str().into(),
                name.as_str().into(),
                scope.name().into(),
                SqlValue::Blob((&digest.0[..]).into()),
                (*rate_per_second).into(),
                now.as_millisecond().into(),
                expires_at.map(Timestamp::as_millisecond).into(),
            ];
            session.execute(ADD, &params)?;
            Ok(())
        })
    }

    /// The tokens of a workspace, including expired and revoked ones, oldest first.
    pub fn tokens(&self, ws: &WorkspaceId) -> Result<Vec<ApiToken>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let sql = format!("{COLUMNS} WHERE workspace_id = $1 ORDER BY created_at, id");
            collect(session, &sql, &[ws.into()], row::token)
        })
    }

    /// The token with an id, in any workspace, even if expired or revoked.
    pub fn find_token(&self, id: &str) -> Result<Option<ApiToken>> {
        if id.contains('\0') {
            return Ok(None);
        }
        self.read(RowScope::Directory, |session| {
            first(session, &format!("{COLUMNS} WHERE id = $1"), &[id.into()], row::token)
        })
    }

    /// Whether any workspace has a token that is neither revoked nor expired.
    pub fn has_live_tokens(&self, now: Timestamp) -> Result<bool> {
        self.read(RowScope::Directory, |session| {
            let live = first(session, LIVE, &[now.as_millisecond().into()], |row| row.int(0))?;
            Ok(live.is_some_and(|count| count > 0))
        })
    }

    /// Whether any workspace has a token, even if expired or revoked.
    pub fn has_tokens(&self) -> Result<bool> {
        self.read(RowScope::Directory, has_any)
    }

    /// Revokes a token; returns whether it existed and was not revoked yet.
    pub fn revoke_token(&self, ws: &WorkspaceId, id: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(id, || "the token".to_owned())?;
            Ok(session.execute(REVOKE, &[ws.into(), id.into(), now.as_millisecond().into()])? > 0)
        })
    }

    /// Records the use of a token. The latest time is stored.
    pub fn touch_token(&self, ws: &WorkspaceId, id: &str, at: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(id, || "the token".to_owned())?;
            session.execute(TOUCH, &[ws.into(), id.into(), at.as_millisecond().into()])?;
            Ok(())
        })
    }
}

pub(super) fn has_any(session: &mut dyn SqlSession) -> Result<bool> {
    let some = first(session, ANY, &[], |row| row.int(0))?;
    Ok(some.is_some_and(|count| count > 0))
}
