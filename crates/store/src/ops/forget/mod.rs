//! What is left of a page beside the page, erased with it.
//!
//! Every table that can name a page is gone through, and each row is decided by identifiers, never by a pattern over
//! its text: [`ErasedPage`] says what a row becomes. Rows that do not name the page are not written. Reports and logs
//! keep their figures, verdicts and ranks; alerts keep their state.

mod judged;
mod names;
mod records;

use gbrain_core::erasure::{ErasedPage, ErasureCounts};
use gbrain_core::id::{PageId, PageKey, WorkspaceId};

use crate::Result;
use crate::driver::{Scope, Session, Value, collect};
use crate::store::Store;
use crate::types::PurgeKeys;

impl Store {
    /// What a purge would erase a page by, for records outside the store; none for a page that never was.
    pub fn erased_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
    ) -> Result<Option<ErasedPage>> {
        self.read(Scope::Workspace(ws), |session| {
            super::workspaces::ledger(session, ws)?;
            let found = super::write::current(session, ws, std::iter::once(key))?.pop().flatten();
            found.map(|found| names::erased_page(session, ws, key, found.id, keys)).transpose()
        })
    }
}

/// Erases what is left of a page whose versions are still there.
pub(super) fn page(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
    keys: &PurgeKeys,
) -> Result<ErasureCounts> {
    let page = names::erased_page(session, ws, key, id, keys)?;
    let mut forget = Forget { session, ws, page: &page, counts: ErasureCounts::default() };
    // Logs before runs, in the order in which retention goes through them: two transactions that both write them do
    // not wait for each other.
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

/// A page that is being erased, and how much was found of it.
struct Forget<'a> {
    session: &'a mut dyn Session,
    ws: &'a WorkspaceId,
    page: &'a ErasedPage,
    counts: ErasureCounts,
}

/// A column of a table whose rows have one key column beside the workspace.
struct Column {
    table: &'static str,
    /// The key, as text where it is text.
    key: RowKey,
    column: &'static str,
    /// Which rows, beside those of the workspace.
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

impl Forget<'_> {
    /// Rewrites a column of the rows that `erase` changes; how many.
    fn rewrite(
        &mut self,
        column: &Column,
        erase: impl Fn(&ErasedPage, &str) -> Option<String>,
    ) -> Result<u64> {
        let Column { table, key, column, only } = column;
        let name = key.column();
        let select = format!(
            "SELECT {name}, {column} FROM {table} WHERE workspace_id = $1 AND {column} IS NOT NULL{only} \
             ORDER BY {name}"
        );
        let page = self.page;
        let mut changed: Vec<(Value<'static>, String)> = Vec::new();
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

    /// Deletes the rows of a table that `is_own` names; how many. `rows` gives their numbers first.
    fn delete(
        &mut self,
        rows: &str,
        delete: &str,
        is_own: impl Fn(&ErasedPage, &dyn crate::driver::Columns) -> Result<bool>,
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
