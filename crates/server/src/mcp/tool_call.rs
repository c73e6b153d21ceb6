//! Runs one tool call, with metrics and audit.
//!
//! It blocks, so it runs on a work queue. Changes and denied changes are in the audit log before
//! the caller gets the result.

use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::compact::{compact, take_details};
use super::handler::McpContext;
use super::tools::ToolEntry;
use crate::audit::AuditEvent;
use crate::http::{
    ClientAddress, OperationCall, Reply, RequestId, RequestMemoryAccount, RequestOrigin,
    is_internal,
};
use crate::principal::Principal;
use crate::telemetry::metrics::RequestOutcome;
use crate::work_queue::{StopFlag, WorkQueue};

/// The caller of a tool and its request.
#[derive(Debug, Clone)]
pub(super) struct ToolCaller {
    pub(super) principal: Principal,
    pub(super) caller: Caller,
    peer: Option<String>,
    request_id: Option<Arc<str>>,
    traceparent: Option<String>,
}

impl ToolCaller {
    /// `parts` is present if the request came over HTTP.
    pub(super) fn new(principal: Principal, caller: Caller, parts: Option<&Parts>) -> Self {
        let extensions = parts.map(|parts| &parts.extensions);
        let peer =
            extensions.and_then(|held| held.get::<ClientAddress>()).map(|peer| peer.0.to_string());
        let request_id = extensions.and_then(|held| held.get::<RequestId>()).map(|id| id.0.clone());
        let traceparent = parts.and_then(|parts| parts.headers.get("traceparent"));
        let traceparent = traceparent.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { principal, caller, peer, request_id, traceparent }
    }
}

/// Runs a tool, records its metrics and audits it if it writes. The result is serialised here, off
/// the reactor.
pub(super) fn run(
    context: &McpContext,
    sender: &ToolCaller,
    entry: &ToolEntry,
    mut arguments: JsonObject,
    stop: &StopFlag,
) -> Result<ToolOutput, Fault> {
    let clock = Instant::now();
    let page = arguments.get("page").and_then(Value::as_str).map(str::to_owned);
    let (registry, principal, now) =
        (context.registry.as_ref(), &sender.principal, moment(std::time::SystemTime::now()));
    let request_id = sender.request_id.as_deref().unwrap_or_default().to_owned();
    let origin = RequestOrigin { request_id, traceparent: sender.traceparent.clone() };
    let memory =
        RequestMemoryAccount::new(&context.memory, registry.metrics(), text_bytes(&arguments));
    let call = OperationCall {
        registry,
        principal,
        now,
        caller: sender.caller,
        origin,
        stop,
        memory: &memory,
    };
    let details = take_details(&mut arguments);
    let done = details.and_then(|details| tool_output(entry.run(&call, arguments)?, details));
    let outcome = match &done {
        Ok(_) => RequestOutcome::Ok,
        Err(fault) if is_internal(fault.kind) => RequestOutcome::Fault,
        Err(_) => RequestOutcome::Refused,
    };
    registry.metrics().workspace(&principal.workspace).request(
        entry.name,
        outcome,
        clock.elapsed(),
    );
    if entry.queue == WorkQueue::Write {
        record_audit(context, sender, entry, page.as_deref(), &done);
    }
    done
}

/// Total size of the text arguments. The message itself was already counted when it was read.
fn text_bytes(arguments: &JsonObject) -> usize {
    arguments.values().filter_map(Value::as_str).map(str::len).sum()
}

/// The result of a tool: the body of the HTTP API, compact unless the caller asked for details.
#[derive(Debug)]
pub(super) struct ToolOutput {
    pub(super) text: String,
    /// The same result, parsed.
    pub(super) document: Value,
}

impl ToolOutput {
    /// The result with this body.
    pub(super) fn new(body: Vec<u8>, details: bool) -> Result<Self, Fault> {
        let unreadable = |error: &dyn std::error::Error| Fault::internal(error.to_string());
        let mut document: Value =
            serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
        let text = if details {
            String::from_utf8(body).map_err(|error| unreadable(&error))?
        } else {
            compact(&mut document);
            document.to_string()
        };
        Ok(Self { text, document })
    }
}

fn tool_output(reply: Reply, details: bool) -> Result<ToolOutput, Fault> {
    match reply {
        Reply::Json(bytes) | Reply::Accepted(bytes) => ToolOutput::new(bytes, details),
        Reply::Text { .. } | Reply::Lines(_) => {
            Err(Fault::internal("a tool must return one document"))
        }
    }
}

fn record_audit(
    context: &McpContext,
    sender: &ToolCaller,
    entry: &ToolEntry,
    page: Option<&str>,
    done: &Result<ToolOutput, Fault>,
) {
    let event = AuditEvent {
        action: entry.name.to_owned(),
        workspace: Some(sender.principal.workspace.to_string()),
        by: sender.principal.name.clone(),
        token_id: sender.principal.token_id.clone(),
        peer: sender.peer.clone(),
        target: page.map(str::to_owned),
        outcome: done.as_ref().map_or_else(|fault| fault.kind.name(), |_| "done").to_owned(),
        request_id: sender.request_id.as_deref().map(str::to_owned),
    };
    context.audit.write(&event, moment(std::time::SystemTime::now()));
}
