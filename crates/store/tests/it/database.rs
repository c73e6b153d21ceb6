//! A separate database for every test, on either engine.

use gbrain_core::id::WorkspaceId;
use gbrain_store::{Location, OpenMode, Store, StoreError};
use gbrain_testkit::engine::{self, with_setting};
use tempfile::TempDir;

use crate::fixture::at;

/// Runs tests that take a [`Database`] on both engines.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::database::Database::sqlite()); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&crate::database::Database::postgres()); })+
        }
    };
}

/// A database that is dropped with the test.
pub(crate) enum Database {
    Sqlite(TempDir),
    Postgres(engine::Database),
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(crate) fn postgres() -> Self {
        // A database with a language collation: gbrain must sort by bytes nevertheless.
        let sorting = "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'";
        let database = engine::Database::create_with(&format!("TEMPLATE template0 {sorting}"));
        Self::Postgres(database.unwrap())
    }

    pub(crate) fn location(&self) -> Location {
        match self {
            Self::Sqlite(dir) => Location::Sqlite(dir.path().join("home/brain.db")),
            Self::Postgres(database) => Location::Postgres(database.url().to_owned()),
        }
    }

    /// The PostgreSQL keyword string for another role.
    pub(crate) fn location_as(&self, role: &str) -> Location {
        match self.location() {
            Location::Postgres(url) => Location::Postgres(with_setting(&url, "user", role)),
            sqlite => sqlite,
        }
    }

    pub(crate) fn try_open(&self, mode: OpenMode) -> Result<Store, StoreError> {
        Store::open(&self.location(), mode, at(0))
    }

    pub(crate) fn open(&self) -> Store {
        self.try_open(OpenMode::Init).unwrap()
    }

    /// Runs statements without the store.
    pub(crate) fn raw(&self, sql: &str) -> Result<(), StoreError> {
        let mut raw = self.connect();
        raw.batch(sql)
    }

    /// The single text that a query returns, without the store.
    pub(crate) fn text(&self, sql: &str) -> String {
        match self.connect() {
            Raw::Sqlite(connection) => connection.query_row(sql, [], |row| row.get(0)).unwrap(),
            Raw::Postgres(mut client) => client.query_one(sql, &[]).unwrap().get(0),
        }
    }

    /// A separate connection, without the store.
    pub(crate) fn connect(&self) -> Raw {
        match self.location() {
            Location::Sqlite(path) => Raw::Sqlite(rusqlite::Connection::open(path).unwrap()),
            Location::Postgres(url) => Raw::Postgres(Box::new(client(&url))),
        }
    }
}

/// A connection without the store.
pub(crate) enum Raw {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::Client>),
}

impl Raw {
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Self::Postgres(client) => Ok(client.batch_execute(sql)?),
        }
    }

    /// Begins a transaction that holds a workspace's write lock, like a writer of the store.
    pub(crate) fn begin_write(&mut self, ws: &WorkspaceId) {
        let sql = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE".to_owned(),
            Self::Postgres(_) => {
                format!("BEGIN; SELECT 1 FROM workspaces WHERE id = '{ws}' FOR NO KEY UPDATE")
            }
        };
        self.batch(&sql).unwrap();
    }
}

pub(crate) fn client(url: &str) -> postgres::Client {
    postgres::Client::connect(url, postgres::NoTls).unwrap()
}
