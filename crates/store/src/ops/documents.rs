//! Stores baselines and qrels by name.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{workspaces, write};
use crate::Result;
use crate::document::{Document, DocumentInfo, DocumentKind};
use crate::driver::{RowScope, collect, first};
use crate::row;
use crate::store::Store;

const ADD: &str = "INSERT INTO documents (workspace_id, kind, name, hash, bytes, created_at, body) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, kind, name) DO NOTHING";
const REPLACE: &str = "UPDATE documents SET hash = $4, bytes = $5, created_at = $6, body = $7 \
     WHERE workspace_id = $1 AND kind = $2 AND name = $3";
const GET: &str = "SELECT name, hash, bytes, created_at, body FROM documents \
     WHERE workspace_id = $1 AND kind = $2 AND name = $3";
const LIST: &str = "SELECT name, hash, bytes, created_at FROM documents \
     WHERE workspace_id = $1 AND kind = $2 ORDER BY name";
const DELETE: &str = "DELETE FROM documents WHERE workspace_id = $1 AND kind = $2 AND name = $3";

impl Store {
    /// Stores a document under a name; returns whether it replaced one.
    pub fn put_document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            for text in [name, body] {
                write::refuse_nul_in(text, || format!("the {kind} document"))?;
            }
            let hash = Hash::of(body.as_bytes());
            let params = [
                ws.into(),
                kind.name().into(),
                name.into(),
                (&hash).into(),
                body.len().into(),
                now.as_millisecond().into(),
                body.into(),
            ];
            loop {
                if session.execute(ADD, &params)? > 0 {
                    return Ok(false);
                }
                // No row to replace means that it was deleted concurrently.
                if session.execute(REPLACE, &params)? > 0 {
                    return Ok(true);
                }
            }
        })
    }

    pub fn document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
    ) -> Result<Option<Document>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(name, || format!("the name of a {kind} document"))?;
            first(session, GET, &[ws.into(), kind.name().into(), name.into()], |row| {
                Ok(Document { info: row::document_info(row)?, body: row.text(4)? })
            })
        })
    }

    /// The documents of a kind, by name.
    pub fn documents(&self, ws: &WorkspaceId, kind: DocumentKind) -> Result<Vec<DocumentInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, LIST, &[ws.into(), kind.name().into()], row::document_info)
        })
    }

    /// Deletes a document; returns whether it existed.
    pub fn delete_document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(name, || format!("the name of a {kind} document"))?;
            Ok(session.execute(DELETE, &[ws.into(), kind.name().into(), name.into()])? > 0)
        })
    }
}
