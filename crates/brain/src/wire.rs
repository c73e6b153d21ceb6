//! Wire and `--json` bodies of the store and the brain.
//!
//! Types of the store and the brain serialize themselves; these are the bodies around them.

use gbrain_core::id::{Generation, PageKey, SourceId, WorkspaceId};
use gbrain_core::named;
use gbrain_core::ranking::Edge;
use gbrain_index::Corpus;
use gbrain_store::{
    CorpusHead, CorpusStats, DeleteOutcome, Engine, PageInfo, PurgeCounts, Source, VersionInfo,
    Workspace, WriteKind, WriteOutcome,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{IndexReport, PageLinks, PutOutcome, VectorReport, VerifyReport};

/// Truncates a list that was read one longer than the limit; returns its last entry if there is
/// more.
pub fn truncate_page<T>(list: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = list.len() > limit;
    list.truncate(limit);
    list.last().filter(|_| has_more)
}

/// The output of `list --json`: pages by source and slug.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PagesBody<'a> {
    /// One page of the list.
    pub pages: &'a [PageInfo],
    /// The page to continue after; null at the end of the list.
    pub next_after: Option<&'a PageKey>,
}

/// The output of `put --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PutBody<'a> {
    /// The source of the page.
    source_id: &'a str,
    /// Slug of the page in that source.
    slug: &'a str,
    /// The kind of change.
    outcome: WriteKind,
    /// Current version of the page.
    version: u32,
    /// The generation of this version.
    generation: Generation,
    /// Corrections that parsing made, and the parts that it dropped.
    warnings: &'a [String],
}

impl<'a> PutBody<'a> {
    pub fn new(key: &'a PageKey, put: &'a PutOutcome) -> Self {
        let PutOutcome { outcome: WriteOutcome { id: _, version, generation, kind }, warnings } =
            put;
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

/// The output of `restore --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RestoreBody<'a> {
    /// The page, as `source::slug`.
    page: &'a PageKey,
    /// The kind of change.
    outcome: WriteKind,
    /// Current version of the page.
    version: u32,
}

impl<'a> RestoreBody<'a> {
    pub fn new(page: &'a PageKey, outcome: &WriteOutcome) -> Self {
        let WriteOutcome { id: _, version, generation: _, kind } = *outcome;
        Self { page, outcome: kind, version }
    }
}

/// The output of `delete --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteBody<'a> {
    /// The pages, in the order they were named.
    pub pages: Vec<DeletedPage<'a>>,
}

/// The result for one page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedPage<'a> {
    /// The page, as `source::slug`.
    pub page: &'a PageKey,
    /// The kind of change.
    pub outcome: PageDeletion,
}

named! {
    /// The result of deleting a page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PageDeletion {
        Deleted = "deleted",
        /// It had been deleted before.
        AlreadyDeleted = "already_deleted",
        /// There is no such page.
        Unknown = "unknown",
    }
}

impl<'a> DeleteBody<'a> {
    pub fn new(keys: &'a [PageKey], outcomes: &[DeleteOutcome]) -> Self {
        let pages = keys.iter().zip(outcomes).map(|(page, outcome)| DeletedPage {
            page,
            outcome: match outcome {
                DeleteOutcome::Deleted(_) => PageDeletion::Deleted,
                DeleteOutcome::AlreadyDeleted => PageDeletion::AlreadyDeleted,
                DeleteOutcome::Unknown => PageDeletion::Unknown,
            },
        });
        Self { pages: pages.collect() }
    }
}

/// The output of `purge --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgeBody<'a> {
    /// The page, as `source::slug`.
    pub page: &'a PageKey,
    #[expect(missing_docs, reason = "the comment would be in the schema")]
    #[serde(flatten)]
    pub purged: &'a PurgeCounts,
}

/// The output of `history --json`: the versions of a page, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryBody<'a> {
    /// The source of the page.
    source_id: &'a str,
    /// Slug of the page in that source.
    slug: &'a str,
    /// All versions, oldest first.
    versions: &'a [VersionInfo],
}

impl<'a> HistoryBody<'a> {
    pub fn new(key: &'a PageKey, versions: &'a [VersionInfo]) -> Self {
        Self { source_id: key.source.as_str(), slug: key.slug.as_str(), versions }
    }
}

/// The output of `links --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinksBody<'a> {
    /// The page, as `source::slug`.
    page: &'a PageKey,
    /// Outgoing and incoming edges, strongest first.
    edges: Vec<LinkRow<'a>>,
    /// Link targets without a page.
    unresolved: &'a [String],
}

/// An edge of a page.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkRow<'a> {
    #[serde(flatten)]
    edge: &'a Edge,
    /// The text that the edge was read from, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
}

impl<'a> LinksBody<'a> {
    pub fn new(page: &'a PageKey, links: &'a PageLinks) -> Self {
        Self::with_evidence(page, links, |_| None)
    }

    /// Shows the text that edges were read from, too.
    pub fn with_evidence(
        page: &'a PageKey,
        links: &'a PageLinks,
        evidence: impl Fn(&Edge) -> Option<String>,
    ) -> Self {
        let PageLinks { edges, unresolved } = links;
        let row = |edge: &'a Edge| LinkRow { edge, evidence: evidence(edge) };
        Self { page, edges: edges.iter().map(row).collect(), unresolved }
    }
}

/// The output of `sources list --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourcesBody<'a> {
    /// All sources of the workspace.
    sources: Vec<SourceRow<'a>>,
}

/// A source with its page count.
#[derive(Debug, Serialize, JsonSchema)]
struct SourceRow<'a> {
    #[serde(flatten)]
    source: &'a Source,
    /// Number of live pages.
    pages: u64,
}

impl<'a> SourcesBody<'a> {
    /// The sources with their page counts: all pages, or those that a caller may see.
    pub fn new(sources: &'a [Source], pages: &[(SourceId, u64)]) -> Self {
        let row = |source: &'a Source| {
            let counted = pages.iter().find(|(id, _)| *id == source.id);
            SourceRow { source, pages: counted.map_or(0, |(_, pages)| *pages) }
        };
        Self { sources: sources.iter().map(row).collect() }
    }
}

named! {
    /// The change of a source or workspace.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ObjectChange {
        Added = "added",
        /// It existed and was changed.
        Changed = "changed",
        Removed = "removed",
    }
}

/// The output of `sources add --json` and `sources remove --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceChanged<'a> {
    /// Id of the source.
    pub source: &'a SourceId,
    /// The kind of change.
    pub outcome: ObjectChange,
}

/// The output of `workspaces list --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspacesBody<'a> {
    /// All workspaces of the store.
    pub workspaces: &'a [Workspace],
}

/// The output of `workspaces add --json` and `workspaces remove --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceChanged<'a> {
    /// Id of the workspace.
    pub workspace: &'a WorkspaceId,
    /// The kind of change.
    pub outcome: ObjectChange,
}

/// The output of `stats --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsBody<'a> {
    /// Id of the workspace.
    workspace: &'a WorkspaceId,
    /// The database engine of the store.
    engine: Engine,
    /// Generation of the last change.
    generation: Generation,
    /// Number of live pages.
    pages: u64,
    /// Number of their passages.
    chunks: u64,
    /// Hash of their content.
    root: String,
    #[serde(flatten)]
    stats: &'a CorpusStats,
    /// Figures of the index.
    index: &'a IndexReport,
    /// Models of the vectors.
    vectors: VectorFigures<'a>,
}

/// The embedding models of a brain.
#[derive(Debug, Serialize, JsonSchema)]
struct VectorFigures<'a> {
    /// The model of the vectors that are held.
    held: Option<&'a str>,
    /// Whether this process can search them.
    is_searchable: bool,
    /// The model that this process wants.
    wanted: Option<&'a str>,
}

impl<'a> StatsBody<'a> {
    pub fn new(
        workspace: &'a WorkspaceId,
        engine: Engine,
        head: &CorpusHead,
        stats: &'a CorpusStats,
        index: &'a IndexReport,
        vectors: &'a VectorReport,
    ) -> Self {
        let CorpusHead { generation, pages, chunks, root } = *head;
        let VectorReport { held, is_searchable, wanted, made: _, total: _ } = vectors;
        let (held, wanted) = (held.as_deref(), wanted.as_deref());
        let vectors = VectorFigures { held, is_searchable: *is_searchable, wanted };
        let root = root.to_hex();
        Self { workspace, engine, generation, pages, chunks, root, stats, index, vectors }
    }
}

/// The output of `reindex --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReindexBody {
    /// The last change that is indexed.
    generation: Generation,
    /// Number of pages indexed.
    pages: u64,
    /// Number of passages indexed.
    chunks: u64,
}

impl ReindexBody {
    pub fn new(corpus: &Corpus) -> Self {
        let Corpus { generation, root: _, pages, chunks } = *corpus;
        Self { generation, pages, chunks }
    }
}

/// The output of `reindex --verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyBody<'a> {
    /// Whether the index agrees with the store.
    status: ConsistencyStatus,
    #[serde(flatten)]
    report: &'a VerifyReport,
}

named! {
    /// Whether store and index agree.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ConsistencyStatus {
        Pass = "pass",
        Fail = "fail",
    }
}

impl<'a> VerifyBody<'a> {
    pub fn new(report: &'a VerifyReport) -> Self {
        let is_sound = report.findings.is_empty();
        Self {
            status: if is_sound { ConsistencyStatus::Pass } else { ConsistencyStatus::Fail },
            report,
        }
    }
}

/// The output of `reembed --json`: the vectors that are held, and the progress of the wanted ones.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VectorsBody<'a> {
    #[serde(flatten)]
    report: &'a VectorReport,
    /// Whether re-embedding would change nothing.
    is_settled: bool,
}

impl<'a> VectorsBody<'a> {
    pub fn new(report: &'a VectorReport) -> Self {
        Self { report, is_settled: report.is_settled() }
    }
}
