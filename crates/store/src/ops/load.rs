//! Loads whole pages, many at once: one statement per table, not per page.

use gbrain_core::id::WorkspaceId;
use gbrain_core::page::{Page, StoredPage};

use crate::driver::{KeyLookup, RowScope, SqlRow, SqlSession, SqlValue};
use crate::schema::{ALIAS_ROWS, CHUNK_ROWS, LINK_ROWS, TAKE_ROWS, TEXTS, VERSION_ROWS};
use crate::store::Store;
use crate::types::PageVersion;
use crate::{Result, row};

impl Store {
    /// The texts of versions, in the given order; for snippets.
    pub fn texts(&self, ws: &WorkspaceId, versions: &[PageVersion]) -> Result<Vec<Option<String>>> {
        self.read(RowScope::Workspace(ws), |session| {
            super::workspaces::workspace_state(session, ws)?;
            let mut found = vec![None; versions.len()];
            session.lookup(&TEXTS, ws, &key_values(versions), &mut |at, row| {
                found[at] = row.opt_text(0)?;
                Ok(())
            })?;
            Ok(found)
        })
    }
}

/// Pages at versions, in the given order; `None` where there is no such text.
pub(super) fn pages(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    versions: &[PageVersion],
) -> Result<Vec<Option<StoredPage>>> {
    let found = derived(session, ws, versions)?;
    Ok(found.into_iter().map(|found| found.map(|(page, _)| page)).collect())
}

/// Like [`pages`], each with the version of its derivation.
pub(super) fn derived(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    versions: &[PageVersion],
) -> Result<Vec<Option<(StoredPage, u32)>>> {
    let mut found = vec![None; versions.len()];
    let keys = key_values(versions);
    session.lookup(&VERSION_ROWS, ws, &keys, &mut |at, row| {
        found[at] = row::version(row)?;
        Ok(())
    })?;
    let mut part = |lookup: &KeyLookup, add: fn(&mut Page, &dyn SqlRow) -> Result<()>| {
        session.lookup(lookup, ws, &keys, &mut |at, row| match &mut found[at] {
            Some((stored, _)) => add(&mut stored.page, row),
            None => Ok(()),
        })
    };
    part(&CHUNK_ROWS, |page, row| row::chunk(row).map(|chunk| page.chunks.push(chunk)))?;
    part(&LINK_ROWS, |page, row| row::link(row).map(|link| page.links.push(link)))?;
    part(&ALIAS_ROWS, |page, row| row.text(0).map(|alias| page.aliases.push(alias)))?;
    part(&TAKE_ROWS, |page, row| row::take(row).map(|take| page.takes.push(take)))?;
    Ok(found)
}

pub(super) fn key_values(versions: &[PageVersion]) -> Vec<SqlValue<'static>> {
    versions.iter().flat_map(|at| [at.id.0.into(), at.version.into()]).collect()
}
