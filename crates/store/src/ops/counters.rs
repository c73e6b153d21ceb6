//! Row numbers. Taking one locks the counter until the end of the transaction, so numbers increase
//! in the order in which rows become visible, and those of a failed transaction are reused.

use gbrain_core::id::WorkspaceId;

use crate::driver::{SqlSession, first};
use crate::{Result, StoreError};

const TAKE: &str = "INSERT INTO counters (workspace_id, name, last_id) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id, name) DO UPDATE SET \
     last_id = counters.last_id + excluded.last_id RETURNING last_id";

const LAST: &str = "SELECT last_id FROM counters WHERE workspace_id = $1 AND name = $2";

/// The last assigned number; 0 if none.
pub(super) fn last(session: &mut dyn SqlSession, ws: &WorkspaceId, name: &str) -> Result<i64> {
    Ok(first(session, LAST, &[ws.into(), name.into()], |row| row.int(0))?.unwrap_or(0))
}

/// Takes numbers; returns the last of them. Taking none only locks the counter.
pub(super) fn take(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    name: &str,
    numbers: usize,
) -> Result<i64> {
    first(session, TAKE, &[ws.into(), name.into(), numbers.into()], |row| row.int(0))?
        .ok_or_else(|| StoreError::corrupt(format!("the counter of {name} gave no number")))
}
