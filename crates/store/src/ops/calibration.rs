//! Judged pairs, thresholds and their scores.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use serde_json::json;

use super::{config, counters, workspaces, write};
use crate::calibration::*;
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::schema::RERANK_SCORES;
use crate::store::Store;
use crate::types::WriteKind;
use crate::{Result, row};

const PAIRS: &str = "SELECT id, query_hash, chunk_id, document, label, body, created_at \
     FROM calibration_pairs WHERE workspace_id = $1";
const ADD_PAIR: &str = "INSERT INTO calibration_pairs (workspace_id, id, document, label, body, \
     created_at, query_hash, chunk_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const REPLACE_PAIR: &str = "UPDATE calibration_pairs SET document = $3, label = $4, body = $5, \
     created_at = $6 WHERE workspace_id = $1 AND id = $2";
const DELETE_PAIR: &str = "DELETE FROM calibration_pairs WHERE workspace_id = $1 AND id = $2";
const ADD: &str = "INSERT INTO rerank_thresholds (workspace_id, id, model, status, threshold, n, \
     mean, sigma, created_at, body, scores) \
     VALUES ($1, $2, $3, 'candidate', $4, $5, $6, $7, $8, $9, $10)";
const THRESHOLDS: &str = "SELECT id, model, status, threshold, n, mean, sigma, body, created_at, \
     decided_at FROM rerank_thresholds WHERE workspace_id = $1";
const SUPERSEDE: &str = "UPDATE rerank_thresholds SET status = 'superseded', decided_at = $3 \
     WHERE workspace_id = $1 AND status = 'active' AND id <> $2 AND model = \
     (SELECT chosen.model FROM rerank_thresholds AS chosen \
     WHERE chosen.workspace_id = $1 AND chosen.id = $2)";
const SET_STATUS: &str = "UPDATE rerank_thresholds SET status = $3, decided_at = $4 \
     WHERE workspace_id = $1 AND id = $2";
const SET_BODY: &str = "UPDATE rerank_thresholds SET body = $3 WHERE workspace_id = $1 AND id = $2";
const SCORES: &str = "SELECT pair_id, score FROM rerank_scores \
     WHERE workspace_id = $1 AND threshold_id = $2 ORDER BY pair_id";

impl Store {
    /// Stores pairs, all or none; returns the outcomes, in order.
    pub fn put_pairs(
        &self,
        ws: &WorkspaceId,
        pairs: &[NewPair],
        now: Timestamp,
    ) -> Result<Vec<PairPut>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            // Locked until the end of the transaction: concurrent inserts of one pair are
            // serialised.
            counters::take(session, ws, "calibration_pairs", 0)?;
            pairs.iter().map(|pair| put_pair(session, ws, pair, now)).collect()
        })
    }

    /// Pairs with a label, or all, newest first, at most `limit`.
    pub fn pairs(
        &self,
        ws: &WorkspaceId,
        label: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredPair>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[label.unwrap_or("")])?;
            let sql = format!(
                "{PAIRS} AND (label = $2 OR $2 IS NULL) ORDER BY created_at DESC, id DESC LIMIT $3"
            );
            collect(session, &sql, &[ws.into(), label.into(), limit.into()], pair)
        })
    }

    /// Deletes a pair; returns whether it existed. Its scores remain.
    pub fn delete_pair(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            Ok(session.execute(DELETE_PAIR, &[ws.into(), id.into()])? > 0)
        })
    }

    /// Stores a threshold as a candidate with its scores, all or none; returns its number.
    pub fn add_threshold(
        &self,
        ws: &WorkspaceId,
        threshold: &NewThreshold,
        now: Timestamp,
    ) -> Result<i64> {
        self.write_beside(ws, |session| add_threshold(session, ws, threshold, now))
    }

    /// Sets the status of a threshold; returns whether it exists. A threshold that becomes active
    /// supersedes the active one of the same model, and the settings are set in the same
    /// transaction.
    pub fn set_rerank_threshold_status(
        &self,
        ws: &WorkspaceId,
        id: i64,
        status: ThresholdStatus,
        settings: &[(&str, &str)],
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            // Locked until the end of the transaction, or two concurrent activations would not see
            // each other.
            counters::take(session, ws, "rerank_thresholds", 0)?;
            let at = now.as_millisecond();
            if status == ThresholdStatus::Active {
                session.execute(SUPERSEDE, &[ws.into(), id.into(), at.into()])?;
            }
            let params = [ws.into(), id.into(), status.name().into(), at.into()];
            let found = session.execute(SET_STATUS, &params)? > 0;
            if found {
                for (key, value) in settings {
                    config::set(session, ws, key, value)?;
                }
            }
            Ok(found)
        })
    }

    /// Replaces the details of a threshold with the result of `edit`, excluding concurrent changes.
    /// Returns the new threshold, if it exists.
    pub fn edit_threshold(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&RerankThreshold) -> String + Sync),
    ) -> Result<Option<RerankThreshold>> {
        self.write_beside(ws, |session| rewrite_threshold(session, ws, id, edit))
    }

    pub fn threshold(&self, ws: &WorkspaceId, id: i64) -> Result<Option<RerankThreshold>> {
        self.read(RowScope::Workspace(ws), |session| threshold(session, ws, id))
    }

    /// Thresholds of a model, or all, newest first, at most `limit`.
    pub fn thresholds(
        &self,
        ws: &WorkspaceId,
        model: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RerankThreshold>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[model.unwrap_or("")])?;
            let sql =
                format!("{THRESHOLDS} AND (model = $2 OR $2 IS NULL) ORDER BY id DESC LIMIT $3");
            collect(session, &sql, &[ws.into(), model.into(), limit.into()], threshold_of)
        })
    }

    /// The scores of a threshold, by pair.
    pub fn rerank_scores(&self, ws: &WorkspaceId, threshold: i64) -> Result<Vec<RerankScore>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, SCORES, &[ws.into(), threshold.into()], |row| {
                Ok(RerankScore { pair: row.int(0)?, score: row.real(1)? })
            })
        })
    }
}

fn put_pair(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    new: &NewPair,
    now: Timestamp,
) -> Result<PairPut> {
    let NewPair { query_hash, chunk_id, document, label, body, replaces } = new;
    refuse_nul(&[chunk_id, document, label, body])?;
    let mut replaced = 0;
    for id in replaces {
        replaced += session.execute(DELETE_PAIR, &[ws.into(), (*id).into()])?;
    }
    let sql = format!("{PAIRS} AND query_hash = $2 AND chunk_id = $3");
    let key = [ws.into(), query_hash.into(), chunk_id.as_str().into()];
    let found = first(session, &sql, &key, pair)?;
    if let Some(found) = &found
        && (document, label, body) == (&found.document, &found.label, &found.body)
    {
        return Ok(PairPut { id: found.id, kind: WriteKind::Unchanged });
    }
    let id = match &found {
        Some(found) => found.id,
        None => counters::take(session, ws, "calibration_pairs", 1)?,
    };
    let mut params = vec![
        ws.into(),
        id.into(),
        document.as_str().into(),
        label.as_str().into(),
        body.as_str().into(),
        now.as_millisecond().into(),
    ];
    if found.is_some() {
        session.execute(REPLACE_PAIR, &params)?;
        return Ok(PairPut { id, kind: WriteKind::Changed });
    }
    params.extend([query_hash.into(), chunk_id.as_str().into()]);
    session.execute(ADD_PAIR, &params)?;
    let kind = if replaced > 0 { WriteKind::Changed } else { WriteKind::Added };
    Ok(PairPut { id, kind })
}

pub(super) fn add_threshold(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    new: &NewThreshold,
    now: Timestamp,
) -> Result<i64> {
    workspaces::workspace_state(session, ws)?;
    let NewThreshold { model, threshold, n, mean, sigma, body, scores } = new;
    refuse_nul(&[model, body])?;
    let id = counters::take(session, ws, "rerank_thresholds", 1)?;
    let params = [
        ws.into(),
        id.into(),
        model.as_str().into(),
        (*threshold).into(),
        (*n).into(),
        (*mean).into(),
        (*sigma).into(),
        now.as_millisecond().into(),
        body.as_str().into(),
        scores_json(scores).into(),
    ];
    session.execute(ADD, &params)?;
    let values: Vec<_> = scores
        .iter()
        .flat_map(|RerankScore { pair, score }| [id.into(), (*pair).into(), (*score).into()])
        .collect();
    session.insert(&RERANK_SCORES, ws, &values)?;
    Ok(id)
}

/// The scores as JSON in the threshold's row, for external readers of the table. gbrain itself
/// reads `rerank_scores`.
fn scores_json(scores: &[RerankScore]) -> String {
    let mut scores = scores.to_vec();
    scores.sort_by_key(|score| score.pair);
    let scores =
        scores.iter().map(|RerankScore { pair, score }| json!({ "pair_id": pair, "score": score }));
    serde_json::Value::from_iter(scores).to_string()
}

fn rewrite_threshold(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    edit: &(dyn Fn(&RerankThreshold) -> String + Sync),
) -> Result<Option<RerankThreshold>> {
    workspaces::workspace_state(session, ws)?;
    // Locked until the end of the transaction, so the replaced value is the one read here.
    counters::take(session, ws, "rerank_thresholds", 0)?;
    let Some(mut found) = threshold(session, ws, id)? else { return Ok(None) };
    found.body = edit(&found);
    refuse_nul(&[&found.body])?;
    session.execute(SET_BODY, &[ws.into(), id.into(), found.body.as_str().into()])?;
    Ok(Some(found))
}

pub(super) fn threshold(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
) -> Result<Option<RerankThreshold>> {
    workspaces::workspace_state(session, ws)?;
    let sql = format!("{THRESHOLDS} AND id = $2");
    first(session, &sql, &[ws.into(), id.into()], threshold_of)
}

fn pair(row: &dyn SqlRow) -> Result<StoredPair> {
    Ok(StoredPair {
        id: row.int(0)?,
        query_hash: row::hash(row, 1)?,
        chunk_id: row.text(2)?,
        document: row.text(3)?,
        label: row.text(4)?,
        body: row.text(5)?,
        created_at: row::timestamp(row.int(6)?)?,
    })
}

fn threshold_of(row: &dyn SqlRow) -> Result<RerankThreshold> {
    Ok(RerankThreshold {
        id: row.int(0)?,
        model: row.text(1)?,
        status: row::name(row, 2, ThresholdStatus::from_name)?,
        threshold: row.real(3)?,
        n: row::natural(row, 4)?,
        mean: row.real(5)?,
        sigma: row.real(6)?,
        body: row.text(7)?,
        created_at: row::timestamp(row.int(8)?)?,
        decided_at: row::opt_timestamp(row, 9)?,
    })
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the calibration".to_owned()))
}
