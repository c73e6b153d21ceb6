//! PostgreSQL: on its way.

use jiff::Timestamp;

use crate::sqlite::SqliteStore;
use crate::{OpenMode, Result, StoreError};

/// Where a URL leads, without its password.
pub(crate) fn address(_url: &str) -> String {
    "postgres".to_owned()
}

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore;

impl PostgresStore {
    /// Opens a database.
    pub fn open(_url: &str, _mode: OpenMode, _now: Timestamp) -> Result<SqliteStore> {
        Err(StoreError::Other { detail: "PostgreSQL is not built in yet".to_owned() })
    }
}
