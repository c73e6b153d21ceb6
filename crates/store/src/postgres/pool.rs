//! Connection pool: at most [`MAX_CONNECTIONS`] at once, each with its prepared statements.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postgres::{Client, Statement};

use super::target::ConnectionTarget;
use super::tls;
use crate::{Result, StoreError};

/// Maximum number of connections per store.
pub(crate) const MAX_CONNECTIONS: usize = 8;

/// How long a caller waits for a connection, and a writer for another.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Prepared plans are reused while tables grow, so plans that scan a whole table, chosen because it
/// was small, are disabled.
const SETTINGS: &str = "SET lock_timeout = '30s'; SET client_min_messages = warning; \
     SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; \
     SET enable_mergejoin = off; SET enable_material = off";

/// A connection and its prepared statements.
pub(super) struct Connection {
    client: Client,
    statements: HashMap<String, Statement>,
}

pub(super) struct ConnectionPool {
    target: ConnectionTarget,
    state: Mutex<PoolState>,
    freed: Condvar,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Connection>,
    open: usize,
}

/// A connection in use. Returned to the pool if it was marked as reusable, otherwise closed.
pub(super) struct PooledConnection<'p> {
    pool: &'p ConnectionPool,
    connection: Option<Connection>,
    is_new: bool,
    is_kept: bool,
}

impl ConnectionPool {
    pub(super) fn new(target: ConnectionTarget) -> Self {
        Self { target, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Takes an idle connection, opens a new one, or waits for one.
    pub(super) fn take(&self) -> Result<PooledConnection<'_>> {
        let has_none =
            |state: &mut PoolState| state.idle.is_empty() && state.open >= MAX_CONNECTIONS;
        let (mut state, waited) = self
            .freed
            .wait_timeout_while(self.lock(), WAIT_TIMEOUT, has_none)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(StoreError::PoolExhausted);
        }
        if let Some(connection) = state.idle.pop() {
            return Ok(self.lease(Some(connection), false));
        }
        state.open += 1;
        drop(state);
        // From here on the lease releases its slot, even if connecting fails.
        let mut lease = self.lease(None, true);
        lease.connection = Some(Connection::open(&self.target)?);
        Ok(lease)
    }

    fn lease(&self, connection: Option<Connection>, is_new: bool) -> PooledConnection<'_> {
        PooledConnection { pool: self, connection, is_new, is_kept: false }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        write!(f, "Pool({} open, {} idle)", state.open, state.idle.len())
    }
}

impl PooledConnection<'_> {
    /// Whether it was opened for this lease.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a lease has its connection until it is dropped")
    }

    /// Runs statements without parameters, in one round trip.
    pub(super) fn batch(&mut self, sql: &str) -> Result<()> {
        Ok(self.connection().client.batch_execute(sql)?)
    }

    /// Marks the connection as reusable.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Rolls back a failed transaction. If that fails, the connection is closed.
    pub(super) fn roll_back(&mut self) {
        self.is_kept = self.batch("ROLLBACK").is_ok();
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take();
        let mut state = self.pool.lock();
        match connection.filter(|_| self.is_kept) {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}

impl Connection {
    fn open(target: &ConnectionTarget) -> Result<Self> {
        let mut client = tls::connect(target)?;
        if client.batch_execute(SETTINGS).is_err() {
            // A PostgreSQL-compatible server that lacks one of these settings works without it.
            for setting in SETTINGS.split("; ") {
                let _ = client.batch_execute(setting);
            }
        }
        Ok(Self { client, statements: HashMap::new() })
    }

    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Prepares a statement once per connection.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}
