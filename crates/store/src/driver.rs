//! The interface of a database engine for the shared operations: sessions, parameters, columns.
//!
//! Statements are written once, with `$1` placeholders, and have the same meaning on both engines.
//! The differences are here: how a transaction begins, how many rows are inserted at once, and how
//! rows are looked up for a list of keys.

use std::borrow::Cow;
use std::ops::ControlFlow;

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::civil::Date;

use crate::types::{Engine, InvariantViolation};
use crate::{Result, StoreError};

pub(crate) trait Driver: Send + Sync {
    /// SQL that is true when the JSON list in column `tags` contains the parameter `$$`.
    fn tag_filter(&self) -> &'static str;

    /// SQL after a `SELECT` of rows that will be changed: locks them, and skips those that another
    /// transaction has locked.
    fn skip_locked(&self) -> &'static str;

    /// SQL for the current time, in milliseconds since 1970.
    fn clock_query(&self) -> &'static str;

    /// SQL for the size of the database in bytes.
    fn size_query(&self) -> &'static str;

    /// SQL that returns the role of this connection if row-level security does not apply to it;
    /// `None` without row-level security.
    fn security_bypass_query(&self) -> Option<&'static str>;

    /// The identity of the store, see [`crate::Store::identity`].
    fn identity(&self) -> &str;

    /// The engine of the store, see [`crate::Store::engine`].
    fn engine(&self) -> Engine;

    /// Runs a reading job in one snapshot.
    fn read<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T>;

    /// Runs a job that reads more rows than fit in memory, in one snapshot.
    fn scan<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T>;

    /// Runs a writing job as the only writer of the workspace, in one transaction.
    fn write<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T>;

    /// Runs a job that writes rows which page writers do not read, in one transaction that does not
    /// wait for them. The workspace cannot be removed while it runs; the job locks all other rows
    /// it depends on.
    fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T>;

    /// Removes erased bytes from the files; returns whether that was possible.
    fn scrub(&self) -> Result<bool>;

    /// Checks the database's own structure.
    fn structure(&self) -> Result<Vec<InvariantViolation>>;
}

/// The rows that a transaction may see, where row-level security is enforced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowScope<'a> {
    /// Rows of one workspace.
    Workspace(&'a WorkspaceId),
    /// The list of workspaces, and the tokens, jobs, suites and queued messages of all of them.
    Directory,
}

pub(crate) trait SqlSession {
    /// Runs a statement that returns rows.
    fn query(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowVisitor<'_>) -> Result<()>;

    /// Runs a statement that may return any number of rows, in constant memory, until `each`
    /// breaks. Further rows are not fetched.
    fn stream(&mut self, sql: &str, params: &[SqlValue<'_>], each: RowPredicate<'_>) -> Result<()>;

    /// Runs a statement without result rows; returns the number of affected rows.
    fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<u64>;

    /// Inserts rows: `values` contains the columns after `workspace_id`, row after row.
    fn insert(&mut self, table: &Table, ws: &WorkspaceId, values: &[SqlValue<'_>]) -> Result<()>;

    /// Finds rows for a list of keys: `keys` contains key columns, key after key. Each row comes
    /// with its key's index in the list; rows of one key come in the lookup's order.
    fn lookup(
        &mut self,
        lookup: &KeyLookup,
        ws: &WorkspaceId,
        keys: &[SqlValue<'_>],
        each: KeyedRowVisitor<'_>,
    ) -> Result<()>;
}

pub(crate) type RowVisitor<'a> = &'a mut dyn FnMut(&dyn SqlRow) -> Result<()>;

/// Receives a row, and returns whether to continue.
pub(crate) type RowPredicate<'a> = &'a mut dyn FnMut(&dyn SqlRow) -> Result<ControlFlow<()>>;

/// Receives a row and the index of its key.
pub(crate) type KeyedRowVisitor<'a> = &'a mut dyn FnMut(usize, &dyn SqlRow) -> Result<()>;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Int,
    Real,
    Flag,
    Text,
    Blob,
}

/// A table into which rows are inserted.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, ColumnType)],
    /// The clause for an existing row: empty, or `ON CONFLICT ...`.
    pub on_conflict: &'static str,
}

impl Table {
    /// `SELECT` of all columns, without a condition.
    pub(crate) fn select(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        format!("SELECT {} FROM {}", names.join(", "), self.name)
    }
}

/// A statement that finds rows by key. Its table has the alias `t`.
#[derive(Debug)]
pub(crate) struct KeyLookup {
    pub columns: &'static str,
    pub from: &'static str,
    pub keys: &'static [(&'static str, ColumnType)],
    /// The order of the rows of one key; empty if there is at most one.
    pub order: &'static str,
}

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue<'a> {
    Null,
    Int(i64),
    Real(f64),
    Flag(bool),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// A result row, accessed by column number.
pub(crate) trait SqlRow {
    fn int(&self, at: usize) -> Result<i64>;
    fn opt_int(&self, at: usize) -> Result<Option<i64>>;
    fn real(&self, at: usize) -> Result<f64>;
    fn opt_real(&self, at: usize) -> Result<Option<f64>>;
    fn flag(&self, at: usize) -> Result<bool>;
    fn opt_flag(&self, at: usize) -> Result<Option<bool>>;
    fn opt_text(&self, at: usize) -> Result<Option<String>>;
    fn blob(&self, at: usize) -> Result<Vec<u8>>;

    fn text(&self, at: usize) -> Result<String> {
        self.opt_text(at)?.ok_or_else(|| StoreError::corrupt(format!("column {at} is null")))
    }
}

/// Collects the decoded rows of a query.
pub(crate) fn collect<T>(
    session: &mut dyn SqlSession,
    sql: &str,
    params: &[SqlValue<'_>],
    decode: impl Fn(&dyn SqlRow) -> Result<T>,
) -> Result<Vec<T>> {
    let mut rows = Vec::new();
    session.query(sql, params, &mut |row| {
        rows.push(decode(row)?);
        Ok(())
    })?;
    Ok(rows)
}

/// The first row of a query, decoded.
pub(crate) fn first<T>(
    session: &mut dyn SqlSession,
    sql: &str,
    params: &[SqlValue<'_>],
    decode: impl Fn(&dyn SqlRow) -> Result<T>,
) -> Result<Option<T>> {
    Ok(collect(session, sql, params, decode)?.into_iter().next())
}

impl<'a> From<&'a str> for SqlValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a WorkspaceId> for SqlValue<'a> {
    fn from(id: &'a WorkspaceId) -> Self {
        id.as_str().into()
    }
}

impl<'a> From<&'a Hash> for SqlValue<'a> {
    fn from(hash: &'a Hash) -> Self {
        Self::Blob(Cow::Borrowed(&hash.0))
    }
}

impl From<Date> for SqlValue<'_> {
    fn from(date: Date) -> Self {
        date.to_string().into()
    }
}

impl From<i64> for SqlValue<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for SqlValue<'_> {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<u64> for SqlValue<'_> {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for SqlValue<'_> {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<f64> for SqlValue<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for SqlValue<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a, T: Into<SqlValue<'a>>> From<Option<T>> for SqlValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
