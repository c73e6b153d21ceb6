//! A running server, and callers of it: decent ones, and ones that send whatever they like.
//!
//! Each request has a connection of its own, which the server closes after its answer: what comes
//! after one can't be mistaken for a part of it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use gbrain_core::defect::reports_panic;
use gbrain_testkit::process::Output;
use gbrain_testkit::served::Served;
use gbrain_testkit::vitals::status_kib;
use serde_json::Value;

use crate::support::Home;

/// Longer than any answer may take on a busy machine: past this the server hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a home, on a free port.
pub(crate) struct Server(Served);

impl Server {
    /// Starts `gbrain serve` with these flags, and waits until it listens.
    pub(crate) fn start(home: &Home, flags: &[&str]) -> Self {
        Self::of(home.command(&["serve"]), flags)
    }

    /// The same of a command whose environment was prepared.
    pub(crate) fn of(mut command: Command, flags: &[&str]) -> Self {
        command.args(flags).env_remove("GBRAIN_LOG").env_remove("GBRAIN_TOKEN_KEY");
        Self(Served::start(command).unwrap())
    }

    /// The address it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// The most memory that it took while something was done, in bytes.
    pub(crate) fn peak_memory<T>(&self, work: impl FnOnce() -> T) -> (usize, T) {
        peak_memory(self.0.pid(), work)
    }

    /// How many files it may have open, and how many it may allow itself.
    pub(crate) fn open_files_limit(&self) -> (String, String) {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.0.pid())).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    }

    /// A connection that nothing was sent on.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.0.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends a request and reads its whole answer.
    #[track_caller]
    pub(crate) fn send(&self, call: &Call) -> Reply {
        self.raw(&call.bytes()).unwrap_or_else(|| panic!("no answer to {call:?}"))
    }

    /// Sends bytes; the answer, if there was one before the connection was closed.
    #[track_caller]
    pub(crate) fn raw(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = self.connect();
        // A server that has read enough may close before it has read everything.
        let _ = stream.write_all(bytes);
        Reply::read(stream)
    }

    /// Tells it to end, waits for that, and gives what it printed and logged.
    #[track_caller]
    pub(crate) fn stop(self) -> Output {
        let output = self.0.stop().unwrap();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert!(!reports_panic(&output.stderr), "{}", output.stderr);
        output
    }
}

/// The most resident memory that a process had while something was done, in bytes. It does not depend on how
/// busy the machine is.
pub(crate) fn peak_memory<T>(pid: u32, work: impl FnOnce() -> T) -> (usize, T) {
    // Earlier connections do not count unless they are still open.
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    let done = work();
    let kib = status_kib(pid, "VmHWM") as usize;
    assert!(kib > 0, "process {pid} is gone");
    (kib << 10, done)
}

#[derive(Clone)]
pub(crate) struct Call {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Call {
    /// A request without a body.
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// A request that looks.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn json(method: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self::new(method, path).body("application/json", body.to_string())
    }

    /// A call of the Model Context Protocol.
    pub(crate) fn mcp(method: &str, params: &Value) -> Self {
        let message =
            serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Self::json("POST", "/mcp", &message)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
    }

    /// The same request with a body.
    pub(crate) fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }.header("content-type", content_type)
    }

    /// The same request with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request of the bearer of a token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn bytes(&self) -> Vec<u8> {
        let Self { method, path, headers, body } = self;
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !self.has("host") {
            text += "host: localhost\r\n";
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || *method != "GET" {
            text += &format!("content-length: {}\r\n", body.len());
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes()))
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Reads until the server closes; none if it closed without a word.
    #[track_caller]
    pub(crate) fn read(mut stream: TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        if let Err(error) = stream.read_to_end(&mut bytes) {
            let is_hang = matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            );
            assert!(!is_hang, "the server neither answered nor closed: {bytes:?}");
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers = lines.filter_map(header).collect();
        let mut reply = Self { status, headers, body: bytes[end + 4..].to_vec() };
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.body = unchunked(&reply.body);
        }
        Some(reply)
    }

    /// A header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    /// The answer to a call of the Model Context Protocol: JSON, or the data of its one event.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let text = self.text();
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = data.map(str::trim).find(|data| !data.is_empty()).unwrap();
            return serde_json::from_str(data).unwrap();
        }
        self.json()
    }

    /// Everything that was sent: status, headers and body.
    pub(crate) fn whole(&self) -> String {
        format!("{} {:?}\n{}", self.status, self.headers, self.text())
    }

    /// Whether it was done.
    pub(crate) fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// The content of a body in chunks, as far as it came.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let chunk = rest.get(end + 2..end + 2 + size);
        let Some(chunk) = chunk.filter(|chunk| !chunk.is_empty()) else { break };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

/// Makes a token of the home's workspace and gives it.
#[track_caller]
pub(crate) fn token(home: &Home, scope: &str) -> String {
    token_of(home, "default", scope)
}

/// Makes a token of a workspace, one that may ask as often as it likes.
#[track_caller]
pub(crate) fn token_of(home: &Home, workspace: &str, scope: &str) -> String {
    let name = format!("{workspace} {scope}");
    let args = ["tokens", "create", "--name", &name, "--scope", scope, "--rate", "1000000"];
    let args: Vec<&str> = ["--workspace", workspace].into_iter().chain(args).collect();
    home.json(&args)["token"].as_str().unwrap().to_owned()
}
