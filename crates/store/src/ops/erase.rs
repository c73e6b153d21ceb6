//! Erases a page from every generation.
//!
//! The feed's roots and counts are corrected for every generation in which the page existed: an
//! index built from the old feed matches again once it drops the page, and no root depends on the
//! erased text.

use gbrain_core::id::{Generation, PageId, PageKey, WorkspaceId};
use jiff::Timestamp;

use super::{forget, workspaces, write};
use crate::driver::{SqlSession, SqlValue, collect};
use crate::plan::{ChangeOp, PastVersion, without_page};
use crate::schema::REWRITTEN_CHANGES;
use crate::store::Store;
use crate::types::*;
use crate::{Result, StoreError, row};

const VERSIONS: &str = "SELECT generation, op, content_hash, derive_version, chunk_count \
     FROM page_versions WHERE workspace_id = $1 AND page_id = $2 ORDER BY version";
const LATER_CHANGES: &str = "SELECT generation, pages, chunks, root, op, page_id, version, at \
     FROM changes WHERE workspace_id = $1 AND generation > $2 ORDER BY generation LIMIT 10000";
const ERASE: &str = "DELETE FROM pages WHERE workspace_id = $1 AND page_id = $2";

impl Store {
    /// Erases a page from every generation, as if it had never been written: its versions are
    /// deleted, and roots and counts of the feed are corrected. Only its number remains, for
    /// readers to drop. Records that name it lose its name and its text and nothing else; verdicts,
    /// counts and alerts do not change. One transaction.
    pub fn purge_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<PurgeCounts> {
        self.erase_page(ws, key, &PurgeKeys::default(), now)
    }

    /// Like [`Store::purge_page`], with keys: names that scrubbing changed are recognised by their
    /// hashes, and signed baselines are signed again.
    pub fn erase_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
        now: Timestamp,
    ) -> Result<PurgeCounts> {
        let purged = self.write(ws, |session| {
            let mut workspace_state = workspaces::workspace_state(session, ws)?;
            let found = write::current(session, ws, std::iter::once(key))?.pop().flatten();
            let id = found.ok_or_else(|| StoreError::NotFound(key.clone()))?.id;
            let versions = past_versions(session, ws, key, id)?;
            rewrite_feed(session, ws, id, &versions)?;
            let erased = forget::page(session, ws, key, id, keys)?;
            session.execute(ERASE, &[ws.into(), id.0.into()])?;
            workspace_state.head = without_page(workspace_state.head, &versions);
            let change = workspace_state.record(ChangeOp::Purge, Some(id), None);
            workspaces::save(session, ws, &workspace_state, &[change], now)?;
            let count = u32::try_from(versions.len()).unwrap_or(u32::MAX);
            let generation = change.head.generation;
            Ok(PurgeCounts { versions: count, generation, scrubbed: false, erased })
        })?;
        Ok(PurgeCounts { scrubbed: self.scrub()?, ..purged })
    }
}

fn past_versions(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
) -> Result<Vec<PastVersion>> {
    collect(session, VERSIONS, &[ws.into(), id.0.into()], |row| {
        Ok(PastVersion {
            generation: Generation(row.int(0)?),
            op: row::name(row, 1, VersionOp::from_name)?,
            member: member(key, row::hash(row, 2)?, row::small(row, 3)?),
            chunks: row::small(row, 4)?,
        })
    })
}

/// Corrects every change since the page's first version, in batches.
fn rewrite_feed(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: PageId,
    versions: &[PastVersion],
) -> Result<()> {
    let Some(first) = versions.first() else { return Ok(()) };
    let mut after = first.generation.0 - 1;
    loop {
        let mut values: Vec<SqlValue<'_>> = Vec::new();
        session.query(LATER_CHANGES, &[ws.into(), after.into()], &mut |row| {
            after = row.int(0)?;
            let head = without_page(row::head(row)?, versions);
            let is_its_own = row.opt_int(5)? == Some(id.0);
            let (op, version) = match is_its_own {
                true => (ChangeOp::Purge.name().to_owned(), None),
                false => (row.text(4)?, row.opt_int(6)?),
            };
            values.extend([
                head.generation.0.into(),
                op.into(),
                row.opt_int(5)?.into(),
                version.into(),
                head.root.to_hex().into(),
                head.pages.into(),
                head.chunks.into(),
                row.int(7)?.into(),
            ]);
            Ok(())
        })?;
        if values.is_empty() {
            return Ok(());
        }
        session.insert(&REWRITTEN_CHANGES, ws, &values)?;
    }
}
