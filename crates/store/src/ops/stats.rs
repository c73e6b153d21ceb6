//! Counts of a corpus.

use gbrain_core::id::{SourceId, WorkspaceId};
use gbrain_core::link::LinkType;

use super::workspaces;
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::store::Store;
use crate::types::{CorpusStats, SourceStats};
use crate::{Result, row};

const SOURCES: &str = "SELECT s.id, \
     count(CASE WHEN p.page_id IS NOT NULL AND p.deleted_at IS NULL THEN 1 END), \
     count(p.deleted_at), \
     coalesce(CAST(sum(CASE WHEN p.deleted_at IS NULL THEN p.chunk_count END) AS bigint), 0), \
     coalesce(CAST(sum(CASE WHEN p.deleted_at IS NULL THEN p.content_bytes END) AS bigint), 0) \
     FROM sources s LEFT JOIN pages p ON p.workspace_id = s.workspace_id AND p.source_id = s.id \
     WHERE s.workspace_id = $1 AND s.removed_at IS NULL GROUP BY s.id ORDER BY s.id";
const TYPES: &str = "SELECT page_type, count(*) FROM pages \
     WHERE workspace_id = $1 AND deleted_at IS NULL GROUP BY page_type";
const VERSIONS: &str = "SELECT count(*), coalesce(CAST(sum(content_bytes) AS bigint), 0) \
     FROM page_versions WHERE workspace_id = $1";
const LINKS: &str = "SELECT l.link_type, count(*) FROM pages p JOIN links l \
     ON l.workspace_id = p.workspace_id AND l.page_id = p.page_id AND l.version = p.version \
     WHERE p.workspace_id = $1 AND p.deleted_at IS NULL GROUP BY l.link_type";
const ALIASES: &str = "SELECT count(*) FROM pages p JOIN aliases a \
     ON a.workspace_id = p.workspace_id AND a.page_id = p.page_id AND a.version = p.version \
     WHERE p.workspace_id = $1 AND p.deleted_at IS NULL";
const TAKES: &str = "SELECT count(*) FROM pages p JOIN takes t \
     ON t.workspace_id = p.workspace_id AND t.page_id = p.page_id AND t.version = p.version \
     WHERE p.workspace_id = $1 AND p.deleted_at IS NULL";

impl Store {
    pub fn stats(&self, ws: &WorkspaceId) -> Result<CorpusStats> {
        let size = self.size_query();
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let mut types = collect(session, TYPES, &[ws.into()], |row| {
                Ok((row.text(0)?, row::natural(row, 1)?))
            })?;
            types.sort();
            let mut links = collect(session, LINKS, &[ws.into()], |row| {
                Ok((row::name(row, 0, LinkType::from_name)?, row::natural(row, 1)?))
            })?;
            links.sort_by_key(|(link_type, _)| link_type.name());
            let versions = first(session, VERSIONS, &[ws.into()], |row| {
                Ok((row::natural(row, 0)?, row::natural(row, 1)?))
            })?;
            let (versions, history_bytes) = versions.unwrap_or_default();
            Ok(CorpusStats {
                sources: collect(session, SOURCES, &[ws.into()], source)?,
                types,
                versions,
                links,
                aliases: count(session, ALIASES, ws)?,
                takes: count(session, TAKES, ws)?,
                history_bytes,
                database_bytes: first(session, size, &[], |row| row::natural(row, 0))?.unwrap_or(0),
            })
        })
    }
}

fn source(row: &dyn SqlRow) -> Result<SourceStats> {
    Ok(SourceStats {
        source: SourceId::new(&row.text(0)?)?,
        pages: row::natural(row, 1)?,
        deleted: row::natural(row, 2)?,
        chunks: row::natural(row, 3)?,
        bytes: row::natural(row, 4)?,
    })
}

fn count(session: &mut dyn SqlSession, sql: &str, ws: &WorkspaceId) -> Result<u64> {
    Ok(first(session, sql, &[ws.into()], |row| row::natural(row, 0))?.unwrap_or(0))
}
