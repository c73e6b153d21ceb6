//! Erases the traces of a page in other tables.
//!
//! Every table that can refer to a page is searched, and each row is decided by identifiers, never
//! by a pattern over its text: [`ErasedPage`] computes the new row. Rows that do not refer to the
//! page are not written. Reports and logs keep their figures, verdicts and ranks; alerts keep their
//! state.

mod judged;
mod names;
mod records;

use gbrain_core::erasure::{ErasedPage, ErasureCounts};
use gbrain_core::id::{PageId, PageKey, WorkspaceId};

use crate::Result;
use crate::driver::{RowScope, SqlSession, SqlValue, collect};
use crate::store::Store;
use crate::types::PurgeKeys;

impl Store {
    /// The identifiers by which a purge recognises a page, for records outside the store; `None`
    /// for a page that never existed.
    pub fn erased_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
    ) -> Result<Option<ErasedPage>> {
        self.read(RowScope::Workspace(ws), |session| {
            super::workspaces::workspace_state(session, ws)?;
            let found = super::write::current(session, ws, std::iter::once(key))?.pop().flatten();
            found.map(|found| names::erased_page(session, ws, key, found.id, keys)).transpose()
        })
    }
}

/// Erases the traces of a page whose versions still exist.
pub(super) fn page(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
    keys: &PurgeKeys,
) -> Result<ErasureCounts> {
    let page = names::erased_page(session, ws, key, id, keys)?;
    let mut forget = PageErasure { session, ws, page: &page, counts: ErasureCounts::default() };
    // Logs before runs, in the same order as retention, to avoid deadlocks with it.
    forget.logs()?;
    forget.suite_runs()?;
    forget.contradictions()?;
    forget.captures()?;
    forget.labels()?;
    forget.canonical_queries()?;
    forget.calibration_pairs()?;
    forget.documents(keys)?;
    forget.jobs()?;
    forget.remarks()?;
    forget.model_answers()?;
    Ok(forget.counts)
}

/// An erasure in progress, with its counts.
struct PageErasure<'a> {
    session: &'a mut dyn SqlSession,
    ws: &'a WorkspaceId,
    page: &'a ErasedPage,
    counts: ErasureCounts,
}

/// A column of a table whose rows have one key column besides the workspace.
struct TextColumn {
    table: &'static str,
    key: RowKey,
    column: &'static str,
    /// An additional condition for the rows.
    only: &'static str,
}

#[derive(Clone, Copy)]
enum RowKey {
    Number(&'static str),
    Text(&'static str),
}

impl RowKey {
    fn column(self) -> &'static str {
        match self {
            Self::Number(column) | Self::Text(column) => column,
        }
    }
}

impl PageErasure<'_> {
    /// Rewrites a column of the rows that `erase` changes; returns their number.
    fn rewrite(
        &mut self,
        column: &TextColumn,
        erase: impl Fn(&ErasedPage, &str) -> Option<String>,
    ) -> Result<u64> {
        let TextColumn { table, key, column, only } = column;
        let name = key.column();
        let select = format!(
            "SELECT {name}, {column} FROM {table} WHERE workspace_id = $1 AND {column} IS NOT NULL{only} \
             ORDER BY {name}"
        );
        let page = self.page;
        let mut changed: Vec<(SqlValue<'static>, String)> = Vec::new();
        self.session.query(&select, &[self.ws.into()], &mut |row| {
            if let Some(erased) = erase(page, &row.text(1)?) {
                let key = match key {
                    RowKey::Number(_) => row.int(0)?.into(),
                    RowKey::Text(_) => row.text(0)?.into(),
                };
                changed.push((key, erased));
            }
            Ok(())
        })?;
        let update =
            format!("UPDATE {table} SET {column} = $3 WHERE workspace_id = $1 AND {name} = $2");
        let count = changed.len() as u64;
        for (key, erased) in changed {
            self.session.execute(&update, &[self.ws.into(), key, erased.into()])?;
        }
        Ok(count)
    }

    /// Deletes the rows for which `is_own` is true; returns their number. The first column of
    /// `rows` is the row number.
    fn delete(
        &mut self,
        rows: &str,
        delete: &str,
        is_own: impl Fn(&ErasedPage, &dyn crate::driver::SqlRow) -> Result<bool>,
    ) -> Result<u64> {
        let page = self.page;
        let found = collect(self.session, rows, &[self.ws.into()], |row| {
            Ok(is_own(page, row)?.then_some(row.int(0)?))
        })?;
        let own: Vec<i64> = found.into_iter().flatten().collect();
        for id in &own {
            self.session.execute(delete, &[self.ws.into(), (*id).into()])?;
        }
        Ok(own.len() as u64)
    }
}
