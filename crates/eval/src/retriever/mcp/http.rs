//! An MCP server over streamable HTTP: every request is a POST, answered by a document or by an
//! event stream in which the event with the request's number is the answer.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gbrain_core::target::{EndpointAddress, TargetError, TargetLimits};
use serde_json::{Value, json};

use crate::retriever::TargetEnvironment;
use crate::retriever::http::{HttpEndpoint, attempt_error};
use crate::retriever::limiter::AttemptError;

use super::McpClient;
use super::message;

/// The header that carries the session id.
const SESSION: &str = "mcp-session-id";
/// The status for an expired session.
const GONE: u16 = 404;

/// The session that a server opened in `initialize`.
#[derive(Debug, Clone, Default)]
struct Session {
    id: Option<String>,
    protocol: String,
}

/// A client of an MCP server over HTTP.
pub(super) struct StreamableHttp {
    endpoint: HttpEndpoint,
    session: Mutex<Option<Session>>,
    /// Held while a session is opened: one thread does it, and the others wait for the result.
    greeting: Mutex<()>,
    next: AtomicU64,
}

/// The response to a POST: the answer, if there was one, and the session that it names.
struct PostResponse {
    answer: Option<Value>,
    session: Option<String>,
}

impl StreamableHttp {
    pub(super) fn open(
        address: EndpointAddress,
        limits: &TargetLimits,
        environment: &TargetEnvironment,
    ) -> Result<Self, TargetError> {
        let endpoint = HttpEndpoint::open(address, limits, environment)?;
        let next = AtomicU64::new(1);
        Ok(Self { endpoint, session: Mutex::default(), greeting: Mutex::default(), next })
    }

    /// The current session, opened if there is none. The session lock is not held during a call,
    /// because a server may drop the session in the middle of `initialize`.
    fn session(&self, timeout: Duration) -> Result<Session, AttemptError> {
        let _turn = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = self.current_session() {
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

    fn current_session(&self) -> Option<Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Posts a message; a request has an id and gets an answer, a notification has none.
    fn post(
        &self,
        session: &Session,
        body: &Value,
        id: Option<u64>,
        timeout: Duration,
    ) -> Result<PostResponse, AttemptError> {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![header("accept", "application/json, text/event-stream")];
        if !session.protocol.is_empty() {
            headers.push(header("mcp-protocol-version", &session.protocol));
        }
        headers.extend(session.id.as_deref().map(|session| header(SESSION, session)));
        let call = self.endpoint.call(&[], headers, Some(body.to_string().into_bytes()));
        let (client, secrets) = (self.endpoint.client(), self.endpoint.secrets());
        let posted = client.stream(&call, Some(timeout), secrets, &mut |head, body| {
            let content_type = head.header("content-type").unwrap_or_default();
            let is_stream = content_type.starts_with("text/event-stream");
            let answer = match id {
                None => None,
                Some(id) if is_stream => Some(event(body, id)?),
                Some(_) => Some(serde_json::from_reader(body).map_err(Error::from)?),
            };
            Ok(PostResponse { answer, session: head.header(SESSION).map(str::to_owned) })
        });
        posted.map_err(|failure| {
            if failure.status == Some(GONE) && session.id.is_some() {
                self.forget();
            }
            attempt_error(failure)
        })
    }
}

/// Reads a stream up to the event that answers a request. Earlier events are skipped.
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

impl McpClient for StreamableHttp {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, AttemptError> {
        // If the server dropped the session, a new one is opened once.
        for is_last in [false, true] {
            let session = self.session(timeout)?;
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let request = message::request(id, method, &params);
            match self.post(&session, &request, Some(id), timeout) {
                Ok(posted) => return Ok(message::result(&posted.answer.unwrap_or_default())?),
                Err(error) if is_last || self.current_session().is_some() => return Err(error),
                Err(_) => (),
            }
        }
        Err(TargetError::malformed("the server forgets every session").into())
    }

    fn hide(&self, text: String) -> String {
        self.endpoint.hide(text)
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
