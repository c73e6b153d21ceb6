//! Canonical queries, one per text.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::{captures, counters, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, SqlValue, collect, first};
use crate::query_set::{
    NewQuery, OnDuplicate, QueryFilter, QueryPut, QueryState, StoredCanonicalQuery,
};
use crate::store::Store;
use crate::types::WriteKind;
use crate::{Result, row};

const ADD: &str = "INSERT INTO canonical_queries (workspace_id, id, source, difficulty, origin, \
     body, text_hash, state, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const REPLACE: &str = "UPDATE canonical_queries SET source = $3, difficulty = $4, origin = $5, \
     body = $6 WHERE workspace_id = $1 AND id = $2";
const LIST: &str = "SELECT id, text_hash, state, source, difficulty, origin, body, created_at, \
     reviewed_at FROM canonical_queries WHERE workspace_id = $1";
const SET_STATE: &str = "UPDATE canonical_queries SET state = $3, reviewed_at = $4 \
     WHERE workspace_id = $1 AND id = $2";
const DELETE: &str = "DELETE FROM canonical_queries WHERE workspace_id = $1 AND id = $2";

impl Store {
    /// Stores canonical queries, all or none; returns the outcomes, in order. A text is stored
    /// once: `on_duplicate` decides which one remains.
    pub fn put_queries(
        &self,
        ws: &WorkspaceId,
        queries: &[NewQuery],
        on_duplicate: OnDuplicate,
        now: Timestamp,
    ) -> Result<Vec<QueryPut>> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            // Locked until the end of the transaction: concurrent inserts of one text are
            // serialised.
            counters::take(session, ws, "canonical_queries", 0)?;
            queries.iter().map(|query| put_one(session, ws, query, on_duplicate, now)).collect()
        })
    }

    pub fn canonical_query(
        &self,
        ws: &WorkspaceId,
        id: i64,
    ) -> Result<Option<StoredCanonicalQuery>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            first(session, &format!("{LIST} AND id = $2"), &[ws.into(), id.into()], query)
        })
    }

    /// Canonical queries, by number, at most `limit`.
    pub fn canonical_queries(
        &self,
        ws: &WorkspaceId,
        filter: &QueryFilter,
        limit: usize,
    ) -> Result<Vec<StoredCanonicalQuery>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let QueryFilter { state, source, difficulty, origin, after } = filter;
            for text in [source, difficulty, origin].into_iter().flatten() {
                refuse_nul(&[text])?;
            }
            let narrowings: [(&str, Option<SqlValue<'_>>); 5] = [
                ("state =", state.map(|state| state.name().into())),
                ("source =", source.as_deref().map(SqlValue::from)),
                ("difficulty =", difficulty.as_deref().map(SqlValue::from)),
                ("origin =", origin.as_deref().map(SqlValue::from)),
                ("id >", after.map(SqlValue::from)),
            ];
            let (mut sql, mut params) =
                captures::add_conditions(LIST.to_owned(), vec![ws.into()], narrowings);
            params.push(limit.into());
            sql.push_str(&format!(" ORDER BY id LIMIT ${}", params.len()));
            collect(session, &sql, &params, query)
        })
    }

    /// Sets the state of a canonical query; returns whether it exists.
    pub fn set_query_state(
        &self,
        ws: &WorkspaceId,
        id: i64,
        state: QueryState,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let params = [ws.into(), id.into(), state.name().into(), now.as_millisecond().into()];
            Ok(session.execute(SET_STATE, &params)? > 0)
        })
    }

    /// Deletes a canonical query; returns whether it existed.
    pub fn delete_query(&self, ws: &WorkspaceId, id: i64) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            Ok(session.execute(DELETE, &[ws.into(), id.into()])? > 0)
        })
    }
}

fn put_one(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    query: &NewQuery,
    on_duplicate: OnDuplicate,
    now: Timestamp,
) -> Result<QueryPut> {
    let NewQuery { text_hash, state, source, difficulty, origin, body } = query;
    refuse_nul(&[source, difficulty.as_deref().unwrap_or(""), origin, body])?;
    let sql = format!("{LIST} AND text_hash = $2");
    let found = first(session, &sql, &[ws.into(), text_hash.into()], self::query)?;
    if let Some(found) = &found
        && (on_duplicate == OnDuplicate::Keep || is_same(found, query))
    {
        return Ok(QueryPut { id: found.id, kind: WriteKind::Unchanged });
    }
    let id = match &found {
        Some(found) => found.id,
        None => counters::take(session, ws, "canonical_queries", 1)?,
    };
    let mut params = vec![
        ws.into(),
        id.into(),
        source.as_str().into(),
        difficulty.as_deref().into(),
        origin.as_str().into(),
        body.as_str().into(),
    ];
    if found.is_some() {
        session.execute(REPLACE, &params)?;
        return Ok(QueryPut { id, kind: WriteKind::Changed });
    }
    params.extend([text_hash.into(), state.name().into(), now.as_millisecond().into()]);
    session.execute(ADD, &params)?;
    Ok(QueryPut { id, kind: WriteKind::Added })
}

/// Whether a replacement would change nothing.
fn is_same(found: &StoredCanonicalQuery, query: &NewQuery) -> bool {
    let NewQuery { text_hash: _, state: _, source, difficulty, origin, body } = query;
    (source, difficulty, origin, body)
        == (&found.source, &found.difficulty, &found.origin, &found.body)
}

fn query(row: &dyn SqlRow) -> Result<StoredCanonicalQuery> {
    Ok(StoredCanonicalQuery {
        id: row.int(0)?,
        text_hash: row::hash(row, 1)?,
        state: row::name(row, 2, QueryState::from_name)?,
        source: row.text(3)?,
        difficulty: row.opt_text(4)?,
        origin: row.text(5)?,
        body: row.text(6)?,
        created_at: row::timestamp(row.int(7)?)?,
        reviewed_at: row::opt_timestamp(row, 8)?,
    })
}

fn refuse_nul(texts: &[&str]) -> Result<()> {
    texts.iter().try_for_each(|text| write::refuse_nul_in(text, || "the query".to_owned()))
}
