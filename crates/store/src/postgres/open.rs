//! Opens a PostgreSQL database: the schema is created by `gbrain init` only, migrated under an
//! advisory lock, and refused if its tables belong to other software.

use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

use super::pool::PooledConnection;
use super::session::PostgresSession;
use super::{in_transaction, name_workspace};
use crate::driver::{SqlSession, collect, first};
use crate::ops::insert_workspace;
use crate::schema::{MIGRATIONS, Migration, TABLES, conflicts_with_views, known_schema};
use crate::{OpenMode, Result, StoreError};

/// Advisory lock of migrations; spells `gbrain` in ASCII.
const LOCK: i64 = 0x6762_7261_696e;

/// Checks and migrates the schema; returns the store's identity.
pub(super) fn open(
    lease: &mut PooledConnection<'_>,
    mode: OpenMode,
    now: Timestamp,
) -> Result<String> {
    lease.batch("BEGIN READ ONLY")?;
    let found = in_transaction(lease, schema_of)?;
    if found == 0 && mode == OpenMode::Use {
        return Err(StoreError::NotInitialised);
    }
    if found < known_schema() {
        lease.batch("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")?;
        in_transaction(lease, |session| migrate(session, now)).map_err(|error| match error {
            StoreError::Denied { .. } if found > 0 => {
                StoreError::OlderSchema { found, known: known_schema() }
            }
            error => error,
        })?;
    }
    lease.batch("BEGIN READ ONLY")?;
    in_transaction(lease, |session| {
        let sql = "SELECT value FROM meta WHERE key = 'store_id'";
        first(session, sql, &[], |row| row.text(0))?
            .ok_or_else(|| StoreError::corrupt("the store has no identity"))
    })
}

/// The schema's number, 0 for none. Refuses tables of other software, and newer schemas.
fn schema_of(session: &mut PostgresSession<'_>) -> Result<i64> {
    let sql = "SELECT relname::text FROM pg_class \
         WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
         AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname";
    let relations = collect(session, sql, &[], |row| row.text(0))?;
    let found = if relations.iter().any(|relation| relation == "gbrain_migrations") {
        let sql = "SELECT coalesce(max(number), 0) FROM gbrain_migrations";
        first(session, sql, &[], |row| row.int(0))?.unwrap_or(0)
    } else {
        0
    };
    let known = known_schema();
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    let mut tables = conflicts_with_views(found, &relations);
    if found == 0 {
        tables.extend(relations.into_iter().filter(|name| TABLES.contains(&name.as_str())));
    }
    tables.sort();
    if tables.is_empty() { Ok(found) } else { Err(StoreError::ForeignDatabase { tables }) }
}

/// Applies missing migrations. Runs under the lock, so it reads the schema's number again.
fn migrate(session: &mut PostgresSession<'_>, now: Timestamp) -> Result<()> {
    session.batch(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    let found = schema_of(session)?;
    session.batch(
        "CREATE TABLE IF NOT EXISTS gbrain_migrations (number bigint PRIMARY KEY, \
         name text NOT NULL, applied_at bigint NOT NULL)",
    )?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.number > found) {
        apply(session, migration, now)?;
    }
    if found == 0 {
        let default = WorkspaceId::default();
        session.batch(&name_workspace(default.as_str()))?;
        insert_workspace(session, &default, now)?;
    }
    Ok(())
}

fn apply(session: &mut PostgresSession<'_>, migration: &Migration, now: Timestamp) -> Result<()> {
    session.batch(migration.postgres)?;
    let sql = "INSERT INTO gbrain_migrations (number, name, applied_at) VALUES ($1, $2, $3)";
    let at = now.as_millisecond();
    session.execute(sql, &[migration.number.into(), migration.name.into(), at.into()])?;
    Ok(())
}
