//! The names of a page to erase, and of pages that could be confused with it.

use std::collections::BTreeSet;

use gbrain_core::erasure::{ErasedPage, ErasedPageParts, IdentityHash};
use gbrain_core::id::{PageId, PageKey, Slug, SourceId, WorkspaceId};

use crate::driver::{SqlSession, collect};
use crate::types::PurgeKeys;
use crate::{Result, StoreError};

const PASSAGES: &str =
    "SELECT DISTINCT chunk_id FROM chunks WHERE workspace_id = $1 AND page_id = $2";
const TEXTS: &str = "SELECT content FROM page_versions \
     WHERE workspace_id = $1 AND page_id = $2 AND content IS NOT NULL ORDER BY version";
const NAMES: &str = "SELECT title FROM page_versions WHERE workspace_id = $1 AND page_id = $2 \
     UNION SELECT alias FROM aliases WHERE workspace_id = $1 AND page_id = $2";
const OTHER_NAMES: &str = "SELECT title FROM pages WHERE workspace_id = $1 AND page_id <> $2 \
     UNION ALL SELECT alias FROM aliases WHERE workspace_id = $1 AND page_id <> $2";
const OTHER_PAGES: &str =
    "SELECT source_id, slug FROM pages WHERE workspace_id = $1 AND page_id <> $2";

/// Collects all identifiers of a page.
pub(super) fn erased_page(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
    keys: &PurgeKeys,
) -> Result<ErasedPage> {
    let params = [ws.into(), id.0.into()];
    let texts = collect(session, TEXTS, &params, |row| row.text(0))?;
    let chunk_ids = collect(session, PASSAGES, &params, |row| row.text(0))?;
    Ok(ErasedPage::new(ErasedPageParts {
        key: key.clone(),
        id,
        chunk_ids: chunk_ids.into_iter().collect(),
        hash: keys.identity.as_ref().map(|identity| IdentityHash::new(identity, key)),
        others: others(session, ws, key, id)?,
        own_names: own_names(session, ws, id)?,
        texts,
    }))
}

/// Titles and aliases of the page that no other page has.
fn own_names(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: PageId,
) -> Result<BTreeSet<String>> {
    let params = [ws.into(), id.0.into()];
    let names = collect(session, NAMES, &params, |row| Ok(row.text(0)?.to_lowercase()))?;
    let mut own: BTreeSet<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    session.query(OTHER_NAMES, &params, &mut |row| {
        own.remove(&row.text(0)?.to_lowercase());
        Ok(())
    })?;
    Ok(own)
}

/// The other pages that could be confused with this one: in any source, with a slug that begins
/// with its slug.
fn others(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
) -> Result<Vec<PageKey>> {
    let mut others = Vec::new();
    session.query(OTHER_PAGES, &[ws.into(), id.0.into()], &mut |row| {
        let (source, slug) = (row.text(0)?, row.text(1)?);
        if slug.starts_with(key.slug.as_str()) {
            let wrong = |error: gbrain_core::id::IdError| StoreError::corrupt(error.to_string());
            let source = SourceId::new(&source).map_err(wrong)?;
            others.push(PageKey::new(source, Slug::new(&slug).map_err(wrong)?));
        }
        Ok(())
    })?;
    Ok(others)
}
