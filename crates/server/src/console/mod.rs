//! The console: pages rendered from the answers of the API's own operations.
//!
//! A page calls endpoints of the API by name, as its reader, and `gbrain_console` renders their
//! JSON. So a page shows nothing that its reader could not read over HTTP, and every scope, limit
//! and mask of the API holds for pages too.
//!
//! Guarantees: every form that changes something carries a token that other sites cannot know; the
//! content security policy allows no inline script or style and no other origin; a session is tied
//! to its API token and ends with it.

mod actions;
mod browser;
mod call;
mod downloads;
mod label_actions;
mod pages;
mod reports;
pub(crate) mod session;

use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{Path, RawPathParams, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, RETRY_AFTER, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use flate2::Compression;
use flate2::write::GzEncoder;
use gbrain_console::page::message::{self, Message};
use gbrain_console::{ASSETS, Chrome, Page, Section};
use gbrain_core::clock::moment;
use gbrain_core::fault::{Fault, FaultKind};

use crate::http::{
    AuditTarget, EndpointName, ErrorResponse, JSON, NDJSON, ServerState, buffer_up_to, in_time,
    is_internal, masked, principal, status_of,
};
use crate::principal::Principal;
use crate::work_queue::{StopFlag, WorkQueue};
use actions::ConsoleAction;
pub(crate) use browser::BrowserRequest;
use browser::own_path;
pub(crate) use call::EndpointTable;
use call::{CallOutcome, ConsoleCall};
use downloads::ConsoleDownload;
use pages::ConsolePage;
pub(crate) use reports::ReportCache;
use session::{SIGN_IN, SIGN_OUT};

const HTML: &str = "text/html; charset=utf-8";
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Assets never change: their names contain the hash of their content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The routes of the console.
pub(crate) fn router() -> Router<Arc<ServerState>> {
    let mut router = Router::new()
        .route(SIGN_IN, get(session::sign_in_form).post(session::sign_in))
        .route(SIGN_OUT, post(session::sign_out))
        .route("/assets/{name}", get(asset))
        .route("/live/runs/{id}/events", get(crate::http::of_run))
        .route("/live/jobs/{id}/events", get(crate::http::of_job));
    for page in pages::pages() {
        router = router.route(page.path, page_route(page));
    }
    for download in downloads::downloads() {
        router = router.route(download.path, download_route(download));
    }
    for action in actions::actions() {
        router = router.route(action.path, action_route(action));
    }
    router
}

/// Whether a path belongs to the console: it takes the session cookie, and a browser without one is
/// sent to the form.
pub(crate) fn is_console_path(path: &str) -> bool {
    !(path.starts_with("/v1/") || path == "/mcp" || path == "/metrics")
}

/// Whether a path of the console needs no session.
pub(crate) fn is_public(path: &str) -> bool {
    path == SIGN_IN || path.starts_with("/assets/")
}

pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "no such file").into_response();
    };
    let headers = [(CONTENT_TYPE, asset.content_type), (CACHE_CONTROL, IMMUTABLE)];
    (headers, asset.bytes).into_response()
}

fn page_route(page: ConsolePage) -> axum::routing::MethodRouter<Arc<ServerState>> {
    let page = Arc::new(page);
    get(
        async move |State(shared): State<Arc<ServerState>>,
                    path: PathParameters,
                    request: Request| {
            let reader = match Reader::of(&request) {
                Ok(reader) => reader,
                Err(fault) => {
                    return reply_with(&shared, None, Err(fault), page.section).map(Body::from);
                }
            };
            let parameters = parameters(path, request.uri().query().unwrap_or_default());
            let (state, own, section, id) = (shared.clone(), reader.clone(), page.section, page.id);
            let is_gzip = accepts_gzip(request.headers());
            // Large pages are rendered and compressed here, not on the reactor.
            let job = move |stop: &StopFlag| {
                let render = |call: &ConsoleCall<'_>| (page.render)(call, &parameters?);
                let result = ConsoleCall::run(&state, &own.principal, stop, render).result;
                let response = reply_with(&state, Some(&own), result, section);
                if is_gzip { compressed(response) } else { response.map(Body::from) }
            };
            let result = in_time(&shared, WorkQueue::Read, job).await;
            let mut response = result.unwrap_or_else(|refusal| {
                reply_with(&shared, Some(&reader), Err(refusal.fault), section).map(Body::from)
            });
            response.extensions_mut().insert(EndpointName(id));
            response
        },
    )
}

fn download_route(download: ConsoleDownload) -> axum::routing::MethodRouter<Arc<ServerState>> {
    let ConsoleDownload { path, id, endpoint } = download;
    get(async move |State(shared): State<Arc<ServerState>>, request: Request| {
        let reader = match Reader::of(&request) {
            Ok(reader) => reader,
            Err(fault) => {
                return reply_with(&shared, None, Err(fault), Section::default()).map(Body::from);
            }
        };
        let (state, principal) = (shared.clone(), reader.principal.clone());
        let job = move |stop: &StopFlag| {
            ConsoleCall::run(&state, &principal, stop, |call| call.bytes(endpoint, &[], None))
                .result
        };
        let result = in_time(&shared, WorkQueue::Read, job).await.map_err(|refusal| refusal.fault);
        let mut response = match result.flatten() {
            Ok(bytes) => attachment(path, bytes),
            Err(fault) => {
                reply_with(&shared, Some(&reader), Err(fault), Section::default()).map(Body::from)
            }
        };
        response.extensions_mut().insert(EndpointName(id));
        response
    })
}

/// JSON, or JSON lines, to save under the last segment of the path.
fn attachment(path: &str, bytes: Vec<u8>) -> Response {
    let name = path.rsplit('/').next().unwrap_or_default();
    let disposition = format!("attachment; filename=\"{name}\"");
    let content_type = if name.ends_with(".jsonl") { NDJSON } else { JSON };
    let headers = [(CONTENT_TYPE, content_type.to_owned()), (CONTENT_DISPOSITION, disposition)];
    (headers, bytes).into_response()
}

fn action_route(action: ConsoleAction) -> axum::routing::MethodRouter<Arc<ServerState>> {
    let action = Arc::new(action);
    post(
        async move |State(shared): State<Arc<ServerState>>,
                    path: PathParameters,
                    request: Request| {
            let (section, id) = (action.section, action.id);
            let reader = match Reader::of(&request) {
                Ok(reader) => reader,
                Err(fault) => {
                    return reply_with(&shared, None, Err(fault), section).map(Body::from);
                }
            };
            let parameters = parameters(path, request.uri().query().unwrap_or_default());
            let CallOutcome { target, result } =
                perform(&shared, &reader, action, parameters, request)
                    .await
                    .unwrap_or_else(CallOutcome::refused);
            let mut response = match result {
                Ok(location) => see_other(&location),
                Err(fault) => {
                    reply_with(&shared, Some(&reader), Err(fault), section).map(Body::from)
                }
            };
            response.extensions_mut().insert(EndpointName(id));
            if let Some(target) = target {
                response.extensions_mut().insert(AuditTarget(target));
            }
            response
        },
    )
}

async fn perform(
    shared: &Arc<ServerState>,
    reader: &Reader,
    action: Arc<ConsoleAction>,
    parameters: Result<Fields, Fault>,
    request: Request,
) -> Result<CallOutcome<String>, Fault> {
    let mut fields = form(shared, request, shared.limits().body).await?;
    if !session::is_csrf_token(shared, reader, fields.take("csrf").unwrap_or_default().as_str()) {
        return Err(Fault::forbidden("this form is not from this session")
            .hint("open the page again, then send the form"));
    }
    // The path comes first: a field of the form does not change the object that the path names.
    let mut all = parameters?;
    all.0.append(&mut fields.0);
    let (state, principal) = (shared.clone(), reader.principal.clone());
    let job = move |stop: &StopFlag| {
        ConsoleCall::run(&state, &principal, stop, |call| (action.perform)(call, &all))
    };
    in_time(shared, WorkQueue::Write, job).await.map_err(|refusal| refusal.fault)
}

/// Who reads a page, and how the page's forms prove that they are from this session.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) principal: Principal,
    /// The session cookie; `None` for a reader without a token, who may have an old one.
    pub(crate) session: Option<String>,
}

impl Reader {
    fn of(request: &Request) -> Result<Self, Fault> {
        let principal = principal(request)?;
        let session = principal.token_id.as_ref().and_then(|_| session::cookie(request.headers()));
        Ok(Self { principal, session })
    }
}

/// The values of a form or of a URL, in order.
#[derive(Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// The value of a field; an empty one counts as missing, as forms send every field.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A field that the page cannot do without.
    pub(crate) fn require(&self, name: &str) -> Result<&str, Fault> {
        self.get(name).ok_or_else(|| Fault::usage(format!("the field `{name}` is missing")))
    }

    /// The values of a field that a form may have several times.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(one, value)| one == name && !value.is_empty());
        values.map(|(_, value)| value.as_str())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(one, _)| one == name)?;
        Some(self.0.remove(at).1)
    }

    /// The fields that an endpoint takes, without empty ones.
    pub(crate) fn only<'a>(&'a self, names: &[&'a str]) -> Vec<(&'a str, &'a str)> {
        names.iter().filter_map(|name| Some((*name, self.get(name)?))).collect()
    }
}

type PathParameters = Result<RawPathParams, RawPathParamsRejection>;

fn parameters(path: PathParameters, query: &str) -> Result<Fields, Fault> {
    let path = path.map_err(|_| Fault::usage("the path is not valid UTF-8"))?;
    let mut fields: Vec<(String, String)> =
        path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let query: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|error| Fault::usage(format!("invalid parameters: {error}")))?;
    fields.extend(query);
    Ok(Fields(fields))
}

/// The fields of a form, within the limits of the API on time and memory.
pub(crate) async fn form(
    shared: &ServerState,
    request: Request,
    max_bytes: usize,
) -> Result<Fields, Fault> {
    let body = buffer_up_to(request, shared, max_bytes).await?;
    serde_urlencoded::from_bytes(&body.bytes)
        .map(Fields)
        .map_err(|error| Fault::usage(format!("cannot read the form: {error}")))
}

/// Answers a request that leads to no page. Callers of the API get JSON.
pub(crate) fn fault(shared: &ServerState, request: &Request, fault: Fault) -> Response {
    match BrowserRequest::of(request) {
        Some(_) => {
            reply_with(shared, Reader::of(request).ok().as_ref(), Err(fault), Section::default())
                .map(Body::from)
        }
        None => ErrorResponse::from(fault).into_response(),
    }
}

/// Answers a browser that was not let in: without a session it is sent to the form.
pub(crate) fn refused(
    shared: &ServerState,
    browser: &BrowserRequest,
    refusal: ErrorResponse,
) -> Response {
    if refusal.fault.kind == FaultKind::Unauthorised {
        return session::required(browser);
    }
    reply_with(shared, None, Err(refusal.fault), Section::default()).map(Body::from)
}

/// Renders a page, or the page of a fault with its status.
fn reply_with(
    shared: &ServerState,
    reader: Option<&Reader>,
    result: Result<Page, Fault>,
    section: Section,
) -> Response<String> {
    let (status, retry_after, page) = match result {
        Ok(page) => (StatusCode::OK, None, page),
        Err(fault) => {
            let ErrorResponse { fault, retry_after } = fault.into();
            let status = status_of(fault.kind);
            let shown = if is_internal(fault.kind) {
                tracing::error!(kind = fault.kind.name(), message = %fault.message, "a page failed");
                masked(&fault)
            } else {
                fault
            };
            let title = status.canonical_reason().unwrap_or("Error");
            (
                status,
                retry_after,
                message::page(
                    section,
                    &Message { title, text: &shown.message, hints: &shown.hints },
                ),
            )
        }
    };
    let csrf = reader.map(|reader| session::csrf_token(shared, reader)).unwrap_or_default();
    let principal = reader.map(|reader| &reader.principal);
    let chrome = Chrome {
        workspace: principal.map_or("", |principal| principal.workspace.as_str()),
        reader: principal.map_or("", |principal| &principal.name),
        is_signed_in: reader.is_some_and(|reader| reader.principal.token_id.is_some()),
        csrf: &csrf,
    };
    let mut response = Response::new(gbrain_console::live(&page, &chrome));
    *response.status_mut() = status;
    set_html_headers(response.headers_mut());
    if let Some(after) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    response
}

pub(crate) fn html(status: StatusCode, text: String) -> Response {
    let mut response = (status, text).into_response();
    set_html_headers(response.headers_mut());
    response
}

fn set_html_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Without a referrer browsers send forms with the origin `null`, as if from another site.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
}

/// Whether the browser takes gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = all.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && weight.trim() != "q=0"
    })
}

/// The page as gzip. Pages of other sites cannot guess at its content by its length: requests from
/// other sites come without the session.
fn compressed(response: Response<String>) -> Response {
    let (mut parts, text) = response.into_parts();
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    match packed {
        Ok(bytes) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
            Response::from_parts(parts, Body::from(bytes))
        }
        Err(_) => Response::from_parts(parts, Body::from(text)),
    }
}

/// Sends the browser to another page of the console.
fn see_other(location: &str) -> Response {
    let location =
        HeaderValue::from_str(own_path(location)).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

fn now() -> jiff::Timestamp {
    moment(std::time::SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_takes_no_cookies() {
        for path in ["/v1/query", "/v1/pages/wiki", "/mcp", "/metrics"] {
            assert!(!is_console_path(path), "{path}");
        }
        let document = crate::http::openapi();
        let paths = document["paths"].as_object().unwrap().keys();
        let with_cookie: Vec<_> = paths.filter(|path| is_console_path(path)).collect();
        assert!(with_cookie.is_empty(), "{with_cookie:?}");
    }

    #[test]
    fn only_the_form_and_the_assets_are_public() {
        for path in [SIGN_IN, "/assets/style.css"] {
            assert!(is_public(path), "{path}");
        }
        for path in [
            "/",
            "/runs",
            SIGN_OUT,
            "/assets",
            "/sign-in/x",
            "/sign-in%2f",
            "//sign-in",
            "/runs/assets/",
        ] {
            assert!(!is_public(path), "{path}");
        }
        let pages = pages::pages().into_iter().map(|page| page.path);
        let public: Vec<_> = pages
            .chain(actions::actions().iter().map(|action| action.path))
            .filter(|p| is_public(p))
            .collect();
        assert!(public.is_empty(), "{public:?}");
    }
}
