//! Labels, one per query and page, with the judgement of each reviewer.
//!
//! A label has the grade that counts: that of the latest judgement, until a reviewer settles a
//! disagreement by choosing one. A later judgement opens it again. Every change locks the counter of
//! labels, so judgements of one page are ordered.

use std::ops::RangeInclusive;

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{counters, workspaces, write};
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::label::{LabelReview, NewLabel, StoredLabel, Withdrawal};
use crate::store::Store;
use crate::{Result, StoreError, row};

const PUT: &str = "INSERT INTO labels (workspace_id, id, query_hash, query, source_id, slug, \
     grade, note, labelled_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (workspace_id, query_hash, source_id, slug) DO UPDATE SET \
     grade = excluded.grade, note = excluded.note, labelled_by = excluded.labelled_by, \
     created_at = excluded.created_at, settled_by = NULL RETURNING id";
const LIST: &str = "SELECT id, query, source_id, slug, grade, note, labelled_by, created_at, \
     settled_by FROM labels WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
const ONE: &str = "SELECT id, query, source_id, slug, grade, note, labelled_by, created_at, \
     settled_by FROM labels WHERE workspace_id = $1 AND id = $2";
const REVIEW: &str = "INSERT INTO label_reviews (workspace_id, label_id, reviewer, grade, \
     borderline, span, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
     ON CONFLICT (workspace_id, label_id, reviewer) DO UPDATE SET grade = excluded.grade, \
     borderline = excluded.borderline, span = excluded.span, created_at = excluded.created_at";
const REVIEWS: &str = "SELECT label_id, reviewer, grade, borderline, span, created_at \
     FROM label_reviews WHERE workspace_id = $1 AND label_id >= $2 AND label_id <= $3 \
     ORDER BY label_id, reviewer LIMIT $4";
const SETTLE: &str = "UPDATE labels SET grade = $3, settled_by = $4 \
     WHERE workspace_id = $1 AND id = $2";
const WITHDRAW: &str =
    "DELETE FROM label_reviews WHERE workspace_id = $1 AND label_id = $2 AND reviewer = $3";
const LATEST: &str = "SELECT label_id, reviewer, grade, borderline, span, created_at \
     FROM label_reviews WHERE workspace_id = $1 AND label_id = $2 \
     ORDER BY created_at DESC, reviewer LIMIT 1";
/// A settled grade stays.
const RETURN_TO: &str = "UPDATE labels SET labelled_by = $4, created_at = $5, \
     grade = CASE WHEN settled_by IS NULL THEN $3 ELSE grade END \
     WHERE workspace_id = $1 AND id = $2";
const DELETE: &str = "DELETE FROM labels WHERE workspace_id = $1 AND id = $2";

impl Store {
    /// Stores labels, all or none; returns their numbers, in order. A label for the same query and
    /// page is replaced and keeps its number. New numbers increase in the order in which labels
    /// become visible.
    pub fn put_labels(
        &self,
        ws: &WorkspaceId,
        labels: &[NewLabel],
        by: &str,
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(labels, by)?;
            if labels.is_empty() {
                return Ok(Vec::new());
            }
            let last = counters::take(session, ws, "labels", labels.len())?;
            let before = last - labels.len() as i64;
            let numbered = (before + 1..).zip(labels);
            numbered.map(|(id, label)| put_one(session, ws, id, label, by, now)).collect()
        })
    }

    /// Labels with a higher number than `after`, by number, at most `limit`.
    pub fn labels(
        &self,
        ws: &WorkspaceId,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<StoredLabel>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(
                session,
                LIST,
                &[ws.into(), after.unwrap_or(0).into(), limit.into()],
                row::label,
            )
        })
    }

    /// A label by its number.
    pub fn label(&self, ws: &WorkspaceId, id: i64) -> Result<Option<StoredLabel>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            first(session, ONE, &[ws.into(), id.into()], row::label)
        })
    }

    /// The judgements of labels with these numbers, by label and reviewer, at most `limit`.
    pub fn label_reviews(
        &self,
        ws: &WorkspaceId,
        labels: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<LabelReview>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let params =
                [ws.into(), (*labels.start()).into(), (*labels.end()).into(), limit.into()];
            collect(session, REVIEWS, &params, row::label_review)
        })
    }

    /// Chooses the grade that counts; returns whether the label exists. The judgements stay as they
    /// are.
    pub fn settle_label(&self, ws: &WorkspaceId, id: i64, grade: i64, by: &str) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(by, || "a label".to_owned())?;
            counters::take(session, ws, "labels", 0)?;
            let params = [ws.into(), id.into(), grade.into(), by.into()];
            Ok(session.execute(SETTLE, &params)? > 0)
        })
    }

    /// Withdraws the judgement of one reviewer. The latest judgement of another reviewer counts
    /// then; without one, the label is deleted.
    pub fn withdraw_review(&self, ws: &WorkspaceId, id: i64, by: &str) -> Result<Withdrawal> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(by, || "a label".to_owned())?;
            counters::take(session, ws, "labels", 0)?;
            if session.execute(WITHDRAW, &[ws.into(), id.into(), by.into()])? == 0 {
                return Ok(Withdrawal::NotFound);
            }
            let latest = first(session, LATEST, &[ws.into(), id.into()], row::label_review)?;
            let Some(LabelReview { reviewer, grade, created_at, .. }) = latest else {
                session.execute(DELETE, &[ws.into(), id.into()])?;
                return Ok(Withdrawal::Removed);
            };
            let params = [
                ws.into(),
                id.into(),
                grade.into(),
                reviewer.as_str().into(),
                created_at.as_millisecond().into(),
            ];
            session.execute(RETURN_TO, &params)?;
            Ok(Withdrawal::Kept)
        })
    }

    /// Deletes a label with the judgements of all reviewers; returns whether it existed.
    pub fn delete_label(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            Ok(session.execute(DELETE, &[ws.into(), id.into()])? > 0)
        })
    }
}

fn put_one(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    label: &NewLabel,
    by: &str,
    now: Timestamp,
) -> Result<i64> {
    let NewLabel { query, key, grade, note, span, borderline } = label;
    let hash = Hash::of(query.as_bytes());
    let params = [
        ws.into(),
        id.into(),
        (&hash).into(),
        query.as_str().into(),
        key.source.as_str().into(),
        key.slug.as_str().into(),
        (*grade).into(),
        note.as_deref().into(),
        by.into(),
        now.as_millisecond().into(),
    ];
    let id = first(session, PUT, &params, |row| row.int(0))?
        .ok_or_else(|| StoreError::corrupt("a label got no number"))?;
    let review = [
        ws.into(),
        id.into(),
        by.into(),
        (*grade).into(),
        (*borderline).into(),
        span.as_deref().into(),
        now.as_millisecond().into(),
    ];
    session.execute(REVIEW, &review)?;
    Ok(id)
}

fn refuse_nul(labels: &[NewLabel], by: &str) -> Result<()> {
    let texts = labels
        .iter()
        .flat_map(|label| [Some(&label.query), label.note.as_ref(), label.span.as_ref()]);
    for text in texts.flatten().map(String::as_str).chain([by]) {
        write::refuse_nul_in(text, || "a label".to_owned())?;
    }
    Ok(())
}
