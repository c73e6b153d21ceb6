//! The driver of the browser: a process of its own, and a client of its WebDriver interface.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::http::{Answer, Caller};

/// A shell that starts the driver in its own process group, and kills the group when its input ends: when the driver is
/// dropped, or this process has died. Its output is closed, so that the end of the driver's is seen.
const GUARD: &str = r#""$1" --port=0 & exec >&-; read -r _; kill -s KILL 0"#;
/// Waits, for at most five seconds, until no process of a group is left.
const AWAIT_END: &str = r#"n=0; while kill -s 0 -- "-$1" 2>/dev/null && [ $n -lt 500 ]; do n=$((n+1)); sleep 0.01; done"#;

#[derive(Debug)]
pub(super) struct Driver {
    guard: Child,
    address: SocketAddr,
    /// The driver would fail to write if nobody could read.
    _output: BufReader<ChildStdout>,
    // Dropped last: the browser writes to it until its end.
    directory: TempDir,
}

impl Driver {
    pub(super) fn start(program: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("gbrain-browser-").tempdir()?;
        let mut guard = Command::new("/bin/sh")
            .args(["-c", GUARD, "browser"])
            .arg(program)
            .env("TMPDIR", directory.path())
            .env("HOME", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut output = BufReader::new(guard.stdout.take().context("no output")?);
        let address = address(&mut output);
        let (address, failure) = match address {
            Ok(address) => (address, None),
            Err(error) => (SocketAddr::from(([127, 0, 0, 1], 0)), Some(error)),
        };
        let driver = Self { guard, address, _output: output, directory };
        failure.map_or(Ok(driver), Err)
    }

    /// For the files of the browser.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn get(&self, path: &str) -> Result<Value> {
        value(Caller::connect(self.address)?.get(path)?)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value> {
        value(Caller::connect(self.address)?.send("POST", path, body)?)
    }

    pub(super) fn delete(&self, path: &str) -> Result<Value> {
        value(Caller::connect(self.address)?.call("DELETE", path, &[])?)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        let group = self.guard.id().to_string();
        let _ = Command::new("/bin/sh").args(["-c", AWAIT_END, "browser", &group]).status();
    }
}

/// The address that the driver says it listens on.
fn address(output: &mut BufReader<ChildStdout>) -> Result<SocketAddr> {
    let mut said = String::new();
    loop {
        let begun = said.len();
        if output.read_line(&mut said)? == 0 {
            bail!("the driver of the browser did not start: {said}");
        }
        let port = said[begun..].split("started successfully on port ").nth(1);
        if let Some(port) = port.and_then(|port| port.trim_end().trim_end_matches('.').parse().ok())
        {
            return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
        }
    }
}

fn value(answer: Answer) -> Result<Value> {
    let mut body = answer.json();
    let value = body["value"].take();
    if answer.status == 200 {
        return Ok(value);
    }
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    // The rest of a message is a stack of addresses.
    bail!("{}: {}", text("error"), text("message").lines().next().unwrap_or_default())
}
