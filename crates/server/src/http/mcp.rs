//! `/mcp`: the Model Context Protocol, behind the same guard, bounds and patience as the rest.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use gbrain_core::fault::Fault;

use super::enter::Action;
use super::reply::Refusal;
use super::{Shared, Whole, body};
use crate::mcp::{Context, HttpService, http_service};

/// What answers, made once.
pub(super) fn service(shared: &Shared) -> HttpService {
    http_service(Context {
        house: shared.house.clone(),
        lanes: shared.lanes.clone(),
        audit: shared.audit.clone(),
        patience: shared.bounds.patience,
        max_message: shared.bounds.body,
    })
}

/// Answers one request. The body is read here, because the protocol's own reader would wait for a
/// slow one for ever.
pub(super) async fn answer(
    shared: Arc<Shared>,
    service: HttpService,
    request: Request,
) -> Response {
    let (head, unread) = request.into_parts();
    let whole = body(Request::from_parts(head.clone(), unread), &shared).await;
    let mut response = match whole {
        Ok(Whole { bytes, held }) => {
            let is_json = is_json(&head.headers);
            let request = Request::from_parts(head, Body::from(bytes));
            let answered = service.handle(request).await.map(Body::new);
            drop(held);
            // The protocol's reader says of a body that is no message that it is no JSON.
            if is_json && answered.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                Refusal::from(Fault::usage("the body is not a message of the protocol"))
                    .into_response()
            } else {
                answered
            }
        }
        Err(fault) => Refusal::from(fault).into_response(),
    };
    response.extensions_mut().insert(Action("mcp"));
    response
}

/// Whether a body is said to be JSON, by the same rule as the protocol's reader.
fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|value| value.starts_with("application/json"))
}
