//! PostgreSQL: for several machines. Any server from version 12 on; no extension is needed.
//!
//! Guarantees: writers of a workspace queue on its row, so the feed's numbers are in commit order;
//! readers see one snapshot (`REPEATABLE READ`) and never wait; writes of captures, tokens, jobs,
//! documents, labels and the playbook's tables do not wait for page writes. Every transaction names
//! its workspace, and row-level security confines roles that do not own the tables to it.
//!
//! Calls block, and must not be made on the threads of an async runtime. Statements are prepared
//! once per connection: behind a pooler, use its session mode.

mod open;
mod pool;
mod session;
mod target;
mod tls;

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use crate::driver::{Driver, RowScope, SqlSession};
use crate::types::{Engine, InvariantViolation};
use crate::{OpenMode, Result, StoreError};
use pool::{ConnectionPool, PooledConnection};
use session::PostgresSession;

pub(crate) use pool::MAX_CONNECTIONS;
pub(crate) use target::{address, has_password};

#[derive(Debug)]
pub(crate) struct PostgresStore {
    pool: ConnectionPool,
    identity: String,
}

impl PostgresStore {
    /// Opens a database by URL or keyword string.
    ///
    /// `sslmode` has libpq's meaning: `disable`; `prefer` (the default) and `require` encrypt
    /// without verifying the server; `verify-ca` and `verify-full` check its certificate and name
    /// against the system's roots or those in `sslrootcert`. Unix sockets are not encrypted.
    pub(crate) fn open(url: &str, mode: OpenMode, now: Timestamp) -> Result<Self> {
        let pool = ConnectionPool::new(target::parse(url)?);
        let identity = open::open(&mut pool.take()?, mode, now)?;
        Ok(Self { pool, identity })
    }

    fn transaction<T>(
        &self,
        begin: &str,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        let mut lease = self.begin(begin)?;
        in_transaction(&mut lease, |session| job(session))
    }

    /// Begins on an idle connection, or on a new one if the idle ones were closed by the server.
    /// Nothing has been done yet, so a retry is safe.
    fn begin(&self, begin: &str) -> Result<PooledConnection<'_>> {
        loop {
            let mut lease = self.pool.take()?;
            let is_new = lease.is_new();
            match lease.batch(begin) {
                Ok(()) => return Ok(lease),
                Err(StoreError::Down { .. }) if !is_new => {}
                Err(error) => {
                    lease.roll_back();
                    return Err(error);
                }
            }
        }
    }
}

/// Runs a job in a transaction that has begun; commits, or rolls back if it fails.
fn in_transaction<T>(
    lease: &mut PooledConnection<'_>,
    job: impl FnOnce(&mut PostgresSession<'_>) -> Result<T>,
) -> Result<T> {
    let result = job(&mut PostgresSession::new(lease.connection()));
    let result = result.and_then(|value| lease.batch("COMMIT").map(|()| value));
    match result {
        Ok(_) => lease.keep(),
        Err(_) => lease.roll_back(),
    }
    result
}

/// Sets the workspace of a transaction. Workspace names contain only letters, digits and hyphens,
/// so they can be quoted without escaping.
fn name_workspace(name: &str) -> String {
    format!("SELECT set_config('gbrain.workspace', '{name}', true)")
}

/// Begins a write transaction, with a lock on the workspace's row.
fn begin_write(ws: &WorkspaceId, lock: &str) -> String {
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {}; \
         SELECT 1 FROM workspaces WHERE id = '{ws}' {lock}",
        name_workspace(ws.as_str())
    )
}

impl Driver for PostgresStore {
    fn tag_filter(&self) -> &'static str {
        "$$ IN (SELECT jsonb_array_elements_text(tags::jsonb))"
    }

    fn skip_locked(&self) -> &'static str {
        "FOR UPDATE SKIP LOCKED"
    }

    fn clock_query(&self) -> &'static str {
        "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)"
    }

    fn size_query(&self) -> &'static str {
        "SELECT pg_database_size(current_database())"
    }

    fn security_bypass_query(&self) -> Option<&'static str> {
        Some(
            "SELECT rolname || CASE WHEN rolsuper THEN ' (a superuser)' ELSE ' (BYPASSRLS)' END FROM pg_roles \
             WHERE rolname = current_user AND (rolsuper OR rolbypassrls)",
        )
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    fn read<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        let name = match scope {
            RowScope::Workspace(ws) => ws.as_str(),
            RowScope::Directory => "*",
        };
        let named = name_workspace(name);
        let begin = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {named}");
        self.transaction(&begin, job)
    }

    fn scan<T>(
        &self,
        scope: RowScope<'_>,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        self.read(scope, job)
    }

    fn write<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        // Invariant: the workspace's row is locked before anything is read, and each later
        // statement takes a new snapshot (READ COMMITTED), so it reads the latest state.
        self.transaction(&begin_write(ws, "FOR NO KEY UPDATE"), job)
    }

    fn write_beside<T>(
        &self,
        ws: &WorkspaceId,
        job: impl FnOnce(&mut dyn SqlSession) -> Result<T>,
    ) -> Result<T> {
        // The only lock that does not conflict with a writer of the workspace. It is the lock of
        // the foreign keys: taken first, so that it cannot deadlock with a removal of the
        // workspace.
        self.transaction(&begin_write(ws, "FOR KEY SHARE"), job)
    }

    fn scrub(&self) -> Result<bool> {
        Ok(false)
    }

    fn structure(&self) -> Result<Vec<InvariantViolation>> {
        Ok(Vec::new())
    }
}
