//! Sessions: a cookie that stands for an API token, and the tokens of forms.
//!
//! A session cookie is `<token id>.<end>.<mac>`. The MAC is made with the key that verifies tokens
//! and covers the digest of the token, so nothing is stored, every server of a database accepts the
//! cookie, and it ends when the token is revoked, runs out or is replaced. A form's token is a MAC of
//! the cookie, or of a random value of this process for readers that need no token.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HeaderName, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use gbrain_console::{Chrome, page};
use gbrain_core::fault::{Fault, FaultKind};

use super::{Reader, form as read_form, html, see_other};
use crate::access::{AuthError, Credentials};
use crate::http::{ClientAddress, ServerState, in_time};
use crate::work_queue::{StopFlag, WorkQueue};

/// The form to sign in.
pub(crate) const SIGN_IN: &str = "/sign-in";
const NAME: &str = "gbrain_session";
/// How long a session lasts.
const SECONDS: i64 = 12 * 60 * 60;

/// The session cookie of a request.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value.to_owned())
}

/// The token of a form: proves that it is from a page of this session.
pub(super) fn csrf_token(shared: &ServerState, reader: &Reader) -> String {
    shared.form_key().map(|key| key.sign(&form_parts(reader))).unwrap_or_default()
}

pub(super) fn is_csrf_token(shared: &ServerState, reader: &Reader, presented: &str) -> bool {
    shared.form_key().is_some_and(|key| key.is_signed(&form_parts(reader), presented))
}

fn form_parts(reader: &Reader) -> [&str; 2] {
    ["form", reader.session.as_deref().unwrap_or("open")]
}

/// `GET /sign-in`.
pub(super) async fn form(request: Request) -> Response {
    let query: Vec<(String, String)> =
        serde_urlencoded::from_str(request.uri().query().unwrap_or_default()).unwrap_or_default();
    let next = query.iter().find(|(name, _)| name == "next").map_or("/", |(_, value)| value);
    sign_in_page(StatusCode::OK, next, None)
}

/// `POST /sign-in`.
pub(super) async fn sign_in(State(shared): State<Arc<ServerState>>, request: Request) -> Response {
    let peer = request.extensions().get::<ClientAddress>().copied();
    let is_secure =
        request.headers().get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let fields = match read_form(request).await {
        Ok(fields) => fields,
        Err(fault) => return sign_in_page(StatusCode::BAD_REQUEST, "/", Some(&fault.message)),
    };
    let next = own_path(fields.get("next").unwrap_or("/")).to_owned();
    let token = fields.get("token").unwrap_or_default().trim().to_owned();
    match session_for(&shared, token, peer).await {
        Ok(session) => {
            let mut response = see_other(&next);
            set_cookie(&mut response, &session, SECONDS, is_secure);
            response
        }
        Err(fault) if fault.kind == FaultKind::RateLimited => sign_in_page(
            StatusCode::TOO_MANY_REQUESTS,
            &next,
            Some("too many attempts: wait a minute, then try again"),
        ),
        Err(fault) => sign_in_page(StatusCode::UNAUTHORIZED, &next, Some(&fault.message)),
    }
}

/// Checks a token and makes a session for it.
async fn session_for(
    shared: &Arc<ServerState>,
    token: String,
    peer: Option<ClientAddress>,
) -> Result<String, Fault> {
    let peer = peer.ok_or_else(|| Fault::internal("a request without a peer"))?.0;
    let authenticator = shared.authenticator().clone();
    let job = move |_: &StopFlag| {
        let header = format!("Bearer {token}");
        let credentials =
            Credentials { authorization: Some(&header), session: None, peer, is_forwarded: false };
        let now = super::now();
        authenticator
            .authenticate(&credentials, Instant::now(), now)
            .and_then(|principal| authenticator.session(&principal, Instant::now(), now, SECONDS))
    };
    in_time(shared, WorkQueue::Read, job).await.map_err(|refusal| refusal.fault)?.map_err(|error| {
        match error {
            AuthError::Unauthorised(fault) | AuthError::Unavailable(fault) => fault,
            AuthError::RateLimited(_) => Fault::rate_limited("too many requests"),
        }
    })
}

/// `POST /sign-out`. Signing somebody out by a link of another site is no gain, but forms of other
/// sites are refused before this by their origin.
pub(super) async fn sign_out() -> Response {
    let mut response = see_other(SIGN_IN);
    set_cookie(&mut response, "", 0, false);
    response
}

/// Sends a browser without a session to the form, which sends it back afterwards.
///
/// A link from another site arrives without the cookie (`SameSite=Strict`) although there may be a
/// session: the browser is then asked to load the page again, from here.
pub(crate) fn refused(request: &RefusedRequest) -> Response {
    if request.is_cross_site {
        let response = html(StatusCode::OK, again(&request.target));
        return response;
    }
    let next = serde_urlencoded::to_string([("next", &request.target)]).unwrap_or_default();
    see_other(&format!("{SIGN_IN}?{next}"))
}

/// What is known of a request that could not be authenticated.
pub(crate) struct RefusedRequest {
    target: String,
    is_cross_site: bool,
}

impl RefusedRequest {
    /// `None` unless a browser asks for a page of the console.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let is_page = request.method() == axum::http::Method::GET
            && super::is_console_path(request.uri().path())
            && !headers.contains_key(axum::http::header::AUTHORIZATION);
        let wants_html = headers
            .get("accept")
            .and_then(|value| value.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html"));
        if !is_page || !wants_html {
            return None;
        }
        let target =
            request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let is_cross_site = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
        Some(Self { target, is_cross_site })
    }
}

fn again(target: &str) -> String {
    gbrain_console::page::sign_in::again(own_path(target))
}

fn sign_in_page(status: StatusCode, next: &str, error: Option<&str>) -> Response {
    let chrome = Chrome { workspace: "", reader: "", is_signed_in: false, csrf: "" };
    html(status, gbrain_console::live(&page::sign_in::page(own_path(next), error), &chrome))
}

/// A path of this server, so that signing in never leads to another site.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains(['\\', '\r', '\n', '\t'])
        && next.is_ascii();
    if is_own { next } else { "/" }
}

fn set_cookie(response: &mut Response, value: &str, seconds: i64, is_secure: bool) {
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie =
        format!("{NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    let name: HeaderName = SET_COOKIE;
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(name, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_pages_of_this_server_only() {
        for (next, expected) in [
            ("/runs?x=1", "/runs?x=1"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nset-cookie: x", "/"),
            ("", "/"),
        ] {
            assert_eq!(own_path(next), expected, "{next:?}");
        }
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static("a=b; gbrain_session=x.y.z; c=d"));
        assert_eq!(cookie(&headers).as_deref(), Some("x.y.z"));
        assert_eq!(cookie(&HeaderMap::new()), None);
    }
}
