//! A server on a real socket whose reading of bodies is held at an event.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::access::LoopbackAccess;
use crate::work_queue::QueueLimits;

/// Longer than anything here takes on a busy machine: past it something hangs.
const HANGS: Duration = Duration::from_secs(60);

struct Site {
    shared: Arc<ServerState>,
    address: SocketAddr,
    /// Told when a body is about to be read.
    reached: Receiver<()>,
    /// Lets one body be read.
    release: Sender<()>,
    _runtimes: [Runtime; 2],
    _dir: tempfile::TempDir,
}

/// One thread for the reactor and one for messages: whatever blocks either is seen at once.
fn site(timeout: Duration) -> Site {
    let dir = tempfile::tempdir().unwrap();
    let registry = Arc::new(WorkspaceRegistry::in_dir(dir.path()));
    let thread = || Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (reactor, messages) = (thread(), thread());
    let queue_limits = QueueLimits { readers: 1, writers: 1, waiting: 8, timeout: HANGS };
    let home = WorkspaceId::default();
    let components = ServerComponents {
        authenticator: Authenticator::new(registry.share_store(), None, LoopbackAccess::Open, home),
        registry,
        guard: OriginGuard::default(),
        queues: WorkQueues::new(queue_limits),
        audit: Audit { dir: dir.path().join("audit") },
        limits: RequestLimits { body: 1 << 20, body_timeout: HANGS, timeout },
    };
    let shared = Arc::new(ServerState::new(components, messages.handle().clone()));
    let (tell, reached) = channel();
    let (release, released) = channel();
    let released = Mutex::new(released);
    let hold = move || {
        let _ = tell.send(());
        let _ = released.lock().unwrap().recv();
    };
    assert!(shared.memory.before_reading.set(Box::new(hold)).is_ok());
    let connections = ConnectionOptions {
        max_connections: 64,
        per_address: 64,
        first_request_timeout: HANGS,
        header_timeout: HANGS,
        write_timeout: HANGS,
        drain: Duration::ZERO,
    };
    let listener = reactor.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let app = router(shared.clone());
    let open = shared.open.clone();
    reactor.spawn(listen(listener, app, connections, open, std::future::pending()));
    Site { shared, address, reached, release, _runtimes: [reactor, messages], _dir: dir }
}

impl Site {
    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(HANGS)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    fn has_page(&self) -> bool {
        let key = PageKey::parse("held", &SourceId::default()).unwrap();
        let (store, ws) = (self.shared.registry.store(), WorkspaceId::default());
        store.page(&ws, &key).unwrap().is_some()
    }

    /// Waits until the lane of writes is free again.
    fn wait_for_writer(&self) {
        let stream = self.send("DELETE", "/v1/pages/nowhere", "");
        assert!(answer_of(stream).starts_with("HTTP/1.1 404"));
    }
}

fn answer_of(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Bodies are read off the reactor: while one is being read, health is answered, and the body when it
/// was read.
#[test]
fn health_is_answered_while_a_body_is_read() {
    let site = site(HANGS);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    for (path, body) in [
        ("/v1/search", r#"{"query":"boats"}"#),
        ("/v1/compare", r#"{"results":[]}"#),
        ("/v1/labels", r#"{"labels":[]}"#),
        ("/mcp", ping),
    ] {
        let held = site.send("POST", path, body);
        site.reached.recv_timeout(HANGS).unwrap_or_else(|_| panic!("{path} is not read"));
        for _ in 0..3 {
            let health = answer_of(site.send("GET", "/v1/health", ""));
            assert!(health.starts_with("HTTP/1.1 200"), "{path}: {health}");
        }
        site.release.send(()).unwrap();
        let answered = answer_of(held);
        assert!(answered.starts_with("HTTP/1.1 "), "{path}: {answered}");
    }
}

/// A request whose caller has gone, or was told that it took too long, gives its turn back without
/// doing what it was asked for.
#[test]
fn abandoned_requests_are_not_executed() {
    let body = r#"{"content":"late"}"#;
    let gone = site(HANGS);
    let stream = gone.send("PUT", "/v1/pages/held", body);
    gone.reached.recv_timeout(HANGS).unwrap();
    drop(stream);
    while gone.shared.open.load(Ordering::Relaxed) > 0 {
        std::thread::yield_now();
    }
    gone.release.send(()).unwrap();
    gone.wait_for_writer();
    assert!(!gone.has_page());

    let late = site(Duration::from_millis(50));
    let stream = late.send("PUT", "/v1/pages/held", body);
    late.reached.recv_timeout(HANGS).unwrap();
    let answered = answer_of(stream);
    assert!(
        answered.starts_with("HTTP/1.1 503") && answered.contains("took too long"),
        "{answered}"
    );
    late.release.send(()).unwrap();
    let decent = site(HANGS);
    let stream = decent.send("PUT", "/v1/pages/held", body);
    decent.reached.recv_timeout(HANGS).unwrap();
    decent.release.send(()).unwrap();
    assert!(answer_of(stream).starts_with("HTTP/1.1 200"));
    assert!(decent.has_page());
    // The only turn of the other is free as well; its own bounds may make this one late too.
    while !answer_of(late.send("DELETE", "/v1/pages/nowhere", "")).starts_with("HTTP/1.1 404") {}
    assert!(!late.has_page());
}
