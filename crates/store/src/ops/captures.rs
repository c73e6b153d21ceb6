//! Captured requests, and capture failures.
//!
//! Every workspace has a clock row, which a transaction that stores captures locks until its end.
//! It assigns the numbers, which increase in commit order. Closing a window locks the same row: it
//! waits for captures in flight, and records the window's end with the last assigned number.
//!
//! Times come from the callers' clocks, which may be wrong. A capture is dated `now`, or at the
//! time of the previous capture or the end of a closed window if that is later by at most
//! [`CLOCK_SKEW`]: small differences between clocks do not change the order. A larger difference
//! means that some clock is wrong, and `now` is used: a capture from the future must not shift all
//! later ones. A capture dated into a window that was closed earlier belongs to the window that
//! begins at that end: its number is above the recorded one.

use std::ops::ControlFlow;

use gbrain_core::capture::{
    CLOCK_SKEW, CaptureFailure, CaptureFields, FailureReason, StoredCapture,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Operation;
use jiff::{SignedDuration, Timestamp};

use super::retrievals;
use super::{workspaces, write};
use crate::capture::{CaptureFilter, CapturePosition, CaptureSummary};
use crate::driver::{RowScope, SqlSession, SqlValue, collect, first};
use crate::retrieval_log::NewRetrievalLog;
use crate::schema::{CAPTURE_FAILURES, CAPTURES};
use crate::store::Store;
use crate::{Result, StoreError, row};

/// Locks the clock, sets it to a time unless it is slightly later ($4), and takes numbers from it.
const TAKE_NUMBERS: &str = "INSERT INTO eval_clock (workspace_id, at, last_id) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id) DO UPDATE SET last_id = eval_clock.last_id + excluded.last_id, \
     at = CASE WHEN eval_clock.at > excluded.at AND eval_clock.at <= $4 THEN eval_clock.at \
     ELSE excluded.at END RETURNING at, last_id";
/// Locks the clock without changing it.
const LOCK_CLOCK: &str = "INSERT INTO eval_clock (workspace_id, at, last_id) VALUES ($1, 0, 0) \
     ON CONFLICT (workspace_id) DO UPDATE SET last_id = eval_clock.last_id RETURNING last_id";
const CLOSE: &str = "INSERT INTO eval_windows (workspace_id, until, last_id) VALUES ($1, $2, $3) \
     ON CONFLICT (workspace_id, until) DO NOTHING";
const FORGET_WINDOWS: &str = "DELETE FROM eval_windows WHERE workspace_id = $1 AND until < $2";
const LAST_CLOSED: &str =
    "SELECT max(until) FROM eval_windows WHERE workspace_id = $1 AND until <= $2";
/// The last number before a window was closed at `$2`, if a later capture is dated before that.
const LATE_AFTER: &str = "SELECT last_id FROM eval_windows w WHERE workspace_id = $1 AND until = $2 \
     AND EXISTS (SELECT 1 FROM eval_candidates c WHERE c.workspace_id = w.workspace_id \
     AND c.id > w.last_id AND c.created_at < w.until)";
const REDATE: &str = "UPDATE eval_candidates SET created_at = $2 \
     WHERE workspace_id = $1 AND created_at > $3";
const COUNT: &str = "SELECT count(*) FROM eval_candidates";
const PRUNE: &str = "DELETE FROM eval_candidates";
const SUMMARY: &str = "SELECT tool_name, remote, count(*), min(created_at), max(created_at), \
     CAST(sum(CASE WHEN created_at >= $2 THEN 1 ELSE 0 END) AS bigint), \
     CAST(sum(CASE WHEN created_at > $3 THEN 1 ELSE 0 END) AS bigint) FROM eval_candidates \
     WHERE workspace_id = $1 GROUP BY tool_name, remote";
const FAILURES: &str = "SELECT event_id, ts, reason, detail FROM eval_capture_failures \
     WHERE workspace_id = $1 AND ts >= $2 ORDER BY ts DESC, event_id DESC LIMIT $3";
const COUNT_FAILURES: &str = "SELECT count(*) FROM eval_capture_failures \
     WHERE workspace_id = $1 AND ts >= $2 AND ts < $3";
const PRUNE_FAILURES: &str =
    "DELETE FROM eval_capture_failures WHERE workspace_id = $1 AND ts < $2";
const FAILURE_REASONS: &str = "SELECT reason, count(*) FROM eval_capture_failures \
     WHERE workspace_id = $1 AND ts >= $2 GROUP BY reason";

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How long the ends of windows are stored.
const WINDOW_RETENTION: SignedDuration = SignedDuration::from_hours(24 * 400);

impl Store {
    /// Stores captures, all or none, in order. Each gets the next number of the workspace: numbers
    /// increase in the order in which captures become visible. Each is dated `now`, or at the time
    /// of the captures so far or the end of a closed window if that is later by at most
    /// [`CLOCK_SKEW`]: a clock that was further ahead does not shift later captures. Does not wait
    /// for page writers on PostgreSQL.
    pub fn add_captures(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        now: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| add(session, ws, captures, now))
    }

    /// Stores captures like [`Store::add_captures`], together with retrieval logs: all or none.
    pub fn add_captures_with_logs(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<()> {
        self.write_beside(ws, |session| {
            add(session, ws, captures, now)?;
            retrievals::add(session, ws, logs, now).map(|_| ())
        })
    }

    /// Closes the time before `until`: waits for captures in flight, and records the end. The
    /// result of [`Store::captures`] for a window that ends at `until` is final then, so
    /// consecutive windows `[since, until)` miss and repeat nothing: a later capture that is dated
    /// before `until`, because a clock was behind, belongs to the window that begins at `until`.
    pub fn close_captures(&self, ws: &WorkspaceId, until: Timestamp) -> Result<()> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let until = first_millisecond(until);
            let last_id = first(session, LOCK_CLOCK, &[ws.into()], |row| row.int(0))?;
            let last_id = last_id.ok_or_else(no_time)?;
            session.execute(CLOSE, &[ws.into(), until.into(), last_id.into()])?;
            let forgotten = until.saturating_sub(WINDOW_RETENTION.as_millis() as i64);
            session.execute(FORGET_WINDOWS, &[ws.into(), forgotten.into()])?;
            Ok(())
        })
    }

    /// Reads captures, newest first, in one snapshot and in constant memory, until `each` breaks.
    /// Its errors end the read and are returned.
    pub fn captures(
        &self,
        ws: &WorkspaceId,
        filter: &CaptureFilter,
        each: &mut dyn FnMut(StoredCapture) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let late_after = late_after(session, ws, filter)?;
            let (mut sql, mut params) =
                filtered_statement(&CAPTURES.select(), ws, filter, late_after);
            sql.push_str(" ORDER BY created_at DESC, id DESC");
            if let Some(limit) = filter.limit {
                params.push(limit.into());
                sql.push_str(&format!(" LIMIT ${}", params.len()));
            }
            session.stream(&sql, &params, &mut |row| each(row::capture(row)?))
        })
    }

    /// The number of captures that [`Store::captures`] would read.
    pub fn count_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64> {
        self.read(RowScope::Workspace(ws), |session| count(session, ws, filter))
    }

    /// Deletes the captures that [`Store::count_captures`] counts; returns their number. Capture
    /// numbers are not reused. Refuses a filter with a limit, which would leave the oldest.
    pub fn prune_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64> {
        let pruned = self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            if filter.limit.is_some() {
                return Err(StoreError::LimitedPrune);
            }
            let late_after = late_after(session, ws, filter)?;
            let (sql, params) = filtered_statement(PRUNE, ws, filter, late_after);
            session.execute(&sql, &params)
        })?;
        if pruned > 0 {
            self.scrub()?;
        }
        Ok(pruned)
    }

    /// Stores capture failures, all or none. A stored event is not changed.
    pub fn add_capture_failures(
        &self,
        ws: &WorkspaceId,
        failures: &[CaptureFailure],
    ) -> Result<()> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let mut values = Vec::with_capacity(failures.len() * CAPTURE_FAILURES.columns.len());
            for CaptureFailure { event_id, at, reason, detail } in failures {
                for text in [event_id, detail] {
                    write::refuse_nul_in(text, || "a failed capture".to_owned())?;
                }
                values.extend([
                    event_id.as_str().into(),
                    at.as_millisecond().into(),
                    reason.name().into(),
                    detail.as_str().into(),
                ]);
            }
            session.insert(&CAPTURE_FAILURES, ws, &values)
        })
    }

    /// Capture failures at `since` or later, newest first, at most `limit`.
    pub fn capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CaptureFailure>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let params =
                [ws.into(), since.map_or(i64::MIN, first_millisecond).into(), limit.into()];
            collect(session, FAILURES, &params, row::capture_failure)
        })
    }

    /// The number of capture failures at `since` or later and before `until`.
    pub fn count_capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64> {
        self.read(RowScope::Workspace(ws), |session| count_failures(session, ws, since, until))
    }

    /// Deletes capture failures before `until`, or all; returns their number.
    pub fn prune_capture_failures(
        &self,
        ws: &WorkspaceId,
        until: Option<Timestamp>,
    ) -> Result<u64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            session.execute(
                PRUNE_FAILURES,
                &[ws.into(), until.map_or(i64::MAX, first_millisecond).into()],
            )
        })
    }

    /// Dates captures from the future (see [`CaptureSummary::future`]) `now`; returns their number.
    /// They belong to the next window.
    pub fn redate_captures(&self, ws: &WorkspaceId, now: Timestamp) -> Result<u64> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let (at, _) = take_numbers(session, ws, now, 0)?;
            session.execute(REDATE, &[ws.into(), at.into(), ahead_of(now).into()])
        })
    }

    /// Counts of captures and failures.
    pub fn capture_summary(&self, ws: &WorkspaceId, now: Timestamp) -> Result<CaptureSummary> {
        self.read(RowScope::Workspace(ws), |session| {
            let yesterday = now.checked_sub(DAY).unwrap_or(Timestamp::MIN);
            let params = [ws.into(), first_millisecond(yesterday).into()];
            let failures = count_failures(session, ws, None, None)?;
            let mut failures_last_day = collect(session, FAILURE_REASONS, &params, |row| {
                Ok((row::name(row, 0, FailureReason::from_name)?, row::natural(row, 1)?))
            })?;
            failures_last_day.sort();
            let params = [ws.into(), first_millisecond(yesterday).into(), ahead_of(now).into()];
            let tools = Operation::ALL.iter().map(|tool| (*tool, 0)).collect();
            let mut summary =
                CaptureSummary { tools, failures, failures_last_day, ..CaptureSummary::default() };
            session.query(SUMMARY, &params, &mut |row| {
                let tool = row::name(row, 0, Operation::from_name)?;
                let rows = row::natural(row, 2)?;
                let (oldest, newest) = (row::timestamp(row.int(3)?)?, row::timestamp(row.int(4)?)?);
                summary.rows += rows;
                let of_tool = summary.tools.iter_mut().filter(|(of, _)| *of == tool);
                of_tool.for_each(|(_, count)| *count += rows);
                *(if row.flag(1)? { &mut summary.remote } else { &mut summary.local }) += rows;
                summary.oldest = Some(summary.oldest.map_or(oldest, |seen| seen.min(oldest)));
                summary.newest = Some(summary.newest.map_or(newest, |seen| seen.max(newest)));
                summary.last_day += row::natural(row, 5)?;
                summary.future += row::natural(row, 6)?;
                Ok(())
            })?;
            Ok(summary)
        })
    }
}

pub(super) fn add(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    captures: &[CaptureFields],
    now: Timestamp,
) -> Result<()> {
    workspaces::workspace_state(session, ws)?;
    if captures.is_empty() {
        return Ok(());
    }
    refuse_nul(captures)?;
    let (at, last_id) = take_numbers(session, ws, now, captures.len())?;
    let mut values = Vec::with_capacity(captures.len() * CAPTURES.columns.len());
    let before = last_id - captures.len() as i64;
    for (id, capture) in (before + 1..).zip(captures) {
        values.extend([id.into(), at.into()]);
        values.extend(values_of(capture));
    }
    session.insert(&CAPTURES, ws, &values)
}

/// Locks the clock; returns the time for captures stored now, and the last of the numbers taken.
fn take_numbers(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    now: Timestamp,
    numbers: usize,
) -> Result<(i64, i64)> {
    let latest = ahead_of(now);
    let params = [ws.into(), now.as_millisecond().into(), numbers.into(), latest.into()];
    let taken = first(session, TAKE_NUMBERS, &params, |row| Ok((row.int(0)?, row.int(1)?)))?;
    let (at, last_id) = taken.ok_or_else(no_time)?;
    // Invariant: read under the lock, which a transaction that closes a window holds until its end.
    let closed = first(session, LAST_CLOSED, &[ws.into(), latest.into()], |row| row.opt_int(0))?;
    Ok((closed.flatten().map_or(at, |until| until.max(at)), last_id))
}

fn no_time() -> StoreError {
    StoreError::corrupt("the clock of captures gave no time")
}

/// The last millisecond that does not count as the future.
fn ahead_of(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_add(CLOCK_SKEW.as_millis() as i64)
}

pub(super) fn count(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    filter: &CaptureFilter,
) -> Result<u64> {
    workspaces::workspace_state(session, ws)?;
    let late_after = late_after(session, ws, filter)?;
    let (sql, params) = filtered_statement(COUNT, ws, filter, late_after);
    let count = first(session, &sql, &params, |row| row::natural(row, 0))?.unwrap_or(0);
    Ok(count.min(filter.limit.unwrap_or(u64::MAX)))
}

pub(super) fn count_failures(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<u64> {
    workspaces::workspace_state(session, ws)?;
    let (since, until) =
        (since.map_or(i64::MIN, first_millisecond), until.map_or(i64::MAX, first_millisecond));
    let params = [ws.into(), since.into(), until.into()];
    Ok(first(session, COUNT_FAILURES, &params, |row| row::natural(row, 0))?.unwrap_or(0))
}

/// The number above which late captures are: those stored after a window was closed where this one
/// begins, and dated before that. `None` if there are none.
fn late_after(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    filter: &CaptureFilter,
) -> Result<Option<i64>> {
    let Some(since) = filter.since else { return Ok(None) };
    first(session, LATE_AFTER, &[ws.into(), first_millisecond(since).into()], |row| row.int(0))
}

/// A statement on the rows that pass a filter, ignoring its limit.
fn filtered_statement<'a>(
    sql: &str,
    ws: &'a WorkspaceId,
    filter: &CaptureFilter,
    late_after: Option<i64>,
) -> (String, Vec<SqlValue<'a>>) {
    let CaptureFilter { since, until, tool, remote, after_id, id, older_than, limit: _ } = *filter;
    let mut sql = format!("{sql} WHERE workspace_id = $1");
    let mut params = vec![ws.into()];
    if let Some(since) = since {
        params.push(first_millisecond(since).into());
        params.extend(late_after.map(SqlValue::from));
        // Without late captures the index by time is enough.
        sql.push_str(match late_after {
            Some(_) => " AND (created_at >= $2 OR id > $3)",
            None => " AND created_at >= $2",
        });
    }
    if let Some(CapturePosition { at, id }) = older_than {
        params.extend([at.as_millisecond().into(), id.into()]);
        let (at, id) = (params.len() - 1, params.len());
        // The first condition lets the index by time be used.
        sql.push_str(&format!(" AND created_at <= ${at} AND (created_at < ${at} OR id < ${id})"));
    }
    let narrowings: [(&str, Option<SqlValue<'a>>); 5] = [
        ("created_at <", until.map(|until| first_millisecond(until).into())),
        ("tool_name =", tool.map(|tool| tool.name().into())),
        ("remote =", remote.map(SqlValue::from)),
        ("id >", after_id.map(SqlValue::from)),
        ("id =", id.map(SqlValue::from)),
    ];
    add_conditions(sql, params, narrowings)
}

/// Appends the conditions that have a value to a statement.
pub(super) fn add_conditions<'a>(
    mut sql: String,
    mut params: Vec<SqlValue<'a>>,
    narrowings: impl IntoIterator<Item = (&'static str, Option<SqlValue<'a>>)>,
) -> (String, Vec<SqlValue<'a>>) {
    for (clause, value) in narrowings {
        let Some(value) = value else { continue };
        params.push(value);
        sql.push_str(&format!(" AND {clause} ${}", params.len()));
    }
    (sql, params)
}

/// The first millisecond that is not before a time: rows store whole milliseconds. Limited to the
/// last readable one.
pub(super) fn first_millisecond(time: Timestamp) -> i64 {
    let (whole, rest) = (time.as_second() * 1000, time.subsec_nanosecond());
    let first =
        whole + i64::from(rest.div_euclid(1_000_000)) + i64::from(rest.rem_euclid(1_000_000) > 0);
    first.min(Timestamp::MAX.as_millisecond())
}

/// The columns of [`CAPTURES`] after `id` and `created_at`.
fn values_of(capture: &CaptureFields) -> [SqlValue<'_>; CAPTURES.columns.len() - 2] {
    let CaptureFields {
        tool_name,
        query,
        retrieved_slugs,
        retrieved_chunk_ids,
        source_ids,
        expand_enabled,
        detail,
        detail_resolved,
        vector_enabled,
        expansion_applied,
        latency_ms,
        remote,
        job_id,
        subagent_id,
        extra,
    } = capture;
    [
        tool_name.name().into(),
        query.as_str().into(),
        retrieved_slugs.as_str().into(),
        retrieved_chunk_ids.as_str().into(),
        source_ids.as_str().into(),
        (*expand_enabled).into(),
        detail.map(|detail| detail.name()).into(),
        detail_resolved.map(|detail| detail.name()).into(),
        (*vector_enabled).into(),
        (*expansion_applied).into(),
        (*latency_ms).into(),
        (*remote).into(),
        (*job_id).into(),
        (*subagent_id).into(),
        extra.as_str().into(),
    ]
}

fn refuse_nul(captures: &[CaptureFields]) -> Result<()> {
    for capture in captures {
        let CaptureFields { query, retrieved_slugs, retrieved_chunk_ids, source_ids, .. } = capture;
        for text in [query, retrieved_slugs, retrieved_chunk_ids, source_ids, &capture.extra] {
            write::refuse_nul_in(text, || "a capture".to_owned())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_end_at_whole_milliseconds() {
        let check = |nanoseconds: i128, expected: i64| {
            let moment = Timestamp::from_nanosecond(nanoseconds).unwrap();
            assert_eq!(first_millisecond(moment), expected, "{nanoseconds}");
        };
        check(0, 0);
        check(1, 1);
        check(1_000_000, 1);
        check(1_000_001, 2);
        check(1_999_999_999, 2000);
        check(-1, 0);
        check(-1_000_000, -1);
        check(-1_000_001, -1);
        check(-1_999_999_999, -1999);
        check(-2_000_000_000, -2000);
        check(Timestamp::MAX.as_nanosecond(), Timestamp::MAX.as_millisecond());
    }
}
