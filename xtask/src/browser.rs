//! Chromium with its driver, and axe-core, which checks pages for accessibility.
//!
//! The pages of the console are tested in a real browser. Like PostgreSQL it is installed where that is possible, and
//! not having it is an error with a remedy elsewhere. axe-core comes from the npm registry, at the version pinned here,
//! into a directory beside the build; it is never committed.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::packages;

const CHROMIUM: &str = "GBRAIN_TEST_CHROMIUM";
const CHROMEDRIVER: &str = "GBRAIN_TEST_CHROMEDRIVER";
const AXE: &str = "GBRAIN_TEST_AXE";

/// A program: the variable that names it, its names, and Debian's package.
struct Program {
    variable: &'static str,
    names: &'static [&'static str],
    package: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program {
        variable: CHROMIUM,
        names: &["chromium", "chromium-browser", "google-chrome"],
        package: "chromium",
    },
    Program { variable: CHROMEDRIVER, names: &["chromedriver"], package: "chromium-driver" },
];
const AXE_VERSION: &str = "4.14.0";
/// The script inside the package.
const AXE_SCRIPT: &str = "node_modules/axe-core/axe.min.js";
const REMEDY: &str = "the tests need Chromium and its driver and they could not be installed; install them, or name \
                      them in GBRAIN_TEST_CHROMIUM and GBRAIN_TEST_CHROMEDRIVER";
const AXE_REMEDY: &str = "the tests need axe-core from the npm registry and it could not be installed; name its script \
                          (axe.min.js) in GBRAIN_TEST_AXE";

/// The variables that tell tests where they are, without those that the caller has set.
pub(crate) fn variables() -> Result<Vec<(&'static str, OsString)>> {
    let missing = PROGRAMS.iter().filter(|program| is_unset(program.variable));
    let mut variables: Vec<_> = missing
        .map(|program| Ok((program.variable, find_or_install(program)?.into_os_string())))
        .collect::<Result<_>>()?;
    if is_unset(AXE) {
        variables.push((AXE, axe()?.into_os_string()));
    }
    Ok(variables)
}

fn is_unset(variable: &str) -> bool {
    env::var_os(variable).is_none()
}

fn find_or_install(program: &Program) -> Result<PathBuf> {
    if let Some(found) = find(program.names) {
        return Ok(found);
    }
    eprintln!("no {} found: installing the package `{}`", program.names[0], program.package);
    packages::update().and_then(|()| packages::install(&[program.package])).context(REMEDY)?;
    find(program.names).context(REMEDY)
}

/// The first program of one of these names on the path.
fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = env::split_paths(&path).collect();
    let candidates =
        names.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    candidates.into_iter().find(|program| program.is_file())
}

fn axe() -> Result<PathBuf> {
    let cache = cache()?;
    fs::create_dir_all(&cache).with_context(|| format!("could not create {}", cache.display()))?;
    // Two tasks that share a build directory take turns; the second finds the work done.
    let turn = File::create(cache.join("lock")).context("could not create a lock")?;
    turn.lock().context("could not wait for another task")?;
    let directory = cache.join(AXE_VERSION);
    let script = directory.join(AXE_SCRIPT);
    if !script.is_file() {
        eprintln!("installing axe-core {AXE_VERSION} in {}", directory.display());
        install_axe(&directory).context(AXE_REMEDY)?;
    }
    ensure!(script.is_file(), AXE_REMEDY);
    Ok(script)
}

/// Beside the build: this program lies in `<target>/<profile>`.
fn cache() -> Result<PathBuf> {
    let own = env::current_exe().context("could not find this program")?;
    let target = own.ancestors().nth(2).context("this program lies in no build directory")?;
    Ok(target.join("gbrain-test-axe"))
}

fn install_axe(directory: &Path) -> Result<()> {
    if find(&["npm"]).is_none() {
        packages::update().and_then(|()| packages::install(&["npm"]))?;
    }
    let status = Command::new("npm")
        .args([
            "install",
            "--no-save",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
            "--prefix",
        ])
        .arg(directory)
        .arg(format!("axe-core@{AXE_VERSION}"))
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .context("could not run npm")?;
    ensure!(status.success(), "npm failed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_the_path_only() {
        assert!(
            find(&["surely-not-a-program", "sh"]).is_some_and(|program| program.ends_with("sh"))
        );
        assert_eq!(find(&["surely-not-a-program"]), None);
    }
}
