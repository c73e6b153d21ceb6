//! Receivers of alerts on loopback: PagerDuty's events, a chat's webhook, a signed webhook, with faults.
//!
//! The path selects the receiver: `/pagerduty`, `/chat/...`, and any other path for a generic webhook. It refuses
//! messages that the real receiver would refuse. Accepted messages are recorded in their order; messages lost to a fault
//! are not.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::listener::{Incoming, Listener, respond};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing: it is taken.
    None,
    /// A status, with the seconds of a `retry-after`.
    Status(u16, Option<u64>),
    /// No answer for so long, then the connection is closed.
    Hang(Duration),
    /// The connection is closed without a word.
    Close,
    /// The response is not HTTP.
    Garbage,
    /// It is taken, and the answer breaks off after its head.
    Cut,
}

/// A message that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedMessage {
    pub path: String,
    /// The headers as they came.
    pub head: String,
    /// The body as it came.
    pub text: String,
    pub body: Value,
}

impl ReceivedMessage {
    /// A header by its name in small letters; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let of = |line: &'_ str| -> Option<usize> {
            let (known, _) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(known.len() + 1)
        };
        self.head.lines().find_map(|line| Some(line[of(line)?..].trim())).unwrap_or("")
    }
}

/// The fault injected into a message, by its number from 1 and its path.
pub type Refusals = dyn Fn(u64, &str) -> Refusal + Send + Sync;

/// The receivers; they stop when they are dropped.
pub struct Receivers {
    listener: Listener,
    taken: Arc<Mutex<Vec<ReceivedMessage>>>,
}

const CONNECTIONS: usize = 128;

impl Receivers {
    /// Receivers that take everything.
    pub fn start() -> std::io::Result<Self> {
        Self::start_with(|_, _| Refusal::None)
    }

    pub fn start_with(
        refusals: impl Fn(u64, &str) -> Refusal + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), refusals)
    }

    /// Like `start`, at a given address.
    pub fn start_at(
        address: SocketAddr,
        refusals: impl Fn(u64, &str) -> Refusal + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let own = taken.clone();
        let listener = Listener::start_at(address, CONNECTIONS, move |stream, incoming| {
            answer(stream, incoming, &refusals, &own)
        })?;
        Ok(Self { listener, taken })
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.listener.url())
    }

    /// How many messages came, taken or not.
    pub fn requests(&self) -> u64 {
        self.listener.requests()
    }

    /// Every request as it came, taken or not.
    pub fn requests_kept(&self) -> Vec<Incoming> {
        self.listener.kept()
    }

    /// The accepted messages, in the order of arrival.
    pub fn taken(&self) -> Vec<ReceivedMessage> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How much was taken.
    pub fn count(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// None if the connection is over.
fn answer(
    stream: &mut TcpStream,
    incoming: &Incoming,
    refusals: &Refusals,
    taken: &Mutex<Vec<ReceivedMessage>>,
) -> Option<()> {
    let refusal = refusals(incoming.number, &incoming.path);
    match refusal {
        Refusal::None | Refusal::Cut => (),
        Refusal::Status(status, after) => {
            let after = after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
            // Careless servers quote what they were sent.
            let said = json!({ "message": format!("as planned; you sent {}", incoming.body) });
            return respond(stream, status, &after, &said.to_string());
        }
        Refusal::Hang(time) => {
            std::thread::sleep(time);
            return None;
        }
        Refusal::Close => return None,
        Refusal::Garbage => {
            stream.write_all(b"what do you want?\r\n\r\n").ok()?;
            return None;
        }
    }
    let body: Value = serde_json::from_str(&incoming.body).unwrap_or_default();
    let (status, said) = match judged(&incoming.path, &body) {
        Ok(good) => good,
        Err(why) => return respond(stream, 400, "", &json!({ "message": why }).to_string()),
    };
    let Incoming { method: _, number: _, path, head, body: text } = incoming.clone();
    taken.lock().unwrap_or_else(PoisonError::into_inner).push(ReceivedMessage {
        path,
        head,
        text,
        body,
    });
    if refusal == Refusal::Cut {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 1000\r\n\r\nand then");
        stream.write_all(head.as_bytes()).ok()?;
        return None;
    }
    respond(stream, status, "", &said)
}

/// The reply of the real receiver.
fn judged(path: &str, body: &Value) -> Result<(u16, String), &'static str> {
    let has = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if path.starts_with("/pagerduty") {
        let action = body["event_action"].as_str().unwrap_or_default();
        if !has(&body["routing_key"]) || !has(&body["dedup_key"]) {
            return Err("routing_key and dedup_key are required");
        }
        if body["dedup_key"].as_str().is_some_and(|key| key.len() > 255) {
            return Err("dedup_key is longer than 255");
        }
        let payload = &body["payload"];
        let is_whole =
            has(&payload["summary"]) && has(&payload["source"]) && has(&payload["severity"]);
        return match action {
            "trigger" if !is_whole => Err("a trigger needs summary, source and severity"),
            "trigger" | "resolve" | "acknowledge" => {
                let said = json!({ "status": "success", "message": "Event processed", "dedup_key": body["dedup_key"] });
                Ok((202, said.to_string()))
            }
            _ => Err("event_action is none"),
        };
    }
    if path.starts_with("/chat") {
        return if has(&body["text"]) { Ok((200, "ok".to_owned())) } else { Err("no_text") };
    }
    if body.is_object() { Ok((200, "{}".to_owned())) } else { Err("no document") }
}
