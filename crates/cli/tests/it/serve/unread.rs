//! Callers who ask for much and take nothing of it: their answers take bounded memory, and their connections
//! are busy until everything was sent.

use std::io::Write as _;
use std::net::TcpStream;

use super::client::{Call, Reply, Server};
use crate::support::Home;

const MIB: usize = 1 << 20;

/// A home with a page that no buffer of the operating system holds.
fn home_with_large_page() -> Home {
    let home = Home::sqlite();
    let file = home.path().join("large.md");
    std::fs::write(&file, "word ".repeat(15 * MIB / 5)).unwrap();
    home.ok(&["put", "large", file.to_str().unwrap()]);
    home
}

/// Asks for the page, and takes nothing but the status.
fn ask(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    let head = b"GET /v1/pages/large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(head).unwrap();
    stream
}

/// The status of an answer, of which nothing else is taken.
fn status(stream: &TcpStream) -> String {
    let mut start = [0; 12];
    while stream.peek(&mut start).unwrap() < start.len() {}
    String::from_utf8_lossy(&start[9..]).into_owned()
}

/// Beyond a limit, connections with unread answers are refused, and the server answers others.
#[test]
fn unread_answers_take_bounded_memory() {
    let home = home_with_large_page();
    let flags = ["--connections-per-address", "1024", "--jobs", "0", "--readers", "1"];
    let server = Server::start(&home, &flags);
    drop(Reply::read(ask(&server)));
    let (before, ()) = server.peak_memory(|| ());
    let (peak, (open, statuses)) = server.peak_memory(|| {
        // One after the other: many at once are also refused because the queue is full.
        let (mut open, mut statuses) = (Vec::new(), Vec::new());
        while open.len() < 60 && statuses.iter().filter(|status| *status == "429").count() < 3 {
            let stream = ask(&server);
            statuses.push(status(&stream));
            open.push(stream);
        }
        (open, statuses)
    });
    // On a very slow machine the first are closed, because nothing of them is taken, before the last are asked.
    let is_known = |status: &String| status == "200" || status == "429";
    assert!(statuses.iter().all(is_known) && statuses.len() > 10, "{statuses:?}");
    assert!(statuses.iter().any(|status| status == "429"), "{statuses:?}");
    // All the memory for answers, and what making one takes.
    let memory = peak.saturating_sub(before);
    assert!(memory < (256 + 100) * MIB, "{} MiB", memory / MIB);
    let small = server.send(&Call::get("/v1/pages"));
    assert_eq!(small.status, 200, "small answers are sent: {}", small.whole());
    let at = statuses.iter().position(|status| status == "429").unwrap();
    let refused = Reply::read(open[at].try_clone().unwrap()).unwrap();
    assert!(refused.header("retry-after").is_some() && refused.header("x-request-id").is_some());
    drop(open);
    // Their memory is free as soon as the server has seen that they are gone.
    while Reply::read(ask(&server)).unwrap().status != 200 {
        std::thread::yield_now();
    }
    server.stop();
}

/// Whoever is still taking an answer keeps the connection, and those who are refused meanwhile hear why,
/// however much they send.
#[test]
fn an_answer_that_is_being_taken_is_not_cut() {
    let home = home_with_large_page();
    let flags = ["--connections", "2", "--connections-per-address", "2", "--jobs", "0"];
    let server = Server::start(&home, &flags);
    let busy = [ask(&server), ask(&server)];
    assert_eq!(busy.each_ref().map(status), ["200", "200"]);
    let body = vec![b' '; 12 * MIB];
    for call in [
        Call::get("/v1/pages"),
        Call::new("POST", "/v1/query").body("application/json", body.clone()),
        Call::new("PUT", "/v1/qrels/a").body("text/plain", body),
    ] {
        let reply = server.send(&call);
        assert_eq!(reply.status, 503, "{}", reply.whole());
        for name in ["retry-after", "x-request-id", "x-content-type-options", "cache-control"] {
            assert!(reply.header(name).is_some(), "{name}: {}", reply.whole());
        }
        assert_eq!(server.send(&Call::get("/v1/health")).status, 200);
    }
    for stream in busy {
        let reply = Reply::read(stream).unwrap();
        let length: usize = reply.header("content-length").unwrap().parse().unwrap();
        assert_eq!((reply.body.len(), length > 15 * MIB), (length, true), "it was cut");
    }
    while server.send(&Call::get("/v1/pages")).status != 200 {
        std::thread::yield_now();
    }
    server.stop();
}

/// `gbrain serve` under a limit of open files.
fn limited(home: &Home, limit: &str) -> std::process::Command {
    let serve = home.command(&["serve"]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]);
    limited.arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

/// The usual limit of shells is raised as far as it may be; where it may not, fewer connections are taken, and
/// more than that keep nobody out.
#[test]
fn connections_fit_the_limit_of_open_files() {
    let home = Home::sqlite();
    let server = Server::of(limited(&home, "ulimit -Sn 256"), &["--jobs", "0"]);
    let (soft, hard) = server.open_files_limit();
    assert_eq!(soft, hard);
    assert_ne!(soft, "256");
    server.stop();

    let server = Server::of(limited(&home, "ulimit -n 128"), &["--jobs", "0"]);
    let idle: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    for _ in 0..8 {
        assert_eq!(server.send(&Call::get("/v1/health")).status, 200);
        assert_eq!(server.send(&Call::get("/v1/pages")).status, 200);
    }
    drop(idle);
    let log = server.stop().stderr;
    assert!(log.contains("fewer connections are accepted"), "{log}");
}
