//! Plans writes from the current state: pure, and the same on both engines.
//!
//! Invariant: the state after a plan is the state before it with every change applied in order,
//! and each change carries the head right after it.

use std::collections::HashMap;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::named;
use gbrain_core::page::{DERIVE_VERSION, Page, PageKind, StoredPage, Visibility};
use gbrain_core::request::Viewer;

use crate::types::*;

/// The row of a workspace: the running state of its corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkspaceState {
    pub head: CorpusHead,
    /// The last assigned page number; numbers are never reused.
    pub last_page: i64,
}

/// The state of a page before a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentPage {
    pub id: PageId,
    pub version: u32,
    pub generation: Generation,
    pub deleted: bool,
    pub kind: PageKind,
    pub content_hash: Hash,
    pub derive_version: u32,
    pub chunks: u32,
    pub origin: Option<String>,
    /// The visibility of its last text, deleted or not.
    pub visibility: Visibility,
    /// Whether its stored text no longer has its hash.
    pub is_damaged: bool,
}

named! {
    /// The kind of a change in the feed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum ChangeOp {
        Write = "write",
        Delete = "delete",
        Purge = "purge",
        Source = "source",
    }
}

/// A row of the feed. `head.generation` is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedChange {
    pub op: ChangeOp,
    pub page: Option<PageId>,
    pub version: Option<u32>,
    pub head: CorpusHead,
}

/// A version with text, to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewVersion<'a> {
    pub id: PageId,
    pub version: u32,
    pub generation: Generation,
    pub op: VersionOp,
    pub derive_version: u32,
    pub origin: Option<&'a str>,
    pub page: &'a Page,
}

/// A version without text, to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewDeletion {
    pub id: PageId,
    pub version: u32,
    pub generation: Generation,
}

/// The result of planning a list of writes.
#[derive(Debug)]
pub(crate) struct WritePlan<'a> {
    pub workspace_state: WorkspaceState,
    pub outcomes: Vec<WriteOutcome>,
    pub versions: Vec<NewVersion<'a>>,
    pub changes: Vec<PlannedChange>,
    /// Unchanged pages that were imported from another file than before.
    pub moved: Vec<(PageId, Option<&'a str>)>,
    /// Pages whose stored text is damaged. Their versions get the text again, and each gets a new
    /// version, so that the index and other readers of the feed read it again.
    pub repaired: Vec<(PageId, &'a Page)>,
}

/// The result of planning a list of deletions.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub workspace_state: WorkspaceState,
    pub outcomes: Vec<DeleteOutcome>,
    pub deletions: Vec<NewDeletion>,
    pub changes: Vec<PlannedChange>,
}

impl CurrentPage {
    pub(crate) fn at(&self) -> PageVersion {
        PageVersion { id: self.id, version: self.version }
    }

    /// Whether the page is visible to a caller.
    pub(crate) fn is_visible_to(&self, caller: Viewer) -> bool {
        caller == Viewer::Trusted || self.visibility == Visibility::World
    }
}

impl WorkspaceState {
    /// Takes the next number of the feed for a change that is already in the head.
    pub(crate) fn record(
        &mut self,
        op: ChangeOp,
        page: Option<PageId>,
        version: Option<u32>,
    ) -> PlannedChange {
        self.head.generation.0 += 1;
        PlannedChange { op, page, version, head: self.head }
    }
}

impl WritePlan<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.moved.is_empty()
    }
}

/// Plans writes against the current state, in order.
pub(crate) fn plan_writes<'a>(
    workspace_state: WorkspaceState,
    found: Vec<Option<CurrentPage>>,
    writes: &'a [PageWrite<'a>],
) -> WritePlan<'a> {
    let mut known: HashMap<&PageKey, CurrentPage> = HashMap::with_capacity(writes.len());
    for (write, current) in writes.iter().zip(found) {
        if let Some(current) = current {
            known.insert(&write.page.key, current);
        }
    }
    let mut plan = WritePlan {
        workspace_state,
        outcomes: Vec::with_capacity(writes.len()),
        versions: Vec::new(),
        changes: Vec::new(),
        moved: Vec::new(),
        repaired: Vec::new(),
    };
    for write in writes {
        let before = known.get(&write.page.key);
        let after = plan_write(&mut plan, before, write);
        known.insert(&write.page.key, after);
    }
    plan
}

fn plan_write<'a>(
    plan: &mut WritePlan<'a>,
    before: Option<&CurrentPage>,
    write: &PageWrite<'a>,
) -> CurrentPage {
    let same = before.filter(|current| repeats_current_text(current, write.page));
    match same {
        Some(current) if !current.is_damaged => return keep_unchanged(plan, current, write),
        Some(current) => plan.repaired.push((current.id, write.page)),
        None => {}
    }
    add_version(plan, before, write, VersionOp::Write, DERIVE_VERSION)
}

/// Whether a write repeats the current text, judging by the page's own row.
pub(crate) fn repeats_current_text(current: &CurrentPage, page: &Page) -> bool {
    !current.deleted
        && current.content_hash == page.content_hash
        && current.derive_version == DERIVE_VERSION
        && current.kind == page.kind
}

fn keep_unchanged<'a>(
    plan: &mut WritePlan<'a>,
    current: &CurrentPage,
    write: &PageWrite<'a>,
) -> CurrentPage {
    let CurrentPage { id, version, generation, .. } = *current;
    plan.outcomes.push(WriteOutcome { id, version, generation, kind: WriteKind::Unchanged });
    if current.origin.as_deref() != write.origin {
        plan.moved.push((id, write.origin));
    }
    CurrentPage { origin: write.origin.map(str::to_owned), ..current.clone() }
}

fn add_version<'a>(
    plan: &mut WritePlan<'a>,
    before: Option<&CurrentPage>,
    write: &PageWrite<'a>,
    op: VersionOp,
    derive_version: u32,
) -> CurrentPage {
    let page = write.page;
    let workspace_state = &mut plan.workspace_state;
    let (id, version, kind) = match before {
        None => {
            workspace_state.last_page += 1;
            (PageId(workspace_state.last_page), 1, WriteKind::Added)
        }
        Some(old) if old.deleted => (old.id, old.version + 1, WriteKind::Restored),
        Some(old) => (old.id, old.version + 1, WriteKind::Changed),
    };
    if let Some(old) = before.filter(|old| !old.deleted) {
        workspace_state
            .head
            .leave(member(&page.key, old.content_hash, old.derive_version), old.chunks);
    }
    let chunks = chunk_count(&page.chunks);
    workspace_state.head.enter(member(&page.key, page.content_hash, derive_version), chunks);
    let change = workspace_state.record(ChangeOp::Write, Some(id), Some(version));
    let generation = change.head.generation;
    plan.changes.push(change);
    plan.outcomes.push(WriteOutcome { id, version, generation, kind });
    let origin = write.origin;
    plan.versions.push(NewVersion { id, version, generation, op, derive_version, origin, page });
    CurrentPage {
        id,
        version,
        generation,
        deleted: false,
        kind: page.kind,
        content_hash: page.content_hash,
        derive_version,
        chunks,
        origin: origin.map(str::to_owned),
        visibility: page.visibility,
        is_damaged: false,
    }
}

/// Plans the restoration of a deleted page's last text, which was derived by `derive_version`.
pub(crate) fn plan_restore<'a>(
    workspace_state: WorkspaceState,
    current: &'a CurrentPage,
    last: &'a StoredPage,
    derive_version: u32,
) -> WritePlan<'a> {
    let mut plan = WritePlan {
        workspace_state,
        outcomes: Vec::new(),
        versions: Vec::new(),
        changes: Vec::new(),
        moved: Vec::new(),
        repaired: Vec::new(),
    };
    let write = PageWrite { page: &last.page, origin: current.origin.as_deref() };
    add_version(&mut plan, Some(current), &write, VersionOp::Restore, derive_version);
    plan
}

/// Plans deletions against the current state, in order.
pub(crate) fn plan_deletions(
    mut workspace_state: WorkspaceState,
    found: Vec<Option<CurrentPage>>,
    keys: &[PageKey],
) -> DeletePlan {
    let (mut outcomes, mut deletions, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    let mut deleted = std::collections::HashSet::new();
    for (key, current) in keys.iter().zip(found) {
        let Some(current) = current else {
            outcomes.push(DeleteOutcome::Unknown);
            continue;
        };
        if current.deleted || !deleted.insert(key) {
            outcomes.push(DeleteOutcome::AlreadyDeleted);
            continue;
        }
        let (id, version) = (current.id, current.version + 1);
        let hash = member(key, current.content_hash, current.derive_version);
        workspace_state.head.leave(hash, current.chunks);
        let change = workspace_state.record(ChangeOp::Delete, Some(id), Some(version));
        let generation = change.head.generation;
        changes.push(change);
        deletions.push(NewDeletion { id, version, generation });
        outcomes.push(DeleteOutcome::Deleted(generation));
    }
    DeletePlan { workspace_state, outcomes, deletions, changes }
}

/// One version of a page that is being erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PastVersion {
    pub generation: Generation,
    pub op: VersionOp,
    /// Its member of the root while it was live.
    pub member: Hash,
    pub chunks: u32,
}

/// The head as if the page had never existed: `versions` are all of its versions, oldest first.
pub(crate) fn without_page(mut head: CorpusHead, versions: &[PastVersion]) -> CorpusHead {
    let after = versions.partition_point(|version| version.generation <= head.generation);
    if let Some(last) = versions[..after].last().filter(|last| last.op != VersionOp::Delete) {
        head.leave(last.member, last.chunks);
    }
    head
}
