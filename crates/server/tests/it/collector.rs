//! A collector of spans: OTLP over HTTP with JSON, as little of it as a test needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// How a collector answers.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// With this status line.
    Status(&'static str),
    /// Not at all, while the connection stays open.
    Silent,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let kept = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = kept.clone();
                std::thread::spawn(move || serve(stream.unwrap(), manner, &kept));
            }
        });
        Self { endpoint, received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Every span of every request, in the order they came.
    pub(crate) fn spans(&self) -> Vec<Value> {
        let array = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
        let requests = self.received();
        let resources = requests.iter().flat_map(|request| array(&request.body, "resourceSpans"));
        let scopes = resources.flat_map(|resource| array(&resource, "scopeSpans"));
        scopes.flat_map(|scope| array(&scope, "spans")).collect()
    }
}

fn serve(stream: TcpStream, manner: Manner, kept: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(request) = read(&mut reader) {
        kept.lock().unwrap().push(request);
        match manner {
            Manner::Status(status) => {
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n\
                     location: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\n{{}}"
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
            Manner::Silent => std::thread::sleep(Duration::from_secs(60)),
        }
    }
}

/// One request, or none when the connection has ended.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    head.make_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    Some(Received { head, body: serde_json::from_slice(&body).unwrap() })
}
