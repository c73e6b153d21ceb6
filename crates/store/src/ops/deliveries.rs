//! The queue of alert messages.
//!
//! Only the first message of a channel and key that is neither sent nor dead may be claimed. It is
//! one row, so no message overtakes it and no two senders claim it. Updates of a sender are fenced:
//! they apply only while the message is queued under the same sender and attempt.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, counters, workspaces, write};
use crate::alert::*;
use crate::driver::{RowScope, SqlRow, SqlSession, SqlValue, collect, first};
use crate::job::Lease;
use crate::schema::DELIVERIES;
use crate::store::Store;
use crate::{Result, row};

const ROWS: &str = "SELECT workspace_id, id, channel, dedup_key, action, state, attempt, \
     run_after, worker, lease_until, created_at, ended_at, error, payload FROM alert_deliveries \
     WHERE workspace_id = $1";
/// Whether no earlier message of the same channel and key is queued.
macro_rules! is_next {
    () => {
        "NOT EXISTS (SELECT 1 FROM alert_deliveries AS earlier WHERE earlier.state = 'queued' \
         AND earlier.workspace_id = alert_deliveries.workspace_id \
         AND earlier.channel = alert_deliveries.channel \
         AND earlier.dedup_key = alert_deliveries.dedup_key AND earlier.id < alert_deliveries.id)"
    };
}

/// The condition for messages that may be claimed at the time `$1`.
const CLAIMABLE: &str = concat!(
    "state = 'queued' AND run_after <= $1 AND (lease_until IS NULL OR lease_until <= $1) AND ",
    is_next!()
);
/// The number of a workspace's messages that are being sent.
const LEASED_MESSAGES: &str = "SELECT count(*) FROM alert_deliveries AS held \
     WHERE held.state = 'queued' AND held.workspace_id = alert_deliveries.workspace_id \
     AND held.lease_until > $1";
/// Checks again that it is the next: an earlier one may have been queued again since.
const CLAIM: &str = concat!(
    "UPDATE alert_deliveries SET attempt = attempt + 1, worker = $3, lease_until = $4 \
     WHERE workspace_id = $1 AND id = $2 AND ",
    is_next!()
);
/// The condition that a sender holds the lease on a message. Uses the first four parameters.
const FENCE: &str = "WHERE workspace_id = $1 AND id = $2 AND worker = $3 AND attempt = $4 \
     AND state = 'queued' AND lease_until IS NOT NULL";
const DROP: &str = "UPDATE alert_deliveries SET state = 'dead', ended_at = $3, error = $4, \
     lease_until = NULL WHERE workspace_id = $1 AND id = $2 AND state = 'queued' \
     AND (lease_until IS NULL OR lease_until <= $3)";
const QUEUED: &str = "SELECT id FROM alert_deliveries \
     WHERE workspace_id = $1 AND id = $2 AND state = 'queued'";
const REQUEUE: &str = "UPDATE alert_deliveries SET state = 'queued', ended_at = NULL, \
     run_after = $3 WHERE workspace_id = $1 AND id = $2 AND state = 'dead'";
/// Locks the messages behind a dead one until the end of the transaction.
const LOCK_LATER: &str = "UPDATE alert_deliveries SET run_after = run_after \
     WHERE workspace_id = $1 AND state = 'queued' AND id > $2 AND EXISTS (SELECT 1 \
     FROM alert_deliveries AS dead WHERE dead.workspace_id = $1 AND dead.id = $2 \
     AND dead.channel = alert_deliveries.channel AND dead.dedup_key = alert_deliveries.dedup_key)";
/// Messages behind a dead one that were sent or are being sent.
const OVERTAKEN: &str = "SELECT later.id FROM alert_deliveries AS dead JOIN alert_deliveries AS later \
     ON later.workspace_id = dead.workspace_id AND later.channel = dead.channel \
     AND later.dedup_key = dead.dedup_key AND later.id > dead.id \
     AND (later.state = 'sent' OR later.lease_until IS NOT NULL) WHERE dead.workspace_id = $1 AND dead.id = $2 AND dead.state = 'dead' LIMIT 1";
const COUNTS: &str = "SELECT count(CASE WHEN state = 'queued' THEN 1 END), \
     count(CASE WHEN state = 'dead' THEN 1 END), \
     min(CASE WHEN state = 'queued' THEN created_at END) FROM alert_deliveries \
     WHERE workspace_id = $1";
const PRUNE: &str = "DELETE FROM alert_deliveries WHERE workspace_id = $1 AND ended_at < $2";

impl Store {
    /// Queues messages, all or none; returns their numbers, in order.
    pub fn add_deliveries(
        &self,
        ws: &WorkspaceId,
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<Vec<i64>> {
        self.write_beside(ws, |session| add(session, ws, deliveries, now))
    }

    /// Claims messages that are due or whose sender's lease expired, of all workspaces in turn and
    /// the oldest first. Only the first message of a channel and key that is neither sent nor dead
    /// is claimed, by one sender, so messages stay in order. The search opens no write transaction.
    pub fn claim_deliveries(&self, claim: &DeliveryClaim, now: Timestamp) -> Result<Vec<Delivery>> {
        let skip_locked = self.skip_locked();
        let workspaces = self.read(RowScope::Directory, |session| {
            refuse_nul(&[&claim.worker])?;
            let (sql, params) = wanted(claim, vec![now.as_millisecond().into()])?;
            let sql = format!(
                "SELECT workspace_id FROM alert_deliveries WHERE {sql} \
         GROUP BY workspace_id ORDER BY ({LEASED_MESSAGES}), workspace_id"
            );
            collect(session, &sql, &params, |row| Ok(WorkspaceId::new(&row.text(0)?)?))
        })?;
        let mut claimed = Vec::new();
        for (at, ws) in workspaces.iter().enumerate() {
            // An equal share of the remaining limit.
            let share = (claim.limit - claimed.len()).div_ceil(workspaces.len() - at);
            if share == 0 {
                break;
            }
            let taken = self.write_beside(ws, |session| {
                claim_oldest(session, ws, skip_locked, claim, share, now)
            });
            match taken {
                Ok(taken) => claimed.extend(taken),
                Err(error) if claimed.is_empty() => return Err(error),
                // Return the messages claimed so far; the other workspaces are tried again next
                // time.
                Err(_) => break,
            }
        }
        Ok(claimed)
    }

    /// Records the result of an attempt to send; returns false if the sender has lost its lease.
    pub fn end_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        end: &DeliveryEnd,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let now = now.as_millisecond();
            let (state, ended_at, retry_at, error) = match end {
                DeliveryEnd::Sent => (DeliveryState::Sent, Some(now), None, None),
                DeliveryEnd::Retry { at, error } => (
                    DeliveryState::Queued,
                    None,
                    Some(captures::first_millisecond(*at)),
                    Some(error.as_str()),
                ),
                DeliveryEnd::Dead { error } => {
                    (DeliveryState::Dead, Some(now), None, Some(error.as_str()))
                }
            };
            let Lease { worker, attempt } = lease;
            refuse_nul(&[worker, error.unwrap_or("")])?;
            let sql = format!(
                "UPDATE alert_deliveries SET state = $5, ended_at = $6, error = $7, \
         run_after = coalesce($8, run_after), lease_until = NULL {FENCE}"
            );
            let params = [
                ws.into(),
                id.into(),
                worker.as_str().into(),
                (*attempt).into(),
                state.name().into(),
                ended_at.into(),
                error.into(),
                retry_at.into(),
            ];
            Ok(session.execute(&sql, &params)? > 0)
        })
    }

    /// Queues a dead message again, unless a later one was already sent.
    pub fn requeue_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        now: Timestamp,
    ) -> Result<RequeueMessageOutcome> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            // Locked until the end of the transaction: no message is added or queued again
            // meanwhile.
            counters::take(session, ws, "alert_deliveries", 0)?;
            session.execute(LOCK_LATER, &[ws.into(), id.into()])?;
            let is_overtaken =
                first(session, OVERTAKEN, &[ws.into(), id.into()], |row| row.int(0))?;
            if is_overtaken.is_some() {
                return Ok(RequeueMessageOutcome::Overtaken);
            }
            let params = [ws.into(), id.into(), now.as_millisecond().into()];
            Ok(match session.execute(REQUEUE, &params)? {
                0 => RequeueMessageOutcome::NotDead,
                _ => RequeueMessageOutcome::Queued,
            })
        })
    }

    /// Makes a queued message dead unless it is being sent. The next one may then be sent.
    pub fn drop_delivery(
        &self,
        ws: &WorkspaceId,
        id: i64,
        why: &str,
        now: Timestamp,
    ) -> Result<DropMessageOutcome> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            refuse_nul(&[why])?;
            let params = [ws.into(), id.into(), now.as_millisecond().into(), why.into()];
            if session.execute(DROP, &params)? > 0 {
                return Ok(DropMessageOutcome::Dropped);
            }
            let queued = first(session, QUEUED, &params[..2], |row| row.int(0))?;
            Ok(queued.map_or(DropMessageOutcome::NotQueued, |_| DropMessageOutcome::BeingSent))
        })
    }

    /// Messages, newest first, at most `limit`.
    pub fn deliveries(
        &self,
        ws: &WorkspaceId,
        filter: &DeliveryFilter,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let DeliveryFilter { state, channel, dedup_key, before } = filter;
            refuse_nul(&[channel.as_deref().unwrap_or(""), dedup_key.as_deref().unwrap_or("")])?;
            let narrowings: [(&str, Option<SqlValue<'_>>); 4] = [
                ("state =", state.map(|state| state.name().into())),
                ("channel =", channel.as_deref().map(SqlValue::from)),
                ("dedup_key =", dedup_key.as_deref().map(SqlValue::from)),
                ("id <", before.map(SqlValue::from)),
            ];
            let (mut sql, mut params) =
                captures::add_conditions(ROWS.to_owned(), vec![ws.into()], narrowings);
            params.push(limit.into());
            sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", params.len()));
            collect(session, &sql, &params, delivery)
        })
    }

    /// Numbers of messages by state.
    pub fn delivery_counts(&self, ws: &WorkspaceId) -> Result<DeliveryCounts> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let counts = first(session, COUNTS, &[ws.into()], |row| {
                Ok(DeliveryCounts {
                    queued: row::natural(row, 0)?,
                    dead: row::natural(row, 1)?,
                    oldest_queued: row::opt_timestamp(row, 2)?,
                })
            })?;
            Ok(counts.unwrap_or_default())
        })
    }

    /// Deletes messages that were sent or became dead before `until`; returns their number.
    pub fn prune_deliveries(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            session.execute(PRUNE, &[ws.into(), captures::first_millisecond(until).into()])
        })
    }
}

pub(super) fn add(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    messages: &[NewDelivery],
    now: Timestamp,
) -> Result<Vec<i64>> {
    workspaces::workspace_state(session, ws)?;
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let last = counters::take(session, ws, "alert_deliveries", messages.len())?;
    let ids: Vec<i64> = (last - messages.len() as i64 + 1..=last).collect();
    let at = now.as_millisecond();
    let mut values = Vec::with_capacity(messages.len() * DELIVERIES.columns.len());
    for (id, NewDelivery { channel, dedup_key, action, payload }) in ids.iter().zip(messages) {
        refuse_nul(&[channel, dedup_key, payload])?;
        values.extend([
            (*id).into(),
            channel.as_str().into(),
            dedup_key.as_str().into(),
            action.name().into(),
            DeliveryState::Queued.name().into(),
            0_i64.into(),
            at.into(),
            at.into(),
            payload.as_str().into(),
        ]);
    }
    session.insert(&DELIVERIES, ws, &values)?;
    Ok(ids)
}

/// The condition for messages that a sender wants, with parameters appended to `params`; the first
/// is the time.
fn wanted<'a>(
    claim: &'a DeliveryClaim,
    mut params: Vec<SqlValue<'a>>,
) -> Result<(String, Vec<SqlValue<'a>>)> {
    let mut sql = CLAIMABLE.to_owned();
    for channel in &claim.except {
        refuse_nul(&[channel])?;
        params.push(channel.as_str().into());
        sql.push_str(&format!(" AND channel <> ${}", params.len()));
    }
    Ok((sql, params))
}

/// Claims the oldest claimable messages of a workspace that are not locked.
fn claim_oldest(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    skip_locked: &str,
    claim: &DeliveryClaim,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Delivery>> {
    let (sql, params) = wanted(claim, vec![now.as_millisecond().into(), ws.into(), limit.into()])?;
    let sql = format!(
        "SELECT id FROM alert_deliveries WHERE {sql} AND workspace_id = $2 \
         ORDER BY id LIMIT $3 {skip_locked}"
    );
    let ids = collect(session, &sql, &params, |row| row.int(0))?;
    let (worker, until) = (claim.worker.as_str(), claim.lease_until.as_millisecond());
    let mut claimed = Vec::with_capacity(ids.len());
    for id in ids {
        let params = [ws.into(), id.into(), worker.into(), until.into()];
        if session.execute(CLAIM, &params)? == 0 {
            continue;
        }
        let sql = format!("{ROWS} AND id = $2");
        claimed.extend(first(session, &sql, &[ws.into(), id.into()], delivery)?);
    }
    Ok(claimed)
}

fn delivery(row: &dyn SqlRow) -> Result<Delivery> {
    Ok(Delivery {
        workspace: WorkspaceId::new(&row.text(0)?)?,
        id: row.int(1)?,
        channel: row.text(2)?,
        dedup_key: row.text(3)?,
        action: row::name(row, 4, DeliveryAction::from_name)?,
        state: row::name(row, 5, DeliveryState::from_name)?,
        attempt: row::small(row, 6)?,
        run_after: row::timestamp(row.int(7)?)?,
        worker: row.opt_text(8)?,
        lease_until: row::opt_timestamp(row, 9)?,
        created_at: row::timestamp(row.int(10)?)?,
        ended_at: row::opt_timestamp(row, 11)?,
        error: row.opt_text(12)?,
        payload: row.text(13)?,
    })
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the message".to_owned()))
}
