//! Programs run as children, and timed.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};

/// How long a command takes from its start to its end; it must succeed.
pub(crate) fn milliseconds(command: Command) -> Result<f64> {
    Ok(timed(command)?.0)
}

/// The same, with what it printed.
pub(crate) fn timed(mut command: Command) -> Result<(f64, String)> {
    // Another brain than the one measured must not be named by the environment.
    for variable in ["GBRAIN_HOME", "GBRAIN_WORKSPACE", "DATABASE_URL"] {
        command.env_remove(variable);
    }
    let begun = Instant::now();
    let output = command.output()?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {said}");
    Ok((milliseconds, String::from_utf8_lossy(&output.stdout).into_owned()))
}
