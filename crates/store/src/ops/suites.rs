//! Suites, how far their triggers have been fired, and firing.
//!
//! Whoever fires locks the suite's row first. So the switch does not move meanwhile, and of several
//! who fire for one suite each sees what the one before it queued.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{jobs, suite_runs, workspaces, write};
use crate::driver::{Columns, Session, collect, first};
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

pub(super) fn put(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    name: &str,
    spec: &str,
    now: Timestamp,
) -> Result<WriteKind> {
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
}

/// Whether it was known.
pub(super) fn forget_cursor(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    suite: &str,
    trigger: &str,
) -> Result<bool> {
    workspaces::ledger(session, ws)?;
    refuse_nul(&[suite, trigger])?;
    Ok(session.execute(FORGET_CURSOR, &[ws.into(), suite.into(), trigger.into()])? > 0)
}

pub(super) fn get(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    name: &str,
) -> Result<Option<Suite>> {
    workspaces::ledger(session, ws)?;
    refuse_nul(&[name])?;
    first(session, &format!("{LIST} AND name = $2"), &[ws.into(), name.into()], suite)
}

pub(super) fn list(session: &mut dyn Session, ws: &WorkspaceId) -> Result<Vec<Suite>> {
    workspaces::ledger(session, ws)?;
    collect(session, &format!("{LIST} ORDER BY name"), &[ws.into()], suite)
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

pub(super) fn remove(session: &mut dyn Session, ws: &WorkspaceId, name: &str) -> Result<bool> {
    workspaces::ledger(session, ws)?;
    refuse_nul(&[name])?;
    Ok(session.execute(REMOVE, &[ws.into(), name.into()])? > 0)
}

pub(super) fn cursors(session: &mut dyn Session, ws: &WorkspaceId) -> Result<Vec<SuiteCursor>> {
    workspaces::ledger(session, ws)?;
    collect(session, CURSORS, &[ws.into()], |row| {
        Ok(SuiteCursor { suite: row.text(0)?, trigger: row.text(1)?, at: row.int(2)? })
    })
}

/// Whether the cursor was where it was seen, and the suite is on.
pub(super) fn advance(
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

/// The number of the job, if one was queued.
pub(super) fn fire(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    due: &Due,
    now: Timestamp,
) -> Result<Option<i64>> {
    let Due { suite, trigger, cursor, backlog, job } = due;
    match cursor {
        Some(cursor) => {
            if !advance(session, ws, suite, trigger, *cursor)? {
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
        if first(session, WAITING, &[ws.into(), group.as_str().into()], |_| Ok(()))?.is_some() {
            return Ok(None);
        }
    }
    jobs::add(session, ws, job, now).map(Some)
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the suite".to_owned()))
}
