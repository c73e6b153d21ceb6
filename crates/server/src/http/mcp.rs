//! `/mcp`: the Model Context Protocol, behind the same guard, bounds and patience as the rest.

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

use super::Shared;
use super::body::{self, BodyMemory, Whole};
use super::enter::Action;
use super::memory::CallMemory;
use super::reply::Refusal;
use crate::house::House;
use crate::mcp::{Context, HttpService, http_service};

/// What answers, made once.
pub(super) fn service(shared: &Shared) -> HttpService {
    http_service(Context {
        house: shared.house.clone(),
        lanes: shared.lanes.clone(),
        audit: shared.audit.clone(),
        patience: shared.bounds.patience,
        max_message: shared.bounds.body,
        memory: shared.memory.clone(),
    })
}

/// Answers one request. The body is read here, because the protocol's own reader would wait for a
/// slow one for ever, and the message off the reactor, because that reader takes its time for a large one.
pub(super) async fn answer(
    shared: Arc<Shared>,
    service: HttpService,
    request: Request,
) -> Response {
    let (head, unread) = request.into_parts();
    let whole = body::whole(Request::from_parts(head.clone(), unread), &shared).await;
    let mut response = match whole {
        Ok(whole) => answer_off_reactor(&shared, service, head, whole).await,
        Err(fault) => Refusal::from(fault).into_response(),
    };
    response.extensions_mut().insert(Action("mcp"));
    response
}

/// Has a message read and answered by the threads for messages. When nobody waits for the answer any
/// more, neither do they.
async fn answer_off_reactor(
    shared: &Arc<Shared>,
    service: HttpService,
    head: Parts,
    whole: Whole,
) -> Response {
    let (budget, house) = (shared.memory.clone(), shared.house.clone());
    let mut task = AbortOnDrop(shared.messages.spawn(async move {
        let Whole { bytes, held } = whole;
        let _counted = match count(&budget, &house, &bytes) {
            Ok(counted) => counted,
            Err(fault) => return Refusal::from(fault).into_response(),
        };
        let is_json = is_json(&head.headers);
        let request = Request::from_parts(head, Body::from(bytes));
        let answered = service.handle(request).await.map(Body::new);
        drop(held);
        // The protocol's reader says of a body that is no message that it is no JSON.
        if is_json && answered.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return Refusal::from(Fault::usage("the body is not a message of the protocol"))
                .into_response();
        }
        answered
    }));
    let answered = (&mut task.0).await;
    answered.unwrap_or_else(|_| {
        Refusal::from(Fault::internal("answering a message ended in a panic")).into_response()
    })
}

/// Counts what reading a message takes.
fn count(
    budget: &BodyMemory,
    house: &House,
    message: &[u8],
) -> Result<Option<OwnedSemaphorePermit>, Fault> {
    let memory = CallMemory::new(budget, house.metrics(), message.len());
    memory.read_body(message, ReadingCost::VALUE)?;
    Ok(memory.into_permit())
}

/// A task that ends with whoever waits for it.
struct AbortOnDrop(JoinHandle<Response>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a body is said to be JSON, by the same rule as the protocol's reader.
fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|value| value.starts_with("application/json"))
}
