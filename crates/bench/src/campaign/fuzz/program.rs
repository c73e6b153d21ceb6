//! What must hold for the program: requests and messages to a server, and `config.json`.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use gbrain_core::defect::reports_panic;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::{Gbrain, Output, Running};
use gbrain_testkit::served::Served;
use serde_json::Value;

use super::promises::{Broken, require, shows_password};

/// Longer than any answer may take on a busy machine: past this the server hangs.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long a request that may lack its end is waited for before its sending is ended.
const REST_TIMEOUT: Duration = Duration::from_millis(200);

/// Words of the private page of the demo corpus, which no caller over a wire may see.
const PRIVATE: [&str; 2] = ["brambleknot envelopes", "Band 1 begins at"];

/// Commands that read `config.json` and need no brain behind it.
const COMMANDS: [&[&str]; 3] = [&["targets", "list"], &["models"], &["alerts", "channels"]];

/// The program with the demo brain, and a server.
pub(super) struct Site {
    gbrain: Gbrain,
    /// A home whose `config.json` is the case.
    other: Gbrain,
    served: Served,
}

impl Site {
    pub(super) fn start(program: &Path) -> Result<Self> {
        let gbrain = Gbrain::new(program, Engine::Sqlite)?;
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo");
        for source in ["wiki", "journal"] {
            let folder: PathBuf = demo.join(source);
            let folder = folder.to_str().context("the demo is in a plain directory")?;
            let added = gbrain.run(&["sources", "add", source])?;
            ensure!(added.code == Some(0), "{}", added.stderr);
            let imported = gbrain.run(&["import", folder, "--source", source])?;
            ensure!(imported.code == Some(0), "{}", imported.stderr);
        }
        let served = Served::start(gbrain.command(&["serve"]))?;
        Ok(Self { gbrain, other: Gbrain::new(program, Engine::Sqlite)?, served })
    }

    /// A request as it stands on the wire: an answer of the protocol, nothing that went wrong inside,
    /// nothing private, and the server answers the next one.
    pub(super) fn check_http(&self, bytes: &[u8]) -> Result<(), Broken> {
        let answer = self.exchange(bytes, REST_TIMEOUT)?;
        check_answer(&answer)?;
        let health = b"GET /v1/health HTTP/1.0\r\nhost: localhost\r\n\r\n";
        let health = self.exchange(health, PATIENCE)?;
        let is_well = health.starts_with(b"HTTP/1.0 200");
        require(is_well, || format!("health says {}", String::from_utf8_lossy(&health)))
    }

    /// A message of MCP, over HTTP and on standard input: as above, and on a pipe every line of the
    /// answer is a message.
    pub(super) fn check_mcp(&self, bytes: &[u8]) -> Result<(), Broken> {
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            bytes.len()
        )
        .into_bytes();
        request.extend_from_slice(bytes);
        self.check_http(&request)?;
        // A process for each case is slow.
        if !bytes.len().is_multiple_of(16) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        let said = self.gbrain.run_with_input(&["mcp"], &text);
        let said = said.map_err(|error| error.to_string())?;
        check_output(&said)?;
        check_private(said.stdout.as_bytes())?;
        for line in said.stdout.lines().filter(|line| !line.trim().is_empty()) {
            let message: Result<Value, _> = serde_json::from_str(line);
            let is_message = message.is_ok_and(|message| message["jsonrpc"] == "2.0");
            require(is_message, || format!("no message: {line}"))?;
        }
        Ok(())
    }

    /// `config.json`: commands end with a code of theirs, a refusal names the file or what is wrong in
    /// it, and no password is told.
    pub(super) fn check_config(&self, bytes: &[u8]) -> Result<(), Broken> {
        let path = self.other.home().join("config.json");
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let command = COMMANDS[bytes.len() % COMMANDS.len()];
        // A database may be a path: it is one below the home of the case.
        let mut command = self.other.command(command);
        command.current_dir(self.other.home());
        let said = Running::start(command, "").and_then(Running::wait);
        let said = said.map_err(|error| error.to_string())?;
        check_output(&said)?;
        let refused = said.code != Some(0);
        require(!refused || said.stderr.len() > 12, || format!("refused with {:?}", said.stderr))?;
        let told = [&said.stdout, &said.stderr].iter().any(|text| shows_password(text));
        require(!told, || format!("a password is told: {} {}", said.stdout, said.stderr))
    }

    /// Sends bytes and gives all that comes back. The sending is ended if nothing comes back within `rest_timeout`,
    /// because the server then waits for the rest of a request; it is not ended before, because a server stops working
    /// for a client that has gone away.
    fn exchange(&self, bytes: &[u8], rest_timeout: Duration) -> Result<Vec<u8>, Broken> {
        let failed = |error: std::io::Error| format!("no answer: {error}");
        let mut stream = TcpStream::connect(self.served.address()).map_err(failed)?;
        stream.set_read_timeout(Some(rest_timeout)).map_err(failed)?;
        // A server may refuse before it has read everything.
        let _ = stream.write_all(bytes);
        let mut is_ended = false;
        let mut answer = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Ok(answer),
                Ok(length) => answer.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && !is_ended => {
                    is_ended = true;
                    let _ = stream.shutdown(Shutdown::Write);
                    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Ok(answer);
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// No answer, or one whose status tells of nothing that went wrong inside.
fn check_answer(answer: &[u8]) -> Result<(), Broken> {
    check_private(answer)?;
    let text = String::from_utf8_lossy(answer);
    for head in text.split("HTTP/1.").skip(1) {
        let status = head.split(' ').nth(1).and_then(|word| word.parse::<u16>().ok());
        let is_inside = status.is_some_and(|status| status == 500 || status > 504);
        require(!is_inside, || format!("it answers {text}"))?;
    }
    let is_answer = answer.is_empty() || answer.starts_with(b"HTTP/1.");
    require(is_answer, || format!("no answer of the protocol: {text}"))?;
    require(!text.contains("\"code\":-32603"), || format!("it answers {text}"))
}

fn check_private(answer: &[u8]) -> Result<(), Broken> {
    let is_private = |words: &&str| memchr::memmem::find(answer, words.as_bytes()).is_some();
    let found = PRIVATE.iter().find(|words| is_private(words));
    require(found.is_none(), || format!("private: {}", String::from_utf8_lossy(answer)))
}

fn check_output(output: &Output) -> Result<(), Broken> {
    let is_ended = matches!(output.code, Some(0..=2));
    require(is_ended, || format!("it ended with {:?}: {}", output.code, output.stderr))?;
    require(!reports_panic(&output.stderr), || output.stderr.clone())
}
