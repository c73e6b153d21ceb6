//! One call of a tool, from whoever sent it to what is written down about it.
//!
//! It blocks, so it is done in a lane. What it changed or was not allowed to change is in the audit
//! log before the caller hears of it.

use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::handler::Context;
use super::tools::Entry;
use crate::audit::Event;
use crate::http::{Call, CallMemory, Origin, Peer, Reply, RequestId, is_inside};
use crate::lanes::{Lane, StopFlag};
use crate::telemetry::metrics::Outcome;
use crate::visitor::Visitor;

/// Who sent it, and how it came.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub(super) who: Visitor,
    pub(super) caller: Caller,
    peer: Option<String>,
    request_id: Option<Arc<str>>,
    traceparent: Option<String>,
}

impl Sender {
    /// A sender whose request came over HTTP if it has `parts`.
    pub(super) fn new(who: Visitor, caller: Caller, parts: Option<&Parts>) -> Self {
        let extensions = parts.map(|parts| &parts.extensions);
        let peer = extensions.and_then(|held| held.get::<Peer>()).map(|peer| peer.0.to_string());
        let request_id = extensions.and_then(|held| held.get::<RequestId>()).map(|id| id.0.clone());
        let traceparent = parts.and_then(|parts| parts.headers.get("traceparent"));
        let traceparent = traceparent.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { who, caller, peer, request_id, traceparent }
    }
}

/// Does what a tool does, counts it, and writes it down if it was a change. The answer is the body
/// of the HTTP API, and what it says: both are made here, off the reactor.
pub(super) fn run(
    context: &Context,
    sender: &Sender,
    entry: &Entry,
    arguments: JsonObject,
    stop: &StopFlag,
) -> Result<Said, Fault> {
    let clock = Instant::now();
    let page = arguments.get("page").and_then(Value::as_str).map(str::to_owned);
    let (house, who, now) =
        (context.house.as_ref(), &sender.who, moment(std::time::SystemTime::now()));
    let request_id = sender.request_id.as_deref().unwrap_or_default().to_owned();
    let origin = Origin { request_id, traceparent: sender.traceparent.clone() };
    let memory = CallMemory::new(&context.memory, house.metrics(), text_bytes(&arguments));
    let call = Call { house, who, now, caller: sender.caller, origin, stop, memory: &memory };
    let done = entry.run(&call, arguments).and_then(said);
    let outcome = match &done {
        Ok(_) => Outcome::Ok,
        Err(fault) if is_inside(fault.kind) => Outcome::Fault,
        Err(_) => Outcome::Refused,
    };
    house.metrics().workspace(&who.workspace).request(entry.name, outcome, clock.elapsed());
    if entry.lane == Lane::Write {
        note(context, sender, entry, page.as_deref(), &done);
    }
    done
}

/// How large the texts are that a tool is given. The message itself was counted by whoever read it.
fn text_bytes(arguments: &JsonObject) -> usize {
    arguments.values().filter_map(Value::as_str).map(str::len).sum()
}

/// The answer of a tool.
#[derive(Debug)]
pub(super) struct Said {
    /// The body of the HTTP API.
    pub(super) text: String,
    /// The same as structure.
    pub(super) document: Value,
}

impl Said {
    /// What a body says.
    pub(super) fn of(body: Vec<u8>) -> Result<Self, Fault> {
        let unreadable = |error: &dyn std::error::Error| Fault::internal(error.to_string());
        let document = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
        let text = String::from_utf8(body).map_err(|error| unreadable(&error))?;
        Ok(Self { text, document })
    }
}

fn said(reply: Reply) -> Result<Said, Fault> {
    match reply {
        Reply::Json(bytes) | Reply::Accepted(bytes) => Said::of(bytes),
        Reply::Text { .. } | Reply::Lines(_) => {
            Err(Fault::internal("a tool answers with one document"))
        }
    }
}

fn note(
    context: &Context,
    sender: &Sender,
    entry: &Entry,
    page: Option<&str>,
    done: &Result<Said, Fault>,
) {
    let event = Event {
        action: entry.name.to_owned(),
        workspace: Some(sender.who.workspace.to_string()),
        by: sender.who.name.clone(),
        token_id: sender.who.token_id.clone(),
        peer: sender.peer.clone(),
        target: page.map(str::to_owned),
        outcome: done.as_ref().map_or_else(|fault| fault.kind.name(), |_| "done").to_owned(),
        request_id: sender.request_id.as_deref().map(str::to_owned),
    };
    context.audit.write(&event, moment(std::time::SystemTime::now()));
}
