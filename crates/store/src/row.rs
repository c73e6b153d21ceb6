//! Decodes rows into domain types of core. An invalid value means that the database is damaged.

use gbrain_core::access::Scope;
use gbrain_core::capture::{CaptureFailure, CaptureFields, FailureReason, StoredCapture};
use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{
    DateOrigin, Page, PageKind, StoredPage, Take, Visibility, cut_tags, cut_title, cut_type,
};
use gbrain_core::request::{Detail, Operation};
use jiff::Timestamp;
use jiff::civil::Date;

use crate::document::DocumentInfo;
use crate::driver::SqlRow;
use crate::job::{Job, JobCounts, JobInfo};
use crate::label::{LabelReview, StoredLabel};
use crate::plan::{CurrentPage, WorkspaceState};
use crate::token::{ApiToken, TokenDigest};
use crate::types::*;
use crate::{Result, StoreError};

/// Columns: head, pages, chunks, root.
pub(crate) fn head(row: &dyn SqlRow) -> Result<CorpusHead> {
    Ok(CorpusHead {
        generation: Generation(row.int(0)?),
        pages: natural(row, 1)?,
        chunks: natural(row, 2)?,
        root: hex(&row.text(3)?)?,
    })
}

/// Columns of [`head`], then last_page_id.
pub(crate) fn workspace_state(row: &dyn SqlRow) -> Result<WorkspaceState> {
    Ok(WorkspaceState { head: head(row)?, last_page: row.int(4)? })
}

/// Columns of [`head`], then id, created_at.
pub(crate) fn workspace(row: &dyn SqlRow) -> Result<Workspace> {
    Ok(Workspace {
        head: head(row)?,
        id: WorkspaceId::new(&row.text(4)?)?,
        created_at: timestamp(row.int(5)?)?,
    })
}

/// Columns: id, name, trusted, created_at.
pub(crate) fn source(row: &dyn SqlRow) -> Result<Source> {
    Ok(Source {
        id: SourceId::new(&row.text(0)?)?,
        name: row.text(1)?,
        trust: if row.flag(2)? { SourceTrust::Trusted } else { SourceTrust::Untrusted },
        created_at: timestamp(row.int(3)?)?,
    })
}

/// Decodes the columns of [`crate::schema::CURRENT`].
pub(crate) fn current(row: &dyn SqlRow) -> Result<CurrentPage> {
    Ok(CurrentPage {
        id: PageId(row.int(0)?),
        version: small(row, 1)?,
        generation: Generation(row.int(2)?),
        deleted: row.opt_int(3)?.is_some(),
        kind: name(row, 4, PageKind::from_name)?,
        content_hash: hash(row, 5)?,
        derive_version: small(row, 6)?,
        chunks: small(row, 7)?,
        origin: row.opt_text(8)?,
        visibility: name(row, 9, Visibility::from_name)?,
        is_damaged: false,
    })
}

/// Columns of [`crate::schema::VERSION_ROWS`]; `None` for a deletion. Also returns the derivation
/// version.
pub(crate) fn version(row: &dyn SqlRow) -> Result<Option<(StoredPage, u32)>> {
    let Some(content) = row.opt_text(14)? else { return Ok(None) };
    let page = Page {
        key: key(row, 3)?,
        kind: name(row, 5, PageKind::from_name)?,
        page_type: page_type(row, 6)?,
        title: title(row, 7)?,
        tags: tags(&row.text(8)?)?,
        aliases: Vec::new(),
        effective_date: date(row, 10)?,
        date_origin: opt_name(row, 11, DateOrigin::from_name)?,
        visibility: name(row, 12, Visibility::from_name)?,
        content,
        content_hash: hash(row, 9)?,
        chunks: Vec::new(),
        links: Vec::new(),
        takes: Vec::new(),
        warnings: Vec::new(),
    };
    let (id, version, generation) = (PageId(row.int(0)?), small(row, 1)?, Generation(row.int(2)?));
    Ok(Some((StoredPage { id, version, generation, page }, small(row, 13)?)))
}

/// Decodes the columns of [`crate::schema::CHUNK_ROWS`].
pub(crate) fn chunk(row: &dyn SqlRow) -> Result<Chunk> {
    Ok(Chunk {
        ordinal: small(row, 0)?,
        part: name(row, 1, PagePart::from_name)?,
        section: row.text(2)?,
        start: small(row, 3)?,
        end: small(row, 4)?,
        hash: hash(row, 5)?,
    })
}

/// Decodes the columns of [`crate::schema::LINK_ROWS`].
pub(crate) fn link(row: &dyn SqlRow) -> Result<Link> {
    Ok(Link {
        link_type: name(row, 0, LinkType::from_name)?,
        direction: name(row, 1, Direction::from_name)?,
        target: row.text(2)?,
        confidence: row.real(3)?,
        detected_by: name(row, 4, DetectedBy::from_name)?,
        since: date(row, 5)?,
        until: date(row, 6)?,
        evidence_chunk: row.opt_int(7)?.map(narrow).transpose()?,
        evidence_start: small(row, 8)?,
        evidence_end: small(row, 9)?,
    })
}

/// Decodes the columns of [`crate::schema::TAKE_ROWS`].
pub(crate) fn take(row: &dyn SqlRow) -> Result<Take> {
    Ok(Take {
        claim: row.text(0)?,
        kind: row.text(1)?,
        holder: row.opt_text(2)?,
        weight: row.real(3)?,
        since: date(row, 4)?,
        until: date(row, 5)?,
        active: row.flag(6)?,
    })
}

/// Columns: page_id, source_id, slug, version, generation, kind, title, page_type, tags,
/// effective_date, visibility, content_hash, chunk_count, origin, created_at, updated_at,
/// deleted_at.
pub(crate) fn info(row: &dyn SqlRow) -> Result<PageInfo> {
    Ok(PageInfo {
        id: PageId(row.int(0)?),
        key: key(row, 1)?,
        version: small(row, 3)?,
        generation: Generation(row.int(4)?),
        kind: name(row, 5, PageKind::from_name)?,
        title: title(row, 6)?,
        page_type: page_type(row, 7)?,
        tags: tags(&row.text(8)?)?,
        effective_date: date(row, 9)?,
        visibility: name(row, 10, Visibility::from_name)?,
        content_hash: hash(row, 11)?,
        chunks: small(row, 12)?,
        origin: row.opt_text(13)?,
        created_at: timestamp(row.int(14)?)?,
        updated_at: timestamp(row.int(15)?)?,
        deleted_at: opt_timestamp(row, 16)?,
    })
}

/// Columns: slug, content_hash, derive_version, deleted_at, origin.
pub(crate) fn digest(row: &dyn SqlRow) -> Result<PageDigest> {
    Ok(PageDigest {
        slug: Slug::new(&row.text(0)?)?,
        content_hash: hash(row, 1)?,
        derive_version: small(row, 2)?,
        deleted: row.opt_int(3)?.is_some(),
        origin: row.opt_text(4)?,
        at: PageVersion { id: PageId(row.int(5)?), version: small(row, 6)? },
    })
}

/// Columns: version, generation, op, title, visibility, content_hash, content_bytes, chunk_count,
/// created_at.
pub(crate) fn version_info(row: &dyn SqlRow) -> Result<VersionInfo> {
    Ok(VersionInfo {
        version: small(row, 0)?,
        generation: Generation(row.int(1)?),
        op: name(row, 2, VersionOp::from_name)?,
        title: title(row, 3)?,
        visibility: name(row, 4, Visibility::from_name)?,
        content_hash: hash(row, 5)?,
        bytes: natural(row, 6)?,
        chunks: small(row, 7)?,
        created_at: timestamp(row.int(8)?)?,
    })
}

/// Decodes the columns of [`crate::schema::CAPTURES`].
pub(crate) fn capture(row: &dyn SqlRow) -> Result<StoredCapture> {
    Ok(StoredCapture {
        id: row.int(0)?,
        created_at: timestamp(row.int(1)?)?,
        fields: CaptureFields {
            tool_name: name(row, 2, Operation::from_name)?,
            query: row.text(3)?,
            retrieved_slugs: row.text(4)?,
            retrieved_chunk_ids: row.text(5)?,
            source_ids: row.text(6)?,
            expand_enabled: row.opt_flag(7)?,
            detail: opt_name(row, 8, Detail::from_name)?,
            detail_resolved: opt_name(row, 9, Detail::from_name)?,
            vector_enabled: row.flag(10)?,
            expansion_applied: row.flag(11)?,
            latency_ms: row.real(12)?,
            remote: row.flag(13)?,
            job_id: row.opt_int(14)?,
            subagent_id: row.opt_int(15)?,
            extra: row.text(16)?,
        },
    })
}

/// Decodes the columns of [`crate::schema::CAPTURE_FAILURES`].
pub(crate) fn capture_failure(row: &dyn SqlRow) -> Result<CaptureFailure> {
    Ok(CaptureFailure {
        event_id: row.text(0)?,
        at: timestamp(row.int(1)?)?,
        reason: name(row, 2, FailureReason::from_name)?,
        detail: row.text(3)?,
    })
}

/// Columns: workspace_id, id, name, scope, digest, rate_per_second, created_at, expires_at,
/// revoked_at, last_used_at.
pub(crate) fn token(row: &dyn SqlRow) -> Result<ApiToken> {
    Ok(ApiToken {
        workspace: WorkspaceId::new(&row.text(0)?)?,
        id: row.text(1)?,
        name: row.text(2)?,
        scope: name(row, 3, Scope::from_name)?,
        digest: TokenDigest(hash(row, 4)?.0),
        rate_per_second: small(row, 5)?,
        created_at: timestamp(row.int(6)?)?,
        expires_at: opt_timestamp(row, 7)?,
        revoked_at: opt_timestamp(row, 8)?,
        last_used_at: opt_timestamp(row, 9)?,
    })
}

/// Columns: workspace_id, id, kind, state, attempt, max_attempts, run_after, done, total, note,
/// error, worker, lease_until, cancel_requested, created_by, created_at, started_at, updated_at,
/// finished_at, key, grp.
pub(crate) fn job_info(row: &dyn SqlRow) -> Result<JobInfo> {
    Ok(JobInfo {
        workspace: WorkspaceId::new(&row.text(0)?)?,
        id: row.int(1)?,
        kind: row.text(2)?,
        state: name(row, 3, JobState::from_name)?,
        attempt: small(row, 4)?,
        max_attempts: small(row, 5)?,
        run_after: timestamp(row.int(6)?)?,
        done: natural(row, 7)?,
        total: row.opt_int(8)?.map(|_| natural(row, 8)).transpose()?,
        note: row.text(9)?,
        error: row.opt_text(10)?,
        worker: row.opt_text(11)?,
        lease_until: opt_timestamp(row, 12)?,
        cancel_requested: row.flag(13)?,
        created_by: row.text(14)?,
        created_at: timestamp(row.int(15)?)?,
        started_at: opt_timestamp(row, 16)?,
        updated_at: timestamp(row.int(17)?)?,
        finished_at: opt_timestamp(row, 18)?,
        key: row.opt_text(19)?,
        group: row.opt_text(20)?,
    })
}

/// Columns of [`job_info`], then spec, checkpoint, result.
pub(crate) fn job(row: &dyn SqlRow) -> Result<Job> {
    Ok(Job {
        info: job_info(row)?,
        spec: row.text(21)?,
        checkpoint: row.opt_text(22)?,
        result: row.opt_text(23)?,
    })
}

pub(crate) fn job_counts(row: &dyn SqlRow) -> Result<JobCounts> {
    Ok(JobCounts { queued: natural(row, 0)?, running: natural(row, 1)? })
}

/// Columns: name, hash, bytes, created_at.
pub(crate) fn document_info(row: &dyn SqlRow) -> Result<DocumentInfo> {
    Ok(DocumentInfo {
        name: row.text(0)?,
        hash: hash(row, 1)?,
        bytes: natural(row, 2)?,
        created_at: timestamp(row.int(3)?)?,
    })
}

/// Columns: id, query, source_id, slug, grade, note, labelled_by, created_at.
pub(crate) fn label(row: &dyn SqlRow) -> Result<StoredLabel> {
    Ok(StoredLabel {
        id: row.int(0)?,
        query: row.text(1)?,
        key: key(row, 2)?,
        grade: row.int(4)?,
        note: row.opt_text(5)?,
        labelled_by: row.text(6)?,
        created_at: timestamp(row.int(7)?)?,
        settled_by: row.opt_text(8)?,
    })
}

/// Columns: label_id, reviewer, grade, borderline, span, created_at.
pub(crate) fn label_review(row: &dyn SqlRow) -> Result<LabelReview> {
    Ok(LabelReview {
        label: row.int(0)?,
        reviewer: row.text(1)?,
        grade: row.int(2)?,
        borderline: row.flag(3)?,
        span: row.opt_text(4)?,
        created_at: timestamp(row.int(5)?)?,
    })
}

/// A page key in two columns: source, slug.
pub(crate) fn key(row: &dyn SqlRow, at: usize) -> Result<PageKey> {
    Ok(PageKey::new(SourceId::new(&row.text(at)?)?, Slug::new(&row.text(at + 1)?)?))
}

/// The name of an enum value.
pub(crate) fn name<T>(row: &dyn SqlRow, at: usize, from_name: fn(&str) -> Option<T>) -> Result<T> {
    let text = row.text(at)?;
    from_name(&text).ok_or_else(|| StoreError::corrupt(format!("unknown name {text:?}")))
}

fn opt_name<T>(row: &dyn SqlRow, at: usize, from_name: fn(&str) -> Option<T>) -> Result<Option<T>> {
    if row.opt_text(at)?.is_none() { Ok(None) } else { name(row, at, from_name).map(Some) }
}

/// A hash as 32 bytes.
pub(crate) fn hash(row: &dyn SqlRow, at: usize) -> Result<Hash> {
    let bytes = row.blob(at)?;
    let bytes = bytes.try_into().map_err(|_| StoreError::corrupt("a hash is not 32 bytes"))?;
    Ok(Hash(bytes))
}

/// A hash as text.
pub(crate) fn hex(text: &str) -> Result<Hash> {
    Hash::from_hex(text).ok_or_else(|| StoreError::corrupt("a root is not 64 hexadecimal digits"))
}

pub(crate) fn natural(row: &dyn SqlRow, at: usize) -> Result<u64> {
    u64::try_from(row.int(at)?).map_err(|_| StoreError::corrupt("a count is negative"))
}

/// A number that fits 32 bits.
pub(crate) fn small(row: &dyn SqlRow, at: usize) -> Result<u32> {
    narrow(row.int(at)?)
}

fn narrow(number: i64) -> Result<u32> {
    u32::try_from(number).map_err(|_| StoreError::corrupt("a number does not fit 32 bits"))
}

/// A time, from milliseconds since 1970.
pub(crate) fn timestamp(milliseconds: i64) -> Result<Timestamp> {
    let (seconds, rest) = (milliseconds.div_euclid(1000), milliseconds.rem_euclid(1000));
    // Not from the number of milliseconds: jiff does not accept that of its last time.
    let nanoseconds = i32::try_from(rest * 1_000_000).unwrap_or(0);
    Timestamp::new(seconds, nanoseconds).map_err(|_| StoreError::corrupt("a time is out of range"))
}

pub(crate) fn opt_timestamp(row: &dyn SqlRow, at: usize) -> Result<Option<Timestamp>> {
    row.opt_int(at)?.map(timestamp).transpose()
}

fn date(row: &dyn SqlRow, at: usize) -> Result<Option<Date>> {
    let Some(text) = row.opt_text(at)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| StoreError::corrupt("a date is not a date"))
}

/// A title, cut if it was stored before titles had a limit.
fn title(row: &dyn SqlRow, at: usize) -> Result<String> {
    Ok(cut_title(&row.text(at)?).into_owned())
}

/// A page type, cut likewise.
fn page_type(row: &dyn SqlRow, at: usize) -> Result<String> {
    Ok(cut_type(&row.text(at)?).into_owned())
}

fn tags(json: &str) -> Result<Vec<String>> {
    let tags = serde_json::from_str(json);
    tags.map(cut_tags).map_err(|_| StoreError::corrupt("tags are not a list of names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_read_back_to_the_millisecond() {
        for text in [
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00Z",
            "2026-05-01T12:00:00.123Z",
            "9999-12-30T22:00:00.999Z",
            "-009999-01-02T01:59:59Z",
        ] {
            let moment: Timestamp = text.parse().unwrap();
            assert_eq!(timestamp(moment.as_millisecond()).unwrap(), moment);
        }
        for last in [Timestamp::MAX, Timestamp::MIN] {
            assert_eq!(timestamp(last.as_millisecond()).unwrap().as_second(), last.as_second());
        }
        assert!(timestamp(Timestamp::MAX.as_millisecond() + 1).is_err());
        assert!(timestamp(i64::MIN).is_err());
    }
}
