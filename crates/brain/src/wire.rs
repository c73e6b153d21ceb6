//! What the store and the brain say, as it goes over the wire and into `--json`.
//!
//! The bodies are in [`gbrain_core::format`], which can't know the store's types. Every value is
//! taken apart field by field, so that a field added there fails to compile here.

use gbrain_core::format::links::LinksBody;
use gbrain_core::format::pages::{
    DeleteBody, DeletedPage, Deletion, HistoryBody, MadeBy, PageRow, PagesBody, PurgeBody, PutBody,
    RestoreBody, VersionRow, Written,
};
use gbrain_core::format::sources::{SourceRow, SourcesBody, WorkspaceRow, WorkspacesBody};
use gbrain_core::format::stats::{
    EngineName, IndexFigures, SourceFigures, StatsBody, VectorFigures,
};
use gbrain_core::format::work::{
    FileRemark, ImportBody, ReindexBody, Soundness, VectorsBody, VerifyBody, VerifyRow,
};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_index::Corpus;
use gbrain_store::{
    DeleteOutcome, Engine, Head, PageInfo, Purged, Source, SourceStats, Stats, VersionInfo,
    VersionOp, Workspace, WriteKind, WriteOutcome,
};

use crate::import::{ImportFailure, ImportSummary};
use crate::{IndexReport, PageLinks, Put, VectorReport, VerifyFinding, VerifyReport};

/// Cuts a list that was read one longer than wanted, and gives the last of it if there is more.
pub fn cut<T>(list: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = list.len() > limit;
    list.truncate(limit);
    list.last().filter(|_| has_more)
}

/// A list of pages.
pub fn pages<'a>(pages: &'a [PageInfo], next: Option<&PageKey>) -> PagesBody<'a> {
    let next_after = next.map(ToString::to_string);
    PagesBody { pages: pages.iter().map(page_row).collect(), next_after }
}

fn page_row(info: &PageInfo) -> PageRow<'_> {
    let PageInfo {
        id: _,
        key,
        version,
        generation: _,
        kind,
        title,
        page_type,
        tags,
        effective_date,
        visibility,
        content_hash,
        chunks,
        origin: _,
        created_at: _,
        updated_at,
        deleted_at,
    } = info;
    PageRow {
        source_id: key.source.as_str(),
        slug: key.slug.as_str(),
        title,
        page_type,
        kind: *kind,
        tags,
        version: *version,
        effective_date: effective_date.map(|date| date.to_string()),
        visibility: *visibility,
        content_hash: content_hash.to_hex(),
        chunks: *chunks,
        updated_at: updated_at.to_string(),
        deleted_at: deleted_at.map(|at| at.to_string()),
    }
}

/// What a `put` did.
pub fn put<'a>(key: &'a PageKey, put: &'a Put) -> PutBody<'a> {
    let Put { outcome: WriteOutcome { id: _, version, generation, kind }, warnings } = put;
    PutBody {
        source_id: key.source.as_str(),
        slug: key.slug.as_str(),
        outcome: written(*kind),
        version: *version,
        generation: generation.0,
        warnings,
    }
}

/// What a restoration did.
pub fn restored(key: &PageKey, outcome: &WriteOutcome) -> RestoreBody {
    let WriteOutcome { id: _, version, generation: _, kind } = outcome;
    RestoreBody { page: key.to_string(), outcome: written(*kind), version: *version }
}

fn written(kind: WriteKind) -> Written {
    match kind {
        WriteKind::Added => Written::Added,
        WriteKind::Changed => Written::Changed,
        WriteKind::Unchanged => Written::Unchanged,
        WriteKind::Restored => Written::Restored,
    }
}

/// What a deletion did, page by page.
pub fn deleted(keys: &[PageKey], outcomes: &[DeleteOutcome]) -> DeleteBody {
    let pages = keys.iter().zip(outcomes).map(|(key, outcome)| DeletedPage {
        page: key.to_string(),
        outcome: match outcome {
            DeleteOutcome::Deleted(_) => Deletion::Deleted,
            DeleteOutcome::AlreadyDeleted => Deletion::AlreadyDeleted,
            DeleteOutcome::Unknown => Deletion::Unknown,
        },
    });
    DeleteBody { pages: pages.collect() }
}

/// What erasing a page did.
pub fn purged(key: &PageKey, purged: &Purged) -> PurgeBody {
    let Purged { versions, generation: _, scrubbed, erased } = purged;
    PurgeBody { page: key.to_string(), versions: *versions, scrubbed: *scrubbed, erased: *erased }
}

/// The versions of a page.
pub fn history<'a>(key: &'a PageKey, versions: &'a [VersionInfo]) -> HistoryBody<'a> {
    HistoryBody {
        source_id: key.source.as_str(),
        slug: key.slug.as_str(),
        versions: versions.iter().map(version_row).collect(),
    }
}

fn version_row(info: &VersionInfo) -> VersionRow<'_> {
    let VersionInfo {
        version,
        generation,
        op,
        title,
        content_hash,
        bytes,
        chunks,
        created_at,
        visibility: _,
    } = info;
    VersionRow {
        version: *version,
        generation: generation.0,
        op: match op {
            VersionOp::Write => MadeBy::Write,
            VersionOp::Delete => MadeBy::Delete,
            VersionOp::Restore => MadeBy::Restore,
        },
        title,
        content_hash: content_hash.to_hex(),
        bytes: *bytes,
        chunks: *chunks,
        created_at: created_at.to_string(),
    }
}

/// The edges of a page.
pub fn links<'a>(key: &PageKey, links: &'a PageLinks) -> LinksBody<'a> {
    let PageLinks { edges, unresolved } = links;
    LinksBody::new(key, edges, unresolved)
}

/// The sources, with how many pages each has: all, or those that a caller may see.
pub fn sources<'a>(sources: &'a [Source], pages: &[(SourceId, u64)]) -> SourcesBody<'a> {
    let row = |source: &'a Source| {
        let Source { id, name, trust, created_at: _ } = source;
        let counted = pages.iter().find(|(source, _)| source == id);
        SourceRow {
            id: id.as_str(),
            name,
            trust: *trust,
            pages: counted.map_or(0, |(_, pages)| *pages),
        }
    };
    SourcesBody { sources: sources.iter().map(row).collect() }
}

/// The workspaces.
pub fn workspaces(workspaces: &[Workspace]) -> WorkspacesBody<'_> {
    WorkspacesBody { workspaces: workspaces.iter().map(workspace_row).collect() }
}

fn workspace_row(workspace: &Workspace) -> WorkspaceRow<'_> {
    let Workspace { id, created_at, head } = workspace;
    let Head { generation, pages, chunks, root } = head;
    WorkspaceRow {
        id: id.as_str(),
        pages: *pages,
        chunks: *chunks,
        generation: generation.0,
        root: root.to_hex(),
        created_at: created_at.to_string(),
    }
}

/// A brain in figures.
pub fn stats<'a>(
    workspace: &'a WorkspaceId,
    engine: Engine,
    head: &Head,
    stats: &'a Stats,
    index: &IndexReport,
    vectors: &'a VectorReport,
) -> StatsBody<'a> {
    let Head { generation, pages, chunks, root } = head;
    let Stats { sources, types, versions, links, aliases, takes, history_bytes, database_bytes } =
        stats;
    let VectorReport { held, is_searchable, wanted, made: _, total: _ } = vectors;
    let IndexReport { generation: indexed, bytes } = index;
    StatsBody {
        workspace: workspace.as_str(),
        engine: match engine {
            Engine::Sqlite => EngineName::Sqlite,
            Engine::Postgres => EngineName::Postgres,
        },
        generation: generation.0,
        pages: *pages,
        chunks: *chunks,
        root: root.to_hex(),
        versions: *versions,
        aliases: *aliases,
        takes: *takes,
        sources: sources.iter().map(source_figures).collect(),
        types: types.iter().map(|(name, n)| (name.clone(), (*n).into())).collect(),
        links: links.iter().map(|(link, n)| (link.to_string(), (*n).into())).collect(),
        history_bytes: *history_bytes,
        database_bytes: *database_bytes,
        index: IndexFigures { generation: *indexed, bytes: *bytes },
        vectors: VectorFigures {
            held: held.as_deref(),
            is_searchable: *is_searchable,
            wanted: wanted.as_deref(),
        },
    }
}

fn source_figures(stats: &SourceStats) -> SourceFigures<'_> {
    let SourceStats { source, pages, deleted, chunks, bytes } = stats;
    SourceFigures {
        id: source.as_str(),
        pages: *pages,
        deleted: *deleted,
        chunks: *chunks,
        bytes: *bytes,
    }
}

/// What an import did.
pub fn imported(summary: &ImportSummary) -> ImportBody {
    let ImportSummary { added, changed, unchanged, deleted, failed, warnings, skipped } = summary;
    let remarks = |failures: &[ImportFailure]| failures.iter().map(remark).collect();
    ImportBody {
        added: *added,
        changed: *changed,
        unchanged: *unchanged,
        deleted: *deleted,
        failed: remarks(failed),
        warnings: remarks(warnings),
        skipped: skipped.clone(),
    }
}

/// The same, read back.
pub fn import_summary(body: ImportBody) -> ImportSummary {
    let ImportBody { added, changed, unchanged, deleted, failed, warnings, skipped } = body;
    let failure =
        |remark: FileRemark| ImportFailure { path: remark.path.into(), reason: remark.reason };
    let failures = |remarks: Vec<FileRemark>| remarks.into_iter().map(failure).collect();
    let (failed, warnings) = (failures(failed), failures(warnings));
    ImportSummary { added, changed, unchanged, deleted, failed, warnings, skipped }
}

fn remark(failure: &ImportFailure) -> FileRemark {
    let ImportFailure { path, reason } = failure;
    FileRemark { path: path.display().to_string(), reason: reason.clone() }
}

/// What making the index again did.
pub fn reindexed(corpus: &Corpus) -> ReindexBody {
    let Corpus { generation, root: _, pages, chunks } = corpus;
    ReindexBody { generation: generation.0, pages: *pages, chunks: *chunks }
}

/// Whether store and index agree.
pub fn verified(report: &VerifyReport) -> VerifyBody<'_> {
    let VerifyReport { pages, chunks, findings } = report;
    VerifyBody {
        status: if findings.is_empty() { Soundness::Pass } else { Soundness::Fail },
        pages: *pages,
        chunks: *chunks,
        findings: findings
            .iter()
            .map(|VerifyFinding { check, detail }| VerifyRow { check, detail })
            .collect(),
    }
}

/// Whose vectors there are.
pub fn vectors(report: &VectorReport) -> VectorsBody<'_> {
    let VectorReport { held, is_searchable, wanted, made, total } = report;
    VectorsBody {
        held: held.as_deref(),
        is_searchable: *is_searchable,
        wanted: wanted.as_deref(),
        made: *made,
        total: *total,
        is_settled: report.is_settled(),
    }
}
