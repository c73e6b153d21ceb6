//! SQLite: one file in WAL mode, one writer at a time per file, readers that never wait.
//!
//! Promises: a returned write has been synced to disk; two processes may open, write and read at
//! once; opening a database whose schema is current takes no write lock; nothing is written to a file that was removed
//! or replaced while it was open. A file in a directory that can't be written to is read.

mod open;
mod session;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use rusqlite::Connection;

use crate::driver::{Driver, Scope, Session};
use crate::types::{Engine, Finding, Invariant};
use crate::{Result, StoreError};
use open::{Access, FileId};
use session::SqliteSession;

/// Idle readers that are kept.
const KEPT_READERS: usize = 8;

/// How long one attempt to empty the log waits for readers, and how many attempts there are.
const SCRUB_PATIENCE: Duration = Duration::from_millis(100);
const SCRUB_TRIES: usize = 10;

/// A store in a SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    path: PathBuf,
    identity: String,
    access: Access,
    /// The file as it was when it was opened.
    file: Option<FileId>,
    /// Opened by the first write. Taken out while in use, so that a panic cannot leave a
    /// transaction open behind it.
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
}

impl SqliteStore {
    /// Opens the file, creating it and its schema if there is none. `now` stamps what is created.
    pub(crate) fn open(path: &Path, now: Timestamp) -> Result<Self> {
        let (connection, identity, access) = open::open(path, now)?;
        open::make_reader(&connection)?;
        Ok(Self {
            path: path.to_owned(),
            identity,
            access,
            file: FileId::of(path),
            writer: Mutex::new(None),
            readers: Mutex::new(vec![connection]),
        })
    }

    /// Runs a job on the writer's connection, alone in this process.
    fn with_writer<T>(&self, job: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        if self.access != Access::ReadWrite {
            return Err(StoreError::ReadOnly);
        }
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_file()?;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => open::connect(&self.path, self.access)?,
        };
        let result = job(&mut connection);
        if connection.is_autocommit() {
            *slot = Some(connection);
        }
        result
    }

    /// Fails if the path leads to another file than it did, or to none: what is written to the file that is open would
    /// be gone with the process.
    fn check_file(&self) -> Result<()> {
        match FileId::of(&self.path) == self.file {
            true => Ok(()),
            false => Err(StoreError::FileGone { path: self.path.clone() }),
        }
    }

    fn with_reader<T>(&self, job: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connection = open::connect(&self.path, self.access)?;
                open::make_reader(&connection)?;
                connection
            }
        };
        let result = job(&connection);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_autocommit() && readers.len() < KEPT_READERS {
            readers.push(connection);
        }
        result
    }
}

impl Driver for SqliteStore {
    fn tag_filter(&self) -> &'static str {
        "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = $$)"
    }

    fn skip_locked(&self) -> &'static str {
        // A file has one writer at a time, so nothing is locked by another.
        ""
    }

    fn clock_query(&self) -> &'static str {
        "SELECT CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)"
    }

    fn size_query(&self) -> &'static str {
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    }

    fn security_bypass_query(&self) -> Option<&'static str> {
        None
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    fn read<T>(
        &self,
        scope: Scope<'_>,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        // What is asked to learn whether the database is there, and what work there is.
        if matches!(scope, Scope::Directory) {
            self.check_file()?;
        }
        self.with_reader(|connection| {
            in_transaction(connection, "BEGIN DEFERRED", |session| job(session))
        })
    }

    fn scan<T>(
        &self,
        _scope: Scope<'_>,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        // A reader keeps what it has read, for the next one. Rows that are seen once are not worth
        // that, so they get a connection that keeps little and goes away.
        let connection = open::connect(&self.path, self.access)?;
        open::make_scanner(&connection)?;
        in_transaction(&connection, "BEGIN DEFERRED", |session| job(session))
    }

    fn write<T>(
        &self,
        _ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        self.with_writer(|connection| {
            in_transaction(connection, "BEGIN IMMEDIATE", |session| {
                // The log is made when the file is first read, and is there until the last connection goes.
                let log = open::log_path(&self.path);
                if !log.exists() {
                    return Err(StoreError::FileGone { path: log });
                }
                let value = job(session)?;
                self.check_file()?;
                Ok(value)
            })
        })
    }

    fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        // A file has one writer at a time, whatever it writes.
        self.write(ws, job)
    }

    fn scrub(&self) -> Result<bool> {
        // Deleted rows are overwritten in the file (secure_delete); the log still has them.
        self.with_writer(|connection| {
            // While it waits for readers it keeps writers out, so it waits a little, often.
            connection.busy_timeout(SCRUB_PATIENCE)?;
            let scrubbed = (0..SCRUB_TRIES)
                .try_fold(false, |done, _| if done { Ok(true) } else { empty_log(connection) });
            open::be_patient(connection)?;
            scrubbed
        })
    }

    fn structure(&self) -> Result<Vec<Finding>> {
        self.with_reader(|connection| {
            let mut statement = connection.prepare("PRAGMA quick_check")?;
            let said = statement.query_map([], |row| row.get::<_, String>(0))?;
            let said = said.collect::<Result<Vec<_>, _>>()?;
            let faults = said.into_iter().filter(|line| line != "ok");
            let invariant = Invariant::Structure;
            Ok(faults.map(|detail| Finding { invariant, detail }).collect())
        })
    }
}

/// Moves the write-ahead log into the file and cuts it to nothing; whether readers let it.
fn empty_log(connection: &Connection) -> Result<bool> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(busy == 0)
}

/// Runs a job between `begin` and a commit, or a rollback if it fails.
fn in_transaction<T>(
    connection: &Connection,
    begin: &str,
    job: impl FnOnce(&mut SqliteSession<'_>) -> Result<T>,
) -> Result<T> {
    connection.execute_batch(begin)?;
    let result = job(&mut SqliteSession::new(connection)).and_then(|value| {
        connection.execute_batch("COMMIT").map_err(StoreError::from)?;
        Ok(value)
    });
    if result.is_err() && !connection.is_autocommit() {
        // The first error is the one to report; a connection that cannot roll back is dropped.
        let _ = connection.execute_batch("ROLLBACK");
    }
    result
}
