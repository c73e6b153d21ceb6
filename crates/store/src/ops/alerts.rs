//! Alerts, the cursor of their evaluation, and silences.
//!
//! An evaluation advances the cursor first and locks it until the end of the transaction: of
//! several evaluations from the same cursor, one succeeds.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, counters, deliveries, workspaces, write};
use crate::alert::{
    AlertBoard, AlertCursor, AlertState, AlertStatus, NewDelivery, NewSilence, Silence,
};
use crate::driver::{RowScope, SqlSession, collect, first};
use crate::store::Store;
use crate::{Result, row};

const CURSOR: &str = "SELECT run_id, revision FROM alert_cursors WHERE workspace_id = $1";
const BEGIN: &str = "INSERT INTO alert_cursors (workspace_id, run_id, revision) \
     VALUES ($1, $2, 1) ON CONFLICT (workspace_id) DO NOTHING";
const ADVANCE: &str = "UPDATE alert_cursors SET run_id = $2, revision = revision + 1 \
     WHERE workspace_id = $1 AND revision = $3";
const STATES: &str = "SELECT dedup_key, state, severity, suite, since, updated_at, body \
     FROM alert_states WHERE workspace_id = $1 ORDER BY dedup_key";
const PUT_STATE: &str = "INSERT INTO alert_states (workspace_id, dedup_key, state, severity, \
     suite, since, updated_at, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
     ON CONFLICT (workspace_id, dedup_key) DO UPDATE SET state = excluded.state, \
     severity = excluded.severity, suite = excluded.suite, since = excluded.since, \
     updated_at = excluded.updated_at, body = excluded.body";
const ADD_SILENCE: &str = "INSERT INTO alert_silences (workspace_id, id, starts_at, ends_at, body) \
     VALUES ($1, $2, $3, $4, $5)";
const SILENCES: &str = "SELECT id, starts_at, ends_at, body FROM alert_silences \
     WHERE workspace_id = $1 AND ends_at > $2 ORDER BY id";
const ALL_SILENCES: &str = "SELECT id, starts_at, ends_at, body FROM alert_silences \
     WHERE workspace_id = $1 ORDER BY id";
const END_SILENCE: &str = "UPDATE alert_silences \
     SET ends_at = CASE WHEN starts_at > $3 THEN starts_at ELSE $3 END \
     WHERE workspace_id = $1 AND id = $2 AND ends_at > $3 AND starts_at < ends_at";

impl Store {
    /// A snapshot of the alerts and of the evaluation cursor.
    pub fn alert_board(&self, ws: &WorkspaceId) -> Result<AlertBoard> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let cursor = first(session, CURSOR, &[ws.into()], |row| {
                Ok(AlertCursor { run: row.int(0)?, revision: row.int(1)? })
            })?;
            let states = collect(session, STATES, &[ws.into()], |row| {
                Ok(AlertState {
                    dedup_key: row.text(0)?,
                    state: row::name(row, 1, AlertStatus::from_name)?,
                    severity: row.text(2)?,
                    suite: row.opt_text(3)?,
                    since: row::timestamp(row.int(4)?)?,
                    updated_at: row::timestamp(row.int(5)?)?,
                    body: row.text(6)?,
                })
            })?;
            Ok(AlertBoard { cursor: cursor.unwrap_or_default(), states })
        })
    }

    /// Stores the result of evaluating runs up to `run`: states, each replacing the one with its
    /// key, and messages to send, in order. Atomic: returns false and writes nothing if another
    /// evaluation was stored since the board was read, so every run is evaluated once.
    pub fn store_alert_evaluation(
        &self,
        ws: &WorkspaceId,
        seen: AlertCursor,
        run: i64,
        states: &[AlertState],
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            store_evaluation(session, ws, seen, run, states, deliveries, now)
        })
    }

    /// Stores a silence; returns its number.
    pub fn add_silence(&self, ws: &WorkspaceId, silence: &NewSilence) -> Result<i64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let NewSilence { starts_at, ends_at, body } = silence;
            write::refuse_nul_in(body, || "the silence".to_owned())?;
            let id = counters::take(session, ws, "alert_silences", 1)?;
            let (starts_at, ends_at) =
                (captures::first_millisecond(*starts_at), captures::first_millisecond(*ends_at));
            let params =
                [ws.into(), id.into(), starts_at.into(), ends_at.into(), body.as_str().into()];
            session.execute(ADD_SILENCE, &params)?;
            Ok(id)
        })
    }

    /// Silences that end after a time, or all, by number.
    pub fn silences(&self, ws: &WorkspaceId, at: Option<Timestamp>) -> Result<Vec<Silence>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let mut params = vec![ws.into()];
            params.extend(at.map(|at| at.as_millisecond().into()));
            let sql = if at.is_some() { SILENCES } else { ALL_SILENCES };
            collect(session, sql, &params, |row| {
                Ok(Silence {
                    id: row.int(0)?,
                    starts_at: row::timestamp(row.int(1)?)?,
                    ends_at: row::timestamp(row.int(2)?)?,
                    body: row.text(3)?,
                })
            })
        })
    }

    /// Ends a silence; returns whether it had not ended yet. A future silence never starts then.
    pub fn end_silence(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let params = [ws.into(), id.into(), now.as_millisecond().into()];
            Ok(session.execute(END_SILENCE, &params)? > 0)
        })
    }
}

/// Returns false if another evaluation was stored since `seen`.
pub(super) fn store_evaluation(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    seen: AlertCursor,
    run: i64,
    states: &[AlertState],
    messages: &[NewDelivery],
    now: Timestamp,
) -> Result<bool> {
    workspaces::workspace_state(session, ws)?;
    let params = [ws.into(), run.into(), seen.revision.into()];
    let moved = match seen.revision {
        0 => session.execute(BEGIN, &params[..2])?,
        _ => session.execute(ADVANCE, &params)?,
    };
    if moved == 0 {
        return Ok(false);
    }
    for state in states {
        put_state(session, ws, state)?;
    }
    deliveries::add(session, ws, messages, now)?;
    Ok(true)
}

fn put_state(session: &mut dyn SqlSession, ws: &WorkspaceId, alert: &AlertState) -> Result<()> {
    let AlertState { dedup_key, state, severity, suite, since, updated_at, body } = alert;
    for text in [dedup_key, severity, body].into_iter().chain(suite) {
        write::refuse_nul_in(text, || "the alert".to_owned())?;
    }
    let params = [
        ws.into(),
        dedup_key.as_str().into(),
        state.name().into(),
        severity.as_str().into(),
        suite.as_deref().into(),
        since.as_millisecond().into(),
        updated_at.as_millisecond().into(),
        body.as_str().into(),
    ];
    session.execute(PUT_STATE, &params)?;
    Ok(())
}
