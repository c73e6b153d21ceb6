//! Model answers, and runs of measurements.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use serde_json::Value as Json;

use super::{workspaces, write};
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::judging::{AnswerKind, JudgingRun, ModelAnswer, RunKind};
use crate::store::Store;
use crate::{Result, row};

const ANSWER: &str = "SELECT body FROM model_answers \
     WHERE workspace_id = $1 AND kind = $2 AND key = $3 AND expires_at > $4";
const KEEP: &str = "INSERT INTO model_answers (workspace_id, kind, key, created_at, expires_at, body, pages) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, kind, key) DO UPDATE SET \
     created_at = excluded.created_at, expires_at = excluded.expires_at, body = excluded.body, \
     pages = excluded.pages";
const FORGET: &str = "DELETE FROM model_answers WHERE workspace_id = $1 AND expires_at <= $2";
const ADD_RUN: &str = "INSERT INTO eval_runs (workspace_id, kind, id, at, outcome, body) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (workspace_id, kind, id) DO NOTHING";
const RUNS: &str = "SELECT id, at, outcome, body FROM eval_runs \
     WHERE workspace_id = $1 AND kind = $2 AND at >= $3 ORDER BY at DESC, id DESC LIMIT $4";

impl Store {
    /// Stored model answers with these keys, in order; `None` for expired or unknown ones.
    pub fn model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        keys: &[Hash],
        now: Timestamp,
    ) -> Result<Vec<Option<String>>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let mut answer = |key: &Hash| {
                let params =
                    [ws.into(), kind.name().into(), key.into(), now.as_millisecond().into()];
                first(session, ANSWER, &params, |row| row.text(0))
            };
            keys.iter().map(&mut answer).collect()
        })
    }

    /// Stores model answers until a time, all or none, replacing earlier ones. Deletes expired
    /// answers.
    pub fn store_model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        answers: &[ModelAnswer],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            session.execute(FORGET, &[ws.into(), now.as_millisecond().into()])?;
            for ModelAnswer { key, body, pages } in answers {
                let pages = pages.as_ref().map(|pages| Json::from(pages.clone()).to_string());
                for text in std::iter::once(body).chain(&pages) {
                    write::refuse_nul_in(text, || "an answer of a model".to_owned())?;
                }
                let params = [
                    ws.into(),
                    kind.name().into(),
                    key.into(),
                    now.as_millisecond().into(),
                    until.as_millisecond().into(),
                    body.as_str().into(),
                    pages.into(),
                ];
                session.execute(KEEP, &params)?;
            }
            Ok(())
        })
    }

    /// Stores a run of a measurement; returns false if one of its kind has this name already.
    pub fn add_run(&self, ws: &WorkspaceId, kind: RunKind, run: &JudgingRun) -> Result<bool> {
        self.write_beside(ws, |session| add_run(session, ws, kind, run))
    }

    /// Runs that began at `since` or later, newest first, at most `limit`.
    pub fn runs(
        &self,
        ws: &WorkspaceId,
        kind: RunKind,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<JudgingRun>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let params =
                [ws.into(), kind.name().into(), since.as_millisecond().into(), limit.into()];
            collect(session, RUNS, &params, |row| {
                Ok(JudgingRun {
                    id: row.text(0)?,
                    at: row::timestamp(row.int(1)?)?,
                    outcome: row.text(2)?,
                    body: row.text(3)?,
                })
            })
        })
    }
}

pub(super) fn add_run(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    kind: RunKind,
    run: &JudgingRun,
) -> Result<bool> {
    let JudgingRun { id, at, outcome, body } = run;
    workspaces::workspace_state(session, ws)?;
    for text in [id, outcome, body] {
        write::refuse_nul_in(text, || format!("the run of {kind}"))?;
    }
    let params = [
        ws.into(),
        kind.name().into(),
        id.as_str().into(),
        at.as_millisecond().into(),
        outcome.as_str().into(),
        body.as_str().into(),
    ];
    Ok(session.execute(ADD_RUN, &params)? > 0)
}
