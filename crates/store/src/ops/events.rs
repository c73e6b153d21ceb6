//! Events that trigger suites.

use gbrain_core::id::{Generation, WorkspaceId};
use jiff::Timestamp;

use super::{counters, workspaces, write};
use crate::driver::{RowScope, collect, first};
use crate::store::Store;
use crate::suite::{ChangeSpan, EventReceipt, NewEvent, SuiteEvent, WatchedChanges};
use crate::{Result, row};

const KNOWN: &str = "SELECT id FROM suite_events \
     WHERE workspace_id = $1 AND kind = $2 AND document = $3 AND version = $4";
const ADD: &str = "INSERT INTO suite_events (workspace_id, kind, document, version, id, at, body) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
const AFTER: &str = "SELECT id, kind, document, version, body, at FROM suite_events \
     WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
const CHANGE_SPAN: &str = "SELECT min(c.at), max(c.at), max(c.generation) FROM changes c \
     WHERE c.workspace_id = $1 AND c.generation > $2 AND c.op <> 'source'";
/// Whether a change has other links than the version before it. A deletion has none.
const OTHER_LINKS: &str = "c.op = 'purge' \
     OR EXISTS (SELECT link_type, direction, target, since, until FROM links n \
         WHERE n.workspace_id = c.workspace_id AND n.page_id = c.page_id AND n.version = c.version \
         EXCEPT SELECT link_type, direction, target, since, until FROM links o \
         WHERE o.workspace_id = c.workspace_id AND o.page_id = c.page_id \
             AND o.version = c.version - 1) \
     OR EXISTS (SELECT link_type, direction, target, since, until FROM links o \
         WHERE o.workspace_id = c.workspace_id AND o.page_id = c.page_id \
             AND o.version = c.version - 1 \
         EXCEPT SELECT link_type, direction, target, since, until FROM links n \
         WHERE n.workspace_id = c.workspace_id AND n.page_id = c.page_id AND n.version = c.version)";

impl Store {
    /// Stores an event. An event of the same kind, document and version is stored once.
    pub fn add_event(
        &self,
        ws: &WorkspaceId,
        event: &NewEvent,
        now: Timestamp,
    ) -> Result<EventReceipt> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let NewEvent { kind, document, version, body } = event;
            for text in [kind, document, version, body] {
                write::refuse_nul_in(text, || "the event".to_owned())?;
            }
            let mut params = vec![
                ws.into(),
                kind.as_str().into(),
                document.as_str().into(),
                version.as_str().into(),
            ];
            // The counter is locked until the end of the transaction: concurrent reports of one
            // event are serialised.
            counters::take(session, ws, "suite_events", 0)?;
            if let Some(seq) = first(session, KNOWN, &params, |row| row.int(0))? {
                return Ok(EventReceipt { seq, is_new: false });
            }
            let seq = counters::take(session, ws, "suite_events", 1)?;
            params.extend([seq.into(), now.as_millisecond().into(), body.as_str().into()]);
            session.execute(ADD, &params)?;
            Ok(EventReceipt { seq, is_new: true })
        })
    }

    /// Events with a higher number than `seq`, by number, at most `limit`. Numbers become visible
    /// in order: a reader that has seen one has seen all before it.
    pub fn events_after(
        &self,
        ws: &WorkspaceId,
        seq: i64,
        limit: usize,
    ) -> Result<Vec<SuiteEvent>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, AFTER, &[ws.into(), seq.into(), limit.into()], |row| {
                Ok(SuiteEvent {
                    seq: row.int(0)?,
                    kind: row.text(1)?,
                    document: row.text(2)?,
                    version: row.text(3)?,
                    body: row.text(4)?,
                    at: row::timestamp(row.int(5)?)?,
                })
            })
        })
    }

    /// The number of the last event; 0 if none.
    pub fn event_head(&self, ws: &WorkspaceId) -> Result<i64> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            counters::last(session, ws, "suite_events")
        })
    }

    /// The time span of corpus changes after a generation; `None` if there are none.
    pub fn changes_since(
        &self,
        ws: &WorkspaceId,
        after: Generation,
        which: WatchedChanges,
    ) -> Result<Option<ChangeSpan>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let sql = match which {
                WatchedChanges::Pages => CHANGE_SPAN.to_owned(),
                WatchedChanges::Links => format!("{CHANGE_SPAN} AND ({OTHER_LINKS})"),
            };
            let found = first(session, &sql, &[ws.into(), after.0.into()], |row| {
                let (Some(first), Some(last), Some(up_to)) =
                    (row.opt_int(0)?, row.opt_int(1)?, row.opt_int(2)?)
                else {
                    return Ok(None);
                };
                let (first, last) = (row::timestamp(first)?, row::timestamp(last)?);
                Ok(Some(ChangeSpan { first, last, up_to: Generation(up_to) }))
            })?;
            Ok(found.flatten())
        })
    }
}
