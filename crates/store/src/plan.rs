//! What a write will do, decided from what is there: pure, the same on both engines.
//!
//! Invariant: the ledger after a plan is the ledger before it with every change applied in order,
//! and each change carries the head as it is right after it.

use std::collections::HashMap;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey};
use gbrain_core::named;
use gbrain_core::page::{DERIVE_VERSION, Page, PageKind, StoredPage, Visibility};
use gbrain_core::request::Viewer;

use crate::types::*;

/// A workspace's own row: the running state of its corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub head: Head,
    /// The last page number given out; numbers are never used again.
    pub last_page: i64,
}

/// What is known of a page before a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Current {
    pub id: PageId,
    pub version: u32,
    pub generation: Generation,
    pub deleted: bool,
    pub kind: PageKind,
    pub content_hash: Hash,
    pub derive_version: u32,
    pub chunks: u32,
    pub origin: Option<String>,
    /// Who may see its last text, deleted or not.
    pub visibility: Visibility,
    /// Whether its stored text has not its hash any more.
    pub is_damaged: bool,
}

/// What a change of the feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeOp {
    Write,
    Delete,
    Purge,
    Source,
}

named! { ChangeOp { Write = "write", Delete = "delete", Purge = "purge", Source = "source" } }

/// A row of the feed. `head.generation` is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub op: ChangeOp,
    pub page: Option<PageId>,
    pub version: Option<u32>,
    pub head: Head,
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

/// What a list of writes comes to.
#[derive(Debug)]
pub(crate) struct WritePlan<'a> {
    pub ledger: Ledger,
    pub outcomes: Vec<WriteOutcome>,
    pub versions: Vec<NewVersion<'a>>,
    pub changes: Vec<Change>,
    /// Unchanged pages that came from another file than before.
    pub moved: Vec<(PageId, Option<&'a str>)>,
    /// Pages whose stored text is damaged. Their versions get the text back, and each gets a version more, so that the
    /// index and whoever else follows the feed read it again.
    pub repaired: Vec<(PageId, &'a Page)>,
}

/// What a list of deletions comes to.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub ledger: Ledger,
    pub outcomes: Vec<DeleteOutcome>,
    pub deletions: Vec<NewDeletion>,
    pub changes: Vec<Change>,
}

impl Current {
    pub(crate) fn at(&self) -> PageVersion {
        PageVersion { id: self.id, version: self.version }
    }

    /// Whether a caller may know that it is there.
    pub(crate) fn is_known_to(&self, caller: Viewer) -> bool {
        caller == Viewer::Trusted || self.visibility == Visibility::World
    }
}

impl Ledger {
    /// Takes the next number of the feed for a change that is already in the head.
    pub(crate) fn record(
        &mut self,
        op: ChangeOp,
        page: Option<PageId>,
        version: Option<u32>,
    ) -> Change {
        self.head.generation.0 += 1;
        Change { op, page, version, head: self.head }
    }
}

impl WritePlan<'_> {
    /// Whether nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.moved.is_empty()
    }
}

/// Plans writes against what is there, in order.
pub(crate) fn plan_writes<'a>(
    ledger: Ledger,
    found: Vec<Option<Current>>,
    writes: &'a [PageWrite<'a>],
) -> WritePlan<'a> {
    let mut known: HashMap<&PageKey, Current> = HashMap::with_capacity(writes.len());
    for (write, current) in writes.iter().zip(found) {
        if let Some(current) = current {
            known.insert(&write.page.key, current);
        }
    }
    let mut plan = WritePlan {
        ledger,
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
    before: Option<&Current>,
    write: &PageWrite<'a>,
) -> Current {
    let same = before.filter(|current| says_the_same(current, write.page));
    match same {
        Some(current) if !current.is_damaged => return leave_alone(plan, current, write),
        Some(current) => plan.repaired.push((current.id, write.page)),
        None => {}
    }
    add_version(plan, before, write, VersionOp::Write, DERIVE_VERSION)
}

/// Whether a write repeats what is there, as far as the page's own row tells.
pub(crate) fn says_the_same(current: &Current, page: &Page) -> bool {
    !current.deleted
        && current.content_hash == page.content_hash
        && current.derive_version == DERIVE_VERSION
        && current.kind == page.kind
}

fn leave_alone<'a>(plan: &mut WritePlan<'a>, current: &Current, write: &PageWrite<'a>) -> Current {
    let Current { id, version, generation, .. } = *current;
    plan.outcomes.push(WriteOutcome { id, version, generation, kind: WriteKind::Unchanged });
    if current.origin.as_deref() != write.origin {
        plan.moved.push((id, write.origin));
    }
    Current { origin: write.origin.map(str::to_owned), ..current.clone() }
}

fn add_version<'a>(
    plan: &mut WritePlan<'a>,
    before: Option<&Current>,
    write: &PageWrite<'a>,
    op: VersionOp,
    derive_version: u32,
) -> Current {
    let page = write.page;
    let ledger = &mut plan.ledger;
    let (id, version, kind) = match before {
        None => {
            ledger.last_page += 1;
            (PageId(ledger.last_page), 1, WriteKind::Added)
        }
        Some(old) if old.deleted => (old.id, old.version + 1, WriteKind::Restored),
        Some(old) => (old.id, old.version + 1, WriteKind::Changed),
    };
    if let Some(old) = before.filter(|old| !old.deleted) {
        ledger.head.leave(member(&page.key, old.content_hash, old.derive_version), old.chunks);
    }
    let chunks = chunk_count(&page.chunks);
    ledger.head.enter(member(&page.key, page.content_hash, derive_version), chunks);
    let change = ledger.record(ChangeOp::Write, Some(id), Some(version));
    let generation = change.head.generation;
    plan.changes.push(change);
    plan.outcomes.push(WriteOutcome { id, version, generation, kind });
    let origin = write.origin;
    plan.versions.push(NewVersion { id, version, generation, op, derive_version, origin, page });
    Current {
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

/// Plans the return of a deleted page's last text, which was derived by `derive_version`.
pub(crate) fn plan_restore<'a>(
    ledger: Ledger,
    current: &'a Current,
    last: &'a StoredPage,
    derive_version: u32,
) -> WritePlan<'a> {
    let mut plan = WritePlan {
        ledger,
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

/// Plans deletions against what is there, in order.
pub(crate) fn plan_deletions(
    mut ledger: Ledger,
    found: Vec<Option<Current>>,
    keys: &[PageKey],
) -> DeletePlan {
    let (mut outcomes, mut deletions, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    let mut gone = std::collections::HashSet::new();
    for (key, current) in keys.iter().zip(found) {
        let Some(current) = current else {
            outcomes.push(DeleteOutcome::Unknown);
            continue;
        };
        if current.deleted || !gone.insert(key) {
            outcomes.push(DeleteOutcome::AlreadyDeleted);
            continue;
        }
        let (id, version) = (current.id, current.version + 1);
        let hash = member(key, current.content_hash, current.derive_version);
        ledger.head.leave(hash, current.chunks);
        let change = ledger.record(ChangeOp::Delete, Some(id), Some(version));
        let generation = change.head.generation;
        changes.push(change);
        deletions.push(NewDeletion { id, version, generation });
        outcomes.push(DeleteOutcome::Deleted(generation));
    }
    DeletePlan { ledger, outcomes, deletions, changes }
}

/// One version of a page that is being erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PastVersion {
    pub generation: Generation,
    pub op: VersionOp,
    /// Its member of the root while it lived.
    pub member: Hash,
    pub chunks: u32,
}

/// Rewrites a head as if the page had never been: `versions` are all of it, oldest first.
pub(crate) fn without_page(mut head: Head, versions: &[PastVersion]) -> Head {
    let after = versions.partition_point(|version| version.generation <= head.generation);
    if let Some(last) = versions[..after].last().filter(|last| last.op != VersionOp::Delete) {
        head.leave(last.member, last.chunks);
    }
    head
}
