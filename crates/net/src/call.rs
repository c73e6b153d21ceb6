//! One call over HTTP, and what came back sorted by what it means.

use std::io::Read;
use std::time::Duration;

use gbrain_core::clock::moment;
use gbrain_core::fault::message_in;
use rustls::pki_types::CertificateDer;
use serde_json::Value;

use crate::retry::retry_after;
use crate::secret::Secret;

/// As much of somebody else's own words as an error message takes.
const LONGEST_MESSAGE: usize = 300;
/// As much of a refusal as is read for its words.
const LARGEST_REFUSAL: u64 = 1 << 20;
/// How long a connection is kept for another call: less than servers keep theirs.
const IDLE: Duration = Duration::from_secs(4);

/// A call as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub url: String,
    /// With what; `content-type` is given for a body.
    pub headers: Vec<(String, String)>,
    /// A document to post; without one it is a GET.
    pub body: Option<Vec<u8>>,
}

/// How a client calls.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// For one call, from the first byte to the last.
    pub timeout: Duration,
    /// Connections that are kept.
    pub kept: usize,
    /// The largest answer, in bytes.
    pub largest: u64,
    /// The only certificate authorities to trust, as PEM; otherwise those that `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name, or those that are known everywhere.
    pub authorities: Option<Vec<u8>>,
}

/// Somebody who calls.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    largest: u64,
    /// Why nobody can be trusted.
    distrust: Option<String>,
}

/// What came before the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer with a status of 2xx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// What came before it.
    pub head: Head,
    /// The whole of it.
    pub body: Vec<u8>,
}

impl Response {
    /// The document.
    pub fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::new(FailureKind::NotJson, format!("the answer is not JSON: {error}"))
        })
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// It can't be sent as it is: a header or an address that is none.
    Unsendable,
    /// Nobody is there; nothing was sent.
    NoConnection,
    /// Nobody answered the connection in time; nothing was sent.
    ConnectTimeout,
    /// The request was sent, and no answer came in time, or not the whole of it.
    Timeout,
    /// The connection broke before an answer came.
    Broken,
    /// The answer began and broke off.
    CutOff,
    /// The answer is larger than what is read.
    TooLarge,
    /// The answer is no JSON.
    NotJson,
    RateLimited,
    /// Status 408 and 504.
    TimeoutThere,
    /// Other statuses from 500 on.
    Unavailable,
    /// Status 401 and 403.
    Denied,
    /// Every other status that is not 2xx.
    Refused,
}

impl FailureKind {
    /// Whether the address answered, if only to refuse.
    fn is_answer(self) -> bool {
        match self {
            Self::RateLimited | Self::Denied | Self::Refused | Self::NotJson | Self::TooLarge => {
                true
            }
            Self::Unsendable
            | Self::NoConnection
            | Self::ConnectTimeout
            | Self::Timeout
            | Self::Broken
            | Self::CutOff
            | Self::TimeoutThere
            | Self::Unavailable => false,
        }
    }
}

/// An address that answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// The status of its answer.
    pub status: u16,
}

/// A call without an answer. The message holds no secret that was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// The status, if there was one.
    pub status: Option<u16>,
    /// The wait that was asked for.
    pub after: Option<Duration>,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, after: None }
    }
}

impl Client {
    /// A client; an error if the authorities are no certificates.
    pub fn new(options: ClientOptions) -> Result<Self, String> {
        let ClientOptions { timeout, kept, largest, authorities } = options;
        let mut tls = ureq::tls::TlsConfig::builder();
        let mut distrust = None;
        if let Some(pem) = authorities {
            tls = tls.root_certs(roots(&pem)?);
        } else if let Some(place) = named_place() {
            match named() {
                Some(roots) => tls = tls.root_certs(roots),
                None => distrust = Some(format!("no certificate can be read where {place}")),
            }
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections_per_host(kept)
            .max_idle_connections(kept)
            .max_idle_age(IDLE)
            .proxy(None)
            .tls_config(tls.build())
            .build();
        Ok(Self { agent: config.into(), largest, distrust })
    }

    /// Calls, and reads the answer. What was sent of `secrets` shows in no message. A time limit of its
    /// own may be shorter than the client's.
    pub fn send(
        &self,
        call: &Call,
        timeout: Option<Duration>,
        secrets: &[Secret],
    ) -> Result<Response, Failure> {
        self.stream(call, timeout, secrets, &mut |head, body| {
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes)?;
            Ok(Response { head: head.clone(), body: bytes })
        })
    }

    /// Calls, and has the answer read as it comes: whoever reads may stop early.
    pub fn stream<T>(
        &self,
        call: &Call,
        timeout: Option<Duration>,
        secrets: &[Secret],
        read: &mut dyn FnMut(&Head, &mut dyn Read) -> std::io::Result<T>,
    ) -> Result<T, Failure> {
        if let Some(why) = self.distrust.as_ref().filter(|_| call.url.starts_with("https:")) {
            return Err(Failure::new(FailureKind::NoConnection, why.clone()));
        }
        let hide = |text: String| secrets.iter().fold(text, |text, secret| secret.hide_in(&text));
        let sent = self.request(call, timeout);
        let mut response = sent.map_err(|error| unsent(&error, &hide))?;
        let (head, body) = (head_of(&response), response.body_mut());
        if !(200..300).contains(&head.status) {
            let said = body.with_config().limit(LARGEST_REFUSAL).lossy_utf8(true).read_to_string();
            return Err(refused(&head, &hide(said.unwrap_or_default())));
        }
        let mut reader = body.with_config().limit(self.largest).reader();
        read(&head, &mut reader).map_err(|error| unread(error, &hide))
    }

    /// Calls, and reads no more than the status: whether an address answers at all. A refusal is an answer;
    /// silence, a connection that breaks and a failure of the server (5xx) are not.
    pub fn reach(
        &self,
        call: &Call,
        timeout: Option<Duration>,
        secrets: &[Secret],
    ) -> Result<Reached, Failure> {
        match self.stream(call, timeout, secrets, &mut |head, _| Ok(head.status)) {
            Ok(status) => Ok(Reached { status }),
            Err(Failure { kind, status: Some(status), .. }) if kind.is_answer() => {
                Ok(Reached { status })
            }
            Err(failure) => Err(failure),
        }
    }

    fn request(
        &self,
        call: &Call,
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

fn head_of(response: &ureq::http::Response<ureq::Body>) -> Head {
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers = response.headers().iter().filter_map(header).collect();
    Head { status: response.status().as_u16(), headers }
}

/// Where the environment names the authorities to trust, as it does for other programs.
fn named_place() -> Option<String> {
    let named = |name: &str| {
        let place = std::env::var(name).ok().filter(|place| !place.is_empty())?;
        Some(format!("{name} says: {place}"))
    };
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find_map(named)
}

/// The authorities that it names; none if none can be read.
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
        return Err("there is no certificate in it".to_owned());
    }
    Ok(ureq::tls::RootCerts::new_with_certs(&certificates))
}

/// The request did not get through, or nothing came back.
fn unsent(error: &ureq::Error, hide: &dyn Fn(String) -> String) -> Failure {
    let kind = match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            FailureKind::ConnectTimeout
        }
        ureq::Error::Timeout(_) => FailureKind::Timeout,
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => FailureKind::Unsendable,
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            FailureKind::NoConnection
        }
        // The connection broke while the other side had the request.
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_)
        | ureq::Error::TlsRequired
        | ureq::Error::RequireHttpsOnly(_)
        | ureq::Error::InvalidProxyUrl => FailureKind::NoConnection,
        // Whatever else it is, it may have been sent whole.
        _ => FailureKind::Broken,
    };
    Failure::new(kind, hide(format!("no answer: {error}")))
}

/// The answer began and did not end.
fn unread(error: std::io::Error, hide: &dyn Fn(String) -> String) -> Failure {
    let error = ureq::Error::from(error);
    let kind = match &error {
        ureq::Error::Timeout(_) => FailureKind::Timeout,
        ureq::Error::BodyExceedsLimit(_) => FailureKind::TooLarge,
        _ => FailureKind::CutOff,
    };
    let message = match &error {
        ureq::Error::BodyExceedsLimit(limit) => {
            format!("the answer is larger than {} MiB, which is the most that is read", limit >> 20)
        }
        error => format!("the answer broke off: {error}"),
    };
    Failure::new(kind, hide(message))
}

/// A status that says no.
fn refused(head: &Head, said: &str) -> Failure {
    let status = head.status;
    let kind = match status {
        429 => FailureKind::RateLimited,
        408 | 504 => FailureKind::TimeoutThere,
        500..=599 => FailureKind::Unavailable,
        401 | 403 => FailureKind::Denied,
        _ => FailureKind::Refused,
    };
    let after = head.header("retry-after");
    let after = after.and_then(|value| retry_after(value, moment(std::time::SystemTime::now())));
    let message = format!("status {status}: {}", message(said));
    Failure { kind, message, status: Some(status), after }
}

/// What somebody says of an error, on one line: the message of its JSON, or the beginning of what is there.
fn message(said: &str) -> String {
    let json: Value = serde_json::from_str(said).unwrap_or_default();
    let text = message_in(&json).unwrap_or(said);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_meanings() {
        let check = |status, kind: FailureKind| {
            let failed = refused(&Head { status, headers: Vec::new() }, "{}");
            assert_eq!((failed.kind, failed.status), (kind, Some(status)));
        };
        check(429, FailureKind::RateLimited);
        check(500, FailureKind::Unavailable);
        check(529, FailureKind::Unavailable);
        check(504, FailureKind::TimeoutThere);
        check(401, FailureKind::Denied);
        check(400, FailureKind::Refused);
        check(302, FailureKind::Refused);
    }

    #[test]
    fn messages_of_others() {
        let check = |said: &str, expected: &str| assert_eq!(message(said), expected);
        check(r#"{"error":{"type":"x","message":"too\nlong"}}"#, "too long");
        check(r#"{"message":"invalid"}"#, "invalid");
        check(r#"{"error":"plain"}"#, "plain");
        check("<html>down</html>", "<html>down</html>");
        check("", "");
        assert_eq!(message(&"x".repeat(1000)).len(), LONGEST_MESSAGE);
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert!(roots(b"").is_err());
        assert!(roots(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_err());
    }
}
