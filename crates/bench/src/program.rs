//! The program under test.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

/// The program beside this one, built from the same sources: a campaign against last week's binary
/// proves nothing.
pub fn built_program() -> Result<PathBuf> {
    let me = std::env::current_exe()?;
    let program = me.with_file_name("gbrain");
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        // Both, as xtask builds them: one alone has other features and takes as long again.
        let packages = ["-p", "gbrain-cli", "-p", "gbrain-bench"];
        build.args(["build", "--quiet", "--release", "--locked"]).args(packages);
        if !build.status()?.success() {
            bail!("gbrain does not build");
        }
    }
    if !program.is_file() {
        bail!("there is no gbrain beside {}: `cargo xtask campaign` builds it", me.display());
    }
    Ok(program)
}
