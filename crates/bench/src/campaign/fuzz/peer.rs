//! A server on this machine that says what it is told, whatever is said to it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

/// What stands between what is said on one connection and on the next.
const NEXT: &[u8] = b"\n=====\n";

/// How long a caller may keep a connection open.
const LINGER: Duration = Duration::from_secs(20);

pub(super) struct Peer {
    address: SocketAddr,
    parts: Arc<Mutex<Parts>>,
}

/// What is said on each connection, the last on all that follow.
#[derive(Default)]
struct Parts {
    said: Vec<Vec<u8>>,
    connections: usize,
}

impl Peer {
    /// Listens for as long as the process lives.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let parts = Arc::new(Mutex::new(Parts::default()));
        let shared = parts.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let said = next(&shared);
                std::thread::spawn(move || speak(&stream, &said));
            }
        });
        Ok(Self { address, parts })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on says this: parts for one connection each, with `=====` on a line between them.
    pub(super) fn say(&self, bytes: &[u8]) {
        let mut said = Vec::new();
        let mut rest = bytes;
        while let Some(at) = memchr::memmem::find(rest, NEXT) {
            said.push(rest[..at].to_vec());
            rest = &rest[at + NEXT.len()..];
        }
        said.push(rest.to_vec());
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Parts { said, connections: 0 };
    }
}

fn next(parts: &Mutex<Parts>) -> Vec<u8> {
    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
    parts.connections += 1;
    let at = parts.connections.min(parts.said.len());
    at.checked_sub(1).map(|at| parts.said[at].clone()).unwrap_or_default()
}

/// Says all of it, and then listens until the caller goes: a connection that is closed before would
/// take what was said with it.
fn speak(mut stream: &TcpStream, said: &[u8]) {
    let spoken = stream.write_all(said).and_then(|()| stream.shutdown(Shutdown::Write));
    if spoken.is_err() || stream.set_read_timeout(Some(LINGER)).is_err() {
        return;
    }
    let mut heard = [0; 4096];
    while matches!(stream.read(&mut heard), Ok(length) if length > 0) {}
}
