//! The store: one type over both engines. Each operation is next to its SQL, in `ops`.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use crate::Result;
use crate::driver::{Driver, RowScope, SqlSession, first};
use crate::location::{Location, OpenMode};
use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;
use crate::types::{Engine, InvariantViolation};

/// A store of workspaces.
///
/// Every method is one transaction: it reads one snapshot, and its writes are atomic. Writers of a
/// workspace queue; readers never wait for them. Lists are ordered by bytes on both engines. A
/// method on a workspace that does not exist fails with
/// [`UnknownWorkspace`](crate::StoreError::UnknownWorkspace).
///
/// After [`Down`](crate::StoreError::Down) in a write, it is unknown whether the write happened;
/// repeating it is safe, because existing rows are not changed.
#[derive(Debug)]
pub struct Store {
    database: Database,
    /// Called right before the next write transaction.
    #[cfg(test)]
    pub(crate) before_write: std::sync::Mutex<Option<fn(&Store)>>,
}

#[derive(Debug)]
enum Database {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

/// Calls a method of the engine.
macro_rules! driver {
    ($store:ident.$method:ident($($argument:expr),*)) => {
        match &$store.database {
            Database::Sqlite(engine) => engine.$method($($argument),*),
            Database::Postgres(engine) => engine.$method($($argument),*),
        }
    };
}

impl Store {
    /// Opens a store.
    ///
    /// SQLite is created on first use. A PostgreSQL schema is created by [`OpenMode::Init`] only;
    /// an older schema of gbrain is migrated in either mode. `now` stamps the created rows.
    pub fn open(location: &Location, mode: OpenMode, now: Timestamp) -> Result<Self> {
        let database = match location {
            Location::Sqlite(path) => Database::Sqlite(SqliteStore::open(path, now)?),
            Location::Postgres(url) => Database::Postgres(PostgresStore::open(url, mode, now)?),
        };
        Ok(Self {
            database,
            #[cfg(test)]
            before_write: std::sync::Mutex::new(None),
        })
    }

    /// The identity that the store got when it was created: 32 hexadecimal digits. An index that
    /// was built from another store cannot be used with this one.
    pub fn identity(&self) -> &str {
        driver!(self.identity())
    }

    /// The database engine of this store.
    pub fn engine(&self) -> Engine {
        driver!(self.engine())
    }

    /// The database role, if row-level security does not apply to it: a superuser, or one with
    /// `BYPASSRLS`. An SQLite file has no roles.
    pub fn role_without_row_security(&self) -> Result<Option<String>> {
        let Some(sql) = driver!(self.security_bypass_query()) else { return Ok(None) };
        self.read(RowScope::Directory, |session| first(session, sql, &[], |row| row.text(0)))
    }

    pub(crate) fn tag_filter(&self) -> &'static str {
        driver!(self.tag_filter())
    }

    pub(crate) fn skip_locked(&self) -> &'static str {
        driver!(self.skip_locked())
    }

    pub(crate) fn clock_query(&self) -> &'static str {
        driver!(self.clock_query())
    }

    pub(crate) fn size_query(&self) -> &'static str {
        driver!(self.size_query())
    }

    pub(crate) fn read<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        driver!(self.read(scope, job))
    }

    pub(crate) fn scan<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        driver!(self.scan(scope, job))
    }

    pub(crate) fn write<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        #[cfg(test)]
        self.interrupt();
        driver!(self.write(ws, job))
    }

    pub(crate) fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        driver!(self.write_beside(ws, job))
    }

    pub(crate) fn scrub(&self) -> Result<bool> {
        driver!(self.scrub())
    }

    pub(crate) fn structure(&self) -> Result<Vec<InvariantViolation>> {
        driver!(self.structure())
    }

    #[cfg(test)]
    fn interrupt(&self) {
        let happen = self.before_write.lock().unwrap().take();
        if let Some(happen) = happen {
            happen(self);
        }
    }
}
