//! `/mcp`: the Model Context Protocol, with the same guard, limits and timeouts as the rest of the
//! API.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use gbrain_core::fault::Fault;
use gbrain_core::reading::shape::ReadingCost;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::ServerState;
use super::body::{self, BufferedBody, MemoryBudget};
use super::memory::RequestMemoryAccount;
use super::middleware::EndpointName;
use super::reply::ErrorResponse;
use crate::mcp::{HttpService, McpContext, http_service};
use crate::workspace_registry::WorkspaceRegistry;

pub(super) fn service(shared: &ServerState) -> HttpService {
    http_service(McpContext {
        registry: shared.registry.clone(),
        queues: shared.queues.clone(),
        audit: shared.audit.clone(),
        timeout: shared.limits.timeout,
        max_message: shared.limits.body,
        memory: shared.memory.clone(),
    })
}

/// Answers one request. The body is read here, because the protocol's reader would wait for a slow
/// one without limit. The message is parsed off the reactor, because that is slow for a large one.
pub(super) async fn answer(
    shared: Arc<ServerState>,
    service: HttpService,
    request: Request,
) -> Response {
    let (head, unread) = request.into_parts();
    let whole = body::buffer(Request::from_parts(head.clone(), unread), &shared).await;
    let mut response = match whole {
        Ok(whole) => answer_off_reactor(&shared, service, head, whole).await,
        Err(fault) => ErrorResponse::from(fault).into_response(),
    };
    response.extensions_mut().insert(EndpointName("mcp"));
    response
}

/// Parses and answers a message on the message threads. The task is aborted when the caller no
/// longer waits.
async fn answer_off_reactor(
    shared: &Arc<ServerState>,
    service: HttpService,
    head: Parts,
    whole: BufferedBody,
) -> Response {
    let (budget, registry) = (shared.memory.clone(), shared.registry.clone());
    let mut task = AbortOnDrop(shared.messages.spawn(async move {
        let BufferedBody { bytes, held } = whole;
        let _counted = match count(&budget, &registry, &bytes) {
            Ok(counted) => counted,
            Err(fault) => return ErrorResponse::from(fault).into_response(),
        };
        let is_json = is_json(&head.headers);
        let request = Request::from_parts(head, Body::from(bytes));
        let answered = service.handle(request).await.map(Body::new);
        drop(held);
        // The protocol's reader reports a body that is not a message as not JSON.
        if is_json && answered.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return ErrorResponse::from(Fault::usage("the body is not an MCP message"))
                .into_response();
        }
        answered
    }));
    let answered = (&mut task.0).await;
    answered.unwrap_or_else(|_| {
        ErrorResponse::from(Fault::internal("answering the message panicked")).into_response()
    })
}

/// Counts the memory for parsing a message.
fn count(
    budget: &MemoryBudget,
    registry: &WorkspaceRegistry,
    message: &[u8],
) -> Result<Option<OwnedSemaphorePermit>, Fault> {
    let memory = RequestMemoryAccount::new(budget, registry.metrics(), message.len());
    memory.read_body(message, ReadingCost::VALUE)?;
    Ok(memory.into_permit())
}

/// A task that is aborted when this is dropped.
struct AbortOnDrop(JoinHandle<Response>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether the content type is JSON, by the same rule as the protocol's reader.
fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|value| value.starts_with("application/json"))
}
