//! Opening a SQLite file: made on first use, migrated under a write lock, refused if it is not
//! ours. Ten processes may do this at once.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::in_transaction;
use super::session::SqliteSession;
use crate::driver::Session;
use crate::ops::insert_workspace;
use crate::schema::{MIGRATIONS, Migration, in_the_way_of_views, known_schema};
use crate::{Result, StoreError, private};

/// How long a writer waits for another.
const BUSY: Duration = Duration::from_secs(30);

/// How long it sleeps between two tries. SQLite's own waits grow to a tenth of a second, so that whoever waits
/// longest tries least often: of 32 callers in four processes one in a hundred waited 100 ms, and some a second.
const PAUSE: Duration = Duration::from_millis(2);

/// Statements kept prepared per connection: all that the operations use.
const STATEMENTS: usize = 128;

/// What may be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    /// Its directory can't be written to. A log is beside the file, so somebody may be writing: what the log's
    /// readers share is there too.
    ReadOnly,
    /// Its directory can't be written to, and there is no log: nobody has it open for writing.
    Immutable,
}

/// Which file a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self { device: meta.dev(), inode: meta.ino() })
    }
}

/// The write-ahead log of a database.
pub(super) fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// A connection to a database whose schema is current, the store's identity, and what may be done with it. A file in a
/// directory that can't be written to is opened for reading.
pub(super) fn open(path: &Path, now: Timestamp) -> Result<(Connection, String, Access)> {
    create_file(path)?;
    match open_for(path, Access::ReadWrite, now) {
        Ok((connection, identity)) => Ok((connection, identity, Access::ReadWrite)),
        Err(error) if is_refusal(&error) && !is_writable_beside(path) => {
            let access = match log_path(path).exists() {
                true => Access::ReadOnly,
                false => Access::Immutable,
            };
            let (connection, identity) = open_for(path, access, now)?;
            Ok((connection, identity, access))
        }
        Err(error) => Err(error),
    }
}

fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::File { .. } | StoreError::Down { .. } | StoreError::ReadOnly)
}

/// Whether files can be made beside a file, as SQLite must to write or to share it.
fn is_writable_beside(path: &Path) -> bool {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

fn open_for(path: &Path, access: Access, now: Timestamp) -> Result<(Connection, String)> {
    let connection = connect(path, access)?;
    if schema_of(&connection, path)? < known_schema() {
        switch_to_wal(&connection)?;
        in_transaction(&connection, "BEGIN IMMEDIATE", |session| migrate(session, path, now))?;
    }
    let sql = "SELECT value FROM meta WHERE key = 'store_id'";
    let identity = connection.query_row(sql, [], |row| row.get(0))?;
    Ok((connection, identity))
}

/// A connection with our settings.
pub(super) fn connect(path: &Path, access: Access) -> Result<Connection> {
    let shared = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match access {
        Access::ReadWrite => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        Access::ReadOnly => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_ONLY)
        }
        Access::Immutable => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), shared | flags)
        }
    };
    let mut connection = opened.map_err(|error| of_file(path, error))?;
    be_patient(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection
        .execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; \
             PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;",
        )
        .map_err(|error| of_file(path, error))?;
    Ok(connection)
}

/// Makes a connection wait for others that write.
pub(super) fn be_patient(connection: &mut Connection) -> Result<()> {
    Ok(connection.busy_handler(Some(|tries| {
        let waits = u32::try_from(tries).is_ok_and(|tries| PAUSE * tries < BUSY);
        if waits {
            std::thread::sleep(PAUSE);
        }
        waits
    }))?)
}

/// Makes a connection one that only reads. The file is not mapped into memory: one that is cut would end the process.
/// What is not in the cache is cached by the system; with 32 MB of it in each of eight readers a server grew by
/// 100 MiB.
pub(super) fn make_reader(connection: &Connection) -> Result<()> {
    let sql = "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -4096;";
    Ok(connection.execute_batch(sql)?)
}

/// Makes a connection one that only reads, and holds 2 MiB of the file at most.
pub(super) fn make_scanner(connection: &Connection) -> Result<()> {
    let sql = "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -2048;";
    Ok(connection.execute_batch(sql)?)
}

/// The URI of a file that does not change, as SQLite reads it.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02x}");
            }
        }
    }
    uri + "?immutable=1"
}

fn create_file(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let fail = |path: &Path, error: std::io::Error| StoreError::File {
        path: path.to_owned(),
        detail: error.to_string(),
    };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        private::create_dir(parent).map_err(|error| fail(parent, error))?;
    }
    // Not create_new: of ten processes that start at once, nine find it there.
    let made = private::file().create(true).append(true).open(path);
    made.map(drop).map_err(|error| fail(path, error))
}

fn of_file(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            StoreError::NotADatabase { path: path.to_owned() }
        }
        Some(rusqlite::ErrorCode::CannotOpen) => {
            StoreError::File { path: path.to_owned(), detail: error.to_string() }
        }
        _ => error.into(),
    }
}

/// The schema's number, 0 for an empty file. Other people's files and newer schemas are refused.
fn schema_of(connection: &Connection, path: &Path) -> Result<i64> {
    let mut statement = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
        .map_err(|error| of_file(path, error))?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
    let tables = tables.collect::<Result<Vec<_>, _>>().map_err(|error| of_file(path, error))?;
    if tables.is_empty() {
        return Ok(0);
    }
    if !tables.iter().any(|table| table == "gbrain_migrations") {
        return Err(StoreError::ForeignDatabase { tables });
    }
    let sql = "SELECT max(number) FROM gbrain_migrations";
    let found: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    let known = known_schema();
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    let tables = in_the_way_of_views(found, &tables);
    if tables.is_empty() { Ok(found) } else { Err(StoreError::ForeignDatabase { tables }) }
}

/// SQLite may refuse to wait for this one lock, so the waiting is here.
fn switch_to_wal(connection: &Connection) -> Result<()> {
    let start = Instant::now();
    loop {
        let sql = "PRAGMA journal_mode = WAL";
        let result = connection.query_row(sql, [], |row| row.get::<_, String>(0));
        match result.map_err(StoreError::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let detail = format!("the file system keeps SQLite in {mode} mode, WAL is needed");
                return Err(StoreError::Other { detail });
            }
            Err(StoreError::Busy) if start.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Applies what is missing. Runs under the write lock, so it looks again at what is there.
fn migrate(session: &mut SqliteSession<'_>, path: &Path, now: Timestamp) -> Result<()> {
    let found = schema_of(session.connection(), path)?;
    let sql = "CREATE TABLE IF NOT EXISTS gbrain_migrations (number INTEGER PRIMARY KEY, \
         name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";
    session.connection().execute_batch(sql)?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.number > found) {
        apply(session, migration, now)?;
    }
    if found == 0 {
        insert_workspace(session, &WorkspaceId::default(), now)?;
    }
    Ok(())
}

fn apply(session: &mut SqliteSession<'_>, migration: &Migration, now: Timestamp) -> Result<()> {
    session.connection().execute_batch(migration.sqlite)?;
    let sql = "INSERT INTO gbrain_migrations (number, name, applied_at) VALUES ($1, $2, $3)";
    let at = now.as_millisecond();
    session.execute(sql, &[migration.number.into(), migration.name.into(), at.into()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its own waits SQLite would try after 328 and 428 ms, and come 88 ms late each time.
    #[test]
    fn a_writer_comes_soon_after_the_one_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.db");
        let (first, ..) = open(&path, Timestamp::UNIX_EPOCH).unwrap();
        let late = (0..5).map(|_| {
            first.execute_batch("BEGIN IMMEDIATE").unwrap();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    let second = connect(&path, Access::ReadWrite).unwrap();
                    second.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
                    Instant::now()
                });
                std::thread::sleep(Duration::from_millis(340));
                first.execute_batch("COMMIT").unwrap();
                let freed = Instant::now();
                waiting.join().unwrap().saturating_duration_since(freed)
            })
        });
        let least = late.min().unwrap();
        assert!(least < Duration::from_millis(40), "{least:?} late at best");
    }
}
