//! Errors of the store, and the only place that interprets SQLite's codes and SQLSTATEs.
//!
//! Messages name the problem and the remedy. They never contain page text: only the short message
//! and the constraint's name are taken from a database error, never its detail, which quotes rows.

use std::path::PathBuf;

use gbrain_core::capture::FailureReason;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::{IdError, PageKey, SourceId, WorkspaceId};
use gbrain_core::money::Usd;
use rusqlite::ErrorCode;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process held a lock for too long.
    #[error("the database is busy: another process held it for too long; try again")]
    Busy,
    /// A file that this process may only read changed during a read.
    #[error("another user wrote to the database while it was read; try again")]
    Changed,
    /// The PostgreSQL server accepts no more connections.
    #[error(
        "the PostgreSQL server takes no more connections ({detail}); close other clients, raise its max_connections or \
         the role's CONNECTION LIMIT, or put a pooler in session mode in front of it (one gbrain process uses at most \
         {})",
        crate::postgres::MAX_CONNECTIONS
    )]
    ConnectionLimit { detail: String },
    /// Every connection of this process was in use for too long.
    #[error(
        "all {} database connections of this process were in use for too long; ask less at once, or try again",
        crate::postgres::MAX_CONNECTIONS
    )]
    PoolExhausted,
    /// The files of an SQLite database cannot be used.
    #[error(
        "the files of the database cannot be read or written ({detail}); check that their disk works and has room, that \
         their directory is there, and the limits on the size and number of files (`ulimit -f`, `ulimit -n`)"
    )]
    Files { detail: String },
    /// The database cannot be reached.
    #[error(
        "the database cannot be reached ({detail}); check that it runs and that the database URL names it"
    )]
    Down { detail: String },
    /// A row of another workspace.
    #[error(
        "row-level security refused a row that is not of this transaction's workspace ({detail})"
    )]
    RowSecurity { detail: String },
    /// The role lacks a privilege.
    #[error(
        "the database role lacks a right ({detail}); grant it, or run the command as the owner of the tables"
    )]
    Denied { detail: String },
    /// A row that the schema does not allow.
    #[error("the row breaks the constraint {which}")]
    Constraint {
        /// The constraint, or its columns.
        which: String,
    },
    /// The disk is full.
    #[error(
        "the disk that holds the database is full; nothing of this write was stored: free some space there and run the \
         command again"
    )]
    DiskFull,
    /// The stored data is not valid.
    #[error("the database is damaged ({detail}); restore it from a backup")]
    Corrupt { detail: String },
    /// The file, the server or the session does not accept writes.
    #[error("the database is read-only; check the rights on its file, or whether it is a standby")]
    ReadOnly,
    /// The schema was written by a newer gbrain.
    #[error("the database has schema {found} and this gbrain knows {known}; use a newer gbrain")]
    NewerSchema {
        found: i64,
        /// The latest schema that this binary supports.
        known: i64,
    },
    /// The schema was written by an older gbrain, and this role may not migrate it.
    #[error(
        "the database has schema {found} and this gbrain needs {known}; run `gbrain init` as the owner of the tables"
    )]
    OlderSchema {
        found: i64,
        /// The schema that this binary needs.
        known: i64,
    },
    #[error("the database is not gbrain's: it holds {}, which gbrain's migrations did not make; give gbrain a database or a schema of its own", tables.join(", "))]
    ForeignDatabase {
        /// The existing tables that have the names of gbrain's.
        tables: Vec<String>,
    },
    /// The file is not a SQLite database.
    #[error("{} is not a SQLite database; move it away or choose another path", path.display())]
    NotADatabase { path: PathBuf },
    /// A file that cannot be opened or created.
    #[error("{} cannot be opened ({detail})", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        detail: String,
    },
    /// A file that disappeared after it was opened.
    #[error("{} was removed or replaced while it was open, and what is written now would be lost; put it back and restart", path.display())]
    FileGone { path: PathBuf },
    /// A PostgreSQL database without gbrain's schema.
    #[error("the database has no gbrain schema yet; create it with `gbrain init`")]
    NotInitialised,
    /// A database URL that cannot be parsed.
    #[error("the database URL is not valid: {detail}")]
    Url { detail: String },
    #[error("there is no workspace {0}; add it with `gbrain workspaces add {0}`")]
    UnknownWorkspace(WorkspaceId),
    /// The name is taken.
    #[error("the workspace {0} already exists")]
    WorkspaceExists(WorkspaceId),
    #[error("there is no source {0}; add it with `gbrain sources add {0}`")]
    UnknownSource(SourceId),
    /// The name is taken.
    #[error("the source {0} already exists")]
    SourceExists(SourceId),
    /// The source still has live pages.
    #[error(
        "the source {id} has {pages} live pages; delete them first, or remove it with its pages"
    )]
    SourceInUse { id: SourceId, pages: u64 },
    /// A default object that every brain has.
    #[error("the {what} `default` cannot be removed")]
    Protected { what: &'static str },
    #[error("there is no page {0}")]
    NotFound(PageKey),
    /// A page that is not visible to its writer.
    #[error("`{0}` can't be written from here")]
    Hidden(PageKey),
    /// A page that changed since its writer read it.
    #[error("`{key}` has changed: it is at version {version} now; read it again, then write it")]
    Stale { key: PageKey, version: u32 },
    /// A NUL character, which PostgreSQL cannot store.
    #[error("{what} holds a NUL character; remove it")]
    Nul {
        /// The page or setting.
        what: String,
    },
    /// The worker's job was claimed by another worker, or has ended.
    #[error("job {job} is not this worker's any more; nothing was written")]
    LeaseLost { job: i64 },
    /// A call that would exceed a budget.
    #[error("the budget {budget} has {left} left, and the call can cost {worst}")]
    OverBudget {
        budget: String,
        /// The amount that may still be charged.
        left: Usd,
        /// The maximum cost of the call.
        worst: Usd,
    },
    /// A prune with a limit, which is ambiguous.
    #[error("a prune takes no limit; say which captures by time, operation or caller")]
    LimitedPrune,
    #[error(transparent)]
    Id(#[from] IdError),
    #[error("the database failed ({detail})")]
    Other { detail: String },
}

impl StoreError {
    /// The failure reason to record for a capture that failed with this error.
    pub fn failure_reason(&self) -> FailureReason {
        match self {
            Self::Busy
            | Self::Changed
            | Self::ConnectionLimit { .. }
            | Self::PoolExhausted
            | Self::Files { .. }
            | Self::Down { .. }
            | Self::File { .. }
            | Self::FileGone { .. } => FailureReason::DbDown,
            // One SQLSTATE, 42501, which the reference records as one reason.
            Self::RowSecurity { .. } | Self::Denied { .. } => FailureReason::RlsReject,
            Self::Constraint { .. } | Self::Nul { .. } => FailureReason::CheckViolation,
            Self::DiskFull
            | Self::Corrupt { .. }
            | Self::ReadOnly
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::ForeignDatabase { .. }
            | Self::NotADatabase { .. }
            | Self::NotInitialised
            | Self::Url { .. }
            | Self::UnknownWorkspace(_)
            | Self::WorkspaceExists(_)
            | Self::UnknownSource(_)
            | Self::SourceExists(_)
            | Self::SourceInUse { .. }
            | Self::Protected { .. }
            | Self::NotFound(_)
            | Self::Hidden(_)
            | Self::Stale { .. }
            | Self::LeaseLost { .. }
            | Self::OverBudget { .. }
            | Self::LimitedPrune
            | Self::Id(_)
            | Self::Other { .. } => FailureReason::Other,
        }
    }

    pub(crate) fn corrupt(detail: impl Into<String>) -> Self {
        Self::Corrupt { detail: detail.into() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Busy
            | StoreError::Changed
            | StoreError::ConnectionLimit { .. }
            | StoreError::PoolExhausted => FaultKind::Busy,
            StoreError::NotInitialised => FaultKind::NotInitialised,
            StoreError::UnknownWorkspace(_) => FaultKind::UnknownWorkspace,
            StoreError::UnknownSource(_) => FaultKind::UnknownSource,
            StoreError::NotFound(_) => FaultKind::NotFound,
            StoreError::Hidden(_) => FaultKind::Forbidden,
            StoreError::WorkspaceExists(_)
            | StoreError::SourceExists(_)
            | StoreError::SourceInUse { .. }
            | StoreError::Stale { .. }
            | StoreError::LeaseLost { .. }
            | StoreError::Protected { .. } => FaultKind::Conflict,
            StoreError::Nul { .. } => FaultKind::Input,
            StoreError::LimitedPrune | StoreError::Id(_) => FaultKind::Usage,
            StoreError::OverBudget { .. } => FaultKind::OverBudget,
            StoreError::Down { .. } | StoreError::Files { .. } | StoreError::FileGone { .. } => {
                FaultKind::Unreachable
            }
            StoreError::RowSecurity { .. }
            | StoreError::Denied { .. }
            | StoreError::Constraint { .. }
            | StoreError::DiskFull
            | StoreError::Corrupt { .. }
            | StoreError::ReadOnly
            | StoreError::NewerSchema { .. }
            | StoreError::OlderSchema { .. }
            | StoreError::ForeignDatabase { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::File { .. }
            | StoreError::Url { .. }
            | StoreError::Other { .. } => FaultKind::Store,
        };
        Self::of(kind, &error)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, message) = error else {
            return Self::Other { detail: error.to_string() };
        };
        let detail = message.unwrap_or_else(|| failure.to_string());
        of_sqlite(failure.code, detail)
    }
}

fn of_sqlite(code: ErrorCode, detail: String) -> StoreError {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        ErrorCode::FileLockingProtocolFailed => StoreError::Busy,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly,
        ErrorCode::DiskFull => StoreError::DiskFull,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt { detail },
        ErrorCode::CannotOpen | ErrorCode::SystemIoFailure => StoreError::Files { detail },
        ErrorCode::ConstraintViolation => {
            let which = detail.split_once("failed: ").map_or(detail.as_str(), |(_, name)| name);
            StoreError::Constraint { which: which.to_owned() }
        }
        _ => StoreError::Other { detail },
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        if let Some(database) = error.as_db_error() {
            let which = database.constraint().map(str::to_owned);
            return of_sqlstate(database.code().code(), database.message(), which);
        }
        let detail = outermost_cause(&error);
        if error.is_closed() || std::error::Error::source(&error).is_some_and(is_io) {
            return Self::Down { detail };
        }
        Self::Other { detail }
    }
}

fn of_sqlstate(code: &str, message: &str, which: Option<String>) -> StoreError {
    let detail = message.to_owned();
    match code {
        // Row-level security has no separate code: it shares 42501 with missing privileges.
        "42501" if message.contains("row-level security") => StoreError::RowSecurity { detail },
        "42501" => StoreError::Denied { detail },
        "40001" | "40P01" | "55P03" | "55006" | "57014" => StoreError::Busy,
        "53300" => StoreError::ConnectionLimit { detail },
        "25006" => StoreError::ReadOnly,
        "53100" => StoreError::DiskFull,
        "28000" | "28P01" | "3D000" | "57P01" | "57P02" | "57P03" => StoreError::Down { detail },
        _ if code.starts_with("08") => StoreError::Down { detail },
        _ if code.starts_with("23") => StoreError::Constraint { which: which.unwrap_or(detail) },
        _ if code.starts_with("XX") => StoreError::Corrupt { detail },
        _ => StoreError::Other { detail: format!("SQLSTATE {code}: {detail}") },
    }
}

fn is_io(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<std::io::Error>()
}

fn outermost_cause(error: &postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_have_meanings() {
        let name = |code, message| format!("{:?}", of_sqlstate(code, message, None));
        let starts =
            |code, message, start| assert!(name(code, message).starts_with(start), "{code}");
        starts("42501", "new row violates row-level security policy for table \"pages\"", "RowSec");
        starts("42501", "permission denied for table pages", "Denied");
        starts("40P01", "deadlock detected", "Busy");
        starts("08006", "connection failure", "Down");
        starts("57P03", "the database system is starting up", "Down");
        starts("23505", "duplicate key", "Constraint");
        starts("53100", "could not extend file", "DiskFull");
        starts("53300", "too many connections for role \"ada\"", "ConnectionLimit");
        starts("XX001", "invalid page in block", "Corrupt");
        starts("25006", "cannot execute INSERT in a read-only transaction", "ReadOnly");
        starts("42P01", "relation does not exist", "Other");
    }

    #[test]
    fn errors_are_faults_of_a_kind() {
        let check =
            |error: StoreError, kind: &str| assert_eq!(Fault::from(error).kind.name(), kind);
        let page = PageKey::parse("a", &SourceId::default()).unwrap();
        check(StoreError::NotFound(page), "not_found");
        check(StoreError::UnknownWorkspace(WorkspaceId::default()), "unknown_workspace");
        check(StoreError::UnknownSource(SourceId::default()), "unknown_source");
        check(StoreError::SourceExists(SourceId::default()), "conflict");
        check(StoreError::Protected { what: "source" }, "conflict");
        check(StoreError::Nul { what: "a page".to_owned() }, "input");
        check(StoreError::from(SourceId::new("").unwrap_err()), "usage");
        check(StoreError::NotInitialised, "not_initialised");
        check(StoreError::Busy, "busy");
        check(StoreError::PoolExhausted, "busy");
        check(StoreError::ConnectionLimit { detail: String::new() }, "busy");
        check(StoreError::Files { detail: String::new() }, "unreachable");
        check(StoreError::DiskFull, "store");
    }

    #[test]
    fn errors_are_reasons_of_failed_captures() {
        let check = |error: StoreError, reason: &str| {
            assert_eq!(error.failure_reason().name(), reason, "{error:?}");
        };
        let of_code = |code, message: &str| of_sqlstate(code, message, None);
        check(of_code("42501", "new row violates row-level security policy"), "rls_reject");
        check(of_code("42501", "permission denied for table eval_candidates"), "rls_reject");
        check(of_code("23514", "violates check constraint"), "check_violation");
        check(StoreError::Nul { what: "a capture".to_owned() }, "check_violation");
        for code in ["08006", "57P01", "57P03", "53300", "55P03"] {
            check(of_code(code, "gone"), "db_down");
        }
        check(of_sqlite(ErrorCode::DatabaseBusy, String::new()), "db_down");
        check(of_sqlite(ErrorCode::CannotOpen, String::new()), "db_down");
        check(of_sqlite(ErrorCode::ConstraintViolation, String::new()), "check_violation");
        check(StoreError::DiskFull, "other");
        check(StoreError::UnknownWorkspace(WorkspaceId::default()), "other");
    }

    #[test]
    fn sqlite_codes_have_meanings() {
        let name = |code, text: &str| format!("{:?}", of_sqlite(code, text.to_owned()));
        assert_eq!(name(ErrorCode::DatabaseBusy, ""), "Busy");
        assert_eq!(name(ErrorCode::DiskFull, ""), "DiskFull");
        for code in [ErrorCode::CannotOpen, ErrorCode::SystemIoFailure] {
            assert_eq!(name(code, "disk I/O error"), "Files { detail: \"disk I/O error\" }");
        }
        assert_eq!(name(ErrorCode::ReadOnly, ""), "ReadOnly");
        assert_eq!(
            name(ErrorCode::ConstraintViolation, "UNIQUE constraint failed: pages.slug"),
            "Constraint { which: \"pages.slug\" }"
        );
    }
}
