//! HTTP client with limits: sends one request and classifies the outcome.

use std::io::Read;
use std::time::Duration;

use gbrain_core::clock::moment;
use gbrain_core::fault::message_in;
use rustls::pki_types::CertificateDer;
use serde_json::Value;

use crate::retry::retry_after;
use crate::secret::Secret;

/// Longest excerpt of a server's error text in a message, in characters.
const MAX_MESSAGE_CHARS: usize = 300;
/// Most bytes of an error response that are read for its text.
const MAX_ERROR_BYTES: u64 = 1 << 20;
/// Idle connections are dropped after this time, which is shorter than the keep-alive of common
/// servers.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    pub url: String,
    /// Headers; `content-type` is set for a body.
    pub headers: Vec<(String, String)>,
    /// Body to post; without one the method is GET.
    pub body: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Limit for one call, from the first byte sent to the last byte received.
    pub timeout: Duration,
    /// Most idle connections in the pool.
    pub max_idle_connections: usize,
    /// Largest response body, in bytes.
    pub max_response_bytes: u64,
    /// The only certificate authorities to trust, as PEM; otherwise those of `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR`, or the bundled roots.
    pub authorities: Option<Vec<u8>>,
}

/// HTTP client with limits on time, size and connections.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    max_response_bytes: u64,
    /// Why no certificate authority could be loaded.
    missing_authorities: Option<String>,
}

/// Status and headers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// Value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A response with status 2xx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub head: ResponseHead,
    pub body: Vec<u8>,
}

impl Response {
    /// Parses the body as JSON.
    pub fn json(&self) -> Result<Value, HttpFailure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            HttpFailure::new(HttpFailureKind::NotJson, format!("the response is not JSON: {error}"))
        })
    }
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HttpFailureKind {
    /// The request is invalid: a malformed header or URL.
    InvalidRequest,
    /// No connection could be made; nothing was sent.
    NoConnection,
    /// The connection timed out; nothing was sent.
    ConnectTimeout,
    /// The request was sent, and the response did not arrive completely in time.
    Timeout,
    /// The connection broke before a response arrived.
    Broken,
    /// The response began and was cut off.
    Truncated,
    /// The response exceeds the size limit.
    TooLarge,
    /// The response is not JSON.
    NotJson,
    RateLimited,
    /// The server timed out: status 408 or 504.
    ServerTimeout,
    /// Any other status from 500 to 599.
    Unavailable,
    /// Status 401 or 403.
    Denied,
    /// Any other status that is not 2xx.
    Refused,
}

impl HttpFailureKind {
    /// Whether the server responded, even if it refused the request.
    fn is_response(self) -> bool {
        match self {
            Self::RateLimited | Self::Denied | Self::Refused | Self::NotJson | Self::TooLarge => {
                true
            }
            Self::InvalidRequest
            | Self::NoConnection
            | Self::ConnectTimeout
            | Self::Timeout
            | Self::Broken
            | Self::Truncated
            | Self::ServerTimeout
            | Self::Unavailable => false,
        }
    }
}

/// A response of which only the status was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseStatus {
    pub status: u16,
}

/// A failed call. The message contains no secret that was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpFailure {
    pub kind: HttpFailureKind,
    pub message: String,
    pub status: Option<u16>,
    /// The wait requested by `retry-after`.
    pub after: Option<Duration>,
}

impl HttpFailure {
    fn new(kind: HttpFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, after: None }
    }
}

impl Client {
    /// Creates a client; fails if the PEM contains no valid certificates.
    pub fn new(options: ClientOptions) -> Result<Self, String> {
        let ClientOptions { timeout, max_idle_connections, max_response_bytes, authorities } =
            options;
        let mut tls = ureq::tls::TlsConfig::builder();
        let mut missing_authorities = None;
        if let Some(pem) = authorities {
            tls = tls.root_certs(roots(&pem)?);
        } else if let Some(place) = authorities_variable() {
            match named() {
                Some(roots) => tls = tls.root_certs(roots),
                None => {
                    missing_authorities = Some(format!("no certificate can be read from {place}"))
                }
            }
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections_per_host(max_idle_connections)
            .max_idle_connections(max_idle_connections)
            .max_idle_age(IDLE_TIMEOUT)
            .proxy(None)
            .tls_config(tls.build())
            .build();
        Ok(Self { agent: config.into(), max_response_bytes, missing_authorities })
    }

    /// Sends a request and reads the whole response. Messages never contain `secrets`. `timeout`
    /// shortens the client's own limit.
    pub fn send(
        &self,
        call: &HttpRequest,
        timeout: Option<Duration>,
        secrets: &[Secret],
    ) -> Result<Response, HttpFailure> {
        self.stream(call, timeout, secrets, &mut |head, body| {
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes)?;
            Ok(Response { head: head.clone(), body: bytes })
        })
    }

    /// Sends a request and passes the response to `read` as a stream; `read` may stop early.
    pub fn stream<T>(
        &self,
        call: &HttpRequest,
        timeout: Option<Duration>,
        secrets: &[Secret],
        read: &mut dyn FnMut(&ResponseHead, &mut dyn Read) -> std::io::Result<T>,
    ) -> Result<T, HttpFailure> {
        if let Some(why) =
            self.missing_authorities.as_ref().filter(|_| call.url.starts_with("https:"))
        {
            return Err(HttpFailure::new(HttpFailureKind::NoConnection, why.clone()));
        }
        let hide = |text: String| secrets.iter().fold(text, |text, secret| secret.hide_in(&text));
        let sent = self.request(call, timeout);
        let mut response = sent.map_err(|error| classify_send_error(&error, &hide))?;
        let (head, body) = (head_of(&response), response.body_mut());
        if !(200..300).contains(&head.status) {
            let body_text =
                body.with_config().limit(MAX_ERROR_BYTES).lossy_utf8(true).read_to_string();
            return Err(classify_status(&head, &hide(body_text.unwrap_or_default())));
        }
        let mut reader = body.with_config().limit(self.max_response_bytes).reader();
        read(&head, &mut reader).map_err(|error| classify_read_error(error, &hide))
    }

    /// Sends a request and reads only the status, to check whether the address responds. A refusal
    /// counts as a response; a timeout, a broken connection and a server error (5xx) do not.
    pub fn reach(
        &self,
        call: &HttpRequest,
        timeout: Option<Duration>,
        secrets: &[Secret],
    ) -> Result<ResponseStatus, HttpFailure> {
        match self.stream(call, timeout, secrets, &mut |head, _| Ok(head.status)) {
            Ok(status) => Ok(ResponseStatus { status }),
            Err(HttpFailure { kind, status: Some(status), .. }) if kind.is_response() => {
                Ok(ResponseStatus { status })
            }
            Err(failure) => Err(failure),
        }
    }

    fn request(
        &self,
        call: &HttpRequest,
        timeout: Option<Duration>,
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        match &call.body {
            Some(body) => {
                let request = self.agent.post(&call.url);
                let request = request.header("content-type", "application/json");
                with(request, &call.headers, timeout).send(&body[..])
            }
            None => with(self.agent.get(&call.url), &call.headers, timeout).call(),
        }
    }
}

fn with<B>(
    request: ureq::RequestBuilder<B>,
    headers: &[(String, String)],
    timeout: Option<Duration>,
) -> ureq::RequestBuilder<B> {
    let headers = headers.iter();
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    match timeout {
        Some(timeout) => request.config().timeout_global(Some(timeout)).build(),
        None => request,
    }
}

fn head_of(response: &ureq::http::Response<ureq::Body>) -> ResponseHead {
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers = response.headers().iter().filter_map(header).collect();
    ResponseHead { status: response.status().as_u16(), headers }
}

/// The environment variable that names certificate authorities, with its value.
fn authorities_variable() -> Option<String> {
    let named = |name: &str| {
        let place = std::env::var(name).ok().filter(|place| !place.is_empty())?;
        Some(format!("{name}={place}"))
    };
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find_map(named)
}

/// Loads those authorities; `None` if none can be read.
fn named() -> Option<ureq::tls::RootCerts> {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let certificate = |der: &CertificateDer<'_>| ureq::tls::Certificate::from_der(der).to_owned();
    let certificates: Vec<_> = certificates.iter().map(certificate).collect();
    (!certificates.is_empty()).then(|| ureq::tls::RootCerts::new_with_certs(&certificates))
}

fn roots(pem: &[u8]) -> Result<ureq::tls::RootCerts, String> {
    let mut certificates = Vec::new();
    for item in ureq::tls::parse_pem(pem) {
        if let ureq::tls::PemItem::Certificate(certificate) =
            item.map_err(|error| error.to_string())?
        {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("the file contains no certificate".to_owned());
    }
    Ok(ureq::tls::RootCerts::new_with_certs(&certificates))
}

/// Classifies an error before a response arrived.
fn classify_send_error(error: &ureq::Error, hide: &dyn Fn(String) -> String) -> HttpFailure {
    let kind = match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            HttpFailureKind::ConnectTimeout
        }
        ureq::Error::Timeout(_) => HttpFailureKind::Timeout,
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => HttpFailureKind::InvalidRequest,
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            HttpFailureKind::NoConnection
        }
        // These fail before the request is sent.
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_)
        | ureq::Error::TlsRequired
        | ureq::Error::RequireHttpsOnly(_)
        | ureq::Error::InvalidProxyUrl => HttpFailureKind::NoConnection,
        // Any other error may have occurred after the whole request was sent.
        _ => HttpFailureKind::Broken,
    };
    HttpFailure::new(kind, hide(format!("no response: {error}")))
}

/// Classifies an error while the response body was read.
fn classify_read_error(error: std::io::Error, hide: &dyn Fn(String) -> String) -> HttpFailure {
    let error = ureq::Error::from(error);
    let kind = match &error {
        ureq::Error::Timeout(_) => HttpFailureKind::Timeout,
        ureq::Error::BodyExceedsLimit(_) => HttpFailureKind::TooLarge,
        _ => HttpFailureKind::Truncated,
    };
    let message = match &error {
        ureq::Error::BodyExceedsLimit(limit) => {
            format!("the response is larger than the limit of {} MiB", limit >> 20)
        }
        error => format!("the response was cut off: {error}"),
    };
    HttpFailure::new(kind, hide(message))
}

/// Classifies a status that is not 2xx.
fn classify_status(head: &ResponseHead, body_text: &str) -> HttpFailure {
    let status = head.status;
    let kind = match status {
        429 => HttpFailureKind::RateLimited,
        408 | 504 => HttpFailureKind::ServerTimeout,
        500..=599 => HttpFailureKind::Unavailable,
        401 | 403 => HttpFailureKind::Denied,
        _ => HttpFailureKind::Refused,
    };
    let after = head.header("retry-after");
    let after = after.and_then(|value| retry_after(value, moment(std::time::SystemTime::now())));
    let message = format!("status {status}: {}", message(body_text));
    HttpFailure { kind, message, status: Some(status), after }
}

/// The error text of a response on one line: the message in its JSON, or the start of the body.
fn message(body_text: &str) -> String {
    let json: Value = serde_json::from_str(body_text).unwrap_or_default();
    let text = message_in(&json).unwrap_or(body_text);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_meanings() {
        let check = |status, kind: HttpFailureKind| {
            let failed = classify_status(&ResponseHead { status, headers: Vec::new() }, "{}");
            assert_eq!((failed.kind, failed.status), (kind, Some(status)));
        };
        check(429, HttpFailureKind::RateLimited);
        check(500, HttpFailureKind::Unavailable);
        check(529, HttpFailureKind::Unavailable);
        check(504, HttpFailureKind::ServerTimeout);
        check(401, HttpFailureKind::Denied);
        check(400, HttpFailureKind::Refused);
        check(302, HttpFailureKind::Refused);
    }

    #[test]
    fn messages_of_others() {
        let check = |body_text: &str, expected: &str| assert_eq!(message(body_text), expected);
        check(r#"{"error":{"type":"x","message":"too\nlong"}}"#, "too long");
        check(r#"{"message":"invalid"}"#, "invalid");
        check(r#"{"error":"plain"}"#, "plain");
        check("<html>down</html>", "<html>down</html>");
        check("", "");
        assert_eq!(message(&"x".repeat(1000)).len(), MAX_MESSAGE_CHARS);
    }

    #[test]
    fn invalid_certificates_are_refused() {
        assert!(roots(b"").is_err());
        assert!(roots(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_err());
    }
}
