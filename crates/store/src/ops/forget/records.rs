//! Erasure from logs, runs, captures, jobs, events and alerts. The records remain, without the
//! page's name.

use gbrain_core::erasure::{CaptureErasure, ErasedPage};
use serde_json::{Map, Value as Json};

use super::{PageErasure, RowKey, TextColumn};
use crate::Result;
use crate::driver::SqlRow;
use crate::judging::RunKind;

const CAPTURES: &str = "SELECT id, retrieved_slugs, retrieved_chunk_ids, source_ids, extra \
     FROM eval_candidates WHERE workspace_id = $1 ORDER BY id";
const REWRITE_CAPTURE: &str = "UPDATE eval_candidates SET retrieved_slugs = $3, \
     retrieved_chunk_ids = $4, extra = $5 WHERE workspace_id = $1 AND id = $2";
const RUNS: &str =
    "SELECT id, body FROM eval_runs WHERE workspace_id = $1 AND kind = $2 ORDER BY id";
const REWRITE_RUN: &str =
    "UPDATE eval_runs SET body = $4 WHERE workspace_id = $1 AND kind = $2 AND id = $3";
const ANSWERS_WITHOUT_PAGES: &str =
    "DELETE FROM model_answers WHERE workspace_id = $1 AND pages IS NULL";
const ANSWERS: &str = "SELECT kind, key, pages FROM model_answers \
     WHERE workspace_id = $1 AND pages IS NOT NULL AND pages <> '[]'";
const DELETE_ANSWER: &str =
    "DELETE FROM model_answers WHERE workspace_id = $1 AND kind = $2 AND key = $3";
const ENDED: &str = " AND state IN ('done', 'failed', 'cancelled')";
const OPEN: &str =
    "SELECT spec FROM jobs WHERE workspace_id = $1 AND state IN ('queued', 'running')";

/// A column of a table with the key `id`.
const fn numbered(table: &'static str, column: &'static str) -> TextColumn {
    TextColumn { table, key: RowKey::Number("id"), column, only: "" }
}

/// Free texts that may quote a whole key.
const REMARKS: [TextColumn; 11] = [
    numbered("suite_runs", "summary"),
    numbered("suite_events", "document"),
    numbered("suite_events", "body"),
    numbered("labels", "note"),
    numbered("alert_deliveries", "payload"),
    numbered("alert_silences", "body"),
    numbered("incidents", "title"),
    numbered("incidents", "body"),
    numbered("rerank_thresholds", "body"),
    TextColumn { table: "alert_states", key: RowKey::Text("dedup_key"), column: "body", only: "" },
    TextColumn {
        table: "eval_capture_failures",
        key: RowKey::Text("event_id"),
        column: "detail",
        only: "",
    },
];

impl PageErasure<'_> {
    pub(super) fn logs(&mut self) -> Result<()> {
        self.counts.retrieval_logs =
            self.rewrite(&numbered("retrieval_logs", "body"), ErasedPage::record)?;
        self.counts.remarks +=
            self.rewrite(&numbered("feedback_events", "comment"), ErasedPage::record)?;
        Ok(())
    }

    pub(super) fn suite_runs(&mut self) -> Result<()> {
        self.counts.suite_reports =
            self.rewrite(&numbered("suite_runs", "report"), ErasedPage::record)?;
        Ok(())
    }

    /// Runs of the probe use their own questions and contain nothing from any page.
    pub(super) fn contradictions(&mut self) -> Result<()> {
        let kind = RunKind::Contradictions.name();
        let page = self.page;
        let mut changed = Vec::new();
        self.session.query(RUNS, &[self.ws.into(), kind.into()], &mut |row| {
            if let Some(body) = page.erase_from_contradiction_report(&row.text(1)?) {
                changed.push((row.text(0)?, body));
            }
            Ok(())
        })?;
        self.counts.contradiction_reports = changed.len() as u64;
        for (id, body) in changed {
            let params = [self.ws.into(), kind.into(), id.into(), body.into()];
            self.session.execute(REWRITE_RUN, &params)?;
        }
        Ok(())
    }

    pub(super) fn captures(&mut self) -> Result<()> {
        let page = self.page;
        let (mut changed, mut unknown) = (Vec::new(), 0);
        self.session.query(CAPTURES, &[self.ws.into()], &mut |row| {
            let mut capture = capture(row)?;
            match page.erase_from_capture(&mut capture) {
                CaptureErasure::Unnamed => (),
                CaptureErasure::AnotherKey => unknown += 1,
                CaptureErasure::Erased => changed.push((row.int(0)?, capture)),
            }
            Ok(())
        })?;
        self.counts.captures = changed.len() as u64;
        self.counts.captures_under_another_key = unknown;
        for (id, mut capture) in changed {
            let mut column = |name| capture.shift_remove(name).unwrap_or_default().to_string();
            let [slugs, chunks, _] = LISTS.map(&mut column);
            let extra = Json::from(capture).to_string();
            let params = [self.ws.into(), id.into(), slugs.into(), chunks.into(), extra.into()];
            self.session.execute(REWRITE_CAPTURE, &params)?;
        }
        Ok(())
    }

    /// Rewrites the results and messages of ended jobs. Their specifications were deleted when they
    /// ended.
    pub(super) fn jobs(&mut self) -> Result<()> {
        let ended = |column| TextColumn { only: ENDED, ..numbered("jobs", column) };
        for column in ["note", "error", "checkpoint", "result"] {
            self.counts.jobs += self.rewrite(&ended(column), ErasedPage::record)?;
        }
        let (page, mut open) = (self.page, 0);
        self.session.query(OPEN, &[self.ws.into()], &mut |row| {
            open += u64::from(page.is_in_import(&row.text(0)?));
            Ok(())
        })?;
        self.counts.open_imports = open;
        Ok(())
    }

    pub(super) fn remarks(&mut self) -> Result<()> {
        for column in &REMARKS {
            self.counts.remarks += self.rewrite(column, ErasedPage::record)?;
        }
        Ok(())
    }

    /// Deletes answers that were derived from the page, and those of unknown origin.
    pub(super) fn model_answers(&mut self) -> Result<()> {
        self.counts.model_answers_without_pages =
            self.session.execute(ANSWERS_WITHOUT_PAGES, &[self.ws.into()])?;
        let page = self.page;
        let mut own = Vec::new();
        self.session.query(ANSWERS, &[self.ws.into()], &mut |row| {
            let pages: Vec<String> = serde_json::from_str(&row.text(2)?).unwrap_or_default();
            if pages.is_empty() || pages.iter().any(|name| page.is_document(name)) {
                own.push((row.text(0)?, row.blob(1)?));
            }
            Ok(())
        })?;
        self.counts.model_answers = own.len() as u64;
        for (kind, key) in own {
            let key = crate::driver::SqlValue::Blob(key.into());
            self.session.execute(DELETE_ANSWER, &[self.ws.into(), kind.into(), key])?;
        }
        Ok(())
    }
}

/// The columns of a capture that are lists, in the order in which they are read.
const LISTS: [&str; 3] = ["retrieved_slugs", "retrieved_chunk_ids", "source_ids"];

/// A capture as one object: its members, and its lists under their names.
fn capture(row: &dyn SqlRow) -> Result<Map<String, Json>> {
    let extra = serde_json::from_str(&row.text(4)?).unwrap_or_default();
    let mut capture = if let Json::Object(extra) = extra { extra } else { Map::new() };
    for (name, at) in LISTS.into_iter().zip(1..) {
        let list = serde_json::from_str(&row.text(at)?).unwrap_or_default();
        capture.insert(name.to_owned(), list);
    }
    Ok(capture)
}
