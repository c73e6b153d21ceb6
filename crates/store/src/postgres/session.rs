//! Statements on a PostgreSQL connection. Rows and keys are sent as one array per column.

use std::error::Error;
use std::ops::ControlFlow;

use gbrain_core::id::WorkspaceId;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use postgres::{Row, Statement};

use super::pool::Connection;
use crate::Result;
use crate::driver::{
    ColumnType, KeyLookup, KeyedRowVisitor, RowPredicate, RowVisitor, SqlRow, SqlSession, SqlValue,
    Table,
};
use crate::error::StoreError;

/// Number of rows per fetch from a cursor. They are streamed too, so this does not limit memory.
const FETCHED: usize = 1000;

const NO_PARAMS: [SqlValue<'_>; 0] = [];

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

    /// Passes on the next rows of a cursor; breaks when there are no more or `each` breaks.
    fn fetch(&mut self, fetch: &Statement, each: RowPredicate<'_>) -> Result<ControlFlow<()>> {
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

impl SqlSession for PostgresSession<'_> {
    fn query(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowVisitor<'_>) -> Result<()> {
        let statement = self.connection.prepare(sql)?;
        let mut rows = self.connection.client().query_raw(&statement, params)?;
        while let Some(row) = rows.next()? {
            each(&row)?;
        }
        Ok(())
    }

    fn stream(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowPredicate<'_>) -> Result<()> {
        // A cursor, because the remaining rows of a plain query would still be sent.
        self.execute(&format!("DECLARE stream NO SCROLL CURSOR FOR {sql}"), params)?;
        let fetch = self.connection.client().prepare(&format!("FETCH {FETCHED} FROM stream"))?;
        while self.fetch(&fetch, each)?.is_continue() {}
        self.batch("CLOSE stream")
    }

    fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<u64> {
        let statement = self.connection.prepare(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> =
            params.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        Ok(self.connection.client().execute(&statement, &params)?)
    }

    fn insert(&mut self, table: &Table, ws: &WorkspaceId, values: &[SqlValue<'_>]) -> Result<()> {
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
        lookup: &KeyLookup,
        ws: &WorkspaceId,
        keys: &[SqlValue<'_>],
        each: KeyedRowVisitor<'_>,
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

fn array_type(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Int => "bigint[]",
        ColumnType::Real => "double precision[]",
        ColumnType::Flag => "boolean[]",
        ColumnType::Text => "text[]",
        ColumnType::Blob => "bytea[]",
    }
}

/// `$2::bigint[], $3::text[]`: one array per column, after the workspace.
fn arrays(columns: &[(&str, ColumnType)]) -> String {
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

/// The keys drive the join: `OFFSET 0` prevents the planner from reversing it, which it would do
/// while a table has no statistics, and read the whole workspace for every key.
fn lookup_sql(lookup: &KeyLookup) -> String {
    let KeyLookup { columns, from, keys, order } = lookup;
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

fn transpose<'a>(columns: &[(&str, ColumnType)], values: &'a [SqlValue<'a>]) -> Vec<Array<'a>> {
    let width = columns.len();
    let arrays = columns.iter().enumerate();
    arrays.map(|(at, (_, column))| array(*column, values[at..].iter().step_by(width))).collect()
}

/// Invariant: a value has its column's type, as declared in `schema`, or is null.
fn array<'a>(column: ColumnType, values: impl Iterator<Item = &'a SqlValue<'a>>) -> Array<'a> {
    match column {
        ColumnType::Int => Array::Int(values.map(as_int).collect()),
        ColumnType::Real => Array::Real(values.map(as_real).collect()),
        ColumnType::Flag => Array::Flag(values.map(as_flag).collect()),
        ColumnType::Text => Array::Text(values.map(as_text).collect()),
        ColumnType::Blob => Array::Blob(values.map(as_blob).collect()),
    }
}

fn as_int(value: &SqlValue<'_>) -> Option<i64> {
    if let SqlValue::Int(number) = value { Some(*number) } else { None }
}

fn as_real(value: &SqlValue<'_>) -> Option<f64> {
    if let SqlValue::Real(number) = value { Some(*number) } else { None }
}

fn as_flag(value: &SqlValue<'_>) -> Option<bool> {
    if let SqlValue::Flag(flag) = value { Some(*flag) } else { None }
}

fn as_text<'a>(value: &'a SqlValue<'a>) -> Option<&'a str> {
    if let SqlValue::Text(text) = value { Some(text) } else { None }
}

fn as_blob<'a>(value: &'a SqlValue<'a>) -> Option<&'a [u8]> {
    if let SqlValue::Blob(bytes) = value { Some(bytes) } else { None }
}

/// A parameter of a statement over arrays.
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

type EncodeResult = std::result::Result<IsNull, Box<dyn Error + Sync + Send>>;

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> EncodeResult {
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

impl ToSql for SqlValue<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> EncodeResult {
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
        // Each variant checks its own type.
        true
    }

    to_sql_checked!();
}

impl SqlRow for Row {
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
