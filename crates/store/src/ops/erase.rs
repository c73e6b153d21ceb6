//! Erasing a page from every generation.
//!
//! The feed's roots and counts are set right for every generation in which the page lived: what
//! was built from the feed before matches again once the reader drops the page, and no root keeps
//! a trace of the erased text.

use gbrain_core::id::{Generation, PageId, PageKey, WorkspaceId};
use jiff::Timestamp;

use super::{forget, workspaces, write};
use crate::driver::{Session, Value, collect};
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
    /// Erases a page from every generation, as if it had never been written: its versions go, and
    /// roots and counts of the feed are set right. Only its number stays, for readers to drop. Records that name it
    /// lose its name and its text and nothing else; verdicts, counts and alerts stay as they are. One transaction.
    pub fn purge_page(&self, ws: &WorkspaceId, key: &PageKey, now: Timestamp) -> Result<Purged> {
        self.erase_page(ws, key, &PurgeKeys::default(), now)
    }

    /// [`Store::purge_page`] by an owner who has keys: names that scrubbing changed are recognised by their hashes, and
    /// signed baselines are signed again.
    pub fn erase_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
        now: Timestamp,
    ) -> Result<Purged> {
        let purged = self.write(ws, |session| {
            let mut ledger = workspaces::ledger(session, ws)?;
            let found = write::current(session, ws, std::iter::once(key))?.pop().flatten();
            let id = found.ok_or_else(|| StoreError::NotFound(key.clone()))?.id;
            let versions = past_versions(session, ws, key, id)?;
            rewrite_feed(session, ws, id, &versions)?;
            let erased = forget::page(session, ws, key, id, keys)?;
            session.execute(ERASE, &[ws.into(), id.0.into()])?;
            ledger.head = without_page(ledger.head, &versions);
            let change = ledger.record(ChangeOp::Purge, Some(id), None);
            workspaces::save(session, ws, &ledger, &[change], now)?;
            let count = u32::try_from(versions.len()).unwrap_or(u32::MAX);
            let generation = change.head.generation;
            Ok(Purged { versions: count, generation, scrubbed: false, erased })
        })?;
        Ok(Purged { scrubbed: self.scrub()?, ..purged })
    }
}

fn past_versions(
    session: &mut dyn Session,
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

/// Sets every change since the page's first right, some thousands at a time.
fn rewrite_feed(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    id: PageId,
    versions: &[PastVersion],
) -> Result<()> {
    let Some(first) = versions.first() else { return Ok(()) };
    let mut after = first.generation.0 - 1;
    loop {
        let mut values: Vec<Value<'_>> = Vec::new();
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
