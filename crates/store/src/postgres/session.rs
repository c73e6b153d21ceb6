//! Statements on a PostgreSQL connection. Rows go in, and keys go out, as one array per column.

use std::error::Error;
use std::ops::ControlFlow;

use gbrain_core::id::WorkspaceId;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use postgres::{Row, Statement};

use super::pool::Connection;
use crate::Result;
use crate::driver::{Col, Columns, Each, EachKeyed, EachUntil, Lookup, Session, Table, Value};
use crate::error::StoreError;

/// Rows asked for at once from a cursor. They are streamed too, so this is no measure of memory.
const FETCHED: usize = 1000;

const NO_PARAMS: [Value<'_>; 0] = [];

pub(super) struct PostgresSession<'c> {
    connection: &'c mut Connection,
}

impl<'c> PostgresSession<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        Self { connection }
    }

    pub(super) fn batch(&mut self, sql: &str) -> Result<()> {
        Ok(self.connection.client().batch_execute(sql)?)
    }

    /// Hands out the next rows of a cursor; breaks when there are no more or they are not wanted.
    fn fetch(&mut self, fetch: &Statement, each: EachUntil<'_>) -> Result<ControlFlow<()>> {
        let mut rows = self.connection.client().query_raw(fetch, NO_PARAMS)?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            if each(&row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(if count == FETCHED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}

impl Session for PostgresSession<'_> {
    fn query(&mut self, sql: &str, params: &[Value<'_>], each: Each<'_>) -> Result<()> {
        let statement = self.connection.prepare(sql)?;
        let mut rows = self.connection.client().query_raw(&statement, params)?;
        while let Some(row) = rows.next()? {
            each(&row)?;
        }
        Ok(())
    }

    fn stream(&mut self, sql: &str, params: &[Value<'_>], each: EachUntil<'_>) -> Result<()> {
        // A cursor, because a plain query cannot be left early: its rows would still be sent.
        self.execute(&format!("DECLARE stream NO SCROLL CURSOR FOR {sql}"), params)?;
        let fetch = self.connection.client().prepare(&format!("FETCH {FETCHED} FROM stream"))?;
        while self.fetch(&fetch, each)?.is_continue() {}
        self.batch("CLOSE stream")
    }

    fn execute(&mut self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        let statement = self.connection.prepare(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> =
            params.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        Ok(self.connection.client().execute(&statement, &params)?)
    }

    fn insert(&mut self, table: &Table, ws: &WorkspaceId, values: &[Value<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let statement = self.connection.prepare(&insert_sql(table))?;
        let columns = transpose(table.columns, values);
        let params = with_workspace(ws, &columns);
        self.connection.client().execute(&statement, &as_dyn(&params))?;
        Ok(())
    }

    fn lookup(
        &mut self,
        lookup: &Lookup,
        ws: &WorkspaceId,
        keys: &[Value<'_>],
        each: EachKeyed<'_>,
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let statement = self.connection.prepare(&lookup_sql(lookup))?;
        let columns = transpose(lookup.keys, keys);
        let params = with_workspace(ws, &columns);
        let mut rows = self.connection.client().query_raw(&statement, params)?;
        while let Some(row) = rows.next()? {
            let place = row.int(row.len() - 1)?;
            let place = usize::try_from(place - 1)
                .map_err(|_| StoreError::corrupt("a key's place is out of range"))?;
            each(place, &row)?;
        }
        Ok(())
    }
}

fn array_type(column: Col) -> &'static str {
    match column {
        Col::Int => "bigint[]",
        Col::Real => "double precision[]",
        Col::Flag => "boolean[]",
        Col::Text => "text[]",
        Col::Blob => "bytea[]",
    }
}

/// `$2::bigint[], $3::text[]`: one array per column, behind the workspace.
fn arrays(columns: &[(&str, Col)]) -> String {
    let typed = columns.iter().enumerate();
    let typed = typed.map(|(at, (_, column))| format!("${}::{}", at + 2, array_type(*column)));
    typed.collect::<Vec<_>>().join(", ")
}

fn insert_sql(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    format!(
        "INSERT INTO {} (workspace_id, {}) SELECT $1::text, u.* FROM unnest({}) AS u {}",
        table.name,
        names.join(", "),
        arrays(table.columns),
        table.on_conflict
    )
}

/// The keys drive: `OFFSET 0` keeps the planner from turning the join round, which it would do
/// while a table has no statistics, and read the whole workspace for every key.
fn lookup_sql(lookup: &Lookup) -> String {
    let Lookup { columns, from, keys, order } = lookup;
    let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
    let wanted: String = names.iter().map(|name| format!(" AND t.{name} = k.{name}")).collect();
    let (rank, sort) = match *order {
        "" => (String::new(), ""),
        order => (format!(", {order} AS rank"), " ORDER BY k.place, found.rank"),
    };
    format!(
        "SELECT found.*, k.place FROM unnest({}) WITH ORDINALITY AS k ({}, place), \
         LATERAL (SELECT {columns}{rank} FROM {from} WHERE t.workspace_id = $1::text{wanted} \
         OFFSET 0) AS found{sort}",
        arrays(keys),
        names.join(", ")
    )
}

/// One column of many rows.
#[derive(Debug)]
enum Array<'a> {
    Int(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    Text(Vec<Option<&'a str>>),
    Blob(Vec<Option<&'a [u8]>>),
}

fn transpose<'a>(columns: &[(&str, Col)], values: &'a [Value<'a>]) -> Vec<Array<'a>> {
    let width = columns.len();
    let arrays = columns.iter().enumerate();
    arrays.map(|(at, (_, column))| array(*column, values[at..].iter().step_by(width))).collect()
}

/// Invariant: a value has its column's type or is null; the tables of `schema` say which.
fn array<'a>(column: Col, values: impl Iterator<Item = &'a Value<'a>>) -> Array<'a> {
    match column {
        Col::Int => Array::Int(values.map(as_int).collect()),
        Col::Real => Array::Real(values.map(as_real).collect()),
        Col::Flag => Array::Flag(values.map(as_flag).collect()),
        Col::Text => Array::Text(values.map(as_text).collect()),
        Col::Blob => Array::Blob(values.map(as_blob).collect()),
    }
}

fn as_int(value: &Value<'_>) -> Option<i64> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

fn as_real(value: &Value<'_>) -> Option<f64> {
    if let Value::Real(number) = value { Some(*number) } else { None }
}

fn as_flag(value: &Value<'_>) -> Option<bool> {
    if let Value::Flag(flag) = value { Some(*flag) } else { None }
}

fn as_text<'a>(value: &'a Value<'a>) -> Option<&'a str> {
    if let Value::Text(text) = value { Some(text) } else { None }
}

fn as_blob<'a>(value: &'a Value<'a>) -> Option<&'a [u8]> {
    if let Value::Blob(bytes) = value { Some(bytes) } else { None }
}

/// The parameters of a statement over arrays.
#[derive(Debug)]
enum Param<'a> {
    Workspace(&'a str),
    Array(&'a Array<'a>),
}

fn with_workspace<'a>(ws: &'a WorkspaceId, arrays: &'a [Array<'a>]) -> Vec<Param<'a>> {
    let workspace = std::iter::once(Param::Workspace(ws.as_str()));
    workspace.chain(arrays.iter().map(Param::Array)).collect()
}

fn as_dyn<'a>(params: &'a [Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

type Encoded = std::result::Result<IsNull, Box<dyn Error + Sync + Send>>;

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        match self {
            Self::Workspace(name) => name.to_sql(ty, out),
            Self::Array(Array::Int(values)) => values.to_sql(ty, out),
            Self::Array(Array::Real(values)) => values.to_sql(ty, out),
            Self::Array(Array::Flag(values)) => values.to_sql(ty, out),
            Self::Array(Array::Text(values)) => values.to_sql(ty, out),
            Self::Array(Array::Blob(values)) => values.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The statements above cast every parameter to the type that is written here.
        true
    }

    to_sql_checked!();
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql_checked(ty, out),
            Self::Real(number) => number.to_sql_checked(ty, out),
            Self::Flag(flag) => flag.to_sql_checked(ty, out),
            Self::Text(text) => text.as_ref().to_sql_checked(ty, out),
            Self::Blob(bytes) => bytes.as_ref().to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each variant checks for itself.
        true
    }

    to_sql_checked!();
}

impl Columns for Row {
    fn int(&self, at: usize) -> Result<i64> {
        Ok(self.try_get(at)?)
    }

    fn opt_int(&self, at: usize) -> Result<Option<i64>> {
        Ok(self.try_get(at)?)
    }

    fn real(&self, at: usize) -> Result<f64> {
        Ok(self.try_get(at)?)
    }

    fn opt_real(&self, at: usize) -> Result<Option<f64>> {
        Ok(self.try_get(at)?)
    }

    fn flag(&self, at: usize) -> Result<bool> {
        Ok(self.try_get(at)?)
    }

    fn opt_flag(&self, at: usize) -> Result<Option<bool>> {
        Ok(self.try_get(at)?)
    }

    fn opt_text(&self, at: usize) -> Result<Option<String>> {
        Ok(self.try_get(at)?)
    }

    fn blob(&self, at: usize) -> Result<Vec<u8>> {
        Ok(self.try_get(at)?)
    }
}
