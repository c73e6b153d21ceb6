//! The change feed, folded: the difference between generation `after` and `upto`.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::id::{Generation, PageId, WorkspaceId};

use super::{load, workspaces};
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::plan::{ChangeOp, PlannedChange};
use crate::store::Store;
use crate::types::*;
use crate::{Result, StoreError, row};

const HEAD_AT: &str = "SELECT generation, pages, chunks, root FROM changes \
     WHERE workspace_id = $1 AND generation = $2";
const CHANGES: &str = "SELECT c.generation, c.pages, c.chunks, c.root, c.op, c.page_id, \
     c.version, v.content_bytes FROM changes c LEFT JOIN page_versions v \
     ON v.workspace_id = c.workspace_id AND v.page_id = c.page_id AND v.version = c.version \
     WHERE c.workspace_id = $1 AND c.generation > $2 AND c.generation <= $3 \
     ORDER BY c.generation LIMIT $4";
const PURGED: &str = "SELECT DISTINCT page_id FROM changes \
     WHERE workspace_id = $1 AND op = 'purge' AND generation > $2";

impl Store {
    /// [`Store::read_feed`] without an end.
    pub fn changes(
        &self,
        ws: &WorkspaceId,
        after: Generation,
        limit: usize,
        max_bytes: usize,
    ) -> Result<ChangeBatch> {
        self.read_feed(ws, &FeedRange { after, until: None, max_changes: limit, max_bytes })
    }

    /// The corpus at a generation; `None` for a future one.
    pub fn head_at(&self, ws: &WorkspaceId, generation: Generation) -> Result<Option<CorpusHead>> {
        self.read(RowScope::Workspace(ws), |session| head_at(session, ws, generation))
    }

    /// Reads a part of the feed, folded, in one snapshot.
    pub fn read_feed(&self, ws: &WorkspaceId, range: &FeedRange) -> Result<ChangeBatch> {
        self.read(RowScope::Workspace(ws), |session| {
            let head = workspaces::workspace_state(session, ws)?.head;
            let changes = changes(session, ws, range)?;
            let at = match changes.last() {
                Some(last) => last.head,
                None => head_without_changes(session, ws, range.after, head)?,
            };
            let mut folded = ChangeFold::of(&changes);
            for purged in
                collect(session, PURGED, &[ws.into(), range.after.0.into()], |row| row.int(0))?
            {
                folded.remove(PageId(purged));
            }
            let upserts = folded.load(session, ws)?;
            Ok(ChangeBatch {
                upto: at.generation,
                root: at.root,
                pages: at.pages,
                chunks: at.chunks,
                head: head.generation,
                upserts,
                removals: folded.removals.into_iter().collect(),
                sources_changed: changes.iter().any(|change| change.op == ChangeOp::Source),
            })
        })
    }
}

pub(super) fn head_at(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    generation: Generation,
) -> Result<Option<CorpusHead>> {
    workspaces::workspace_state(session, ws)?;
    if generation == Generation(0) {
        return Ok(Some(CorpusHead::default()));
    }
    first(session, HEAD_AT, &[ws.into(), generation.0.into()], row::head)
}

/// The head at `after` when no change follows in the range.
fn head_without_changes(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    after: Generation,
    head: CorpusHead,
) -> Result<CorpusHead> {
    if after >= head.generation {
        Ok(head)
    } else {
        Ok(head_at(session, ws, after)?.unwrap_or(head))
    }
}

/// Changes of the range, cut where their text exceeds its bytes.
fn changes(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    range: &FeedRange,
) -> Result<Vec<PlannedChange>> {
    let until = range.until.map_or(i64::MAX, |until| until.0);
    let limit = range.max_changes.max(1);
    let params = [ws.into(), range.after.0.into(), until.into(), limit.into()];
    let rows = collect(session, CHANGES, &params, |row| Ok((change(row)?, row.opt_int(7)?)))?;
    let mut bytes = 0;
    let mut included = Vec::with_capacity(rows.len());
    for (change, size) in rows {
        bytes += usize::try_from(size.unwrap_or(0)).unwrap_or(usize::MAX);
        if bytes > range.max_bytes && !included.is_empty() {
            break;
        }
        included.push(change);
    }
    Ok(included)
}

fn change(row: &dyn SqlRow) -> Result<PlannedChange> {
    let version = match row.opt_int(6)? {
        Some(_) => Some(row::small(row, 6)?),
        None => None,
    };
    Ok(PlannedChange {
        head: row::head(row)?,
        op: row::name(row, 4, ChangeOp::from_name)?,
        page: row.opt_int(5)?.map(PageId),
        version,
    })
}

/// The final state of each page in a list of changes.
#[derive(Debug, Default)]
struct ChangeFold {
    /// By the generation of the page's last change.
    upserts: BTreeMap<Generation, PageVersion>,
    removals: BTreeSet<PageId>,
    last: BTreeMap<PageId, Generation>,
}

impl ChangeFold {
    fn of(changes: &[PlannedChange]) -> Self {
        let mut folded = Self::default();
        for change in changes {
            let Some(page) = change.page else { continue };
            match (change.op, change.version) {
                (ChangeOp::Write, Some(version)) => {
                    folded.upsert(change.head.generation, PageVersion { id: page, version });
                }
                _ => folded.remove(page),
            }
        }
        folded
    }

    fn upsert(&mut self, generation: Generation, at: PageVersion) {
        self.forget(at.id);
        self.removals.remove(&at.id);
        self.upserts.insert(generation, at);
        self.last.insert(at.id, generation);
    }

    fn remove(&mut self, page: PageId) {
        self.forget(page);
        self.removals.insert(page);
    }

    fn forget(&mut self, page: PageId) {
        if let Some(generation) = self.last.remove(&page) {
            self.upserts.remove(&generation);
        }
    }

    fn load(
        &self,
        session: &mut dyn SqlSession,
        ws: &WorkspaceId,
    ) -> Result<Vec<gbrain_core::page::StoredPage>> {
        let wanted: Vec<PageVersion> = self.upserts.values().copied().collect();
        let found = load::pages(session, ws, &wanted)?;
        let missing = |at: &PageVersion| {
            StoreError::corrupt(format!("version {} of page {} is gone", at.version, at.id.0))
        };
        let pages = found.into_iter().zip(&wanted);
        pages.map(|(page, at)| page.ok_or_else(|| missing(at))).collect()
    }
}
