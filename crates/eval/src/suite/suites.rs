//! Suites as the store knows them: what is registered, and what names a run.

use gbrain_core::format::suite::{Drift, FileError, SuiteEntry, SuiteFile};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::suite::{Kind, Suite};
use gbrain_store::Suite as StoredSuite;
use jiff::Timestamp;

/// The kind of jobs that run suites.
pub const KIND: &str = "suite";

/// The longest name of a run: it names its logs too.
pub const KEY_LIMIT: usize = 200;

/// What names a due run, of whichever trigger.
pub fn run_key(suite: &str, due: &str) -> String {
    let key = format!("{suite}/{due}");
    // Lists of minutes can be long; what they are cut to is still theirs alone.
    if key.len() <= KEY_LIMIT {
        key
    } else {
        format!("{suite}/{}", Hash::of(due.as_bytes()).to_hex())
    }
}

/// What names a run that somebody asked for, by hand or in a build.
pub fn asked_key(trigger: &str, now: Timestamp, process: u32) -> String {
    format!("{trigger}:{now:.3}-{process}")
}

/// What runs one at a time.
pub fn group(suite: &str) -> String {
    format!("{KIND}:{suite}")
}

/// A suite that is registered, as it is meant.
pub fn registered(stored: &StoredSuite) -> Result<Suite, FileError> {
    let entry: SuiteEntry = serde_json::from_str(&stored.spec)
        .map_err(|error| FileError::Form { line: error.line(), reason: error.to_string() })?;
    entry.suite()
}

/// How a suite that is registered stands to a file. One that can't be read is never as the file has it.
pub fn drift(file: &SuiteFile, stored: &StoredSuite, workspace: &WorkspaceId) -> Option<Drift> {
    match serde_json::from_str::<SuiteEntry>(&stored.spec) {
        Ok(entry) => file.drift(&entry, workspace.as_str()),
        Err(_) if file.find(&stored.name, workspace.as_str()).is_some() => Some(Drift::Differs),
        Err(_) => Some(Drift::NotInFile),
    }
}

/// What stands for a suite that can't be read.
pub fn stand_in(name: &str) -> Suite {
    Suite { owners: Vec::new(), triggers: Vec::new(), ..Suite::new(name, Kind::Smoke, Vec::new()) }
}
