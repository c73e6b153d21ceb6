//! Middleware for every request: request id, host guard and authentication before it; security
//! headers, a log line and an audit line after it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{self, AUTHORIZATION, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use http_body_util::BodyExt as _;

use super::listen::{AllConnectionsBusy, ClientAddress};
use super::reply::ErrorResponse;
use super::{OriginGuard, RequestLimits, ServerState};
use crate::access::{AuthError, Credentials};
use crate::audit::{Audit, AuditEvent};
use crate::console::{self, BrowserRequest};
use crate::principal::Principal;
use crate::work_queue::{StopFlag, WorkQueue};

/// Paths that need no token.
pub(super) const PUBLIC: &[&str] = &["/v1/health", "/v1/ready", "/v1/openapi.json"];

/// How long to wait for the body of a refused request.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// The object of a request, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct AuditTarget(pub(crate) String);

#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointName(pub(crate) &'static str);

/// The principal that a response begins a session for, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct SignedInAs(pub(crate) Principal);

pub(super) async fn handle(
    State(shared): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let clock = Instant::now();
    let id = RequestId(request_id(request.headers(), &shared).into());
    let peer = request.extensions().get::<ClientAddress>().copied();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());
    let (principal, response) = answer(&shared, request, next, clock).await;
    let counted = shared.unsent.count(response, shared.metrics());
    let mut response = counted.unwrap_or_else(|fault| ErrorResponse::from(fault).into_response());
    let summary = RequestSummary {
        id: &id.0,
        peer,
        method: &method,
        principal: principal.as_ref(),
        took: clock.elapsed(),
    };
    if let Some(event) = record_audit(&shared, &summary, &path, &response) {
        write(shared.audit.clone(), event).await;
    }
    set_security_headers(&id.0, response.headers_mut());
    response
}

/// Authenticates and answers a request.
async fn answer(
    shared: &Arc<ServerState>,
    mut request: Request,
    next: Next,
    clock: Instant,
) -> (Option<Principal>, Response) {
    if request.extensions().get::<AllConnectionsBusy>().is_some() {
        let fault = Fault::unavailable("all connections are busy: try again later");
        return (None, ErrorResponse::from(fault).into_response());
    }
    let peer = request.extensions().get::<ClientAddress>().copied();
    let credentials = request_credentials(shared, &request, peer);
    let browser = BrowserRequest::of(&request);
    match authenticate(shared, credentials, clock).await {
        Ok(principal) => {
            if let Some(principal) = &principal {
                request.extensions_mut().insert(principal.clone());
            }
            (principal, next.run(request).await)
        }
        Err(refusal) => {
            if refusal.retry_after.is_some() {
                discard(request, &shared.limits).await;
            }
            (
                None,
                match browser {
                    Some(browser) => console::refused(shared, &browser, refusal),
                    None => refusal.into_response(),
                },
            )
        }
    }
}

/// Reads and discards a body. A client that still sends when the connection is closed would see a
/// broken connection instead of `retry-after`.
async fn discard(request: Request, limits: &RequestLimits) {
    let mut body = request.into_body();
    let mut left = limits.body;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { break };
            left = rest;
        }
    };
    // A slow body is abandoned.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, reading).await;
}

struct RequestSummary<'a> {
    id: &'a str,
    peer: Option<ClientAddress>,
    method: &'a Method,
    principal: Option<&'a Principal>,
    took: Duration,
}

/// The credentials of a request; `None` if it needs none.
fn request_credentials(
    shared: &ServerState,
    request: &Request,
    peer: Option<ClientAddress>,
) -> Result<Option<RequestCredentials>, Fault> {
    shared.guard.check(request.uri(), request.headers())?;
    let path = request.uri().path();
    if console::is_console_path(path) && !request.method().is_safe() {
        OriginGuard::check_form(request.uri(), request.headers())?;
    }
    if PUBLIC.contains(&path) || console::is_public(path) || is_preflight(shared, request) {
        return Ok(None);
    }
    let peer = peer.ok_or_else(|| Fault::internal("a request without a peer"))?.0;
    let authorization = authorization(request.headers())?;
    let is_forwarded = request.headers().keys().any(is_proxy_header);
    // The API takes no cookies: a page of another site could send them.
    let session = console::is_console_path(path)
        .then(|| console::session::cookie(request.headers()))
        .flatten();
    Ok(Some(RequestCredentials { authorization, session, peer, is_forwarded }))
}

/// Whether a header indicates a proxy in front. Proxies and CDNs use different names; these are
/// their common parts.
fn is_proxy_header(name: &HeaderName) -> bool {
    const PARTS: [&str; 10] = [
        "forwarded",
        "real-ip",
        "client-ip",
        "clientip",
        "connecting-ip",
        "proxyuser-ip",
        "user-ip",
        "remote-ip",
        "remote-addr",
        "external-address",
    ];
    let name = name.as_str();
    name == "via"
        || name.starts_with("x-envoy-")
        || name.starts_with("x-original-")
        || PARTS.iter().any(|part| name.contains(part))
}

struct RequestCredentials {
    authorization: Option<String>,
    session: Option<String>,
    peer: IpAddr,
    is_forwarded: bool,
}

impl RequestCredentials {
    fn as_credentials(&self) -> Credentials<'_> {
        let Self { authorization, session, peer, is_forwarded } = self;
        let (authorization, session) = (authorization.as_deref(), session.as_deref());
        Credentials { authorization, session, peer: *peer, is_forwarded: *is_forwarded }
    }
}

async fn authenticate(
    shared: &Arc<ServerState>,
    credentials: Result<Option<RequestCredentials>, Fault>,
    clock: Instant,
) -> Result<Option<Principal>, ErrorResponse> {
    let Some(credentials) = credentials? else { return Ok(None) };
    let now = moment(std::time::SystemTime::now());
    let authenticated = if shared.authenticator.is_cached(&credentials.as_credentials(), clock) {
        shared.authenticator.authenticate(&credentials.as_credentials(), clock, now)
    } else {
        let authenticator = shared.authenticator.clone();
        let job = move |_: &StopFlag| {
            authenticator.authenticate(&credentials.as_credentials(), clock, now)
        };
        shared
            .queues
            .run(WorkQueue::Read, job)
            .await
            .map_err(|refused| super::refuse(shared, refused))?
    };
    authenticated.map(Some).map_err(|error| match error {
        AuthError::Unauthorised(fault) => {
            shared.metrics().refused("unauthorized");
            fault.into()
        }
        AuthError::RateLimited(after) => {
            shared.metrics().refused("rate_limit");
            let fault = Fault::rate_limited("too many requests");
            ErrorResponse { fault, retry_after: Some(after) }
        }
        AuthError::Unavailable(fault) => fault.into(),
    })
}

/// The Authorization header, which must be readable and unique.
fn authorization(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Fault::usage("the Authorization header is not ASCII")),
        },
        _ => Err(Fault::usage("a request must have at most one Authorization header")),
    }
}

/// Whether this is a CORS preflight, which carries no token.
fn is_preflight(shared: &ServerState, request: &Request) -> bool {
    !shared.guard.origins.is_empty()
        && request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The client's request id if it is valid, otherwise a new one.
fn request_id(headers: &HeaderMap, shared: &ServerState) -> String {
    let client_id = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let is_valid = |id: &&str| {
        (1..=128).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
    };
    client_id.filter(is_valid).map_or_else(|| shared.next_request_id(), str::to_owned)
}

/// Logs a request and returns its audit event, if it needs one.
fn record_audit(
    shared: &ServerState,
    summary: &RequestSummary<'_>,
    path: &str,
    response: &Response,
) -> Option<AuditEvent> {
    let status = response.status().as_u16();
    let action = response.extensions().get::<EndpointName>().map_or("none", |action| action.0);
    let signed_in = response.extensions().get::<SignedInAs>().map(|signed_in| &signed_in.0);
    let principal = summary.principal.or(signed_in);
    let by = principal.map_or("nobody", |principal| &principal.name);
    let millis = summary.took.as_secs_f64() * 1000.0;
    tracing::debug!(
        request_id = summary.id, method = %summary.method, action, status, by, millis, "request"
    );
    let is_denied = matches!(status, 401 | 403) && shared.is_denial_audited(summary.peer);
    let is_change = !summary.method.is_safe() && principal.is_some() && is_audited(action);
    if !is_denied && !is_change {
        return None;
    }
    let target = response.extensions().get::<AuditTarget>();
    Some(AuditEvent {
        action: if action == "none" { start_of(path) } else { action }.to_owned(),
        workspace: principal.map(|principal| principal.workspace.to_string()),
        by: by.to_owned(),
        token_id: principal.and_then(|principal| principal.token_id.clone()),
        peer: summary.peer.map(|peer| peer.0.to_string()),
        target: target.map(|target| target.0.clone()),
        outcome: response.status().as_str().to_owned(),
        request_id: Some(summary.id.to_owned()),
    })
}

/// The change is in the audit log before the response is sent; the reactor does not block on it.
async fn write(audit: Audit, event: AuditEvent) {
    let written = tokio::task::spawn_blocking(move || {
        audit.write(&event, moment(std::time::SystemTime::now()))
    });
    // Write errors are logged by `write`.
    let _ = written.await;
}

/// Searches are not changes although they are POST requests; MCP tool calls are audited per tool.
fn is_audited(action: &str) -> bool {
    !matches!(action, "search" | "query" | "compare" | "mcp" | "none")
}

/// The start of a path, enough to see what was requested.
fn start_of(path: &str) -> &str {
    const MAX_PATH_BYTES: usize = 200;
    &path[..path.floor_char_boundary(MAX_PATH_BYTES)]
}

/// Headers that restrict how browsers use a response.
pub(crate) fn set_security_headers(id: &str, headers: &mut HeaderMap) {
    const FIXED: [(HeaderName, &str); 6] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in FIXED {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(id)
        && !id.is_empty()
    {
        headers.insert(REQUEST_ID.clone(), id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_proxies_are_known() {
        for name in [
            "Forwarded",
            "Via",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Real-IP",
            "X-Client-IP",
            "True-Client-IP",
            "CF-Connecting-IP",
            "X-Cluster-Client-IP",
            "Fastly-Client-IP",
            "X-Original-Forwarded-For",
            "X-Envoy-External-Address",
            "X-ProxyUser-Ip",
            "CF-Connecting-IPv6",
            "Fly-Client-IP",
            "X-Azure-ClientIP",
            "X-AppEngine-User-IP",
            "X-Vercel-Forwarded-For",
            "WL-Proxy-Client-IP",
            "X-Remote-Addr",
            "X-Original-Host",
        ] {
            assert!(is_proxy_header(&name.parse().unwrap()), "{name}");
        }
        for name in ["host", "accept", "user-agent", "content-type", "x-request-id", "traceparent"]
        {
            assert!(!is_proxy_header(&name.parse().unwrap()), "{name}");
        }
    }
}
