//! Labels, one per query and page.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{counters, workspaces, write};
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::label::{NewLabel, StoredLabel};
use crate::store::Store;
use crate::{Result, StoreError, row};

const PUT: &str = "INSERT INTO labels (workspace_id, id, query_hash, query, source_id, slug, \
     grade, note, labelled_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (workspace_id, query_hash, source_id, slug) DO UPDATE SET \
     grade = excluded.grade, note = excluded.note, labelled_by = excluded.labelled_by, \
     created_at = excluded.created_at RETURNING id";
const LIST: &str = "SELECT id, query, source_id, slug, grade, note, labelled_by, created_at \
     FROM labels WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
const DELETE: &str = "DELETE FROM labels WHERE workspace_id = $1 AND id = $2";

impl Store {
    /// Stores labels, all or none; returns their numbers, in order. A label for the same query and
    /// page is replaced and keeps its number. New numbers increase in the order in which labels
    /// become visible.
    pub fn put_labels(
        &self,
        ws: &WorkspaceId,
        labels: &[NewLabel],
        by: &str,
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(labels, by)?;
            if labels.is_empty() {
                return Ok(Vec::new());
            }
            let last = counters::take(session, ws, "labels", labels.len())?;
            let before = last - labels.len() as i64;
            let numbered = (before + 1..).zip(labels);
            numbered.map(|(id, label)| put_one(session, ws, id, label, by, now)).collect()
        })
    }

    /// Labels with a higher number than `after`, by number, at most `limit`.
    pub fn labels(
        &self,
        ws: &WorkspaceId,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<StoredLabel>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(
                session,
                LIST,
                &[ws.into(), after.unwrap_or(0).into(), limit.into()],
                row::label,
            )
        })
    }

    /// Deletes a label; returns whether it existed.
    pub fn delete_label(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            Ok(session.execute(DELETE, &[ws.into(), id.into()])? > 0)
        })
    }
}

fn put_one(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    label: &NewLabel,
    by: &str,
    now: Timestamp,
) -> Result<i64> {
    let NewLabel { query, key, grade, note } = label;
    let hash = Hash::of(query.as_bytes());
    let params = [
        ws.into(),
        id.into(),
        (&hash).into(),
        query.as_str().into(),
        key.source.as_str().into(),
        key.slug.as_str().into(),
        (*grade).into(),
        note.as_deref().into(),
        by.into(),
        now.as_millisecond().into(),
    ];
    first(session, PUT, &params, |row| row.int(0))?
        .ok_or_else(|| StoreError::corrupt("a label got no number"))
}

fn refuse_nul(labels: &[NewLabel], by: &str) -> Result<()> {
    let texts = labels.iter().flat_map(|label| [Some(&label.query), label.note.as_ref()]);
    for text in texts.flatten().map(String::as_str).chain([by]) {
        write::refuse_nul_in(text, || "a label".to_owned())?;
    }
    Ok(())
}
