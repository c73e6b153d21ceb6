//! SQLite: one file in WAL mode, one writer at a time per file, readers that never wait.
//!
//! Guarantees: a returned write has been synced to disk; two processes may open, write and read at
//! once; opening a database in WAL mode whose schema is current takes no write lock; nothing is
//! written to a file that was removed or replaced while it was open. A file in a read-only
//! directory can be read, even while another user writes to it: a read that overlaps with such a
//! write fails, and the next one sees the new data.

mod open;
mod session;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use rusqlite::Connection;

use crate::driver::{Driver, RowScope, SqlSession};
use crate::types::{Engine, Invariant, InvariantViolation};
use crate::{Result, StoreError};
use open::{FileAccess, FileId, OpenedDatabase, SqliteReader};
use session::SqliteSession;

/// Maximum number of idle readers.
const MAX_IDLE_READERS: usize = 8;

/// How long one attempt to empty the log waits for readers, and the number of attempts.
const SCRUB_TIMEOUT: Duration = Duration::from_millis(100);
const SCRUB_TRIES: usize = 10;

#[derive(Debug)]
pub(crate) struct SqliteStore {
    path: PathBuf,
    identity: String,
    is_writable: bool,
    /// The file at the time of opening.
    file: Option<FileId>,
    /// Opened by the first write. Taken out while in use, so that a panic cannot leave an open
    /// transaction behind.
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<SqliteReader>>,
}

impl SqliteStore {
    /// Opens the file, creating it and its schema if necessary. `now` stamps the created rows.
    pub(crate) fn open(path: &Path, now: Timestamp) -> Result<Self> {
        Self::of(path, open::open(path, now)?)
    }

    fn of(path: &Path, opened: OpenedDatabase) -> Result<Self> {
        let OpenedDatabase { reader, identity, is_writable } = opened;
        open::make_reader(&reader.connection)?;
        Ok(Self {
            path: path.to_owned(),
            identity,
            is_writable,
            file: FileId::of(path),
            writer: Mutex::new(None),
            readers: Mutex::new(vec![reader]),
        })
    }

    /// Runs a job on the writer's connection, exclusively in this process.
    fn with_writer<T>(&self, job: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        if !self.is_writable {
            return Err(StoreError::ReadOnly);
        }
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_file()?;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => open::connect(&self.path, FileAccess::ReadWrite)?,
        };
        let result = job(&mut connection);
        if connection.is_autocommit() {
            *slot = Some(connection);
        }
        result
    }

    /// Fails if the path refers to another file than before, or to none: writes to the open file
    /// would be lost when the process ends.
    fn check_file(&self) -> Result<()> {
        match FileId::of(&self.path) == self.file {
            true => Ok(()),
            false => Err(StoreError::FileGone { path: self.path.clone() }),
        }
    }

    /// Fails if the write-ahead log was removed. It is created when the file is first read, and
    /// exists until the last connection closes.
    fn check_log(&self, session: &SqliteSession<'_>) -> Result<()> {
        let log = open::log_path(&self.path);
        if log.exists() || !open::is_wal(session.connection())? {
            return Ok(());
        }
        Err(StoreError::FileGone { path: log })
    }

    fn with_reader<T>(&self, job: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let reader = match self.idle_reader() {
            Some(reader) => reader,
            None => {
                let reader = self.open_reader()?;
                open::make_reader(&reader.connection)?;
                reader
            }
        };
        let result = self.read_one_state(&reader, job);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.connection.is_autocommit() && readers.len() < MAX_IDLE_READERS {
            readers.push(reader);
        }
        result
    }

    /// An idle connection. One that opened the file as immutable is closed once the file can
    /// change.
    fn idle_reader(&self) -> Option<SqliteReader> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| reader.is_current(&self.path));
        readers.pop()
    }

    fn open_reader(&self) -> Result<SqliteReader> {
        match self.is_writable {
            true => SqliteReader::of_writable(&self.path),
            false => SqliteReader::of_read_only(&self.path),
        }
    }

    /// Runs a reading job. A reader without locks may have seen pages of two states, or an error
    /// caused by them, if the file was written to meanwhile: such a result is discarded.
    fn read_one_state<T>(
        &self,
        reader: &SqliteReader,
        job: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let result = job(&reader.connection);
        if reader.has_read_one_state(&self.path) { result } else { Err(StoreError::Changed) }
    }
}

impl Driver for SqliteStore {
    fn tag_filter(&self) -> &'static str {
        "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = $$)"
    }

    fn skip_locked(&self) -> &'static str {
        // A file has one writer at a time, so no row is locked by another.
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
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        // Health checks and searches for work use this scope.
        if matches!(scope, RowScope::Directory) {
            self.check_file()?;
        }
        self.with_reader(|connection| {
            in_transaction(connection, "BEGIN DEFERRED", |session| job(session))
        })
    }

    fn scan<T>(
        &self,
        _scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        // A reader caches pages for later reads. Rows of a scan are read once, so it uses a
        // temporary connection with a small cache.
        let reader = self.open_reader()?;
        open::make_scanner(&reader.connection)?;
        self.read_one_state(&reader, |connection| {
            in_transaction(connection, "BEGIN DEFERRED", |session| job(session))
        })
    }

    fn write<T>(
        &self,
        _ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        self.with_writer(|connection| {
            in_transaction(connection, "BEGIN IMMEDIATE", |session| {
                self.check_log(session)?;
                let value = job(session)?;
                self.check_file()?;
                Ok(value)
            })
        })
    }

    fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        // A file has one writer at a time.
        self.write(ws, job)
    }

    fn scrub(&self) -> Result<bool> {
        // Deleted rows are overwritten in the file (secure_delete), but the log still contains
        // them.
        self.with_writer(|connection| {
            // While it waits for readers it blocks writers, so it waits briefly and retries.
            connection.busy_timeout(SCRUB_TIMEOUT)?;
            let scrubbed = (0..SCRUB_TRIES)
                .try_fold(false, |done, _| if done { Ok(true) } else { empty_log(connection) });
            open::wait_for_writers(connection)?;
            scrubbed
        })
    }

    fn structure(&self) -> Result<Vec<InvariantViolation>> {
        self.with_reader(|connection| {
            let mut statement = connection.prepare("PRAGMA quick_check")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            let lines = lines.collect::<Result<Vec<_>, _>>()?;
            let faults = lines.into_iter().filter(|line| line != "ok");
            let invariant = Invariant::Structure;
            Ok(faults.map(|detail| InvariantViolation { invariant, detail }).collect())
        })
    }
}

/// Moves the write-ahead log into the file and truncates it; returns false if readers prevented
/// that.
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
        // Report the first error; a connection that cannot roll back is dropped.
        let _ = connection.execute_batch("ROLLBACK");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of one number, with enough rows to fill many pages of the file.
    fn numbers(path: &Path) {
        let store = SqliteStore::open(path, Timestamp::UNIX_EPOCH).unwrap();
        let sql = "CREATE TABLE numbers (n INTEGER, filler TEXT); \
             WITH RECURSIVE row (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM row WHERE at < 2000) \
             INSERT INTO numbers SELECT 1, hex(zeroblob(200)) FROM row;";
        store.with_writer(|connection| Ok(connection.execute_batch(sql)?)).unwrap();
    }

    /// Another user's process: writes a number to all rows, and moves the log into the file.
    fn write_number(path: &Path, number: i64) -> SqliteStore {
        let store = SqliteStore::open(path, Timestamp::UNIX_EPOCH).unwrap();
        let sql = format!("UPDATE numbers SET n = {number}; PRAGMA wal_checkpoint(PASSIVE)");
        store.with_writer(|connection| Ok(connection.execute_batch(&sql)?)).unwrap();
        store
    }

    /// The smallest and the largest number.
    fn range(connection: &Connection) -> Result<(i64, i64)> {
        let sql = "SELECT min(n), max(n) FROM numbers";
        Ok(connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    fn read_only(path: &Path) -> SqliteStore {
        SqliteStore::of(path, open::open_to_read(path).unwrap()).unwrap()
    }

    #[test]
    fn a_reader_without_rights_sees_what_others_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.db");
        numbers(&path);
        let store = read_only(&path);
        assert_eq!(store.with_reader(range).unwrap(), (1, 1));
        // A writer that opened, wrote and closed between two reads.
        drop(write_number(&path, 2));
        assert_eq!(store.with_reader(range).unwrap(), (2, 2));
        assert_eq!(store.structure().unwrap(), []);
        // A writer that is still open, with a log.
        let writer = write_number(&path, 3);
        assert_eq!(store.with_reader(range).unwrap(), (3, 3));
        writer.with_writer(|other| Ok(other.execute_batch("UPDATE numbers SET n = 4")?)).unwrap();
        assert_eq!(store.with_reader(range).unwrap(), (4, 4));
        drop(writer);
        assert_eq!(store.with_reader(range).unwrap(), (4, 4));
        assert!(matches!(store.with_writer(|_| Ok(())), Err(StoreError::ReadOnly)));
    }

    #[test]
    fn a_read_that_a_write_runs_into_fails_and_the_next_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.db");
        numbers(&path);
        let store = read_only(&path);
        let torn = store.with_reader(|connection| {
            let first: i64 = connection.query_row("SELECT n FROM numbers", [], |row| row.get(0))?;
            drop(write_number(&path, 2));
            Ok((first, range(connection)?))
        });
        assert!(matches!(torn, Err(StoreError::Changed)), "{torn:?}");
        assert_eq!(store.with_reader(range).unwrap(), (2, 2));
        let scanned = store.scan(RowScope::Directory, |_| {
            drop(write_number(&path, 3));
            Ok(())
        });
        assert!(matches!(scanned, Err(StoreError::Changed)), "{scanned:?}");
        // A writer that has not changed the file yet does not make the read fail.
        let reading = store.with_reader(|connection| {
            let other = SqliteStore::open(&path, Timestamp::UNIX_EPOCH)?;
            other.with_writer(|other| Ok(other.execute_batch("UPDATE numbers SET n = 4")?))?;
            Ok((range(connection)?, other))
        });
        let (seen, _other) = reading.unwrap();
        assert_eq!(seen, (3, 3));
        assert_eq!(store.with_reader(range).unwrap(), (4, 4));
    }
}
