//! What every request passes through: its name, the guard, the gatekeeper, and on the way out the
//! headers, one line of log and one of audit.

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

use super::listen::{AllBusy, Peer};
use super::reply::Refusal;
use super::{Bounds, Shared};
use crate::access::{Credentials, Denied};
use crate::audit::{Audit, Event};
use crate::lanes::{Lane, StopFlag};
use crate::visitor::Visitor;

/// Paths that tell nothing and need no token.
pub(super) const PUBLIC: &[&str] = &["/v1/health", "/v1/ready", "/v1/openapi.json"];

/// How long the body of a request that is refused may take to arrive.
const DISCARDED: Duration = Duration::from_secs(5);

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// What an answer was about, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct Target(pub(crate) String);

/// The name of the endpoint that answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action(pub(crate) &'static str);

pub(super) async fn enter(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let clock = Instant::now();
    let id = RequestId(request_id(request.headers(), &shared).into());
    let peer = request.extensions().get::<Peer>().copied();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());
    let (visitor, response) = answer(&shared, request, next, clock).await;
    let counted = shared.unsent.count(response, shared.metrics());
    let mut response = counted.unwrap_or_else(|fault| Refusal::from(fault).into_response());
    let seen =
        Seen { id: &id.0, peer, method: &method, visitor: visitor.as_ref(), took: clock.elapsed() };
    if let Some(event) = noted(&shared, &seen, &path, &response) {
        write(shared.audit.clone(), event).await;
    }
    dress(&id.0, response.headers_mut());
    response
}

/// Who asks, and what is answered.
async fn answer(
    shared: &Arc<Shared>,
    mut request: Request,
    next: Next,
    clock: Instant,
) -> (Option<Visitor>, Response) {
    if request.extensions().get::<AllBusy>().is_some() {
        let fault = Fault::unavailable("all connections are busy: try again later");
        return (None, Refusal::from(fault).into_response());
    }
    let peer = request.extensions().get::<Peer>().copied();
    let shown = shown(shared, &request, peer);
    match admit(shared, shown, clock).await {
        Ok(visitor) => {
            if let Some(visitor) = &visitor {
                request.extensions_mut().insert(visitor.clone());
            }
            (visitor, next.run(request).await)
        }
        Err(refusal) => {
            if refusal.retry_after.is_some() {
                discard(request, &shared.bounds).await;
            }
            (None, refusal.into_response())
        }
    }
}

/// Reads a body and forgets it. Whoever still sends when the connection is closed sees that it broke,
/// and not when to come back.
async fn discard(request: Request, bounds: &Bounds) {
    let mut body = request.into_body();
    let mut left = bounds.body;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { break };
            left = rest;
        }
    };
    // One that takes its time has to see to it itself.
    let _ = tokio::time::timeout(DISCARDED, reading).await;
}

/// What is known of a request when it is over.
struct Seen<'a> {
    id: &'a str,
    peer: Option<Peer>,
    method: &'a Method,
    visitor: Option<&'a Visitor>,
    took: Duration,
}

/// What a request shows of its sender; none for what needs nobody.
fn shown(shared: &Shared, request: &Request, peer: Option<Peer>) -> Result<Option<Shown>, Fault> {
    shared.guard.check(request.uri(), request.headers())?;
    if PUBLIC.contains(&request.uri().path()) || is_preflight(shared, request) {
        return Ok(None);
    }
    let peer = peer.ok_or_else(|| Fault::internal("a request without a peer"))?.0;
    let authorization = authorization(request.headers())?;
    let is_forwarded = request.headers().keys().any(is_of_proxy);
    Ok(Some(Shown { authorization, peer, is_forwarded }))
}

/// Headers that tell of somebody behind the sender. Proxies and networks in front of servers each have names of
/// their own for it: these are the parts that the names have in common.
fn is_of_proxy(name: &HeaderName) -> bool {
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

struct Shown {
    authorization: Option<String>,
    peer: IpAddr,
    is_forwarded: bool,
}

impl Shown {
    fn credentials(&self) -> Credentials<'_> {
        let Self { authorization, peer, is_forwarded } = self;
        let authorization = authorization.as_deref();
        Credentials { authorization, peer: *peer, is_forwarded: *is_forwarded }
    }
}

async fn admit(
    shared: &Arc<Shared>,
    shown: Result<Option<Shown>, Fault>,
    clock: Instant,
) -> Result<Option<Visitor>, Refusal> {
    let Some(shown) = shown? else { return Ok(None) };
    let now = moment(std::time::SystemTime::now());
    let admitted = if shared.keeper.knows(&shown.credentials(), clock) {
        shared.keeper.admit(&shown.credentials(), clock, now)
    } else {
        let keeper = shared.keeper.clone();
        let job = move |_: &StopFlag| keeper.admit(&shown.credentials(), clock, now);
        shared.lanes.run(Lane::Read, job).await.map_err(|refused| super::refuse(shared, refused))?
    };
    admitted.map(Some).map_err(|denied| match denied {
        Denied::Unauthorised(fault) => {
            shared.metrics().refused("unauthorized");
            fault.into()
        }
        Denied::TooOften(after) => {
            shared.metrics().refused("rate_limit");
            let fault = Fault::rate_limited("too many requests");
            Refusal { fault, retry_after: Some(after) }
        }
        Denied::Broken(fault) => fault.into(),
    })
}

/// One header that can be read, or none.
fn authorization(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Fault::usage("the Authorization header can't be read")),
        },
        _ => Err(Fault::usage("a request has one Authorization header")),
    }
}

/// A question of a browser about a page whose origin was named: it carries no token.
fn is_preflight(shared: &Shared, request: &Request) -> bool {
    !shared.guard.origins.is_empty()
        && request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The caller's own name for its request, if it is a decent one.
fn request_id(headers: &HeaderMap, shared: &Shared) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let is_decent = |id: &&str| {
        (1..=128).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
    };
    given.filter(is_decent).map_or_else(|| shared.next_request_id(), str::to_owned)
}

/// Writes a request to the log, and says what of it belongs into the audit log.
fn noted(shared: &Shared, seen: &Seen<'_>, path: &str, response: &Response) -> Option<Event> {
    let status = response.status().as_u16();
    let action = response.extensions().get::<Action>().map_or("none", |action| action.0);
    let by = seen.visitor.map_or("nobody", |visitor| &visitor.name);
    let millis = seen.took.as_secs_f64() * 1000.0;
    tracing::debug!(
        request_id = seen.id, method = %seen.method, action, status, by, millis, "request"
    );
    let is_denied = matches!(status, 401 | 403) && shared.is_denial_noted(seen.peer);
    let is_change = !seen.method.is_safe() && seen.visitor.is_some() && is_audited(action);
    if !is_denied && !is_change {
        return None;
    }
    let target = response.extensions().get::<Target>();
    Some(Event {
        action: if action == "none" { start_of(path) } else { action }.to_owned(),
        workspace: seen.visitor.map(|visitor| visitor.workspace.to_string()),
        by: by.to_owned(),
        token_id: seen.visitor.and_then(|visitor| visitor.token_id.clone()),
        peer: seen.peer.map(|peer| peer.0.to_string()),
        target: target.map(|target| target.0.clone()),
        outcome: response.status().as_str().to_owned(),
        request_id: Some(seen.id.to_owned()),
    })
}

/// The caller hears of a change after it is written down, and the reactor does not wait.
async fn write(audit: Audit, event: Event) {
    let written = tokio::task::spawn_blocking(move || {
        audit.write(&event, moment(std::time::SystemTime::now()))
    });
    // A log that can't be written says so itself.
    let _ = written.await;
}

/// Questions are not changes, though they come with a body; what a tool does is noted there.
fn is_audited(action: &str) -> bool {
    !matches!(action, "search" | "query" | "compare" | "mcp" | "none")
}

/// As much of an address as tells what somebody was after.
fn start_of(path: &str) -> &str {
    const MOST: usize = 200;
    &path[..path.floor_char_boundary(MOST)]
}

/// Headers that keep a browser from making more of an answer than it is.
fn dress(id: &str, headers: &mut HeaderMap) {
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
    if let Ok(id) = HeaderValue::from_str(id) {
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
            assert!(is_of_proxy(&name.parse().unwrap()), "{name}");
        }
        for name in ["host", "accept", "user-agent", "content-type", "x-request-id", "traceparent"]
        {
            assert!(!is_of_proxy(&name.parse().unwrap()), "{name}");
        }
    }
}
