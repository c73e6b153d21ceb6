//! The faults, and the engines that each can happen to.

use clap::ValueEnum;

use gbrain_testkit::engine::Engine;

/// Something that goes wrong around a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// SIGKILL while pages are written.
    Kill,
    /// SIGSTOP while pages are written, and SIGCONT later.
    Stop,
    /// No space is left where the home is.
    FullDisk,
    /// Files and directories of the home, or of its index, may not be written.
    ReadOnlyFiles,
    /// A bit of a file of the index is another.
    FlippedFile,
    /// A file of the index is shorter, or empty.
    TruncatedFile,
    /// A file of the index, or the whole index, is deleted.
    DeletedFile,
    /// `brain.db` is gone and comes back.
    MovedDatabase,
    /// A bit of a stored page in `brain.db` is another, and is repaired.
    FlippedDatabase,
    /// PostgreSQL stops without telling its clients, and starts again.
    RestartedPostgres,
    /// Every process of PostgreSQL is stopped, and goes on.
    PausedPostgres,
    /// PostgreSQL closes the server's connections and has none left for it.
    PostgresConnectionLimit,
    /// The clock of the server is hours to thousands of years ahead.
    ClockAhead,
    /// The clock of the server is hours to decades behind.
    ClockBehind,
    /// Connections that never send a whole request.
    HalfOpenClients,
    /// Connections that send a body byte by byte, or do not read their answers.
    SlowClients,
    /// Large bodies of the smallest JSON values, many at once.
    HostileBodies,
    /// The same bodies while the process may not have much more memory than it has.
    MemoryLimit,
}

impl Fault {
    /// All of them, in the order of the report.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    pub fn applies_to(self, engine: Engine) -> bool {
        match self {
            Self::MovedDatabase | Self::FlippedDatabase => engine == Engine::Sqlite,
            Self::RestartedPostgres | Self::PausedPostgres | Self::PostgresConnectionLimit => {
                engine == Engine::Postgres
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::scaffold::FlagValue as _;

    #[test]
    fn every_fault_has_a_name_and_an_engine() {
        for fault in Fault::all() {
            assert!(!fault.name().is_empty());
            assert!([Engine::Sqlite, Engine::Postgres].iter().any(|one| fault.applies_to(*one)));
        }
        assert_eq!(Fault::PostgresConnectionLimit.name(), "postgres-connection-limit");
    }
}
