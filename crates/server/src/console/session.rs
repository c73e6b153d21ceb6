//! Signing in and out, and the session cookie.
//!
//! Guarantees: signing in leads to pages of this server only; attempts are limited and audited like
//! tokens of the API; the cookie is unreadable for scripts, never sent along by other sites, and
//! `Secure` behind TLS, with a name that other hosts of the domain cannot set.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use gbrain_console::{Chrome, page};
use gbrain_core::fault::{Fault, FaultKind};
use jiff::SignedDuration;

use super::browser::{is_https, own_path};
use super::{BrowserRequest, Fields, Reader, form, html, see_other};
use crate::access::{AuthError, Credentials};
use crate::http::{
    ClientAddress, EndpointName, ErrorResponse, ServerState, SignedInAs, in_time, is_internal,
    masked, status_of,
};
use crate::principal::Principal;
use crate::work_queue::{StopFlag, WorkQueue};

/// The form to sign in.
pub(crate) const SIGN_IN: &str = "/sign-in";
pub(super) const SIGN_OUT: &str = "/sign-out";
const NAME: &str = "gbrain_session";
/// Behind TLS. Browsers accept this prefix only from the host itself and only with `Secure`.
const SECURE_NAME: &str = "__Host-gbrain_session";
/// How long a session lasts.
const LIFETIME: SignedDuration = SignedDuration::from_hours(12);
/// Maximum size of the form, which is read before its sender is known.
const FORM_BYTES: usize = 16 << 10;

/// The session cookie of a request.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<String> {
    let secure = only_cookie(headers, SECURE_NAME);
    secure.or_else(|| if is_https(headers) { None } else { only_cookie(headers, NAME) })
}

/// Two cookies of one name are none: another port or host of the domain may have set one of them,
/// to have the reader work in a session that is not theirs.
fn only_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs =
        all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(one, _)| *one == name).map(|(_, value)| value.to_owned());
    found.next().filter(|_| found.next().is_none())
}

/// The token of a form: proves that it is from a page of this session.
pub(super) fn csrf_token(shared: &ServerState, reader: &Reader) -> String {
    let token = match &reader.session {
        Some(session) => shared.authenticator().form_token(session),
        None => shared.form_key().map(|key| key.sign(&["form"])),
    };
    token.unwrap_or_default()
}

pub(super) fn is_csrf_token(shared: &ServerState, reader: &Reader, presented: &str) -> bool {
    match &reader.session {
        Some(session) => shared.authenticator().is_form_token(session, presented),
        None => shared.form_key().is_some_and(|key| key.is_signed(&["form"], presented)),
    }
}

/// `GET /sign-in`.
pub(super) async fn sign_in_form(request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let query: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    sign_in_page(StatusCode::OK, Fields(query).get("next").unwrap_or("/"), None)
}

/// `POST /sign-in`.
pub(super) async fn sign_in(State(shared): State<Arc<ServerState>>, request: Request) -> Response {
    let peer = request.extensions().get::<ClientAddress>().copied();
    let is_secure = is_https(request.headers());
    let mut response = match form(&shared, request, FORM_BYTES).await {
        Ok(fields) => begin(&shared, &fields, peer, is_secure).await,
        Err(fault) => refused_attempt("/", fault.into()),
    };
    response.extensions_mut().insert(EndpointName("sign_in"));
    response
}

async fn begin(
    shared: &Arc<ServerState>,
    fields: &Fields,
    peer: Option<ClientAddress>,
    is_secure: bool,
) -> Response {
    let next = own_path(fields.get("next").unwrap_or("/"));
    let token = fields.get("token").unwrap_or_default().trim().to_owned();
    match session_for(shared, token, peer).await {
        Ok((principal, session)) => {
            let mut response = see_other(if next.starts_with(SIGN_IN) { "/" } else { next });
            set_cookie(&mut response, &session, LIFETIME, is_secure);
            response.extensions_mut().insert(SignedInAs(principal));
            response
        }
        Err(refusal) => refused_attempt(next, refusal),
    }
}

/// The form again, with the reason. Internal faults are logged and hidden.
fn refused_attempt(next: &str, refusal: ErrorResponse) -> Response {
    let ErrorResponse { fault, retry_after } = refusal;
    let status = status_of(fault.kind);
    let message = match fault.kind {
        FaultKind::RateLimited => "too many attempts: wait a minute, then try again".to_owned(),
        kind if is_internal(kind) => {
            tracing::error!(kind = kind.name(), message = %fault.message, "signing in failed");
            masked(&fault).message
        }
        _ => fault.message,
    };
    let mut response = sign_in_page(status, next, Some(&message));
    if let Some(after) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    response
}

/// Checks a token and makes a session for it.
async fn session_for(
    shared: &Arc<ServerState>,
    token: String,
    peer: Option<ClientAddress>,
) -> Result<(Principal, String), ErrorResponse> {
    let peer = peer.ok_or_else(|| Fault::internal("a request without a peer"))?.0;
    let authenticator = shared.authenticator().clone();
    let job = move |_: &StopFlag| {
        let header = format!("Bearer {token}");
        let credentials =
            Credentials { authorization: Some(&header), session: None, peer, is_forwarded: false };
        let (clock, now) = (Instant::now(), super::now());
        let principal = authenticator.authenticate(&credentials, clock, now)?;
        let session = authenticator.begin_session(&principal, clock, now, LIFETIME)?;
        Ok((principal, session))
    };
    in_time(shared, WorkQueue::Read, job).await?.map_err(|error| match error {
        AuthError::Unauthorised(fault) => {
            shared.metrics().refused("unauthorized");
            fault.into()
        }
        AuthError::RateLimited(after) => {
            shared.metrics().refused("rate_limit");
            ErrorResponse {
                fault: Fault::rate_limited("too many requests"),
                retry_after: Some(after),
            }
        }
        AuthError::Unavailable(fault) => fault.into(),
    })
}

/// `POST /sign-out`. It needs no token of a form: forms of other origins were refused before this.
pub(super) async fn sign_out() -> Response {
    let mut response = signed_out();
    response.extensions_mut().insert(EndpointName("sign_out"));
    response
}

/// Forgets the session. Cookies of both names go, as the proxy may have changed.
fn signed_out() -> Response {
    let mut response = see_other(SIGN_IN);
    for is_secure in [false, true] {
        set_cookie(&mut response, "", SignedDuration::ZERO, is_secure);
    }
    response
}

/// Answers a browser without a session: with the form, which leads back afterwards.
///
/// A link from another site arrives without the cookie (`SameSite=Strict`) although there may be a
/// session: the browser is then asked to load the page again, from here.
pub(super) fn required(browser: &BrowserRequest) -> Response {
    let target = own_path(&browser.target);
    if browser.path() == SIGN_OUT {
        return signed_out();
    }
    if !browser.is_reading() {
        let message = "the session has ended and nothing was changed: sign in, then try again";
        return sign_in_page(StatusCode::UNAUTHORIZED, "/", Some(message));
    }
    if browser.is_cross_site {
        return html(StatusCode::OK, page::sign_in::again(target));
    }
    let next = serde_urlencoded::to_string([("next", target)]).unwrap_or_default();
    see_other(&format!("{SIGN_IN}?{next}"))
}

fn sign_in_page(status: StatusCode, next: &str, error: Option<&str>) -> Response {
    let chrome = Chrome { workspace: "", reader: "", is_signed_in: false, csrf: "" };
    html(status, gbrain_console::live(&page::sign_in::page(own_path(next), error), &chrome))
}

fn set_cookie(response: &mut Response, value: &str, lifetime: SignedDuration, is_secure: bool) {
    let (name, secure) = if is_secure { (SECURE_NAME, "; Secure") } else { (NAME, "") };
    let seconds = lifetime.as_secs();
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], expected: Option<&str>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        assert_eq!(cookie(&map).as_deref(), expected, "{headers:?}");
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        check(&[], None);
        check(&[("cookie", "a=b; gbrain_session=x.y; c=d")], Some("x.y"));
        check(&[("cookie", "a=b"), ("cookie", "gbrain_session=x.y")], Some("x.y"));
        check(&[("cookie", "gbrain_session_=x; xgbrain_session=y")], None);
    }

    #[test]
    fn a_cookie_that_another_host_planted_is_none() {
        check(&[("cookie", "gbrain_session=theirs; gbrain_session=mine")], None);
        check(&[("cookie", "gbrain_session=theirs; __Host-gbrain_session=mine")], Some("mine"));
        check(&[("cookie", "gbrain_session=theirs"), ("x-forwarded-proto", "https")], None);
    }

    #[test]
    fn cookies_are_out_of_reach_of_scripts_and_other_sites() {
        let of = |is_secure| {
            let mut response = Response::default();
            set_cookie(&mut response, "v", SignedDuration::from_secs(5), is_secure);
            response.headers()[SET_COOKIE].to_str().unwrap().to_owned()
        };
        assert_eq!(of(false), "gbrain_session=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=5");
        let secure =
            "__Host-gbrain_session=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=5; Secure";
        assert_eq!(of(true), secure);
    }
}
