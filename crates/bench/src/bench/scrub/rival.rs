//! ripgrep: what is on the path, or a copy that is installed once into a directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::scrub::{ScrubFamily, pattern};

pub(super) struct Ripgrep {
    program: PathBuf,
}

impl Ripgrep {
    pub(super) fn find(tools: &Path) -> Result<Self> {
        let installed = tools.join("bin/rg");
        for program in [PathBuf::from("rg"), installed.clone()] {
            if Command::new(&program).arg("--version").output().is_ok() {
                return Ok(Self { program });
            }
        }
        progress(format!("installing ripgrep into {}", tools.display()));
        let status = Command::new("cargo")
            .args(["install", "--locked", "--quiet", "ripgrep", "--root"])
            .arg(tools)
            .status()
            .context("cargo can't be started")?;
        ensure!(status.success(), "ripgrep can't be installed: put `rg` on the path");
        Ok(Self { program: installed })
    }

    pub(super) fn version(&self) -> Result<String> {
        let output = Command::new(&self.program).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Counts the matches of every family's pattern on one thread.
    pub(super) fn count(&self, file: &Path) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(["--no-config", "-j1", "--count-matches"]);
        for pattern in ScrubFamily::ALL.iter().filter_map(|family| pattern(*family)) {
            command.args(["-e", pattern]);
        }
        let output = command.arg(file).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(error.is_empty(), "ripgrep: {error}");
        Ok(())
    }
}
