//! Where the test data is.
//!
//! The data sets are too large for the repository. Tests that need them read `GBRAIN_TEST_DATA`
//! and skip themselves without it, so a run without it says so loudly.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cargo;

const VARIABLE: &str = "GBRAIN_TEST_DATA";

/// Where the data is looked for, relative to the workspace.
const BESIDE_WORKSPACE: &str = "../shared/data";

/// The variable that tells tests where the data is; none if the caller has set it.
pub(crate) fn variable() -> Result<Option<(&'static str, PathBuf)>> {
    if env::var_os(VARIABLE).is_some() {
        return Ok(None);
    }
    let directory = cargo::workspace_root().join(BESIDE_WORKSPACE);
    if !directory.is_dir() {
        eprintln!(
            "WARNING: {VARIABLE} is not set and {BESIDE_WORKSPACE} does not exist: \
             TESTS THAT NEED DATA WILL BE SKIPPED"
        );
        return Ok(None);
    }
    let directory = directory.canonicalize().context("could not resolve the data directory")?;
    Ok(Some((VARIABLE, directory)))
}
