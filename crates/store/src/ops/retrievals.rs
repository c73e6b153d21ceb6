//! Retrieval logs and their feedback.

use std::ops::ControlFlow;

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, counters, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, SqlValue};
use crate::retrieval_log::{
    Feedback, NewFeedback, NewRetrievalLog, RetrievalFields, RetrievalFilter, RetrievalLog,
    RetrievalOrigin,
};
use crate::schema::{FEEDBACK, FEEDBACK_ROWS, RETRIEVAL_LOGS};
use crate::store::Store;
use crate::{Result, StoreError, row};

const ROWS: &str = "SELECT id, created_at, request_id, query_text, retrieval_mode, experiment_id, \
     user_id, top_k, rerank_threshold, total_ms, dense_ms, rerank_ms, hydration_ms, body \
     FROM retrieval_logs WHERE workspace_id = $1";
const HAS_FEEDBACK: &str = "EXISTS (SELECT 1 FROM feedback_events f \
     WHERE f.workspace_id = retrieval_logs.workspace_id \
     AND f.retrieval_log_id = retrieval_logs.id AND f.signal_type";
/// Locks the retrieval log until the end of the transaction, so that it is not pruned while
/// feedback is added.
const LOCK_ROW: &str =
    "UPDATE retrieval_logs SET top_k = top_k WHERE workspace_id = $1 AND id = $2";
const PRUNE_LIVE: &str = "DELETE FROM retrieval_logs WHERE workspace_id = $1 AND created_at < $2 \
     AND experiment_id IS NULL AND (user_id IS NULL OR user_id <> $3 OR $3 IS NULL)";

impl Store {
    /// Retrieval logs, newest first. For many of them, [`Store::scan_retrieval_logs`] needs less
    /// memory.
    pub fn retrieval_logs(
        &self,
        ws: &WorkspaceId,
        filter: &RetrievalFilter,
    ) -> Result<Vec<RetrievalLog>> {
        let mut logs = Vec::new();
        self.scan_retrieval_logs(ws, filter, &mut |log| {
            logs.push(log);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(logs)
    }

    /// Stores retrieval logs with their feedback, all or none; returns their numbers, in order.
    pub fn add_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| add(session, ws, logs, now))
    }

    /// Stores feedback on a retrieval log; returns its number. `None` if there is no such log.
    pub fn add_feedback(
        &self,
        ws: &WorkspaceId,
        log: i64,
        feedback: &NewFeedback,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_feedback(feedback)?;
            if session.execute(LOCK_ROW, &[ws.into(), log.into()])? == 0 {
                return Ok(None);
            }
            insert_feedback(session, ws, &[(log, feedback)], now).map(Some)
        })
    }

    /// Reads retrieval logs, newest first, in one snapshot and in constant memory, until `each`
    /// breaks. Its errors end the read and are returned.
    pub fn scan_retrieval_logs(
        &self,
        ws: &WorkspaceId,
        filter: &RetrievalFilter,
        each: &mut dyn FnMut(RetrievalLog) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let (mut sql, mut params) = filtered_statement(ws, filter)?;
            sql.push_str(" ORDER BY created_at DESC, id DESC");
            if let Some(limit) = filter.limit {
                params.push(limit.into());
                sql.push_str(&format!(" LIMIT ${}", params.len()));
            }
            session.stream(&sql, &params, &mut |row| each(log(row)?))
        })
    }

    /// The feedback on retrieval logs, in the order of `logs`, each by number.
    pub fn feedback(&self, ws: &WorkspaceId, logs: &[i64]) -> Result<Vec<Vec<Feedback>>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let keys: Vec<SqlValue<'_>> = logs.iter().map(|id| (*id).into()).collect();
            let mut feedback = vec![Vec::new(); logs.len()];
            session.lookup(&FEEDBACK_ROWS, ws, &keys, &mut |place, row| {
                feedback[place].push(Feedback {
                    id: row.int(0)?,
                    retrieval_log_id: row.int(1)?,
                    signal_type: row.text(2)?,
                    score: row.opt_real(3)?,
                    comment: row.opt_text(4)?,
                    created_at: row::timestamp(row.int(5)?)?,
                });
                Ok(())
            })?;
            Ok(feedback)
        })
    }

    /// Deletes logs of live traffic before `until`, with their feedback; returns their number. Logs
    /// of suite runs stay, and so do those of the user `except`.
    pub fn prune_live_logs(
        &self,
        ws: &WorkspaceId,
        until: Timestamp,
        except: Option<&str>,
    ) -> Result<u64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(except.unwrap_or(""))?;
            session.execute(
                PRUNE_LIVE,
                &[ws.into(), captures::first_millisecond(until).into(), except.into()],
            )
        })
    }
}

pub(super) fn add(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    logs: &[NewRetrievalLog],
    now: Timestamp,
) -> Result<Vec<i64>> {
    workspaces::workspace_state(session, ws)?;
    if logs.is_empty() {
        return Ok(Vec::new());
    }
    for NewRetrievalLog { at: _, fields, feedback } in logs {
        refuse(fields)?;
        feedback.iter().try_for_each(refuse_feedback)?;
    }
    let last = counters::take(session, ws, "retrieval_logs", logs.len())?;
    let ids: Vec<i64> = (last - logs.len() as i64 + 1..=last).collect();
    let mut values = Vec::with_capacity(logs.len() * RETRIEVAL_LOGS.columns.len());
    for (id, log) in ids.iter().zip(logs) {
        values.extend([(*id).into(), log.at.as_millisecond().into()]);
        values.extend(values_of(&log.fields));
    }
    session.insert(&RETRIEVAL_LOGS, ws, &values)?;
    let feedback: Vec<(i64, &NewFeedback)> = ids
        .iter()
        .zip(logs)
        .flat_map(|(id, log)| log.feedback.iter().map(|feedback| (*id, feedback)))
        .collect();
    if !feedback.is_empty() {
        insert_feedback(session, ws, &feedback, now)?;
    }
    Ok(ids)
}

/// Stores feedback on existing logs; returns the last number.
fn insert_feedback(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    feedback: &[(i64, &NewFeedback)],
    now: Timestamp,
) -> Result<i64> {
    let last = counters::take(session, ws, "feedback_events", feedback.len())?;
    let mut values = Vec::with_capacity(feedback.len() * FEEDBACK.columns.len());
    for (id, (log, feedback)) in (last - feedback.len() as i64 + 1..).zip(feedback) {
        let NewFeedback { signal_type, score, comment } = feedback;
        values.extend([
            id.into(),
            (*log).into(),
            signal_type.as_str().into(),
            (*score).into(),
            comment.as_deref().into(),
            now.as_millisecond().into(),
        ]);
    }
    session.insert(&FEEDBACK, ws, &values)?;
    Ok(last)
}

/// The statement that reads the logs that pass a filter, ignoring its limit.
fn filtered_statement<'a>(
    ws: &'a WorkspaceId,
    filter: &'a RetrievalFilter,
) -> Result<(String, Vec<SqlValue<'a>>)> {
    let RetrievalFilter {
        id,
        since,
        until,
        traffic,
        retrieval_mode,
        request_id,
        signal_type,
        limit: _,
    } = filter;
    let experiment = match traffic {
        Some(RetrievalOrigin::Experiment(id)) => Some(id),
        _ => None,
    };
    for text in [retrieval_mode, request_id, signal_type].into_iter().flatten().chain(experiment) {
        refuse_nul(text)?;
    }
    let narrowings: [(&str, Option<SqlValue<'a>>); 6] = [
        ("id =", id.map(SqlValue::from)),
        ("created_at >=", since.map(|since| captures::first_millisecond(since).into())),
        ("created_at <", until.map(|until| captures::first_millisecond(until).into())),
        ("experiment_id =", experiment.map(|id| id.as_str().into())),
        ("retrieval_mode =", retrieval_mode.as_deref().map(SqlValue::from)),
        ("request_id =", request_id.as_deref().map(SqlValue::from)),
    ];
    let (mut sql, mut params) =
        captures::add_conditions(ROWS.to_owned(), vec![ws.into()], narrowings);
    sql.push_str(match traffic {
        Some(RetrievalOrigin::Live) => " AND experiment_id IS NULL",
        Some(RetrievalOrigin::Experiments) => " AND experiment_id IS NOT NULL",
        Some(RetrievalOrigin::Experiment(_)) | None => "",
    });
    if let Some(signal) = signal_type {
        params.push(signal.as_str().into());
        sql.push_str(&format!(" AND {HAS_FEEDBACK} = ${})", params.len()));
    }
    Ok((sql, params))
}

fn log(row: &dyn SqlRow) -> Result<RetrievalLog> {
    Ok(RetrievalLog {
        id: row.int(0)?,
        created_at: row::timestamp(row.int(1)?)?,
        fields: RetrievalFields {
            request_id: row.opt_text(2)?,
            query_text: row.text(3)?,
            retrieval_mode: row.opt_text(4)?,
            experiment_id: row.opt_text(5)?,
            user_id: row.opt_text(6)?,
            top_k: row.opt_int(7)?.map(|_| row::small(row, 7)).transpose()?,
            rerank_threshold: row.opt_real(8)?,
            total_ms: row.opt_real(9)?,
            dense_ms: row.opt_real(10)?,
            rerank_ms: row.opt_real(11)?,
            hydration_ms: row.opt_real(12)?,
            body: row.opt_text(13)?,
        },
    })
}

/// The columns of [`RETRIEVAL_LOGS`] after the number and the time.
fn values_of(fields: &RetrievalFields) -> [SqlValue<'_>; 12] {
    let RetrievalFields {
        request_id,
        query_text,
        retrieval_mode,
        experiment_id,
        user_id,
        top_k,
        rerank_threshold,
        total_ms,
        dense_ms,
        rerank_ms,
        hydration_ms,
        body,
    } = fields;
    [
        request_id.as_deref().into(),
        query_text.as_str().into(),
        retrieval_mode.as_deref().into(),
        experiment_id.as_deref().into(),
        user_id.as_deref().into(),
        (*top_k).into(),
        (*rerank_threshold).into(),
        (*total_ms).into(),
        (*dense_ms).into(),
        (*rerank_ms).into(),
        (*hydration_ms).into(),
        body.as_deref().into(),
    ]
}

/// Refuses values that one of the engines cannot store: NUL, and NaN, which SQLite stores as NULL.
fn refuse(fields: &RetrievalFields) -> Result<()> {
    for value in values_of(fields) {
        match value {
            SqlValue::Text(text) => refuse_nul(&text)?,
            SqlValue::Real(number) => refuse_nan(number, "log_number")?,
            _ => {}
        }
    }
    Ok(())
}

fn refuse_feedback(feedback: &NewFeedback) -> Result<()> {
    let NewFeedback { signal_type, score, comment } = feedback;
    refuse_nul(signal_type)?;
    refuse_nul(comment.as_deref().unwrap_or(""))?;
    refuse_nan(score.unwrap_or(0.0), "feedback_score")
}

fn refuse_nul(text: &str) -> Result<()> {
    write::refuse_nul_in(text, || "a retrieval log".to_owned())
}

fn refuse_nan(number: f64, which: &str) -> Result<()> {
    if number.is_nan() { Err(StoreError::Constraint { which: which.to_owned() }) } else { Ok(()) }
}
