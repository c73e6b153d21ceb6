//! The Python environment of the tests: programs of others that ours must get on with.
//!
//! A promise about a protocol is worth what a client says that we did not write, so the tests run
//! the official MCP client, an API fuzzer, a reader of metrics and a vector database, each at the version
//! that `python/requirements.txt` and `python/servers.txt` pin. The environment is made once beside the build, and again when
//! the pins, the interpreter or its place change. Not having Python is never a reason to skip a
//! test: it is installed where that is possible, and is an error with a remedy elsewhere.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::packages;

const VARIABLE: &str = "GBRAIN_TEST_PYTHON";
const REQUIREMENTS: &str = include_str!("../python/requirements.txt");
/// Servers of others. They are programs in a package: what the package's library needs is left out.
const SERVERS: &str = include_str!("../python/servers.txt");
const REMEDY: &str = "the tests need Python 3.11 or newer with its venv module, and it could not \
                      be installed; install python3 and python3-venv";

/// Prints the version if it is new enough for the pins and can make an environment with `pip`.
const PROBE: &str = "import sys, venv, ensurepip\n\
                     assert sys.version_info >= (3, 11)\n\
                     print(sys.executable, sys.version)";

/// The variable that tells tests where the interpreter is; none if the caller has set it.
pub(crate) fn variable() -> Result<Option<(&'static str, PathBuf)>> {
    if env::var_os(VARIABLE).is_some() {
        return Ok(None);
    }
    let cache = cache()?;
    fs::create_dir_all(&cache).with_context(|| format!("could not create {}", cache.display()))?;
    // Two tasks that share a build directory take turns; the second finds the work done.
    let turn = File::create(cache.join("lock")).context("could not create a lock")?;
    turn.lock().context("could not wait for another task")?;
    Ok(Some((VARIABLE, find_or_make(&cache.join("environment"))?)))
}

/// Beside the build: this program lies in `<target>/<profile>`.
fn cache() -> Result<PathBuf> {
    let own = env::current_exe().context("could not find this program")?;
    let target = own.ancestors().nth(2).context("this program lies in no build directory")?;
    Ok(target.join("gbrain-test-python"))
}

fn find_or_make(directory: &Path) -> Result<PathBuf> {
    let base = find_or_install()?;
    let python = directory.join("bin").join("python");
    let stamp = directory.join("made-of");
    let made_of = format!("{}\n{}\n{REQUIREMENTS}{SERVERS}", directory.display(), base.description);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == made_of) {
        return Ok(python);
    }
    eprintln!("making the Python environment of the tests in {}", directory.display());
    run(Command::new(base.program).args(["-m", "venv", "--clear"]).arg(directory))?;
    for (pins, more) in [(REQUIREMENTS, None), (SERVERS, Some("--no-deps"))] {
        let requirements = directory.join("requirements.txt");
        fs::write(&requirements, pins).context("could not write the requirements")?;
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .args(["--no-compile", "--requirement"])
            .arg(&requirements)
            .args(more))?;
    }
    // Last, so that an interrupted installation is started again.
    fs::write(&stamp, made_of).context("could not write what the environment is made of")?;
    Ok(python)
}

/// An interpreter that can make environments.
struct Interpreter {
    program: &'static str,
    /// Its place and version, in its own words.
    description: String,
}

fn find_or_install() -> Result<Interpreter> {
    if let Some(found) = find() {
        return Ok(found);
    }
    eprintln!("no Python 3.11 with venv found: installing `python3` and `python3-venv`");
    let installed =
        packages::update().and_then(|()| packages::install(&["python3", "python3-venv"]));
    installed.context(REMEDY)?;
    find().context(REMEDY)
}

fn find() -> Option<Interpreter> {
    // A `python3` of one's own may come first on the PATH and lack venv; the system's may not.
    ["python3", "/usr/bin/python3"].into_iter().find_map(|program| {
        let probe =
            Command::new(program).args(["-c", PROBE]).stderr(Stdio::null()).output().ok()?;
        let description = String::from_utf8(probe.stdout).ok()?;
        probe.status.success().then_some(Interpreter { program, description })
    })
}

fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("could not run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned() {
        let names = |pins: &'static str| -> Vec<&str> {
            let lines = pins.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let pinned = |line: &'static str| line.split_once("==");
            lines
                .map(|line| pinned(line).unwrap_or_else(|| panic!("{line} is not pinned")).0)
                .collect()
        };
        assert_eq!(names(REQUIREMENTS)[..3], ["mcp", "schemathesis", "prometheus_client"]);
        assert_eq!(names(SERVERS), ["chromadb"]);
    }
}
