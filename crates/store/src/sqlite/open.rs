//! Opens a SQLite file: created on first use, migrated under a write lock, refused if it belongs to
//! other software. Ten processes may do this at once.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::in_transaction;
use super::session::SqliteSession;
use crate::driver::SqlSession;
use crate::ops::insert_workspace;
use crate::schema::{MIGRATIONS, Migration, conflicts_with_views, known_schema};
use crate::{Result, StoreError, private};

/// How long a writer waits for another. With ten processes on two cores one waited for 38 s.
const WRITER_TIMEOUT: Duration = Duration::from_secs(120);

/// Sleep between two attempts. SQLite's own waits grow to a tenth of a second, so the caller that
/// has waited longest retries least often: of 32 callers in four processes one in a hundred waited
/// 100 ms, and some a second.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Prepared statements cached per connection: all that the operations use.
const STATEMENTS: usize = 128;

/// How a connection uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    ReadWrite,
    /// The directory is read-only. A log exists, so another process may be writing, and its shared
    /// memory exists too.
    ReadOnly,
    /// The directory is read-only, and there is no log: no process has the file open for writing.
    /// SQLite then takes no locks and assumes that the file never changes, so a reader checks that
    /// itself: see [`FileState`].
    Immutable,
}

/// Identifies the file that a path refers to.
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

/// Metadata that shows whether a file was written to. A writer in WAL mode changes the log first
/// and the file later, so a read is consistent if the state is the same afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    file: FileId,
    bytes: u64,
    modified: (i64, i64),
}

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            file: FileId { device: meta.dev(), inode: meta.ino() },
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}

/// A connection for reading, with the state of the file if SQLite takes no locks.
#[derive(Debug)]
pub(super) struct SqliteReader {
    pub(super) connection: Connection,
    /// The file's state before it was opened as immutable; `None` where SQLite takes locks.
    immutable: Option<FileState>,
}

impl SqliteReader {
    /// A reader of a file that this process may write to.
    pub(super) fn of_writable(path: &Path) -> Result<Self> {
        Ok(Self { connection: connect(path, FileAccess::ReadWrite)?, immutable: None })
    }

    /// A reader of a file that this process cannot write to.
    pub(super) fn of_read_only(path: &Path) -> Result<Self> {
        // Before the check for a log, so that a write between the two is noticed.
        let state = FileState::of(path);
        if has_log(path) {
            match connect(path, FileAccess::ReadOnly).and_then(is_readable) {
                // The last writer removed the log meanwhile.
                Err(error) if is_refusal(&error) && !has_log(path) => {}
                opened => return Ok(Self { connection: opened?, immutable: None }),
            }
        }
        Ok(Self { connection: connect(path, FileAccess::Immutable)?, immutable: state })
    }

    /// Whether another read may use it: a file opened as immutable must not have changed, and there
    /// must be no writer.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.immutable.is_none() || (self.has_read_one_state(path) && !has_log(path))
    }

    /// Whether everything read since opening is from one state of the file.
    pub(super) fn has_read_one_state(&self, path: &Path) -> bool {
        self.immutable.is_none_or(|before| FileState::of(path) == Some(before))
    }
}

/// Fails if SQLite cannot use the shared memory of the log.
fn is_readable(connection: Connection) -> Result<Connection> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

pub(super) fn log_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Whether a writer may be active, or was killed: a write-ahead log or a rollback journal exists.
fn has_log(path: &Path) -> bool {
    log_path(path).exists() || beside(path, "-journal").exists()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The result of opening a database file.
pub(super) struct OpenedDatabase {
    pub(super) reader: SqliteReader,
    pub(super) identity: String,
    pub(super) is_writable: bool,
}

/// Opens a database and migrates its schema. A file in a read-only directory is opened for reading.
pub(super) fn open(path: &Path, now: Timestamp) -> Result<OpenedDatabase> {
    create_file(path)?;
    match open_to_write(path, now) {
        Err(error) if is_refusal(&error) && !is_writable(path) => open_to_read(path),
        opened => opened,
    }
}

fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::File { .. } | StoreError::Files { .. } | StoreError::ReadOnly)
}

/// Whether SQLite can write to a file and create files beside it.
fn is_writable(path: &Path) -> bool {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let can_write = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    can_write(dir) && can_write(path)
}

fn open_to_write(path: &Path, now: Timestamp) -> Result<OpenedDatabase> {
    let reader = SqliteReader::of_writable(path)?;
    let connection = &reader.connection;
    let schema = schema_of(connection, path)?;
    // A copy made by `VACUUM INTO` has a rollback journal, even if its schema is current.
    if !is_wal(connection)? {
        switch_to_wal(connection)?;
    }
    if schema < known_schema() {
        in_transaction(connection, "BEGIN IMMEDIATE", |session| migrate(session, path, now))?;
    }
    let identity = identity_of(connection)?;
    Ok(OpenedDatabase { reader, identity, is_writable: true })
}

/// Opens a database that this process cannot write to.
pub(super) fn open_to_read(path: &Path) -> Result<OpenedDatabase> {
    let reader = SqliteReader::of_read_only(path)?;
    if schema_of(&reader.connection, path)? < known_schema() {
        return Err(StoreError::ReadOnly);
    }
    let identity = identity_of(&reader.connection)?;
    Ok(OpenedDatabase { reader, identity, is_writable: false })
}

fn identity_of(connection: &Connection) -> Result<String> {
    let sql = "SELECT value FROM meta WHERE key = 'store_id'";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Whether a database uses a write-ahead log.
pub(super) fn is_wal(connection: &Connection) -> Result<bool> {
    let sql = "PRAGMA journal_mode";
    let mode: String = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Opens a connection with gbrain's settings.
pub(super) fn connect(path: &Path, access: FileAccess) -> Result<Connection> {
    let shared = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match access {
        FileAccess::ReadWrite => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        FileAccess::ReadOnly => {
            Connection::open_with_flags(path, shared | OpenFlags::SQLITE_OPEN_READ_ONLY)
        }
        FileAccess::Immutable => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), shared | flags)
        }
    };
    let mut connection = opened.map_err(|error| of_file(path, error))?;
    wait_for_writers(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection
        .execute_batch(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; \
             PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY;",
        )
        .map_err(|error| of_file(path, error))?;
    Ok(connection)
}

/// Makes a connection wait for other writers.
pub(super) fn wait_for_writers(connection: &mut Connection) -> Result<()> {
    Ok(connection.busy_handler(Some(|tries| {
        let waits = u32::try_from(tries).is_ok_and(|tries| RETRY_PAUSE * tries < WRITER_TIMEOUT);
        if waits {
            std::thread::sleep(RETRY_PAUSE);
        }
        waits
    }))?)
}

/// Makes a connection read-only. The file is not memory-mapped: truncating it would kill the
/// process. The cache is small because the system caches the file too; with 32 MB in each of eight
/// readers a server grew by 100 MiB.
pub(super) fn make_reader(connection: &Connection) -> Result<()> {
    let sql = "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -4096;";
    Ok(connection.execute_batch(sql)?)
}

/// Makes a connection read-only, with a cache of at most 2 MiB.
pub(super) fn make_scanner(connection: &Connection) -> Result<()> {
    let sql = "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -2048;";
    Ok(connection.execute_batch(sql)?)
}

/// The SQLite URI of an immutable file.
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

/// The schema's number, 0 for an empty file. Refuses files of other software, and newer schemas.
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
    let tables = conflicts_with_views(found, &tables);
    if tables.is_empty() { Ok(found) } else { Err(StoreError::ForeignDatabase { tables }) }
}

/// SQLite may not wait for this lock, so this function retries.
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
            Err(StoreError::Busy) if start.elapsed() < WRITER_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Applies missing migrations. Runs under the write lock, so it reads the schema's number again.
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

    /// With SQLite's own waits the attempts would be after 328 and 428 ms, 88 ms late each time.
    #[test]
    fn a_writer_comes_soon_after_the_one_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("brain.db");
        let first = open(&path, Timestamp::UNIX_EPOCH).unwrap().reader.connection;
        let late = (0..5).map(|_| {
            first.execute_batch("BEGIN IMMEDIATE").unwrap();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    let second = connect(&path, FileAccess::ReadWrite).unwrap();
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
