//! Clients that send too little, too slowly or too much. They come from another address than honest callers.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_testkit::http::Caller;
use gbrain_testkit::vitals::status_kib;

use anyhow::Result;
use socket2::{Domain, Socket, Type};

use super::super::host::limit;
use super::super::report::{FindingKind, HealthTimes};
use super::super::subject::{Subject, TIMEOUT};

/// Where hostile clients come from.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The smallest JSON value that makes a parser allocate.
const ELEMENT: &[u8] = b"{\"\":0},";
/// Requests that a slow reader sends before it does not read.
const UNREAD: usize = 40;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(5);
/// The additional memory of a server under a memory limit: three times the limit of all bodies together.
const ROOM: u64 = 768 << 20;

impl Subject {
    /// Opens connections that never send a whole request. Honest callers are answered meanwhile.
    pub(super) fn hold_connections(&mut self) -> Result<()> {
        let count = self.sizes.half_open;
        self.row.method = format!("{count} connections with half a header, from another address");
        let address = self.server()?.address();
        let since = Instant::now();
        let held: Vec<TcpStream> = (0..count).filter_map(|_| half_open(address).ok()).collect();
        self.recover(since)?;
        self.work_beside()?;
        drop(held);
        self.recover(Instant::now())
    }

    /// Holds requests whose bodies come byte by byte, and answers that are not read.
    pub(super) fn hold_requests(&mut self) -> Result<()> {
        let count = self.sizes.slow;
        self.row.method = format!("{count} slow bodies and {count} unread answers");
        let address = self.server()?.address();
        let is_over = AtomicBool::new(false);
        let since = Instant::now();
        std::thread::scope(|scope| {
            let over = &is_over;
            let slow = scope.spawn(move || trickle(address, count, over));
            let unread: Vec<TcpStream> = (0..count).filter_map(|_| unread(address).ok()).collect();
            let done = self.recover(since).and_then(|()| self.work_beside());
            is_over.store(true, Ordering::Release);
            drop(unread);
            slow.join().map_err(|_| anyhow::anyhow!("the thread of slow clients panicked"))?;
            done
        })?;
        self.recover(Instant::now())
    }

    /// Sends large bodies of small values at once, and asks for `/v1/health` all the while.
    pub(super) fn send_hostile_bodies(&mut self) -> Result<()> {
        let (count, bytes) = (self.sizes.bodies, self.sizes.body_bytes);
        self.row.method = format!("{count} bodies of {} KiB at once", bytes >> 10);
        self.send_bodies()?;
        self.recover(Instant::now())?;
        self.work_beside()?;
        self.recover(Instant::now())
    }

    /// The same bodies while the server may not take much more memory.
    pub(super) fn limit_memory(&mut self) -> Result<()> {
        self.row.method = format!("address space limited to {} MiB more than idle", ROOM >> 20);
        let pid = self.server()?.pid();
        limit(pid, "as", Some(virtual_bytes(pid)? + ROOM))?;
        self.send_bodies()?;
        self.recover(Instant::now())?;
        self.work_beside()?;
        // A server that was started again has no limit.
        if self.server()?.pid() == pid {
            limit(pid, "as", None)?;
        }
        self.recover(Instant::now())
    }

    fn work_beside(&mut self) -> Result<()> {
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
            self.read();
        }
        self.hide_a_page()?;
        self.look_for_hidden();
        Ok(())
    }

    fn send_bodies(&mut self) -> Result<()> {
        let address = self.server()?.address();
        let (count, bytes) = (self.sizes.bodies, self.sizes.body_bytes);
        let values = ELEMENT.repeat(bytes / ELEMENT.len());
        let values = &values[..values.len() - 1];
        let times = std::thread::scope(|scope| {
            let senders: Vec<_> = (0..count)
                .map(|number| scope.spawn(move || send(address, number, values)))
                .collect();
            let mut times = Vec::new();
            let mut failures = 0;
            while !senders.iter().all(|sender| sender.is_finished()) || times.is_empty() {
                let asked = Instant::now();
                match health(address) {
                    Some(200) => times.push(asked.elapsed()),
                    _ => failures += 1,
                }
                if failures > 1_000 {
                    break;
                }
                std::thread::sleep(BETWEEN_SAMPLES);
            }
            (times, failures)
        });
        self.note_health(times)
    }

    fn note_health(&mut self, (times, failures): (Vec<Duration>, usize)) -> Result<()> {
        let regular = at_regular_times(&times);
        let at = |share: f64| {
            let last = regular.len().saturating_sub(1);
            let time = regular.get((last as f64 * share).round() as usize).copied();
            time.unwrap_or_default().as_secs_f64() * 1e3
        };
        let known = self.row.health.unwrap_or_default();
        let peak_mib = peak_kib(self.server()?.pid()) >> 10;
        self.row.health = Some(HealthTimes {
            samples: known.samples + times.len(),
            failures: known.failures + failures,
            // The worst round's.
            p99_ms: known.p99_ms.max(at(0.99)),
            max_ms: known.max_ms.max(at(1.0)),
            peak_mib: known.peak_mib.max(peak_mib),
        });
        if times.is_empty() {
            self.row.add(FindingKind::FalseGreen, "/v1/health never answered with 200");
        }
        Ok(())
    }
}

/// Sorted times as if requests had come at regular times: those that would have come while one waited, and
/// would have waited too, are added. Otherwise the longer a wait, the less it would count.
fn at_regular_times(times: &[Duration]) -> Vec<Duration> {
    let mut regular: Vec<Duration> = Vec::new();
    for &time in times {
        let mut left = Some(time);
        while let Some(wait) = left.filter(|wait| *wait > Duration::ZERO) {
            regular.push(wait);
            left = wait.checked_sub(BETWEEN_SAMPLES);
        }
    }
    regular.sort();
    regular
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((HOSTILE, 0)).into())?;
    socket.connect_timeout(&address.into(), Duration::from_secs(2))?;
    let stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

fn half_open(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = connect(address)?;
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: ")?;
    Ok(stream)
}

/// Asks for much and reads nothing of it.
fn unread(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = connect(address)?;
    let request = format!("GET /v1/openapi.json HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.set_write_timeout(Some(Duration::from_millis(200)))?;
    // A server that reads no more of them has done what it should.
    let _ = stream.write_all(request.repeat(UNREAD).as_bytes());
    Ok(stream)
}

/// Sends the bodies of requests one byte at a time, until it is over.
fn trickle(address: SocketAddr, count: usize, is_over: &AtomicBool) {
    let open = |_| {
        let mut stream = connect(address).ok()?;
        let head = format!(
            "POST /v1/query HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: 10000\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        Some(stream)
    };
    let mut streams: Vec<TcpStream> = (0..count).filter_map(open).collect();
    while !is_over.load(Ordering::Acquire) {
        streams.retain_mut(|stream| stream.write_all(b" ").is_ok());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Sends one hostile body; any response is accepted, and so is a closed connection.
fn send(address: SocketAddr, number: usize, values: &[u8]) -> Option<usize> {
    let (path, before, after): (_, &[u8], &[u8]) = match number % 3 {
        0 => ("/v1/compare", b"{\"results\":[", b"]}"),
        1 => ("/mcp", b"[", b"]"),
        _ => (
            "/mcp",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"query\",\
              \"arguments\":{\"query\":[",
            b"]}}}",
        ),
    };
    let length = before.len() + values.len() + after.len();
    let mut stream = connect(address).ok()?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    for part in [before, values, after] {
        stream.write_all(part).ok()?;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()
}

fn health(address: SocketAddr) -> Option<u16> {
    let mut caller = Caller::connect_within(address, Duration::from_secs(30)).ok()?;
    Some(caller.get("/v1/health").ok()?.status)
}

fn peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM")
}

fn virtual_bytes(pid: u32) -> Result<u64> {
    let kib = status_kib(pid, "VmSize");
    anyhow::ensure!(kib > 0, "the server is gone");
    Ok(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_counts_for_those_that_would_have_waited_too() {
        let millis =
            |times: &[u64]| times.iter().copied().map(Duration::from_millis).collect::<Vec<_>>();
        assert_eq!(at_regular_times(&millis(&[1, 12, 2])), millis(&[1, 2, 2, 7, 12]));
    }
}
