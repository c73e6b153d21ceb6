//! Connections: at most [`MOST_CONNECTIONS`] at once, each with its prepared statements.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postgres::{Client, Statement};

use super::target::Target;
use super::tls;
use crate::{Result, StoreError};

/// Connections of one store.
pub(crate) const MOST_CONNECTIONS: usize = 8;

/// How long a caller waits for a connection, and a writer for another.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plans are kept while tables grow: one that reads a whole table because it was small when the
/// plan was made must not be made.
const SETTINGS: &str = "SET lock_timeout = '30s'; SET client_min_messages = warning; \
     SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; \
     SET enable_mergejoin = off; SET enable_material = off";

/// A connection and what it has prepared.
pub(super) struct Connection {
    client: Client,
    statements: HashMap<String, Statement>,
}

/// The connections of a store.
pub(super) struct Pool {
    target: Target,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
}

/// A connection in use. Goes back to the pool if it is kept, and is closed if not.
pub(super) struct Lease<'p> {
    pool: &'p Pool,
    connection: Option<Connection>,
    is_new: bool,
    is_kept: bool,
}

impl Pool {
    pub(super) fn new(target: Target) -> Self {
        Self { target, state: Mutex::default(), freed: Condvar::new() }
    }

    /// An idle connection, or a new one, or whichever comes free.
    pub(super) fn take(&self) -> Result<Lease<'_>> {
        let has_none = |state: &mut State| state.idle.is_empty() && state.open >= MOST_CONNECTIONS;
        let (mut state, waited) = self
            .freed
            .wait_timeout_while(self.lock(), PATIENCE, has_none)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(StoreError::PoolExhausted);
        }
        if let Some(connection) = state.idle.pop() {
            return Ok(self.lease(Some(connection), false));
        }
        state.open += 1;
        drop(state);
        // From here on the lease gives the place back, also when connecting fails.
        let mut lease = self.lease(None, true);
        lease.connection = Some(Connection::open(&self.target)?);
        Ok(lease)
    }

    fn lease(&self, connection: Option<Connection>, is_new: bool) -> Lease<'_> {
        Lease { pool: self, connection, is_new, is_kept: false }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        write!(f, "Pool({} open, {} idle)", state.open, state.idle.len())
    }
}

impl Lease<'_> {
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

    /// The connection is in order.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Leaves a transaction that failed. A connection that cannot is not kept.
    pub(super) fn roll_back(&mut self) {
        self.is_kept = self.batch("ROLLBACK").is_ok();
    }
}

impl Drop for Lease<'_> {
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
    fn open(target: &Target) -> Result<Self> {
        let mut client = tls::connect(target)?;
        if client.batch_execute(SETTINGS).is_err() {
            // A relative of PostgreSQL that lacks one of these does without.
            for setting in SETTINGS.split("; ") {
                let _ = client.batch_execute(setting);
            }
        }
        Ok(Self { client, statements: HashMap::new() })
    }

    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A statement, prepared once.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}
