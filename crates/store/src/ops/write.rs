//! Writes, deletes and restores pages: load the current state, plan, write the rows of the plan.

use std::collections::{BTreeSet, HashMap};

use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::page::{DERIVE_VERSION, Page};
use gbrain_core::request::Viewer;
use jiff::Timestamp;

use super::texts::{self, BeforeWrite};
use super::{leases, load, sources, workspaces};
use crate::driver::{RowScope, SqlSession, SqlValue};
use crate::job::JobStep;
use crate::plan::{self, CurrentPage, NewVersion, WritePlan};
use crate::schema::{ALIASES, CHUNKS, CURRENT, LINKS, PAGES, TAKES, VERSIONS};
use crate::store::Store;
use crate::types::*;
use crate::{Result, StoreError, row};

/// Maximum text of versions in one insert.
const BATCH_BYTES: usize = 16 << 20;

const MOVE: &str = "UPDATE pages SET origin = $3 WHERE workspace_id = $1 AND page_id = $2";
/// Every version with this text gets it again.
const REPAIR: &str = "UPDATE page_versions SET content = $3 WHERE workspace_id = $1 \
     AND page_id = $2 AND content_hash = $4 AND derive_version = $5 AND content IS NOT NULL \
     AND content_bytes = $6";
const DELETED_VERSIONS: &str = "INSERT INTO page_versions (workspace_id, page_id, version, \
     generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, \
     date_origin, visibility, chunk_count, content_bytes, created_at) \
     SELECT p.workspace_id, p.page_id, c.version, c.generation, 'delete', p.kind, p.page_type, \
     p.title, p.tags, p.content_hash, p.derive_version, p.effective_date, p.date_origin, \
     p.visibility, 0, 0, c.at FROM changes c JOIN pages p ON p.workspace_id = c.workspace_id \
     AND p.page_id = c.page_id \
     WHERE c.workspace_id = $1 AND c.generation > $2 AND c.generation <= $3";
const DELETED_PAGES: &str = "UPDATE pages SET version = c.version, generation = c.generation, \
     deleted_at = c.at, updated_at = c.at FROM changes c WHERE c.workspace_id = $1 \
     AND c.generation > $2 AND c.generation <= $3 AND pages.workspace_id = c.workspace_id \
     AND pages.page_id = c.page_id";

/// The result of writes if no stored text were damaged.
pub(super) struct WritePreview<'a> {
    /// The outcomes, if there is nothing to write.
    pub(super) unchanged: Option<Vec<WriteOutcome>>,
    /// The versions that writes repeat, with the text that they must have.
    pub(super) same: Vec<(PageVersion, &'a str)>,
}

impl Store {
    /// Restores the last text of a deleted page. A live page is not changed.
    pub fn restore_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        self.restore_page_by(Viewer::Trusted, ws, key, now)
    }

    /// Deletes pages, all or none; outcomes in the order of `keys`. Their history stays.
    pub fn delete_pages(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        self.delete_pages_by(Viewer::Trusted, ws, keys, now)
    }

    /// Writes pages, all or none; outcomes in the order of `writes`. Pages whose live version has
    /// the same text, kind and derivation are not changed, and if that is all of them no write
    /// transaction is opened. A page may occur twice: the later one wins.
    ///
    /// A stored text with the same hash that is damaged is repaired: its version gets the text
    /// again, and the page gets a new version, so that the feed and the index follow.
    pub fn write_pages(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        self.write_pages_by(Viewer::Trusted, ws, writes, now)
    }

    /// [`Store::write_pages`] on behalf of a caller. For an untrusted one, a page whose last text
    /// is private in the write transaction, deleted or not, is
    /// [`Hidden`](crate::StoreError::Hidden), and nothing is written.
    pub fn write_pages_by(
        &self,
        writer: Viewer,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        refuse_nul(writes)?;
        match self.before_write(ws, writes, writer)? {
            BeforeWrite::Unchanged(outcomes) => Ok(outcomes),
            BeforeWrite::Write(damaged) => {
                self.write(ws, |session| pages(session, ws, writes, &damaged, writer, now))
            }
        }
    }

    /// [`Store::write_pages_by`] for one page that its writer has read: if the page has another
    /// version in the write transaction, it is [`Stale`](crate::StoreError::Stale) and nothing is
    /// written. Version 0 is a page that has never existed.
    pub fn write_page_at(
        &self,
        writer: Viewer,
        ws: &WorkspaceId,
        write: &PageWrite<'_>,
        version: u32,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        let writes = std::slice::from_ref(write);
        refuse_nul(writes)?;
        let damaged = match self.before_write(ws, writes, writer)? {
            BeforeWrite::Unchanged(_) => Vec::new(),
            BeforeWrite::Write(damaged) => damaged,
        };
        self.write(ws, |session| {
            let key = &write.page.key;
            let found = current(session, ws, std::iter::once(key))?;
            refuse_hidden(writes, &found, writer)?;
            let found = found.into_iter().flatten().next().map_or(0, |found| found.version);
            if found != version {
                return Err(StoreError::Stale { key: key.clone(), version: found });
            }
            let mut outcomes = pages(session, ws, writes, &damaged, writer, now)?;
            Ok(outcomes.pop().expect("one write has one outcome"))
        })
    }

    /// [`Store::delete_pages`] on behalf of a caller. For an untrusted one, a page whose last text
    /// is private in the write transaction is [`Unknown`](DeleteOutcome::Unknown).
    pub fn delete_pages_by(
        &self,
        writer: Viewer,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        let results = self.read(RowScope::Workspace(ws), |session| {
            let workspace_state = workspaces::workspace_state(session, ws)?;
            let found = visible_to(session, ws, keys.iter(), writer)?;
            let plan = plan::plan_deletions(workspace_state, found, keys);
            Ok(plan.deletions.is_empty().then_some(plan.outcomes))
        })?;
        match results {
            Some(outcomes) => Ok(outcomes),
            None => self.write(ws, |session| deletions(session, ws, keys, writer, now)),
        }
    }

    /// [`Store::restore_page`] on behalf of a caller. For an untrusted one, a page whose last text
    /// is private in the write transaction is [`NotFound`](crate::StoreError::NotFound).
    pub fn restore_page_by(
        &self,
        writer: Viewer,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        self.write(ws, |session| {
            let workspace_state = workspaces::workspace_state(session, ws)?;
            let found = visible_to(session, ws, std::iter::once(key), writer)?.pop().flatten();
            let found = found.ok_or_else(|| StoreError::NotFound(key.clone()))?;
            let CurrentPage { id, version, generation, deleted, .. } = found;
            if !deleted {
                return Ok(WriteOutcome { id, version, generation, kind: WriteKind::Unchanged });
            }
            sources::require(session, ws, &key.source)?;
            // Invariant: only a version with text can be deleted, so the one before has it.
            let last = PageVersion { id, version: version - 1 };
            let (last, derive_version) = load::derived(session, ws, &[last])?
                .pop()
                .flatten()
                .ok_or_else(|| StoreError::corrupt(format!("{key} has no text to restore")))?;
            if !texts::is_sound(&last.page) {
                return Err(StoreError::corrupt(format!(
                    "the last text of {key} has not its hash any more"
                )));
            }
            let plan = plan::plan_restore(workspace_state, &found, &last, derive_version);
            apply(session, ws, &plan, now)?;
            Ok(plan.outcomes[0])
        })
    }

    /// [`Store::write_pages_in_job`] on behalf of a caller, like [`Store::write_pages_by`].
    pub fn write_pages_in_job_by(
        &self,
        writer: Viewer,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        refuse_nul(writes)?;
        let damaged = match self.before_write(ws, writes, writer)? {
            BeforeWrite::Unchanged(outcomes) => {
                self.write_beside(ws, |session| {
                    leases::checkpoint(session, ws, step, &outcomes, now)
                })?;
                return Ok(outcomes);
            }
            BeforeWrite::Write(damaged) => damaged,
        };
        self.write(ws, |session| {
            leases::require(session, ws, step)?;
            let outcomes = pages(session, ws, writes, &damaged, writer, now)?;
            // Last, so that the worker's heartbeats do not wait for its own pages.
            leases::checkpoint(session, ws, step, &outcomes, now)?;
            Ok(outcomes)
        })
    }
}

pub(super) fn preview<'a>(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    writes: &[PageWrite<'a>],
    writer: Viewer,
) -> Result<WritePreview<'a>> {
    let workspace_state = workspaces::workspace_state(session, ws)?;
    let found = current(session, ws, writes.iter().map(|write| &write.page.key))?;
    refuse_hidden(writes, &found, writer)?;
    let same = writes.iter().zip(&found).filter_map(|(write, found)| {
        let current =
            found.as_ref().filter(|found| plan::repeats_current_text(found, write.page))?;
        Some((current.at(), write.page.content.as_str()))
    });
    let same = same.collect();
    let plan = plan::plan_writes(workspace_state, found, writes);
    Ok(WritePreview { unchanged: plan.is_empty().then_some(plan.outcomes), same })
}

pub(super) fn pages(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    writes: &[PageWrite<'_>],
    damaged: &[PageVersion],
    writer: Viewer,
    now: Timestamp,
) -> Result<Vec<WriteOutcome>> {
    let workspace_state = workspaces::workspace_state(session, ws)?;
    let wanted: BTreeSet<_> = writes.iter().map(|write| &write.page.key.source).collect();
    for source in wanted {
        sources::require(session, ws, source)?;
    }
    let mut found = current(session, ws, writes.iter().map(|write| &write.page.key))?;
    refuse_hidden(writes, &found, writer)?;
    for current in found.iter_mut().flatten() {
        current.is_damaged = damaged.contains(&current.at());
    }
    let plan = plan::plan_writes(workspace_state, found, writes);
    apply(session, ws, &plan, now)?;
    Ok(plan.outcomes)
}

/// Refuses pages that are hidden from an untrusted writer because their last text is private.
/// Checked in the write transaction, so a page that has just become private is not overwritten.
fn refuse_hidden(
    writes: &[PageWrite<'_>],
    found: &[Option<CurrentPage>],
    writer: Viewer,
) -> Result<()> {
    let is_hidden = |found: &Option<CurrentPage>| {
        found.as_ref().is_some_and(|current| !current.is_visible_to(writer))
    };
    match writes.iter().zip(found).find(|(_, found)| is_hidden(found)) {
        Some((write, _)) => Err(StoreError::Hidden(write.page.key.clone())),
        None => Ok(()),
    }
}

/// The current state of pages, as visible to a caller: private ones do not exist for untrusted
/// callers.
fn visible_to<'k>(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    keys: impl ExactSizeIterator<Item = &'k PageKey>,
    caller: Viewer,
) -> Result<Vec<Option<CurrentPage>>> {
    let found = current(session, ws, keys)?;
    Ok(found.into_iter().map(|found| found.filter(|found| found.is_visible_to(caller))).collect())
}

pub(super) fn deletions(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    keys: &[PageKey],
    writer: Viewer,
    now: Timestamp,
) -> Result<Vec<DeleteOutcome>> {
    let workspace_state = workspaces::workspace_state(session, ws)?;
    let found = visible_to(session, ws, keys.iter(), writer)?;
    let plan = plan::plan_deletions(workspace_state, found, keys);
    workspaces::save(session, ws, &plan.workspace_state, &plan.changes, now)?;
    // The feed now names exactly the deleted pages, so both tables are updated from it at once.
    let (from, to) = (workspace_state.head.generation.0, plan.workspace_state.head.generation.0);
    for sql in [DELETED_VERSIONS, DELETED_PAGES] {
        session.execute(sql, &[ws.into(), from.into(), to.into()])?;
    }
    Ok(plan.outcomes)
}

/// The current state of pages, in the order of `keys`.
pub(super) fn current<'k>(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    keys: impl ExactSizeIterator<Item = &'k PageKey>,
) -> Result<Vec<Option<CurrentPage>>> {
    let mut found = vec![None; keys.len()];
    let keys: Vec<SqlValue<'_>> =
        keys.flat_map(|key| [key.source.as_str().into(), key.slug.as_str().into()]).collect();
    session.lookup(&CURRENT, ws, &keys, &mut |at, row| {
        found[at] = Some(row::current(row)?);
        Ok(())
    })?;
    Ok(found)
}

fn apply(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    plan: &WritePlan<'_>,
    now: Timestamp,
) -> Result<()> {
    for (id, origin) in &plan.moved {
        session.execute(MOVE, &[ws.into(), id.0.into(), (*origin).into()])?;
    }
    for (id, page) in &plan.repaired {
        let (text, length) = (page.content.as_str().into(), page.content.len().into());
        let hash = (&page.content_hash).into();
        let params = [ws.into(), id.0.into(), text, hash, DERIVE_VERSION.into(), length];
        session.execute(REPAIR, &params)?;
    }
    if plan.versions.is_empty() {
        return Ok(());
    }
    insert_pages(session, ws, &plan.versions, now)?;
    insert_versions(session, ws, &plan.versions, now)?;
    insert_parts(session, ws, &plan.versions)?;
    workspaces::save(session, ws, &plan.workspace_state, &plan.changes, now)
}

/// Points each page to its last version in the plan.
fn insert_pages(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    versions: &[NewVersion<'_>],
    now: Timestamp,
) -> Result<()> {
    let last: HashMap<_, _> = versions.iter().map(|new| (new.id, new.version)).collect();
    let at = now.as_millisecond();
    let mut values = Vec::with_capacity(last.len() * PAGES.columns.len());
    for new in versions.iter().filter(|new| last[&new.id] == new.version) {
        let page = new.page;
        values.extend([
            new.id.0.into(),
            page.key.source.as_str().into(),
            page.key.slug.as_str().into(),
            new.version.into(),
            new.generation.0.into(),
            SqlValue::Null,
            at.into(),
            at.into(),
        ]);
        values.extend(description(new));
        values.push(new.origin.into());
    }
    session.insert(&PAGES, ws, &values)
}

fn insert_versions(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    versions: &[NewVersion<'_>],
    now: Timestamp,
) -> Result<()> {
    let at = now.as_millisecond();
    let (mut values, mut bytes) = (Vec::new(), 0);
    for new in versions {
        values.extend([
            new.id.0.into(),
            new.version.into(),
            new.generation.0.into(),
            new.op.name().into(),
        ]);
        values.extend(description(new));
        values.extend([at.into(), new.page.content.as_str().into()]);
        bytes += new.page.content.len();
        if bytes > BATCH_BYTES {
            session.insert(&VERSIONS, ws, &values)?;
            (values, bytes) = (Vec::new(), 0);
        }
    }
    session.insert(&VERSIONS, ws, &values)
}

/// The columns that pages and page_versions share, from `kind` to `content_bytes`.
fn description<'a>(new: &NewVersion<'a>) -> [SqlValue<'a>; 11] {
    let page = new.page;
    [
        page.kind.name().into(),
        page.page_type.as_str().into(),
        page.title.as_str().into(),
        serde_json::Value::from(page.tags.as_slice()).to_string().into(),
        (&page.content_hash).into(),
        new.derive_version.into(),
        page.effective_date.into(),
        page.date_origin.map(|origin| origin.name()).into(),
        page.visibility.name().into(),
        chunk_count(&page.chunks).into(),
        page.content.len().into(),
    ]
}

fn insert_parts(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    versions: &[NewVersion<'_>],
) -> Result<()> {
    let (mut chunks, mut links) = (Vec::new(), Vec::new());
    let (mut aliases, mut takes) = (Vec::new(), Vec::new());
    for new in versions {
        chunk_values(new, &mut chunks);
        link_values(new, &mut links);
        alias_values(new, &mut aliases);
        take_values(new, &mut takes);
    }
    session.insert(&CHUNKS, ws, &chunks)?;
    session.insert(&LINKS, ws, &links)?;
    session.insert(&ALIASES, ws, &aliases)?;
    session.insert(&TAKES, ws, &takes)
}

fn chunk_values<'a>(new: &NewVersion<'a>, values: &mut Vec<SqlValue<'a>>) {
    for chunk in &new.page.chunks {
        values.extend([
            new.id.0.into(),
            new.version.into(),
            chunk.ordinal.into(),
            chunk.id(&new.page.key).into(),
            chunk.part.name().into(),
            chunk.section.as_str().into(),
            chunk.start.into(),
            chunk.end.into(),
            (&chunk.hash).into(),
        ]);
    }
}

fn link_values<'a>(new: &NewVersion<'a>, values: &mut Vec<SqlValue<'a>>) {
    for (ordinal, link) in new.page.links.iter().enumerate() {
        values.extend([
            new.id.0.into(),
            new.version.into(),
            ordinal.into(),
            link.link_type.name().into(),
            link.direction.name().into(),
            link.target.as_str().into(),
            link.confidence.into(),
            link.detected_by.name().into(),
            link.since.into(),
            link.until.into(),
            link.evidence_chunk.into(),
            link.evidence_start.into(),
            link.evidence_end.into(),
        ]);
    }
}

fn alias_values<'a>(new: &NewVersion<'a>, values: &mut Vec<SqlValue<'a>>) {
    for (ordinal, alias) in new.page.aliases.iter().enumerate() {
        values.extend([new.id.0.into(), new.version.into(), ordinal.into(), alias.as_str().into()]);
    }
}

fn take_values<'a>(new: &NewVersion<'a>, values: &mut Vec<SqlValue<'a>>) {
    for (ordinal, take) in new.page.takes.iter().enumerate() {
        values.extend([
            new.id.0.into(),
            new.version.into(),
            ordinal.into(),
            take.claim.as_str().into(),
            take.kind.as_str().into(),
            take.holder.as_deref().into(),
            take.weight.into(),
            take.since.into(),
            take.until.into(),
            take.active.into(),
        ]);
    }
}

/// Refuses NUL characters, which PostgreSQL cannot store, on both engines.
pub(super) fn refuse_nul(writes: &[PageWrite<'_>]) -> Result<()> {
    for write in writes {
        for text in texts_of(write.page).chain(write.origin) {
            refuse_nul_in(text, || format!("the page {}", write.page.key))?;
        }
    }
    Ok(())
}

pub(super) fn refuse_nul_in(text: &str, what: impl FnOnce() -> String) -> Result<()> {
    if text.contains('\0') { Err(StoreError::Nul { what: what() }) } else { Ok(()) }
}

fn texts_of(page: &Page) -> impl Iterator<Item = &str> {
    let own = [&page.content, &page.title, &page.page_type].into_iter();
    let lists = page.tags.iter().chain(&page.aliases);
    let sections = page.chunks.iter().map(|chunk| &chunk.section);
    let targets = page.links.iter().map(|link| &link.target);
    let takes = page.takes.iter().flat_map(|take| [&take.claim, &take.kind]);
    let holders = page.takes.iter().filter_map(|take| take.holder.as_ref());
    own.chain(lists).chain(sections).chain(targets).chain(takes).chain(holders).map(String::as_str)
}
