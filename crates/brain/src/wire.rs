//! What the store and the brain say, as it goes over the wire and into `--json`.
//!
//! Types of the store and the brain write themselves; here is what is put around them.

use gbrain_core::id::{Generation, PageKey, SourceId, WorkspaceId};
use gbrain_core::named;
use gbrain_core::ranking::Edge;
use gbrain_index::Corpus;
use gbrain_store::{
    DeleteOutcome, Engine, Head, PageInfo, Purged, Source, Stats, VersionInfo, Workspace,
    WriteKind, WriteOutcome,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{IndexReport, PageLinks, Put, VectorReport, VerifyReport};

/// Cuts a list that was read one longer than wanted, and gives the last of it if there is more.
pub fn cut<T>(list: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = list.len() > limit;
    list.truncate(limit);
    list.last().filter(|_| has_more)
}

/// What `list --json` prints: pages by source and slug.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PagesBody<'a> {
    /// The pages.
    pub pages: &'a [PageInfo],
    /// The page to go on after; null at the end of the list.
    pub next_after: Option<&'a PageKey>,
}

/// What `put --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PutBody<'a> {
    /// The source of the page.
    source_id: &'a str,
    /// Its name in that source.
    slug: &'a str,
    /// What happened.
    outcome: WriteKind,
    /// Its version now.
    version: u32,
    /// The change that made this version.
    generation: Generation,
    /// What had to be set right or left out.
    warnings: &'a [String],
}

impl<'a> PutBody<'a> {
    /// What a `put` did.
    pub fn new(key: &'a PageKey, put: &'a Put) -> Self {
        let Put { outcome: WriteOutcome { id: _, version, generation, kind }, warnings } = put;
        Self {
            source_id: key.source.as_str(),
            slug: key.slug.as_str(),
            outcome: *kind,
            version: *version,
            generation: *generation,
            warnings,
        }
    }
}

/// What `restore --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RestoreBody<'a> {
    /// The page, as `source::slug`.
    page: &'a PageKey,
    /// What happened.
    outcome: WriteKind,
    /// Its version now.
    version: u32,
}

impl<'a> RestoreBody<'a> {
    /// What a restoration did.
    pub fn new(page: &'a PageKey, outcome: &WriteOutcome) -> Self {
        let WriteOutcome { id: _, version, generation: _, kind } = *outcome;
        Self { page, outcome: kind, version }
    }
}

/// What `delete --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteBody<'a> {
    /// The pages, in the order they were named.
    pub pages: Vec<DeletedPage<'a>>,
}

/// What happened to one page that was to be deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedPage<'a> {
    /// The page, as `source::slug`.
    pub page: &'a PageKey,
    /// What happened.
    pub outcome: Deletion,
}

/// What happened to a page that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is deleted now.
    Deleted,
    /// It was deleted before.
    AlreadyDeleted,
    /// There is no such page.
    Unknown,
}

named! {
    Deletion {
        Deleted = "deleted",
        AlreadyDeleted = "already_deleted",
        Unknown = "unknown",
    }
}

impl<'a> DeleteBody<'a> {
    /// What a deletion did, page by page.
    pub fn new(keys: &'a [PageKey], outcomes: &[DeleteOutcome]) -> Self {
        let pages = keys.iter().zip(outcomes).map(|(page, outcome)| DeletedPage {
            page,
            outcome: match outcome {
                DeleteOutcome::Deleted(_) => Deletion::Deleted,
                DeleteOutcome::AlreadyDeleted => Deletion::AlreadyDeleted,
                DeleteOutcome::Unknown => Deletion::Unknown,
            },
        });
        Self { pages: pages.collect() }
    }
}

/// What `purge --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgeBody<'a> {
    /// The page, as `source::slug`.
    pub page: &'a PageKey,
    #[expect(missing_docs, reason = "the comment would be in the schema")]
    #[serde(flatten)]
    pub purged: &'a Purged,
}

/// What `history --json` prints: the versions of a page, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryBody<'a> {
    /// The source of the page.
    source_id: &'a str,
    /// Its name in that source.
    slug: &'a str,
    /// Its versions.
    versions: &'a [VersionInfo],
}

impl<'a> HistoryBody<'a> {
    /// The versions of a page.
    pub fn new(key: &'a PageKey, versions: &'a [VersionInfo]) -> Self {
        Self { source_id: key.source.as_str(), slug: key.slug.as_str(), versions }
    }
}

/// What `links --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinksBody<'a> {
    /// The page, as `source::slug`.
    page: &'a PageKey,
    /// Edges out of it and into it, strongest first.
    edges: &'a [Edge],
    /// Link targets for which there is no page yet.
    unresolved: &'a [String],
}

impl<'a> LinksBody<'a> {
    /// The edges of a page.
    pub fn new(page: &'a PageKey, links: &'a PageLinks) -> Self {
        let PageLinks { edges, unresolved } = links;
        Self { page, edges, unresolved }
    }
}

/// What `sources list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourcesBody<'a> {
    /// The sources.
    sources: Vec<SourceRow<'a>>,
}

/// A source.
#[derive(Debug, Serialize, JsonSchema)]
struct SourceRow<'a> {
    #[serde(flatten)]
    source: &'a Source,
    /// How many live pages it has.
    pages: u64,
}

impl<'a> SourcesBody<'a> {
    /// The sources, with how many pages each has: all, or those that a caller may see.
    pub fn new(sources: &'a [Source], pages: &[(SourceId, u64)]) -> Self {
        let row = |source: &'a Source| {
            let counted = pages.iter().find(|(id, _)| *id == source.id);
            SourceRow { source, pages: counted.map_or(0, |(_, pages)| *pages) }
        };
        Self { sources: sources.iter().map(row).collect() }
    }
}

/// What happened to a source or workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    /// It was there and is another now.
    Changed,
    Removed,
}

named! { Change { Added = "added", Changed = "changed", Removed = "removed" } }

/// What `sources add --json` and `sources remove --json` print.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceChanged<'a> {
    /// The source.
    pub source: &'a SourceId,
    /// What happened.
    pub outcome: Change,
}

/// What `workspaces list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspacesBody<'a> {
    /// The workspaces.
    pub workspaces: &'a [Workspace],
}

/// What `workspaces add --json` and `workspaces remove --json` print.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceChanged<'a> {
    /// The workspace.
    pub workspace: &'a WorkspaceId,
    /// What happened.
    pub outcome: Change,
}

/// What `stats --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsBody<'a> {
    /// Whose brain it is.
    workspace: &'a WorkspaceId,
    /// Which database holds it.
    engine: Engine,
    /// The last change.
    generation: Generation,
    /// Live pages.
    pages: u64,
    /// Their passages.
    chunks: u64,
    /// Their content, as one hash.
    root: String,
    #[serde(flatten)]
    stats: &'a Stats,
    /// The index.
    index: &'a IndexReport,
    /// The vectors.
    vectors: VectorFigures<'a>,
}

/// Whose vectors there are.
#[derive(Debug, Serialize, JsonSchema)]
struct VectorFigures<'a> {
    /// The model whose vectors are held.
    held: Option<&'a str>,
    /// Whether this process can search them.
    is_searchable: bool,
    /// The model that this process wants.
    wanted: Option<&'a str>,
}

impl<'a> StatsBody<'a> {
    /// A brain in figures.
    pub fn new(
        workspace: &'a WorkspaceId,
        engine: Engine,
        head: &Head,
        stats: &'a Stats,
        index: &'a IndexReport,
        vectors: &'a VectorReport,
    ) -> Self {
        let Head { generation, pages, chunks, root } = *head;
        let VectorReport { held, is_searchable, wanted, made: _, total: _ } = vectors;
        let (held, wanted) = (held.as_deref(), wanted.as_deref());
        let vectors = VectorFigures { held, is_searchable: *is_searchable, wanted };
        let root = root.to_hex();
        Self { workspace, engine, generation, pages, chunks, root, stats, index, vectors }
    }
}

/// What `reindex --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReindexBody {
    /// The last change that is indexed.
    generation: Generation,
    /// Pages indexed.
    pages: u64,
    /// Passages indexed.
    chunks: u64,
}

impl ReindexBody {
    /// What making the index again did.
    pub fn new(corpus: &Corpus) -> Self {
        let Corpus { generation, root: _, pages, chunks } = *corpus;
        Self { generation, pages, chunks }
    }
}

/// What `reindex --verify --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyBody<'a> {
    /// Whether everything agrees.
    status: Soundness,
    #[serde(flatten)]
    report: &'a VerifyReport,
}

/// Whether store and index agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    Pass,
    Fail,
}

named! { Soundness { Pass = "pass", Fail = "fail" } }

impl<'a> VerifyBody<'a> {
    /// Whether store and index agree.
    pub fn new(report: &'a VerifyReport) -> Self {
        let is_sound = report.findings.is_empty();
        Self { status: if is_sound { Soundness::Pass } else { Soundness::Fail }, report }
    }
}

/// What `reembed --json` prints: whose vectors there are, and how far the next ones are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VectorsBody<'a> {
    #[serde(flatten)]
    report: &'a VectorReport,
    /// Whether embedding again would change nothing.
    is_settled: bool,
}

impl<'a> VectorsBody<'a> {
    /// Whose vectors there are.
    pub fn new(report: &'a VectorReport) -> Self {
        Self { report, is_settled: report.is_settled() }
    }
}
