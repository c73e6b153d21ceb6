//! What an engine must do for the shared operations: sessions, values in, columns out.
//!
//! Statements are written once, with `$1` placeholders, and mean the same on both engines. What
//! differs is here: how a transaction begins, how many rows go in at once, and how rows are found
//! for a list of keys.

use std::borrow::Cow;
use std::ops::ControlFlow;

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use jiff::civil::Date;

use crate::types::{Engine, Finding};
use crate::{Result, StoreError};

pub(crate) trait Driver: Send + Sync {
    /// SQL that is true when the JSON list in column `tags` holds the parameter `$$`.
    fn tag_filter(&self) -> &'static str;

    /// SQL behind a `SELECT` of rows that will be changed: locks them, and passes over those that
    /// another transaction has locked.
    fn skip_locked(&self) -> &'static str;

    /// SQL that gives the time, in milliseconds since 1970.
    fn clock_query(&self) -> &'static str;

    /// SQL that gives the bytes the database takes.
    fn size_query(&self) -> &'static str;

    /// SQL that gives the role of this connection if row-level security does not hold it, where there is such a thing.
    fn security_bypass_query(&self) -> Option<&'static str>;

    /// See [`crate::Store::identity`].
    fn identity(&self) -> &str;

    /// See [`crate::Store::engine`].
    fn engine(&self) -> Engine;

    /// Runs a job that reads, in one snapshot.
    fn read<T>(
        &self,
        scope: Scope<'_>,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T>;

    /// Runs a job that reads more rows than memory should hold, in one snapshot.
    fn scan<T>(
        &self,
        scope: Scope<'_>,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T>;

    /// Runs a job that writes, as the only writer of the workspace, in one transaction.
    fn write<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T>;

    /// Runs a job that writes what no writer of the workspace looks at, in one transaction that
    /// does not wait for them. The workspace stays while it runs; whatever else must not change
    /// under it, it locks itself.
    fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T>;

    /// Drives erased bytes out of the files; whether it could.
    fn scrub(&self) -> Result<bool>;

    /// Checks the database's own structure.
    fn structure(&self) -> Result<Vec<Finding>>;
}

/// Which rows a transaction may see, where row-level security is enforced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// Those of one workspace.
    Workspace(&'a WorkspaceId),
    /// The list of workspaces, and tokens, jobs, suites and messages to send of all of them.
    Directory,
}

pub(crate) trait Session {
    /// Runs a statement that gives rows.
    fn query(&mut self, sql: &str, params: &[Value<'_>], each: Each<'_>) -> Result<()>;

    /// Runs a statement that may give any number of rows, in constant memory, until `each` has had
    /// enough. What it has not asked for is not fetched.
    fn stream(&mut self, sql: &str, params: &[Value<'_>], each: EachUntil<'_>) -> Result<()>;

    /// Runs a statement that gives none; how many rows it touched.
    fn execute(&mut self, sql: &str, params: &[Value<'_>]) -> Result<u64>;

    /// Inserts rows: `values` holds the columns after `workspace_id`, row after row.
    fn insert(&mut self, table: &Table, ws: &WorkspaceId, values: &[Value<'_>]) -> Result<()>;

    /// Finds rows for a list of keys: `keys` holds key columns, key after key. Each row
    /// comes with its key's place in the list; rows of one key come in the lookup's order.
    fn lookup(
        &mut self,
        lookup: &Lookup,
        ws: &WorkspaceId,
        keys: &[Value<'_>],
        each: EachKeyed<'_>,
    ) -> Result<()>;
}

pub(crate) type Each<'a> = &'a mut dyn FnMut(&dyn Columns) -> Result<()>;

/// Takes a row, and says whether to go on.
pub(crate) type EachUntil<'a> = &'a mut dyn FnMut(&dyn Columns) -> Result<ControlFlow<()>>;

/// Takes a row and the place of its key.
pub(crate) type EachKeyed<'a> = &'a mut dyn FnMut(usize, &dyn Columns) -> Result<()>;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Col {
    Int,
    Real,
    Flag,
    Text,
    Blob,
}

/// A table that rows are inserted into.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, Col)],
    /// What to do when the row is there: empty, or an `ON CONFLICT` clause.
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
pub(crate) struct Lookup {
    pub columns: &'static str,
    pub from: &'static str,
    pub keys: &'static [(&'static str, Col)],
    /// Orders the rows of one key; empty when there is at most one.
    pub order: &'static str,
}

/// A value on its way in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    Flag(bool),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// A row on its way out, by column number.
pub(crate) trait Columns {
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

/// Rows collected by a decoder.
pub(crate) fn collect<T>(
    session: &mut dyn Session,
    sql: &str,
    params: &[Value<'_>],
    decode: impl Fn(&dyn Columns) -> Result<T>,
) -> Result<Vec<T>> {
    let mut rows = Vec::new();
    session.query(sql, params, &mut |row| {
        rows.push(decode(row)?);
        Ok(())
    })?;
    Ok(rows)
}

/// The first row of a query.
pub(crate) fn first<T>(
    session: &mut dyn Session,
    sql: &str,
    params: &[Value<'_>],
    decode: impl Fn(&dyn Columns) -> Result<T>,
) -> Result<Option<T>> {
    Ok(collect(session, sql, params, decode)?.into_iter().next())
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a WorkspaceId> for Value<'a> {
    fn from(id: &'a WorkspaceId) -> Self {
        id.as_str().into()
    }
}

impl<'a> From<&'a Hash> for Value<'a> {
    fn from(hash: &'a Hash) -> Self {
        Self::Blob(Cow::Borrowed(&hash.0))
    }
}

impl From<Date> for Value<'_> {
    fn from(date: Date) -> Self {
        date.to_string().into()
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
