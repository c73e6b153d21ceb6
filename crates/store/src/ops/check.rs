//! Checks every invariant of a workspace's rows.

use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, WorkspaceId};
use gbrain_core::page::PageKind;

use super::{feed, workspaces};
use crate::driver::{RowScope, SqlRow, SqlSession, SqlValue, collect, first};
use crate::schema::CHUNK_ROWS;
use crate::store::Store;
use crate::types::*;
use crate::{Result, row};

const LIVE: &str = "SELECT source_id, slug, content_hash, derive_version, chunk_count FROM pages \
     WHERE workspace_id = $1 AND deleted_at IS NULL";
const FEED: &str = "SELECT count(*), coalesce(min(generation), 1), coalesce(max(generation), 0) \
     FROM changes WHERE workspace_id = $1";
/// Pages whose pointer and versions disagree. Every page has versions 1 to its current one, which
/// must equal the page's row.
const POINTERS: &str = "SELECT p.source_id, p.slug FROM pages p LEFT JOIN page_versions v \
     ON v.workspace_id = p.workspace_id AND v.page_id = p.page_id AND v.version = p.version \
     WHERE p.workspace_id = $1 AND (v.version IS NULL OR v.generation <> p.generation \
     OR v.content_hash <> p.content_hash OR v.derive_version <> p.derive_version \
     OR (v.op = 'delete') <> (p.deleted_at IS NOT NULL) \
     OR (v.op <> 'delete' AND (v.chunk_count <> p.chunk_count OR v.title <> p.title \
     OR v.tags <> p.tags OR v.visibility <> p.visibility)) \
     OR p.version <> (SELECT count(*) FROM page_versions w \
     WHERE w.workspace_id = p.workspace_id AND w.page_id = p.page_id))";
const CHUNKS: &str = "SELECT p.source_id, p.slug, v.version FROM page_versions v JOIN pages p \
     ON p.workspace_id = v.workspace_id AND p.page_id = v.page_id \
     WHERE v.workspace_id = $1 AND v.chunk_count <> (SELECT count(*) FROM chunks c \
     WHERE c.workspace_id = v.workspace_id AND c.page_id = v.page_id AND c.version = v.version)";
const UNFED: &str = "SELECT p.source_id, p.slug, v.version FROM page_versions v JOIN pages p \
     ON p.workspace_id = v.workspace_id AND p.page_id = v.page_id \
     LEFT JOIN changes c ON c.workspace_id = v.workspace_id AND c.generation = v.generation \
     WHERE v.workspace_id = $1 AND (c.page_id IS NULL OR c.page_id <> v.page_id \
     OR c.version IS NULL OR c.version <> v.version)";
const CONTENT: &str = "SELECT v.page_id, v.version, v.content_hash, v.content_bytes, v.kind, \
     v.content FROM page_versions v WHERE v.workspace_id = $1 AND v.content IS NOT NULL \
     AND (v.page_id, v.version) > ($2, $3) ORDER BY v.page_id, v.version LIMIT 100";

const CAPTURES: &[(&str, &str)] = &[
    (
        "captures have numbers that their clock has not given out",
        "SELECT count(*) FROM eval_candidates c LEFT JOIN eval_clock k \
         ON k.workspace_id = c.workspace_id WHERE c.workspace_id = $1 \
         AND (k.at IS NULL OR c.id > k.last_id)",
    ),
    (
        "closed windows have numbers that their clock has not given out",
        "SELECT count(*) FROM eval_windows w LEFT JOIN eval_clock k \
         ON k.workspace_id = w.workspace_id WHERE w.workspace_id = $1 \
         AND (k.at IS NULL OR w.last_id > k.last_id)",
    ),
];

macro_rules! unnumbered {
    ($table:literal) => {
        concat!(
            "SELECT count(*) FROM ",
            $table,
            " t LEFT JOIN counters k ON k.workspace_id = t.workspace_id AND k.name = '",
            $table,
            "' WHERE t.workspace_id = $1 AND (k.last_id IS NULL OR t.id > k.last_id)"
        )
    };
}
const NUMBERS: &[(&str, &str)] = &[
    ("jobs are past their counter", unnumbered!("jobs")),
    ("labels are past their counter", unnumbered!("labels")),
    ("events are past their counter", unnumbered!("suite_events")),
    ("runs of suites are past their counter", unnumbered!("suite_runs")),
    ("canonical queries are past their counter", unnumbered!("canonical_queries")),
    ("retrieval logs are past their counter", unnumbered!("retrieval_logs")),
    ("words of feedback are past their counter", unnumbered!("feedback_events")),
    ("calibration pairs are past their counter", unnumbered!("calibration_pairs")),
    ("thresholds are past their counter", unnumbered!("rerank_thresholds")),
    ("messages are past their counter", unnumbered!("alert_deliveries")),
    ("silences are past their counter", unnumbered!("alert_silences")),
    ("incidents are past their counter", unnumbered!("incidents")),
    (
        "alerts looked at a run that was never recorded",
        "SELECT count(*) FROM alert_cursors t LEFT JOIN counters k \
         ON k.workspace_id = t.workspace_id AND k.name = 'suite_runs' \
         WHERE t.workspace_id = $1 AND t.run_id > coalesce(k.last_id, 0)",
    ),
];

macro_rules! orphans_of {
    ($table:literal) => {
        concat!(
            "SELECT count(*) FROM ",
            $table,
            " t LEFT JOIN page_versions v ON v.workspace_id = t.workspace_id \
             AND v.page_id = t.page_id AND v.version = t.version \
             WHERE t.workspace_id = $1 AND v.version IS NULL"
        )
    };
}
const ORPHANS: &[(&str, &str)] = &[
    (
        "versions without a page",
        "SELECT count(*) FROM page_versions t LEFT JOIN pages p \
         ON p.workspace_id = t.workspace_id AND p.page_id = t.page_id \
         WHERE t.workspace_id = $1 AND p.page_id IS NULL",
    ),
    (
        "pages without a source",
        "SELECT count(*) FROM pages t LEFT JOIN sources s \
         ON s.workspace_id = t.workspace_id AND s.id = t.source_id \
         WHERE t.workspace_id = $1 AND s.id IS NULL",
    ),
    ("chunks without a version", orphans_of!("chunks")),
    ("links without a version", orphans_of!("links")),
    ("aliases without a version", orphans_of!("aliases")),
    ("takes without a version", orphans_of!("takes")),
];

impl Store {
    /// Checks every invariant, reading everything once; empty if all hold.
    pub fn check(&self, ws: &WorkspaceId) -> Result<Vec<InvariantViolation>> {
        let mut findings = self.structure()?;
        findings.extend(self.read(RowScope::Workspace(ws), |session| {
            let head = workspaces::workspace_state(session, ws)?.head;
            let mut findings = Vec::new();
            check_head(session, ws, head, &mut findings)?;
            check_feed(session, ws, head, &mut findings)?;
            check_pages(session, ws, POINTERS, Invariant::Versions, &mut findings)?;
            check_pages(session, ws, UNFED, Invariant::Feed, &mut findings)?;
            check_pages(session, ws, CHUNKS, Invariant::Chunks, &mut findings)?;
            check_content(session, ws, &mut findings)?;
            check_none(session, ws, ORPHANS, Invariant::Dangling, &mut findings)?;
            check_none(session, ws, CAPTURES, Invariant::Captures, &mut findings)?;
            check_none(session, ws, NUMBERS, Invariant::Numbers, &mut findings)?;
            Ok(findings)
        })?);
        Ok(findings)
    }
}

fn check_head(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    head: CorpusHead,
    findings: &mut Vec<InvariantViolation>,
) -> Result<()> {
    let mut real = CorpusHead { generation: head.generation, ..CorpusHead::default() };
    session.query(LIVE, &[ws.into()], &mut |row| {
        let hash = member(&row::key(row, 0)?, row::hash(row, 2)?, row::small(row, 3)?);
        real.enter(hash, row::small(row, 4)?);
        Ok(())
    })?;
    if real.root != head.root {
        let detail = format!("stored {}, real {}", head.root.short(), real.root.short());
        findings.push(InvariantViolation { invariant: Invariant::Root, detail });
    }
    if (real.pages, real.chunks) != (head.pages, head.chunks) {
        let CorpusHead { pages, chunks, .. } = head;
        let detail = format!(
            "stored {pages} pages and {chunks} chunks, real {} and {}",
            real.pages, real.chunks
        );
        findings.push(InvariantViolation { invariant: Invariant::Counts, detail });
    }
    Ok(())
}

fn check_feed(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    head: CorpusHead,
    findings: &mut Vec<InvariantViolation>,
) -> Result<()> {
    let last = head.generation.0;
    let feed =
        first(session, FEED, &[ws.into()], |row| Ok((row.int(0)?, row.int(1)?, row.int(2)?)))?;
    if feed != Some((last, 1, last)) {
        let detail = format!("changes are not dense from 1 to {last}");
        findings.push(InvariantViolation { invariant: Invariant::Feed, detail });
    }
    if feed::head_at(session, ws, head.generation)? != Some(head) {
        let detail = format!("change {last} does not carry the head's root and counts");
        findings.push(InvariantViolation { invariant: Invariant::Feed, detail });
    }
    Ok(())
}

/// Reports the pages that a query returns.
fn check_pages(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    sql: &str,
    invariant: Invariant,
    findings: &mut Vec<InvariantViolation>,
) -> Result<()> {
    session.query(sql, &[ws.into()], &mut |row| {
        let detail = format!("page {}", row::key(row, 0)?);
        findings.push(InvariantViolation { invariant, detail });
        Ok(())
    })
}

/// A partially checked text.
struct CheckedText {
    at: PageVersion,
    is_sound: bool,
    /// Set while its chunks have to be checked: a chat's hash is that of the file from which the
    /// text was rendered.
    rendered: Option<String>,
}

fn check_content(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    findings: &mut Vec<InvariantViolation>,
) -> Result<()> {
    let mut after = PageVersion { id: PageId(0), version: 0 };
    loop {
        let params = [ws.into(), after.id.0.into(), after.version.into()];
        let mut texts = collect(session, CONTENT, &params, text)?;
        let Some(last) = texts.last() else { return Ok(()) };
        after = last.at;
        check_rendered(session, ws, &mut texts)?;
        for CheckedText { at, .. } in texts.iter().filter(|text| !text.is_sound) {
            let detail = format!("version {} of page number {}", at.version, at.id.0);
            findings.push(InvariantViolation { invariant: Invariant::Content, detail });
        }
    }
}

fn text(row: &dyn SqlRow) -> Result<CheckedText> {
    let content = row.text(5)?;
    let is_chat = row::name(row, 4, PageKind::from_name)? == PageKind::Chat;
    let is_sound = content.len() as u64 == row::natural(row, 3)?
        && (is_chat || Hash::of(content.as_bytes()) == row::hash(row, 2)?);
    let at = PageVersion { id: PageId(row.int(0)?), version: row::small(row, 1)? };
    Ok(CheckedText { at, is_sound, rendered: is_chat.then_some(content) })
}

/// Checks rendered texts by the hashes of their chunks.
fn check_rendered(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    texts: &mut [CheckedText],
) -> Result<()> {
    let mut rendered: Vec<&mut CheckedText> =
        texts.iter_mut().filter(|text| text.rendered.is_some()).collect();
    let keys: Vec<SqlValue<'_>> =
        rendered.iter().flat_map(|text| [text.at.id.0.into(), text.at.version.into()]).collect();
    let starts: Vec<Vec<usize>> =
        rendered.iter().map(|text| byte_offsets(text.rendered.as_deref().unwrap_or(""))).collect();
    session.lookup(&CHUNK_ROWS, ws, &keys, &mut |place, row| {
        let chunk = row::chunk(row)?;
        let text = &mut rendered[place];
        let content = text.rendered.as_deref().unwrap_or("");
        text.is_sound &= slice(content, &starts[place], chunk.start, chunk.end)
            .is_some_and(|passage| Hash::of(passage.as_bytes()) == chunk.hash);
        Ok(())
    })
}

/// The byte offset of each character, and of the end.
pub(super) fn byte_offsets(content: &str) -> Vec<usize> {
    content.char_indices().map(|(at, _)| at).chain([content.len()]).collect()
}

pub(super) fn slice<'t>(
    content: &'t str,
    offsets: &[usize],
    start: u32,
    end: u32,
) -> Option<&'t str> {
    content.get(*offsets.get(start as usize)?..*offsets.get(end as usize)?)
}

/// Reports the queries with a count above zero.
fn check_none(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    queries: &[(&str, &str)],
    invariant: Invariant,
    findings: &mut Vec<InvariantViolation>,
) -> Result<()> {
    for (what, sql) in queries {
        let count = first(session, sql, &[ws.into()], |row| row.int(0))?.unwrap_or(0);
        if count > 0 {
            findings.push(InvariantViolation { invariant, detail: format!("{count} {what}") });
        }
    }
    Ok(())
}
