//! Incidents and their records.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{counters, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::incident::{Incident, IncidentState};
use crate::store::Store;
use crate::{Result, row};

const OPEN: &str = "INSERT INTO incidents (workspace_id, id, state, opened_at, title, body) \
     VALUES ($1, $2, 'open', $3, $4, $5)";
const LIST: &str = "SELECT id, state, opened_at, resolved_at, title, body FROM incidents \
     WHERE workspace_id = $1";
/// Changes nothing, but locks the row until the end of the transaction.
const LOCK_ROW: &str = "UPDATE incidents SET state = state WHERE workspace_id = $1 AND id = $2 \
     RETURNING id, state, opened_at, resolved_at, title, body";
const WRITE: &str = "UPDATE incidents SET state = $3, resolved_at = $4, body = $5 \
     WHERE workspace_id = $1 AND id = $2";

impl Store {
    /// Opens an incident; returns its number.
    pub fn open_incident(
        &self,
        ws: &WorkspaceId,
        title: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<i64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(title)?;
            refuse_nul(body)?;
            let id = counters::take(session, ws, "incidents", 1)?;
            let at = now.as_millisecond();
            session.execute(OPEN, &[ws.into(), id.into(), at.into(), title.into(), body.into()])?;
            Ok(id)
        })
    }

    /// Replaces the record of an incident with the result of `edit`, excluding concurrent changes.
    /// Returns the new incident, if it exists.
    pub fn edit_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
    ) -> Result<Option<Incident>> {
        self.write_beside(ws, |session| rewrite(session, ws, id, edit, None))
    }

    /// Resolves an incident and replaces its record. `None` if there is no open incident with this
    /// number.
    pub fn resolve_incident(
        &self,
        ws: &WorkspaceId,
        id: i64,
        edit: &(dyn Fn(&Incident) -> String + Sync),
        now: Timestamp,
    ) -> Result<Option<Incident>> {
        self.write_beside(ws, |session| rewrite(session, ws, id, edit, Some(now)))
    }

    pub fn incident(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Incident>> {
        self.read(RowScope::Workspace(ws), |session| get(session, ws, id))
    }

    /// Incidents in a state, or all, newest first, at most `limit`.
    pub fn incidents(
        &self,
        ws: &WorkspaceId,
        state: Option<IncidentState>,
        limit: usize,
    ) -> Result<Vec<Incident>> {
        self.incidents_before(ws, state, i64::MAX, limit)
    }

    /// Incidents with a lower number than `before`, newest first, at most `limit`.
    pub fn incidents_before(
        &self,
        ws: &WorkspaceId,
        state: Option<IncidentState>,
        before: i64,
        limit: usize,
    ) -> Result<Vec<Incident>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let sql = format!(
                "{LIST} AND (state = $2 OR $2 IS NULL) AND id < $3 ORDER BY id DESC LIMIT $4"
            );
            let state = state.map(IncidentState::name);
            let params = [ws.into(), state.into(), before.into(), limit.into()];
            collect(session, &sql, &params, incident)
        })
    }
}

/// Replaces the record and, if `resolved_at` is given, resolves the incident if it is open.
fn rewrite(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
    edit: &(dyn Fn(&Incident) -> String + Sync),
    resolved_at: Option<Timestamp>,
) -> Result<Option<Incident>> {
    workspaces::workspace_state(session, ws)?;
    let found = first(session, LOCK_ROW, &[ws.into(), id.into()], incident)?;
    let Some(mut found) = found else { return Ok(None) };
    if resolved_at.is_some() {
        if found.state != IncidentState::Open {
            return Ok(None);
        }
        (found.state, found.resolved_at) = (IncidentState::Resolved, resolved_at);
    }
    found.body = edit(&found);
    refuse_nul(&found.body)?;
    let params = [
        ws.into(),
        id.into(),
        found.state.name().into(),
        found.resolved_at.map(|at| at.as_millisecond()).into(),
        found.body.as_str().into(),
    ];
    session.execute(WRITE, &params)?;
    get(session, ws, id)
}

pub(super) fn get(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    id: i64,
) -> Result<Option<Incident>> {
    workspaces::workspace_state(session, ws)?;
    first(session, &format!("{LIST} AND id = $2"), &[ws.into(), id.into()], incident)
}

fn incident(row: &dyn SqlRow) -> Result<Incident> {
    Ok(Incident {
        id: row.int(0)?,
        state: row::name(row, 1, IncidentState::from_name)?,
        opened_at: row::timestamp(row.int(2)?)?,
        resolved_at: row::opt_timestamp(row, 3)?,
        title: row.text(4)?,
        body: row.text(5)?,
    })
}

fn refuse_nul(text: &str) -> Result<()> {
    write::refuse_nul_in(text, || "the incident".to_owned())
}
