//! The key of baselines: from a file that was named, else from the environment.

use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_core::baseline::BaselineKey;

use crate::error::CliError;
use crate::home::Home;

/// The variable that holds the key.
pub(crate) const KEY_VARIABLE: &str = "GBRAIN_BASELINE_KEY";

/// The largest file that is read as a key.
const MAX_KEY_FILE: u64 = 64 << 10;

/// How to get a key.
const MAKE_ONE: &str = "make a key with `openssl rand -hex 32`, and keep it out of the repository";

/// The key that was named.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeyArgs {
    /// The key that signs baselines (HMAC-SHA-256) [default: GBRAIN_BASELINE_KEY]. With a key, a
    /// baseline that is not signed with it is refused.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The key; none if none is configured.
    pub(crate) fn read(&self, home: &Home) -> Result<Option<BaselineKey>, CliError> {
        match &self.key_file {
            Some(path) => of_file(path).map(Some),
            None => of_environment(home),
        }
    }
}

/// The key of the environment. A variable that is set and empty is an error: in CI that is a secret
/// that is missing, and nothing would be checked.
pub(crate) fn of_environment(home: &Home) -> Result<Option<BaselineKey>, CliError> {
    let Some(text) = (home.variables.0)(KEY_VARIABLE) else { return Ok(None) };
    BaselineKey::new(&text).map(Some).map_err(|error| {
        CliError::config(format!("{KEY_VARIABLE}: {error}"))
            .hint(MAKE_ONE)
            .hint(format!("or unset {KEY_VARIABLE} to work without a key"))
    })
}

fn of_file(path: &Path) -> Result<BaselineKey, CliError> {
    let failed = |error: std::io::Error| CliError::io(path.display(), &error).hint(MAKE_ONE);
    if std::fs::metadata(path).map_err(failed)?.len() > MAX_KEY_FILE {
        return Err(CliError::usage(format!("{} is too large to be a key", path.display())));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    BaselineKey::new(&text)
        .map_err(|error| CliError::config(format!("{}: {error}", path.display())).hint(MAKE_ONE))
}
