//! Suites as stored: their registration, and the keys of their runs.

use gbrain_core::format::suite::{Drift, FileError, SuiteEntry, SuiteFile};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::{Suite, SuiteKind};
use gbrain_store::StoredSuite;
use jiff::Timestamp;

/// The kind of suite jobs.
pub const KIND: &str = "suite";

/// Maximum length of a run's key, which also names its logs.
pub const KEY_LIMIT: usize = 200;

/// The key of a due run, for any trigger.
pub fn run_key(suite: &str, due: &str) -> String {
    let key = format!("{suite}/{due}");
    // A cron list can be long; its hash is still unique.
    if key.len() <= KEY_LIMIT {
        key
    } else {
        format!("{suite}/{}", Hash::of(due.as_bytes()).to_hex())
    }
}

/// The key of a run requested by hand or in a build.
pub fn asked_key(trigger: &str, now: Timestamp, process: u32) -> String {
    format!("{trigger}:{now:.3}-{process}")
}

/// The group of a suite's jobs, which run one at a time.
pub fn group(suite: &str) -> String {
    format!("{KIND}:{suite}")
}

/// Parses a registered suite.
pub fn registered(stored: &StoredSuite) -> Result<Suite, FileError> {
    let entry: SuiteEntry = serde_json::from_str(&stored.spec)
        .map_err(|error| FileError::Form { line: error.line(), reason: error.to_string() })?;
    entry.suite()
}

/// How a registered suite differs from a file. An unreadable one always differs.
pub fn drift(file: &SuiteFile, stored: &StoredSuite, workspace: &WorkspaceId) -> Option<Drift> {
    match serde_json::from_str::<SuiteEntry>(&stored.spec) {
        Ok(entry) => file.drift(&entry, workspace.as_str()),
        Err(_) if file.find(&stored.name, workspace.as_str()).is_some() => Some(Drift::Differs),
        Err(_) => Some(Drift::NotInFile),
    }
}

/// A placeholder for an unreadable suite.
pub fn placeholder_suite(name: &str) -> Suite {
    Suite {
        owners: Vec::new(),
        triggers: Vec::new(),
        ..Suite::new(name, SuiteKind::Smoke, Vec::new())
    }
}
