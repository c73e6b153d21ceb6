//! Reads pages, their history and lists of them.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::{StoredPage, Visibility};

use super::{load, sources, workspaces, write};
use crate::driver::{RowScope, SqlValue, collect};
use crate::schema::VISIBILITIES;
use crate::store::Store;
use crate::types::*;
use crate::{Result, row};

const HISTORY: &str = "SELECT v.version, v.generation, v.op, v.title, v.visibility, \
     v.content_hash, v.content_bytes, v.chunk_count, v.created_at FROM pages p JOIN page_versions v \
     ON v.workspace_id = p.workspace_id AND v.page_id = p.page_id \
     WHERE p.workspace_id = $1 AND p.source_id = $2 AND p.slug = $3 ORDER BY v.version";
const DIGESTS: &str = "SELECT slug, content_hash, derive_version, deleted_at, origin, page_id, version FROM pages \
     WHERE workspace_id = $1 AND source_id = $2 ORDER BY slug";
const LIST: &str = "SELECT page_id, source_id, slug, version, generation, kind, title, page_type, \
     tags, effective_date, visibility, content_hash, chunk_count, origin, created_at, updated_at, \
     deleted_at FROM pages WHERE workspace_id = $1 AND (source_id, slug) > ($2, $3) \
     AND source_id <= $4";

const VISIBLE_PAGES: &str = "SELECT source_id, count(*) FROM pages WHERE workspace_id = $1 \
     AND deleted_at IS NULL AND visibility = 'world' GROUP BY source_id ORDER BY source_id";

/// Sorts after every source id, which consist of ASCII letters, digits and hyphens.
const LAST_SOURCE: &str = "~";

impl Store {
    pub fn page(&self, ws: &WorkspaceId, key: &PageKey) -> Result<Option<StoredPage>> {
        Ok(self.pages(ws, std::slice::from_ref(key))?.pop().flatten())
    }

    /// Live pages, in the order of `keys`.
    pub fn pages(&self, ws: &WorkspaceId, keys: &[PageKey]) -> Result<Vec<Option<StoredPage>>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let current = write::current(session, ws, keys.iter())?;
            let live: Vec<_> =
                current.into_iter().map(|found| found.filter(|c| !c.deleted)).collect();
            let wanted: Vec<PageVersion> = live
                .iter()
                .flatten()
                .map(|c| PageVersion { id: c.id, version: c.version })
                .collect();
            let mut loaded = load::pages(session, ws, &wanted)?.into_iter();
            Ok(live.into_iter().map(|found| found.and_then(|_| loaded.next().flatten())).collect())
        })
    }

    /// A page at a version; `None` for an unknown version or a deletion.
    pub fn page_at_version(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        version: u32,
    ) -> Result<Option<StoredPage>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let Some(current) = write::current(session, ws, std::iter::once(key))?.pop().flatten()
            else {
                return Ok(None);
            };
            let wanted = PageVersion { id: current.id, version };
            Ok(load::pages(session, ws, &[wanted])?.pop().flatten())
        })
    }

    /// All versions of a page, oldest first; empty for an unknown page.
    pub fn history(&self, ws: &WorkspaceId, key: &PageKey) -> Result<Vec<VersionInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let params = [ws.into(), key.source.as_str().into(), key.slug.as_str().into()];
            collect(session, HISTORY, &params, row::version_info)
        })
    }

    /// Pages after `after`, by source and slug, at most `limit`.
    pub fn list(
        &self,
        ws: &WorkspaceId,
        filter: &PageFilter,
        after: Option<&PageKey>,
        limit: usize,
    ) -> Result<Vec<PageInfo>> {
        let has_tag = self.tag_filter();
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            for text in [&filter.page_type, &filter.tag, &filter.prefix].into_iter().flatten() {
                write::refuse_nul_in(text, || "the filter".to_owned())?;
            }
            let start = list_start(filter, after);
            let last = filter.source.as_ref().map_or(LAST_SOURCE, SourceId::as_str);
            let mut sql = LIST.to_owned();
            let mut params: Vec<SqlValue<'_>> =
                vec![ws.into(), start.0.into(), start.1.into(), last.into()];
            let narrowings = [
                ("page_type = $$", filter.page_type.as_deref()),
                (has_tag, filter.tag.as_deref()),
                ("visibility = $$", filter.visibility.map(Visibility::name)),
                ("substr(slug, 1, length($$)) = $$", filter.prefix.as_deref()),
            ];
            for (clause, value) in narrowings {
                let Some(value) = value else { continue };
                params.push(value.into());
                sql.push_str(" AND ");
                sql.push_str(&clause.replace("$$", &format!("${}", params.len())));
            }
            if !filter.include_deleted {
                sql.push_str(" AND deleted_at IS NULL");
            }
            params.push(limit.into());
            sql.push_str(&format!(" ORDER BY source_id, slug LIMIT ${}", params.len()));
            collect(session, &sql, &params, row::info)
        })
    }

    /// The visibility of the last text of pages, deleted or not, in the order of `keys`; `None` for
    /// unknown pages.
    pub fn visibilities(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
    ) -> Result<Vec<Option<Visibility>>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let mut found = vec![None; keys.len()];
            let keys: Vec<SqlValue<'_>> = keys
                .iter()
                .flat_map(|key| [key.source.as_str().into(), key.slug.as_str().into()])
                .collect();
            session.lookup(&VISIBILITIES, ws, &keys, &mut |at, row| {
                found[at] = Some(row::name(row, 0, Visibility::from_name)?);
                Ok(())
            })?;
            Ok(found)
        })
    }

    /// The number of live pages visible to every caller, by source, in order. Sources without any
    /// are omitted.
    pub fn visible_pages(&self, ws: &WorkspaceId) -> Result<Vec<(SourceId, u64)>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, VISIBLE_PAGES, &[ws.into()], |row| {
                Ok((SourceId::new(&row.text(0)?)?, row::natural(row, 1)?))
            })
        })
    }

    /// The digests of all pages of a source, including deleted ones, by slug; an import compares
    /// files with them.
    pub fn digests(&self, ws: &WorkspaceId, source: &SourceId) -> Result<Vec<PageDigest>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            sources::require(session, ws, source)?;
            collect(session, DIGESTS, &[ws.into(), source.as_str().into()], row::digest)
        })
    }
}

/// The key after which the list starts: the later of the caller's and the filter's.
fn list_start<'a>(filter: &'a PageFilter, after: Option<&'a PageKey>) -> (&'a str, &'a str) {
    let caller_start = after.map_or(("", ""), |key| (key.source.as_str(), key.slug.as_str()));
    let first = filter.source.as_ref().map_or(("", ""), |source| (source.as_str(), ""));
    caller_start.max(first)
}
