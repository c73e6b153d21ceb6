//! A small HTTP server on loopback for tests: it reads, counts and records whole requests, and a function of the test
//! writes the response, byte by byte if needed.
//!
//! Deliberately absent: TLS, chunked requests, anything of HTTP that clients of ours do not send.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The number of the request, from 1.
    pub number: u64,
    pub method: String,
    /// With what comes after the `?`.
    pub path: String,
    /// The headers as they came.
    pub head: String,
    pub body: String,
}

/// Answers a request; none ends the connection.
pub type Answers = dyn Fn(&mut TcpStream, &Incoming) -> Option<()> + Send + Sync;

/// The server; it stops when it is dropped.
pub struct Listener {
    address: SocketAddr,
    shared: Arc<SharedState>,
}

struct SharedState {
    answers: Box<Answers>,
    requests: AtomicU64,
    stopped: AtomicBool,
    kept: Mutex<Vec<Incoming>>,
    /// Connections that may be open still.
    free: Mutex<usize>,
    freed: Condvar,
    /// Requests that are being answered, and the most at once.
    busy: AtomicU64,
    most: AtomicU64,
}

impl Listener {
    /// A server with so many connections at once; others wait.
    pub fn start(
        connections: usize,
        answers: impl Fn(&mut TcpStream, &Incoming) -> Option<()> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), connections, answers)
    }

    /// Like `start`, at a given address, such as that of a listener that ended.
    pub fn start_at(
        address: SocketAddr,
        connections: usize,
        answers: impl Fn(&mut TcpStream, &Incoming) -> Option<()> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(SharedState {
            answers: Box::new(answers),
            requests: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            kept: Mutex::default(),
            free: Mutex::new(connections.max(1)),
            freed: Condvar::new(),
            busy: AtomicU64::new(0),
            most: AtomicU64::new(0),
        });
        let own = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.stopped.load(Ordering::Relaxed) {
                    return;
                }
                own.take_place();
                let own = own.clone();
                std::thread::spawn(move || {
                    own.serve(stream);
                    own.give_place();
                });
            }
        });
        Ok(Self { address, shared })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// The most requests that were being answered at once.
    pub fn most_at_once(&self) -> u64 {
        self.shared.most.load(Ordering::SeqCst)
    }

    /// All requests so far.
    pub fn kept(&self) -> Vec<Incoming> {
        lock(&self.shared.kept).clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl SharedState {
    /// Answers a connection's requests, one after another.
    fn serve(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while let Some((method, path, head, body)) = read(&mut reader) {
            let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
            let incoming = Incoming { number, method, path, head, body };
            lock(&self.kept).push(incoming.clone());
            let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(busy, Ordering::SeqCst);
            let answered = (self.answers)(reader.get_mut(), &incoming);
            self.busy.fetch_sub(1, Ordering::SeqCst);
            if answered.is_none() {
                return;
            }
        }
    }

    fn take_place(&self) {
        let mut free = lock(&self.free);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
    }

    fn give_place(&self) {
        *lock(&self.free) += 1;
        self.freed.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<(String, String, String, String)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, path, head, String::from_utf8(body).ok()?))
}

/// Writes a whole answer.
pub fn respond(stream: &mut TcpStream, status: u16, extra: &str, body: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}
