//! Statements on a SQLite connection. All of them are cached per connection.

use gbrain_core::id::WorkspaceId;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};

use crate::Result;
use crate::driver::{
    KeyLookup, KeyedRowVisitor, RowPredicate, RowVisitor, SqlRow, SqlSession, SqlValue, Table,
};

pub(super) struct SqliteSession<'c> {
    connection: &'c Connection,
}

impl<'c> SqliteSession<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }
}

impl SqlSession for SqliteSession<'_> {
    fn query(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowVisitor<'_>) -> Result<()> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            each(row)?;
        }
        Ok(())
    }

    fn stream(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowPredicate<'_>) -> Result<()> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if each(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<u64> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        Ok(statement.execute(params_from_iter(params))? as u64)
    }

    fn insert(&mut self, table: &Table, ws: &WorkspaceId, values: &[SqlValue<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let mut statement = self.connection.prepare_cached(&insert_sql(table))?;
        statement.raw_bind_parameter(1, ws.as_str())?;
        for row in values.chunks_exact(table.columns.len()) {
            for (at, value) in row.iter().enumerate() {
                statement.raw_bind_parameter(at + 2, value)?;
            }
            statement.raw_execute()?;
        }
        Ok(())
    }

    fn lookup(
        &mut self,
        lookup: &KeyLookup,
        ws: &WorkspaceId,
        keys: &[SqlValue<'_>],
        each: KeyedRowVisitor<'_>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(&lookup_sql(lookup))?;
        let workspace = SqlValue::from(ws);
        for (place, key) in keys.chunks_exact(lookup.keys.len()).enumerate() {
            let params = std::iter::once(&workspace).chain(key);
            let mut rows = statement.query(params_from_iter(params))?;
            while let Some(row) = rows.next()? {
                each(place, row)?;
            }
        }
        Ok(())
    }
}

/// Converts the shared `$1` to SQLite's `?1`. No statement contains another dollar sign.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

fn insert_sql(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let places = ", ?".repeat(names.len());
    format!(
        "INSERT INTO {} (workspace_id, {}) VALUES (?{places}) {}",
        table.name,
        names.join(", "),
        table.on_conflict
    )
}

fn lookup_sql(lookup: &KeyLookup) -> String {
    let KeyLookup { columns, from, keys, order } = lookup;
    let mut sql = format!("SELECT {columns} FROM {from} WHERE t.workspace_id = ?1");
    for (at, (key, _)) in keys.iter().enumerate() {
        sql.push_str(&format!(" AND t.{key} = ?{}", at + 2));
    }
    if !order.is_empty() {
        sql.push_str(&format!(" ORDER BY {order}"));
    }
    sql
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Flag(flag) => ValueRef::Integer(i64::from(*flag)),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl SqlRow for Row<'_> {
    fn int(&self, at: usize) -> Result<i64> {
        Ok(self.get(at)?)
    }

    fn opt_int(&self, at: usize) -> Result<Option<i64>> {
        Ok(self.get(at)?)
    }

    fn real(&self, at: usize) -> Result<f64> {
        Ok(self.get(at)?)
    }

    fn opt_real(&self, at: usize) -> Result<Option<f64>> {
        Ok(self.get(at)?)
    }

    fn flag(&self, at: usize) -> Result<bool> {
        Ok(self.get(at)?)
    }

    fn opt_flag(&self, at: usize) -> Result<Option<bool>> {
        Ok(self.get(at)?)
    }

    fn opt_text(&self, at: usize) -> Result<Option<String>> {
        Ok(self.get(at)?)
    }

    fn blob(&self, at: usize) -> Result<Vec<u8>> {
        Ok(self.get(at)?)
    }
}
