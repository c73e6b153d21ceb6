//! Python programs that ours are compared with, each in an environment of its own that is kept
//! beside the build.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use gbrain_bench::campaign::scaffold::progress;

/// The directory of the programs of a package, which is installed first where it is not there.
pub(crate) fn programs_of(package: &str, version: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let cache = own.parent().unwrap_or(Path::new(".")).join("gbrain-bench-python");
    let dir = cache.join(format!("{package}-{version}"));
    let (programs, done) = (dir.join("bin"), dir.join("installed"));
    if !done.exists() {
        progress(format!("installing {package} {version} in {}", dir.display()));
        std::fs::create_dir_all(&cache)?;
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        let wanted = format!("{package}=={version}");
        succeed(Command::new(programs.join("pip")).args(["install", "--quiet", &wanted]))?;
        std::fs::write(done, "")?;
    }
    Ok(programs)
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {said}");
    Ok(())
}
