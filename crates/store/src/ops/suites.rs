//! Suites, the cursors of their triggers, and queueing due runs.
//!
//! Queueing a run locks the suite's row first. So the suite cannot be disabled meanwhile, and
//! concurrent callers see the runs that earlier ones queued.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{jobs, suite_runs, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::store::Store;
use crate::suite::{BacklogPolicy, CursorMove, NewDueRun, StoredSuite, SuiteCursor};
use crate::types::WriteKind;
use crate::{Result, row};

const ADD: &str = "INSERT INTO suites (workspace_id, name, spec, hash, enabled, created_at, \
     updated_at) VALUES ($1, $2, $3, $4, FALSE, $5, $5) \
     ON CONFLICT (workspace_id, name) DO NOTHING";
const CHANGE: &str = "UPDATE suites SET spec = $3, hash = $4, updated_at = $5 \
     WHERE workspace_id = $1 AND name = $2";
const LIST: &str = "SELECT name, spec, hash, enabled, created_at, updated_at FROM suites \
     WHERE workspace_id = $1";
const WITH_SUITES: &str =
    "SELECT DISTINCT workspace_id FROM suites WHERE enabled ORDER BY workspace_id";
const SWITCH: &str = "UPDATE suites SET enabled = $3, \
     updated_at = CASE WHEN enabled AND enabled = $3 THEN updated_at ELSE $4 END \
     WHERE workspace_id = $1 AND name = $2";
const REMOVE: &str = "DELETE FROM suites WHERE workspace_id = $1 AND name = $2";
/// Changes nothing, but locks the row until the end of the transaction.
const LOCK_ROW: &str = "UPDATE suites SET enabled = enabled WHERE workspace_id = $1 AND name = $2 \
     RETURNING enabled, hash";
const CURSORS: &str = "SELECT suite, trigger, at FROM suite_cursors WHERE workspace_id = $1 \
     ORDER BY suite, trigger";
const FORGET_CURSORS: &str = "DELETE FROM suite_cursors WHERE workspace_id = $1 AND suite = $2";
const FORGET_CURSOR: &str = "DELETE FROM suite_cursors \
     WHERE workspace_id = $1 AND suite = $2 AND trigger = $3";
const BEGIN: &str = "INSERT INTO suite_cursors (workspace_id, suite, trigger, at) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (workspace_id, suite, trigger) DO NOTHING";
const ADVANCE: &str = "UPDATE suite_cursors SET at = $4 \
     WHERE workspace_id = $1 AND suite = $2 AND trigger = $3 AND at = $5";
/// A queued run that has not started: it will cover every later one.
const WAITING: &str = "SELECT 1 FROM jobs WHERE workspace_id = $1 AND grp = $2 \
     AND state = 'queued' AND attempt = 0 LIMIT 1";

impl Store {
    /// Stores a suite: a new one, disabled, or a new spec for an existing one.
    pub fn put_suite(
        &self,
        ws: &WorkspaceId,
        name: &str,
        spec: &str,
        now: Timestamp,
    ) -> Result<WriteKind> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[name, spec])?;
            let hash = Hash::of(spec.as_bytes());
            let at = now.as_millisecond();
            let params = [ws.into(), name.into(), spec.into(), (&hash).into(), at.into()];
            loop {
                if session.execute(ADD, &params)? > 0 {
                    return Ok(WriteKind::Added);
                }
                match first(session, LOCK_ROW, &params[..2], |row| row::hash(row, 1))? {
                    Some(before) if before == hash => return Ok(WriteKind::Unchanged),
                    Some(_) => {
                        session.execute(CHANGE, &params)?;
                        return Ok(WriteKind::Changed);
                    }
                    // It was removed concurrently.
                    None => {}
                }
            }
        })
    }

    pub fn suite(&self, ws: &WorkspaceId, name: &str) -> Result<Option<StoredSuite>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[name])?;
            first(session, &format!("{LIST} AND name = $2"), &[ws.into(), name.into()], suite)
        })
    }

    /// All suites, by name.
    pub fn suites(&self, ws: &WorkspaceId) -> Result<Vec<StoredSuite>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, &format!("{LIST} ORDER BY name"), &[ws.into()], suite)
        })
    }

    /// The workspaces with an enabled suite, by name.
    pub fn workspaces_with_suites(&self) -> Result<Vec<WorkspaceId>> {
        self.read(RowScope::Directory, with_suites)
    }

    /// Enables a suite's triggers; returns whether the suite exists.
    pub fn enable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| switch(session, ws, name, true, now))
    }

    /// Disables a suite's triggers; returns whether the suite exists. Its cursors are deleted: runs
    /// missed while it is disabled are not made up.
    pub fn disable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| switch(session, ws, name, false, now))
    }

    /// Deletes a suite with its cursors; returns whether it existed. Its runs stay.
    pub fn remove_suite(&self, ws: &WorkspaceId, name: &str) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[name])?;
            Ok(session.execute(REMOVE, &[ws.into(), name.into()])? > 0)
        })
    }

    /// The trigger cursors of all suites, by suite and trigger.
    pub fn suite_cursors(&self, ws: &WorkspaceId) -> Result<Vec<SuiteCursor>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, CURSORS, &[ws.into()], |row| {
                Ok(SuiteCursor { suite: row.text(0)?, trigger: row.text(1)?, at: row.int(2)? })
            })
        })
    }

    /// Moves a cursor without a run. Returns false and changes nothing if the cursor has moved
    /// since or the suite is disabled.
    pub fn advance_cursor(
        &self,
        ws: &WorkspaceId,
        suite: &str,
        trigger: &str,
        advance: CursorMove,
    ) -> Result<bool> {
        self.write_beside(ws, |session| move_cursor(session, ws, suite, trigger, advance))
    }

    /// Queues a due run and moves its trigger's cursor, in one transaction; returns the number of
    /// the job. Concurrent calls for one suite are serialised. `None` if there is nothing to queue:
    ///
    /// - the cursor has moved since, or the suite is disabled: nothing changes;
    /// - the key is already queued or recorded, or a waiting run covers this one: only the cursor
    ///   moves.
    pub fn queue_due_run(
        &self,
        ws: &WorkspaceId,
        due: &NewDueRun,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        self.write_beside(ws, |session| {
            let NewDueRun { suite, trigger, cursor, backlog, job } = due;
            match cursor {
                Some(cursor) => {
                    if !move_cursor(session, ws, suite, trigger, *cursor)? {
                        return Ok(None);
                    }
                }
                None => {
                    workspaces::workspace_state(session, ws)?;
                    refuse_nul(&[suite, trigger])?;
                    first(session, LOCK_ROW, &[ws.into(), suite.as_str().into()], |_| Ok(()))?;
                }
            }
            if let Some(key) = &job.key
                && (jobs::keyed(session, ws, job)?.is_some()
                    || suite_runs::recorded(session, ws, suite, key)?.is_some())
            {
                return Ok(None);
            }
            if *backlog == BacklogPolicy::Coalesce
                && let Some(group) = &job.group
            {
                refuse_nul(&[group])?;
                if first(session, WAITING, &[ws.into(), group.as_str().into()], |_| Ok(()))?
                    .is_some()
                {
                    return Ok(None);
                }
            }
            jobs::add(session, ws, job, now).map(Some)
        })
    }

    /// Deletes the cursor of a trigger; returns whether it existed.
    pub fn delete_cursor(&self, ws: &WorkspaceId, suite: &str, trigger: &str) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[suite, trigger])?;
            Ok(session.execute(FORGET_CURSOR, &[ws.into(), suite.into(), trigger.into()])? > 0)
        })
    }
}

fn suite(row: &dyn SqlRow) -> Result<StoredSuite> {
    Ok(StoredSuite {
        name: row.text(0)?,
        spec: row.text(1)?,
        hash: row::hash(row, 2)?,
        enabled: row.flag(3)?,
        created_at: row::timestamp(row.int(4)?)?,
        updated_at: row::timestamp(row.int(5)?)?,
    })
}

pub(super) fn with_suites(session: &mut dyn SqlSession) -> Result<Vec<WorkspaceId>> {
    collect(session, WITH_SUITES, &[], |row| Ok(WorkspaceId::new(&row.text(0)?)?))
}

/// Returns whether the suite exists.
pub(super) fn switch(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    name: &str,
    is_on: bool,
    now: Timestamp,
) -> Result<bool> {
    workspaces::workspace_state(session, ws)?;
    refuse_nul(&[name])?;
    let params = [ws.into(), name.into(), is_on.into(), now.as_millisecond().into()];
    let found = session.execute(SWITCH, &params)? > 0;
    if !is_on {
        session.execute(FORGET_CURSORS, &params[..2])?;
    }
    Ok(found)
}

/// Returns false if the cursor has moved since or the suite is disabled.
fn move_cursor(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    suite: &str,
    trigger: &str,
    advance: CursorMove,
) -> Result<bool> {
    workspaces::workspace_state(session, ws)?;
    refuse_nul(&[suite, trigger])?;
    let is_on = first(session, LOCK_ROW, &[ws.into(), suite.into()], |row| row.flag(0))?;
    if is_on != Some(true) {
        return Ok(false);
    }
    let CursorMove { from, to } = advance;
    let mut params = vec![ws.into(), suite.into(), trigger.into(), to.into()];
    let moved = match from {
        None => session.execute(BEGIN, &params)?,
        Some(from) => {
            params.push(from.into());
            session.execute(ADVANCE, &params)?
        }
    };
    Ok(moved > 0)
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the suite".to_owned()))
}
