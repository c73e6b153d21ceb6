//! Suites, how far their triggers have been fired, and firing.
//!
//! Whoever fires locks the suite's row first. So the switch does not move meanwhile, and of several
//! who fire for one suite each sees what the one before it queued.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{jobs, suite_runs, workspaces, write};
use crate::driver::{Columns, Scope, Session, collect, first};
use crate::store::Store;
use crate::suite::{Advance, Backlog, Due, Suite, SuiteCursor};
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
/// Changes nothing, and holds the row to the end of the transaction.
const HOLD: &str = "UPDATE suites SET enabled = enabled WHERE workspace_id = $1 AND name = $2 \
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
/// One that has not begun: it will see whatever a later one would.
const WAITING: &str = "SELECT 1 FROM jobs WHERE workspace_id = $1 AND grp = $2 \
     AND state = 'queued' AND attempt = 0 LIMIT 1";

impl Store {
    /// Keeps a suite: a new one, switched off, or a new spec for the one of that name.
    pub fn put_suite(
        &self,
        ws: &WorkspaceId,
        name: &str,
        spec: &str,
        now: Timestamp,
    ) -> Result<WriteKind> {
        self.write_beside(ws, |session| {
            workspaces::ledger(session, ws)?;
            refuse_nul(&[name, spec])?;
            let hash = Hash::of(spec.as_bytes());
            let at = now.as_millisecond();
            let params = [ws.into(), name.into(), spec.into(), (&hash).into(), at.into()];
            loop {
                if session.execute(ADD, &params)? > 0 {
                    return Ok(WriteKind::Added);
                }
                match first(session, HOLD, &params[..2], |row| row::hash(row, 1))? {
                    Some(before) if before == hash => return Ok(WriteKind::Unchanged),
                    Some(_) => {
                        session.execute(CHANGE, &params)?;
                        return Ok(WriteKind::Changed);
                    }
                    // Somebody removed it just now.
                    None => {}
                }
            }
        })
    }

    /// A suite.
    pub fn suite(&self, ws: &WorkspaceId, name: &str) -> Result<Option<Suite>> {
        self.read(Scope::Workspace(ws), |session| {
            workspaces::ledger(session, ws)?;
            refuse_nul(&[name])?;
            first(session, &format!("{LIST} AND name = $2"), &[ws.into(), name.into()], suite)
        })
    }

    /// All suites, by name.
    pub fn suites(&self, ws: &WorkspaceId) -> Result<Vec<Suite>> {
        self.read(Scope::Workspace(ws), |session| {
            workspaces::ledger(session, ws)?;
            collect(session, &format!("{LIST} ORDER BY name"), &[ws.into()], suite)
        })
    }

    /// The workspaces with a suite that is on, by name.
    pub fn workspaces_with_suites(&self) -> Result<Vec<WorkspaceId>> {
        self.read(Scope::Directory, with_suites)
    }

    /// Lets the triggers of a suite fire; whether there is one of that name.
    pub fn enable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| switch(session, ws, name, true, now))
    }

    /// Keeps the triggers of a suite from firing; whether there is one of that name. Its cursors go: when it
    /// is switched on again, what it missed is not made up for.
    pub fn disable_suite(&self, ws: &WorkspaceId, name: &str, now: Timestamp) -> Result<bool> {
        self.write_beside(ws, |session| switch(session, ws, name, false, now))
    }

    /// Erases a suite with its cursors; whether there was one. Its runs stay.
    pub fn remove_suite(&self, ws: &WorkspaceId, name: &str) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::ledger(session, ws)?;
            refuse_nul(&[name])?;
            Ok(session.execute(REMOVE, &[ws.into(), name.into()])? > 0)
        })
    }

    /// How far the triggers of all suites have been fired, by suite and trigger.
    pub fn suite_cursors(&self, ws: &WorkspaceId) -> Result<Vec<SuiteCursor>> {
        self.read(Scope::Workspace(ws), |session| {
            workspaces::ledger(session, ws)?;
            collect(session, CURSORS, &[ws.into()], |row| {
                Ok(SuiteCursor { suite: row.text(0)?, trigger: row.text(1)?, at: row.int(2)? })
            })
        })
    }

    /// Moves a cursor without a run. False, and nothing happens, if it is not where it was seen or the
    /// suite is not on.
    pub fn advance_cursor(
        &self,
        ws: &WorkspaceId,
        suite: &str,
        trigger: &str,
        advance: Advance,
    ) -> Result<bool> {
        self.write_beside(ws, |session| move_cursor(session, ws, suite, trigger, advance))
    }

    /// Queues a due run and moves its trigger's cursor, both or neither; the number of the job. Whoever
    /// fires for a suite waits for others who do. None if there is nothing to queue:
    /// - the cursor is not where it was seen, or the suite is not on: nothing happens;
    /// - the key is queued or recorded already, or a run that waits covers this one: only the cursor moves.
    pub fn fire(&self, ws: &WorkspaceId, due: &Due, now: Timestamp) -> Result<Option<i64>> {
        self.write_beside(ws, |session| {
            let Due { suite, trigger, cursor, backlog, job } = due;
            match cursor {
                Some(cursor) => {
                    if !move_cursor(session, ws, suite, trigger, *cursor)? {
                        return Ok(None);
                    }
                }
                None => {
                    workspaces::ledger(session, ws)?;
                    refuse_nul(&[suite, trigger])?;
                    first(session, HOLD, &[ws.into(), suite.as_str().into()], |_| Ok(()))?;
                }
            }
            if let Some(key) = &job.key
                && (jobs::keyed(session, ws, job)?.is_some()
                    || suite_runs::recorded(session, ws, suite, key)?.is_some())
            {
                return Ok(None);
            }
            if *backlog == Backlog::Coalesce
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

    /// Forgets how far a trigger was fired; whether it was known.
    pub fn forget_cursor(&self, ws: &WorkspaceId, suite: &str, trigger: &str) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::ledger(session, ws)?;
            refuse_nul(&[suite, trigger])?;
            Ok(session.execute(FORGET_CURSOR, &[ws.into(), suite.into(), trigger.into()])? > 0)
        })
    }
}

fn suite(row: &dyn Columns) -> Result<Suite> {
    Ok(Suite {
        name: row.text(0)?,
        spec: row.text(1)?,
        hash: row::hash(row, 2)?,
        enabled: row.flag(3)?,
        created_at: row::timestamp(row.int(4)?)?,
        updated_at: row::timestamp(row.int(5)?)?,
    })
}

pub(super) fn with_suites(session: &mut dyn Session) -> Result<Vec<WorkspaceId>> {
    collect(session, WITH_SUITES, &[], |row| Ok(WorkspaceId::new(&row.text(0)?)?))
}

/// Whether there is one of that name.
pub(super) fn switch(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    name: &str,
    is_on: bool,
    now: Timestamp,
) -> Result<bool> {
    workspaces::ledger(session, ws)?;
    refuse_nul(&[name])?;
    let params = [ws.into(), name.into(), is_on.into(), now.as_millisecond().into()];
    let found = session.execute(SWITCH, &params)? > 0;
    if !is_on {
        session.execute(FORGET_CURSORS, &params[..2])?;
    }
    Ok(found)
}

/// Whether the cursor was where it was seen, and the suite is on.
fn move_cursor(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    suite: &str,
    trigger: &str,
    advance: Advance,
) -> Result<bool> {
    workspaces::ledger(session, ws)?;
    refuse_nul(&[suite, trigger])?;
    let is_on = first(session, HOLD, &[ws.into(), suite.into()], |row| row.flag(0))?;
    if is_on != Some(true) {
        return Ok(false);
    }
    let Advance { from, to } = advance;
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
