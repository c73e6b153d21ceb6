//! An MCP server over streamable HTTP: every request a POST, answered by a document or by a stream of
//! events, of which the one with the request's number is the answer.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::target::{Address, TargetError, TargetLimits};
use serde_json::{Value, json};

use crate::retriever::Surroundings;
use crate::retriever::http::{Caller, missed};
use crate::retriever::patience::Missed;

use super::Exchange;
use super::message;

/// Where a server keeps what it knows of a client.
const SESSION: &str = "mcp-session-id";
/// A session that the server has forgotten.
const GONE: u16 = 404;

/// What a server said when it introduced itself.
#[derive(Debug, Clone, Default)]
struct Session {
    id: Option<String>,
    protocol: String,
}

/// A server behind an address.
pub(super) struct Streamable {
    caller: Caller,
    session: Mutex<Option<Session>>,
    /// Held by whoever greets: one does, and the others wait for what comes of it.
    greeting: Mutex<()>,
    next: AtomicU64,
}

/// What came back: an answer, if there was one, and the session that it names.
struct Posted {
    answer: Option<Value>,
    session: Option<String>,
}

impl Streamable {
    pub(super) fn open(
        address: Address,
        limits: &TargetLimits,
        surroundings: &Surroundings,
    ) -> Result<Self, TargetError> {
        let caller = Caller::open(address, limits, surroundings)?;
        let next = AtomicU64::new(1);
        Ok(Self { caller, session: Mutex::default(), greeting: Mutex::default(), next })
    }

    /// The session, begun if there is none. What is kept is never held over a call: a server may forget
    /// us in the middle of the greeting.
    fn session(&self, timeout: Duration) -> Result<Session, Missed> {
        let _turn = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = self.kept() {
            return Ok(session);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let greeting = message::request(id, "initialize", &message::greeting());
        let posted = self.post(&Session::default(), &greeting, Some(id), timeout)?;
        let result = message::result(&posted.answer.unwrap_or_default())?;
        let protocol = result["protocolVersion"].as_str().unwrap_or(message::PROTOCOL).to_owned();
        let session = Session { id: posted.session, protocol };
        self.post(&session, &message::initialized(), None, timeout)?;
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        Ok(session)
    }

    fn kept(&self) -> Option<Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Posts a message; one with a number is answered.
    fn post(
        &self,
        session: &Session,
        body: &Value,
        id: Option<u64>,
        timeout: Duration,
    ) -> Result<Posted, Missed> {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![header("accept", "application/json, text/event-stream")];
        if !session.protocol.is_empty() {
            headers.push(header("mcp-protocol-version", &session.protocol));
        }
        headers.extend(session.id.as_deref().map(|session| header(SESSION, session)));
        let call = self.caller.call(&[], headers, Some(body.to_string().into_bytes()));
        let (client, secrets) = (self.caller.client(), self.caller.secrets());
        let posted = client.stream(&call, Some(timeout), secrets, &mut |head, body| {
            let content_type = head.header("content-type").unwrap_or_default();
            let is_stream = content_type.starts_with("text/event-stream");
            let answer = match id {
                None => None,
                Some(id) if is_stream => Some(event(body, id)?),
                Some(_) => Some(serde_json::from_reader(body).map_err(Error::from)?),
            };
            Ok(Posted { answer, session: head.header(SESSION).map(str::to_owned) })
        });
        posted.map_err(|failure| {
            if failure.status == Some(GONE) && session.id.is_some() {
                self.forget();
            }
            missed(failure)
        })
    }
}

/// The event of a stream that is the answer; what comes before it is passed over, what comes after it is
/// not waited for.
fn event(body: &mut dyn Read, id: u64) -> std::io::Result<Value> {
    let mut data = String::new();
    for line in BufReader::new(body).lines() {
        let line = line?;
        if let Some(more) = line.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        } else if line.is_empty() && !data.is_empty() {
            let message: Value = serde_json::from_str(&data)?;
            if message["id"] == json!(id) && message.get("method").is_none() {
                return Ok(message);
            }
            data.clear();
        }
    }
    Err(Error::new(ErrorKind::UnexpectedEof, "the stream ended without an answer"))
}

impl Exchange for Streamable {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, Missed> {
        // A server that has forgotten us is greeted once more.
        for is_last in [false, true] {
            let session = self.session(timeout)?;
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let request = message::request(id, method, &params);
            match self.post(&session, &request, Some(id), timeout) {
                Ok(posted) => return Ok(message::result(&posted.answer.unwrap_or_default())?),
                Err(missed) if is_last || self.kept().is_some() => return Err(missed),
                Err(_) => (),
            }
        }
        Err(TargetError::malformed("the server forgets every session").into())
    }

    fn hide(&self, text: String) -> String {
        self.caller.hide(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_in_a_stream() {
        let check = |stream: &str, expected: Option<Value>| {
            assert_eq!(event(&mut stream.as_bytes(), 7).ok(), expected, "{stream}");
        };
        let answer = json!({ "id": 7, "result": {} });
        check("data: {\"id\":7,\"result\":{}}\n\n", Some(answer.clone()));
        check(
            "event: message\nid: 1\ndata:{\"id\":7,\ndata: \"result\":{}}\n\nrest",
            Some(answer.clone()),
        );
        check(
            ": hello\n\ndata: {\"method\":\"x\"}\n\ndata: {\"id\":7,\"result\":{}}\r\n\r\n",
            Some(answer),
        );
        check("data: {\"id\":8,\"result\":{}}\n\n", None);
        check("data: {\"id\":7}", None);
        check("data: no\n\n", None);
        check("", None);
    }
}
