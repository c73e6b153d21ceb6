//! Responses: bodies, and faults with their HTTP status.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gbrain_core::fault::{Fault, FaultKind};
use serde::Serialize;
use tokio_stream::wrappers::ReceiverStream;

/// Media type of JSON lines.
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const JSON: &str = "application/json";

/// A response body with its format.
#[derive(Debug)]
pub(crate) enum Reply {
    Json(Vec<u8>),
    /// A JSON document with status 202, for work that is queued.
    Accepted(Vec<u8>),
    /// A stored text with its media type.
    Text {
        content_type: &'static str,
        bytes: Vec<u8>,
    },
    /// JSON lines, streamed as they are read.
    Lines(tokio::sync::mpsc::Receiver<std::io::Result<Bytes>>),
}

impl Reply {
    /// A JSON document, serialised here and not on the reactor.
    pub(crate) fn json(body: &impl Serialize) -> Result<Self, Fault> {
        serialised(body).map(Self::Json)
    }

    pub(crate) fn accepted(body: &impl Serialize) -> Result<Self, Fault> {
        serialised(body).map(Self::Accepted)
    }
}

fn serialised(body: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(body).map_err(|error| Fault::internal(error.to_string()))
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let (status, content_type, body) = match self {
            Self::Json(bytes) => (StatusCode::OK, JSON, Body::from(bytes)),
            Self::Accepted(bytes) => (StatusCode::ACCEPTED, JSON, Body::from(bytes)),
            Self::Text { content_type, bytes } => (StatusCode::OK, content_type, Body::from(bytes)),
            Self::Lines(lines) => {
                (StatusCode::OK, NDJSON, Body::from_stream(ReceiverStream::new(lines)))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    }
}

pub(crate) fn status_of(kind: FaultKind) -> StatusCode {
    match kind {
        FaultKind::Usage => StatusCode::BAD_REQUEST,
        FaultKind::Unauthorised => StatusCode::UNAUTHORIZED,
        FaultKind::Forbidden | FaultKind::Private => StatusCode::FORBIDDEN,
        FaultKind::NotFound | FaultKind::UnknownWorkspace | FaultKind::UnknownSource => {
            StatusCode::NOT_FOUND
        }
        FaultKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        FaultKind::Timeout => StatusCode::REQUEST_TIMEOUT,
        FaultKind::Conflict => StatusCode::CONFLICT,
        FaultKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        FaultKind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        FaultKind::Input | FaultKind::Page => StatusCode::UNPROCESSABLE_ENTITY,
        FaultKind::RateLimited | FaultKind::Overloaded => StatusCode::TOO_MANY_REQUESTS,
        FaultKind::OverBudget => StatusCode::PAYMENT_REQUIRED,
        FaultKind::Model | FaultKind::Target => StatusCode::BAD_GATEWAY,
        // Never sent: the caller is gone or was already answered with a timeout.
        FaultKind::Cancelled
        | FaultKind::Busy
        | FaultKind::NotInitialised
        | FaultKind::Unavailable
        | FaultKind::Unreachable
        | FaultKind::AttemptsExhausted => StatusCode::SERVICE_UNAVAILABLE,
        FaultKind::Config
        | FaultKind::Io
        | FaultKind::Store
        | FaultKind::Index
        | FaultKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whether a kind of fault is internal, and so hidden from the caller.
pub(crate) fn is_internal(kind: FaultKind) -> bool {
    kind == FaultKind::Unreachable || status_of(kind) == StatusCode::INTERNAL_SERVER_ERROR
}

/// The fault that a caller sees instead of an internal one.
pub(crate) fn masked(fault: &Fault) -> Fault {
    match fault.kind {
        FaultKind::Unreachable => {
            Fault::unavailable("the database does not answer: try again later")
        }
        _ => Fault::internal("internal error: see the server's log"),
    }
}

/// A fault with its `retry-after`.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    pub(crate) fault: Fault,
    pub(crate) retry_after: Option<std::time::Duration>,
}

impl From<Fault> for ErrorResponse {
    fn from(fault: Fault) -> Self {
        let is_for_now = matches!(
            status_of(fault.kind),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        );
        let retry_after = is_for_now.then_some(std::time::Duration::from_secs(1));
        Self { fault, retry_after }
    }
}

impl IntoResponse for ErrorResponse {
    /// Internal faults are logged and hidden from the caller: they may name files and hosts.
    fn into_response(self) -> Response {
        let Self { fault, retry_after } = self;
        let status = status_of(fault.kind);
        let shown = if is_internal(fault.kind) {
            tracing::error!(kind = fault.kind.name(), message = %fault.message, "a request failed");
            masked(&fault)
        } else {
            fault
        };
        let mut response = (status, axum::Json(shown.to_json())).into_response();
        let headers = response.headers_mut();
        if let Some(after) = retry_after {
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gbrain\""));
        }
        response
    }
}
