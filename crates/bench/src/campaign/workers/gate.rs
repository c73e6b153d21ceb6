//! Where the server is at the moment, for callers who come back after every kill.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};

use gbrain_testkit::http::{Answer, Caller};

/// How long a caller waits before it looks again for a server.
const PAUSE: Duration = Duration::from_millis(2);

/// The way to the server, while there is one.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The life of the server and where it listens.
    open: Mutex<Option<(u64, SocketAddr)>>,
    /// Lives that have ended, or are about to.
    ended: AtomicU64,
    is_over: AtomicBool,
}

impl Gate {
    /// A new server takes requests.
    pub(super) fn open(&self, address: SocketAddr) {
        let life = self.ended.load(Ordering::Acquire) + 1;
        *self.lock() = Some((life, address));
    }

    /// The server is about to be killed: from here on its callers may hear nothing.
    pub(super) fn close(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
        *self.lock() = None;
    }

    /// Stops all callers.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether it is time to go home.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn has_ended(&self, life: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= life
    }

    /// The server, waited for; none when it is time to go home.
    fn server(&self) -> Option<(u64, SocketAddr)> {
        loop {
            if let Some(open) = *self.lock() {
                return Some(open);
            }
            if self.is_over() {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(u64, SocketAddr)>> {
        self.open.lock().expect("nobody panics while holding it")
    }
}

/// A caller who comes back.
#[derive(Debug)]
pub(super) struct Line<'a> {
    gate: &'a Gate,
    caller: Option<(u64, Caller)>,
}

impl<'a> Line<'a> {
    pub(super) fn new(gate: &'a Gate) -> Self {
        Self { gate, caller: None }
    }

    /// Sends a request. None if the server was killed before its answer was heard, so that nobody
    /// knows what became of it; a server that lives and does not answer is an error.
    pub(super) fn call(&mut self, method: &str, path: &str, body: &str) -> Result<Option<Answer>> {
        let Some((life, mut caller)) = self.connected()? else { return Ok(None) };
        match caller.call(method, path, body.as_bytes()) {
            Ok(answer) => {
                self.caller = Some((life, caller));
                Ok(Some(answer))
            }
            Err(_) if self.gate.has_ended(life) => Ok(None),
            Err(error) => Err(error).context(format!("{method} {path} of a server that lives")),
        }
    }

    fn connected(&mut self) -> Result<Option<(u64, Caller)>> {
        if let Some((life, caller)) = self.caller.take()
            && !self.gate.has_ended(life)
        {
            return Ok(Some((life, caller)));
        }
        loop {
            let Some((life, address)) = self.gate.server() else { return Ok(None) };
            match Caller::connect(address) {
                Ok(caller) => return Ok(Some((life, caller))),
                Err(_) if self.gate.has_ended(life) => std::thread::sleep(PAUSE),
                Err(error) => return Err(error).context("a server that lives takes no caller"),
            }
        }
    }
}
