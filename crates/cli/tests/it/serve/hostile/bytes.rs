//! Hostile bytes: bodies without end, headers without sense, and connections that go nowhere.

use std::io::Write as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use super::Besieged;
use crate::serve::client::{Call, Reply, Server};
use crate::support::Home;

const MIB: usize = 1 << 20;

impl Besieged {
    /// A request of the token's bearer as bytes, with these headers and this body.
    fn request(&self, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let token = &self.token;
        let mut bytes = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}\r\n"
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// Sends bytes and says that no more will come; the answer, if there was one.
fn send_and_end(server: &Server, bytes: &[u8]) -> Option<Reply> {
    let mut stream = server.connect();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    Reply::read(stream)
}

#[test]
fn bodies_that_are_too_large_are_not_read() {
    let besieged = Besieged::new(Home::sqlite(), &["--max-body", "1"]);
    for path in ["/v1/query", "/v1/pages/a", "/v1/compare", "/mcp"] {
        let announced = besieged.request(path, "content-length: 99999999999\r\n", b"{");
        let method = if path == "/v1/pages/a" { "PUT " } else { "POST " };
        let spelt = |bytes: Vec<u8>| [method.as_bytes(), &bytes["POST ".len()..]].concat();
        let reply = besieged.server.raw(&spelt(announced)).unwrap();
        assert_eq!(reply.status, 413, "{path}: {}", reply.whole());
        let mut chunks = Vec::new();
        for _ in 0..3 {
            chunks.extend_from_slice(format!("{MIB:x}\r\n").as_bytes());
            chunks.extend(std::iter::repeat_n(b' ', MIB));
            chunks.extend_from_slice(b"\r\n");
        }
        let unannounced = besieged.request(path, "transfer-encoding: chunked\r\n", &chunks);
        let reply = besieged.server.raw(&spelt(unannounced)).unwrap();
        assert_eq!(reply.status, 413, "{path}: {}", reply.whole());
    }
    besieged.relieve();
}

/// Whoever sends a large body that is refused hears why, though nobody reads all of it: the connection is
/// not broken before the answer.
#[test]
fn large_bodies_that_are_refused_are_answered() {
    let besieged = Besieged::new(Home::sqlite(), &["--max-body", "1"]);
    let body = vec![b' '; 12 * MIB];
    let length = format!("content-length: {}\r\n", body.len());
    let refused = |path: &str, expected: u16, spell: &dyn Fn(String) -> String| {
        let head = besieged.request(path, &length, b"");
        let mut bytes = spell(String::from_utf8(head).unwrap()).into_bytes();
        bytes.extend_from_slice(&body);
        for _ in 0..3 {
            let mut stream = besieged.server.connect();
            // All of it is sent before the answer is looked at, as most clients do.
            stream.write_all(&bytes).unwrap_or_else(|error| panic!("{expected}: {error}"));
            let reply = Reply::read(stream).unwrap_or_else(|| panic!("no answer, not {expected}"));
            assert_eq!(reply.status, expected, "{path}: {}", reply.whole());
        }
    };
    let token = format!("authorization: Bearer {}", besieged.token);
    refused("/v1/query", 413, &|head| head);
    refused("/mcp", 413, &|head| head);
    refused("/v1/query", 401, &|head| head.replace(&token, "x-none: 1"));
    refused("/v1/nowhere", 404, &|head| head);
    refused("/v1/query", 405, &|head| head.replacen("POST", "DELETE", 1));
    refused("/v1/query", 403, &|head| head.replace("host: localhost", "host: evil.example"));
    besieged.relieve();
}

#[test]
fn bodies_that_are_not_what_they_say_are_refused() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let chunked = "transfer-encoding: chunked\r\n";
    let broken: &[(&str, &[u8])] = &[
        (chunked, b"zz\r\n{}\r\n0\r\n\r\n"),
        (chunked, b"-2\r\n{}\r\n0\r\n\r\n"),
        (chunked, b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        (chunked, b"2\r\n{}xx\r\n0\r\n\r\n"),
        (chunked, b"2;ext=\"\r\n{}\n"),
        (chunked, b"5\r\n{}"),
        (chunked, b""),
        ("content-length: 50\r\n", b"{\"query\":"),
        ("content-length: 0\r\n", b""),
        ("content-length: 2\r\ncontent-length: 20\r\n", b"{}"),
        ("content-length: -2\r\n", b"{}"),
        ("content-length: +2\r\n", b"{}"),
        ("content-length: 2, 2\r\n", b"{}"),
        ("content-length: 0x2\r\n", b"{}"),
        ("content-length: 18446744073709551618\r\n", b"{}"),
        ("content-encoding: gzip\r\ncontent-length: 4\r\n", b"\x1f\x8b\x08\x00"),
    ];
    for (headers, body) in broken {
        for path in ["/v1/query", "/mcp"] {
            let bytes = besieged.request(path, headers, body);
            if let Some(reply) = send_and_end(&besieged.server, &bytes) {
                assert!((400..500).contains(&reply.status), "{headers:?} {}", reply.whole());
            }
        }
    }
    besieged.relieve();
}

/// A body that two readers would end at different places does not hide a second request.
#[test]
fn nothing_is_smuggled() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let hidden = format!(
        "PUT /v1/pages/smuggled HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 22\r\n\r\n{{\"content\":\"smuggled\"}}\r\n",
        besieged.token
    );
    let after_chunks = format!("0\r\n\r\n{hidden}");
    let length = after_chunks.len();
    let framings = [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
        format!("transfer-encoding: chunked, identity\r\ncontent-length: {length}\r\n"),
        format!("transfer-encoding: xchunked\r\ncontent-length: {length}\r\n"),
        format!("transfer-encoding : chunked\r\ncontent-length: {length}\r\n"),
        format!(
            "transfer-encoding: identity\r\ntransfer-encoding: chunked\r\ncontent-length: {length}\r\n"
        ),
        format!("transfer-encoding:\r\n chunked\r\ncontent-length: {length}\r\n"),
        format!("content-length: 0\r\ncontent-length: {length}\r\n"),
        format!("content-length: {length}\r\nX: a\nTransfer-Encoding: chunked\r\n"),
    ];
    for framing in framings {
        // The connection is kept, as between a proxy and us.
        let bytes = besieged.request("/v1/query", &framing, after_chunks.as_bytes());
        let text = String::from_utf8(bytes).unwrap().replacen("connection: close\r\n", "", 1);
        let reply = send_and_end(&besieged.server, text.as_bytes());
        if let Some(reply) = reply {
            assert!((400..500).contains(&reply.status), "{framing:?} {}", reply.whole());
        }
        let page = Call::get("/v1/pages/smuggled").token(&besieged.token);
        assert_eq!(besieged.server.send(&page).status, 404, "{framing:?}");
    }
    besieged.relieve();
}

#[test]
fn headers_without_sense_are_refused() {
    let besieged = Besieged::new(Home::sqlite(), &[]);
    let long = "a".repeat(MIB);
    let many: String = (0..5_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let requests: Vec<Vec<u8>> = vec![
        b"\r\n\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /v1/pages\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/9.9\r\nhost: localhost\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nx y: z\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\n folded: x\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\n: empty\r\n\r\n".to_vec(),
        b"GET /v1/pages/\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET /v1/pages/%ff%fe HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET /v1/pages/%zz HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET http://evil.example/v1/pages HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"CONNECT localhost:22 HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"TRACE /v1/pages HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"BREW /v1/pages HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n").into(),
        format!("GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n").into(),
        format!("GET /v1/pages HTTP/1.1\r\nhost: localhost\r\n{long}: x\r\n\r\n").into(),
        format!("GET /v1/pages HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").into(),
        format!("GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n", "gbt_".repeat(5_000)).into(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \xff\xfe\r\n\r\n".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nauthorization: a\r\nauthorization: b\r\n\r\n".to_vec(),
        b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\nexpect: 200-maybe\r\ncontent-length: 2\r\n\r\n{}".to_vec(),
        b"GET /v1/pages HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n".to_vec(),
    ];
    for request in requests {
        let start = String::from_utf8_lossy(&request[..request.len().min(80)]).into_owned();
        if let Some(reply) = send_and_end(&besieged.server, &request) {
            assert!((400..500).contains(&reply.status), "{start:?}: {}", reply.whole());
        }
    }
    // Of the caller's own ids only decent ones come back.
    let strange = ["a b", "<script>", &"x".repeat(129), "\"", "é"];
    for id in strange {
        let reply = besieged.server.send(&Call::get("/v1/health").header("x-request-id", id));
        assert_ne!(reply.header("x-request-id"), Some(id), "{}", reply.whole());
    }
    besieged.relieve();
}

/// A client that sends slowly is disconnected, and does not delay others meanwhile.
#[test]
fn slow_callers_are_given_up() {
    let besieged = Besieged::new(Home::sqlite(), &["--connections", "100"]);
    let begun = Instant::now();
    let head = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\nx-slow: ".to_vec();
    let body = besieged.request("/v1/query", "content-length: 100000\r\n", b"{");
    let mcp = besieged.request("/mcp", "content-length: 100000\r\n", b"{");
    let slow = |start: &[u8]| {
        let mut stream = besieged.server.connect();
        stream.write_all(start).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        (stream, start.to_vec())
    };
    let mut open: Vec<_> = (0..20).map(|_| slow(&head)).collect();
    open.extend((0..10).map(|_| slow(&body)));
    open.extend((0..5).map(|_| slow(&mcp)));
    open.extend((0..5).map(|_| slow(b"")));
    while !open.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(100), "{} are still open", open.len());
        let health = Instant::now();
        assert_eq!(besieged.server.send(&Call::get("/v1/health")).status, 200);
        assert!(health.elapsed() < Duration::from_secs(10), "others are kept waiting");
        std::thread::sleep(Duration::from_secs(1));
        open.retain_mut(|(stream, start)| goes_on(stream, start));
    }
    besieged.relieve();
}

/// Sends one byte more; false when the server has given up.
fn goes_on(stream: &mut std::net::TcpStream, start: &[u8]) -> bool {
    use std::io::Read as _;
    let mut bytes = [0; 4096];
    let sent = start.is_empty() || stream.write_all(b"a").is_ok();
    match stream.read(&mut bytes) {
        Ok(0) => false,
        Ok(length) => {
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            assert!(text.starts_with("HTTP/1.1 408"), "{text}");
            false
        }
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => sent,
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => sent,
        Err(_) => false,
    }
}

/// Connections that send nothing, or only part of a request, are closed for new ones, which do not wait
/// until the old ones time out.
#[test]
fn half_open_connections_block_no_others() {
    let flags = ["--connections", "64", "--connections-per-address", "64"];
    let besieged = Besieged::new(Home::sqlite(), &flags);
    let head = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\nx-slow: ".to_vec();
    let body = besieged.request("/v1/query", "content-length: 100000\r\n", b"{");
    let mut held: Vec<_> = [&b""[..], &head, &body, &body]
        .into_iter()
        .cycle()
        .take(200)
        .map(|start| {
            let mut stream = besieged.server.connect();
            stream.write_all(start).unwrap();
            stream
        })
        .collect();
    for _ in 0..8 {
        assert_eq!(besieged.server.send(&Call::get("/v1/health")).status, 200);
        let pages = Call::get("/v1/pages").token(&besieged.token);
        assert_eq!(besieged.server.send(&pages).status, 200);
    }
    // The last of them is still open: only older ones were closed, and none because of a timeout.
    let last = held.last_mut().unwrap();
    last.set_nonblocking(true).unwrap();
    let read = std::io::Read::read(last, &mut [0; 1]);
    assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    drop(held);
    besieged.relieve();
}

/// While all connections are busy a few more are answered: health checks, and others with a refusal.
#[test]
fn health_is_answered_while_all_connections_are_busy() {
    let flags = ["--connections", "2", "--connections-per-address", "2", "--jobs", "0"];
    let besieged = Besieged::new(Home::sqlite(), &flags);
    let send = |call: &Call| besieged.server.send(&call.clone().token(&besieged.token));
    let job = serde_json::json!({ "kind": "reindex" });
    assert_eq!(send(&Call::json("POST", "/v1/jobs", &job)).status, 202);
    let busy: Vec<_> = (0..2).map(|_| {
        let mut stream = besieged.server.connect();
        let head = format!(
            "GET /v1/jobs/1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            besieged.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    }).collect();
    for _ in 0..40 {
        assert_eq!(besieged.server.send(&Call::get("/v1/health")).status, 200);
        assert_eq!(besieged.server.send(&Call::get("/v1/ready")).status, 200);
        let refused = send(&Call::get("/v1/pages"));
        assert_eq!(refused.status, 503, "{}", refused.whole());
        assert!(refused.header("retry-after").is_some(), "{}", refused.whole());
    }
    drop(busy);
    // Their places are free as soon as the server has seen that they are gone.
    while send(&Call::get("/v1/pages")).status != 200 {
        std::thread::yield_now();
    }
    assert_eq!(send(&Call::new("POST", "/v1/jobs/1/cancel")).status, 200);
    besieged.home.ok(&["reindex"]);
    let log = besieged.server.stop().stderr;
    assert!(!log.contains(" ERROR "), "{log}");
}
