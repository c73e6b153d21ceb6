//! One attempt over HTTP: a JSON document sent, and what came back sorted by what it means.
//!
//! Neither a redirect nor a proxy of the environment decides where a key goes.

use std::time::Duration;

use serde_json::Value;

use crate::error::{AskError, AskErrorKind};
use crate::retry::retry_after;
use crate::secret::Secret;

/// No answer of a model is larger; one that is, is not read to its end.
const LARGEST_ANSWER: u64 = 64 << 20;
/// As much of a provider's own words as an error message takes.
const LONGEST_MESSAGE: usize = 300;

/// A call as it goes out.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// An attempt that gave no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: AskError,
    /// Whether another attempt may help.
    pub(crate) again: bool,
    /// The wait that the provider asked for.
    pub(crate) after: Option<Duration>,
    /// Whether the provider may bill it all the same.
    pub(crate) billed: bool,
}

pub(crate) fn agent(timeout: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections_per_host(64)
        .max_idle_connections(64)
        .proxy(None)
        .build();
    config.into()
}

/// Sends a call and reads its answer.
pub(crate) fn send(
    agent: &ureq::Agent,
    call: &Call,
    key: Option<&Secret>,
) -> Result<Value, Failed> {
    let mut request = agent.post(&call.url).header("content-type", "application/json");
    for (name, value) in &call.headers {
        request = request.header(*name, value);
    }
    let hide = |text: String| key.map_or(text.clone(), |key| key.hide_in(&text));
    let mut response = request.send(&call.body[..]).map_err(|error| unsent(&error, &hide))?;
    let status = response.status().as_u16();
    let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let after = after.and_then(|value| retry_after(value, jiff::Timestamp::now()));
    let body = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
    if !(200..300).contains(&status) {
        let said = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
        return Err(refused(status, &hide(said), after));
    }
    let body = body.map_err(|error| unread(&error, &hide))?;
    serde_json::from_slice(&body).map_err(|error| Failed {
        error: AskError::new(AskErrorKind::Malformed, format!("the answer is not JSON: {error}")),
        again: false,
        after: None,
        billed: true,
    })
}

/// The request did not get through, or nothing came back. Only where it certainly was not sent whole it is
/// certainly not billed.
fn unsent(error: &ureq::Error, hide: &dyn Fn(String) -> String) -> Failed {
    use ureq::Error as E;
    let is_timeout = matches!(error, E::Timeout(_));
    let is_sent = match error {
        E::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => false,
        E::Io(io) => io.kind() != std::io::ErrorKind::ConnectionRefused,
        E::HostNotFound | E::ConnectionFailed | E::BadUri(_) | E::Http(_) => false,
        E::Tls(_) | E::TlsRequired | E::RequireHttpsOnly(_) | E::InvalidProxyUrl => false,
        E::RedirectFailed | E::TooManyRedirects => false,
        _ => true,
    };
    let kind = if is_timeout { AskErrorKind::Timeout } else { AskErrorKind::Unreachable };
    let error = AskError::new(kind, hide(format!("no answer: {error}")));
    Failed { error, again: is_timeout, after: None, billed: is_sent }
}

/// The answer began and did not end.
fn unread(error: &ureq::Error, hide: &dyn Fn(String) -> String) -> Failed {
    let (kind, again) = match error {
        ureq::Error::Timeout(_) => (AskErrorKind::Timeout, true),
        _ => (AskErrorKind::Malformed, false),
    };
    let error = AskError::new(kind, hide(format!("the answer broke off: {error}")));
    Failed { error, again, after: None, billed: true }
}

/// A status that says no. Providers bill what they answer, so none of these; but a gateway that lost patience
/// or the connection does not know what the provider behind it did.
fn refused(status: u16, said: &str, after: Option<Duration>) -> Failed {
    let (kind, again) = match status {
        429 => (AskErrorKind::RateLimited, true),
        408 | 504 => (AskErrorKind::Timeout, true),
        500..=599 => (AskErrorKind::Unavailable, true),
        401 | 403 => (AskErrorKind::Denied, false),
        _ => (AskErrorKind::BadRequest, false),
    };
    let billed = matches!(status, 408 | 499 | 502 | 504 | 520 | 524);
    let message = format!("status {status}: {}", message(said));
    Failed { error: AskError::new(kind, message), again, after, billed }
}

/// What a provider says of an error, on one line: the message of its JSON, or the beginning of what is
/// there.
fn message(said: &str) -> String {
    let json: Value = serde_json::from_str(said).unwrap_or_default();
    let error = &json["error"];
    let own = [&error["message"], &json["message"], &json["detail"], error];
    let text = own.into_iter().find_map(Value::as_str).unwrap_or(said);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_meanings() {
        let check = |status, kind: AskErrorKind, again, billed| {
            let failed = refused(status, "{}", None);
            let found = (failed.error.kind, failed.again, failed.billed);
            assert_eq!(found, (kind, again, billed), "{status}");
        };
        check(429, AskErrorKind::RateLimited, true, false);
        check(500, AskErrorKind::Unavailable, true, false);
        check(503, AskErrorKind::Unavailable, true, false);
        check(529, AskErrorKind::Unavailable, true, false);
        check(408, AskErrorKind::Timeout, true, true);
        check(502, AskErrorKind::Unavailable, true, true);
        check(504, AskErrorKind::Timeout, true, true);
        check(524, AskErrorKind::Unavailable, true, true);
        check(401, AskErrorKind::Denied, false, false);
        check(400, AskErrorKind::BadRequest, false, false);
        check(302, AskErrorKind::BadRequest, false, false);
    }

    #[test]
    fn only_what_was_not_sent_is_not_billed() {
        let check = |error: ureq::Error, kind: AskErrorKind, again, billed| {
            let failed = unsent(&error, &|text| text);
            let found = (failed.error.kind, failed.again, failed.billed);
            assert_eq!(found, (kind, again, billed), "{error}");
        };
        let io = |kind: std::io::ErrorKind| ureq::Error::Io(kind.into());
        check(ureq::Error::HostNotFound, AskErrorKind::Unreachable, false, false);
        check(io(std::io::ErrorKind::ConnectionRefused), AskErrorKind::Unreachable, false, false);
        check(io(std::io::ErrorKind::ConnectionReset), AskErrorKind::Unreachable, false, true);
        check(ureq::Error::Timeout(ureq::Timeout::Connect), AskErrorKind::Timeout, true, false);
        check(ureq::Error::Timeout(ureq::Timeout::Global), AskErrorKind::Timeout, true, true);
        // An answer came, and its head was too large to be read.
        check(ureq::Error::LargeResponseHeader(9, 8), AskErrorKind::Unreachable, false, true);
    }

    #[test]
    fn messages_of_providers() {
        let check = |said: &str, expected: &str| assert_eq!(message(said), expected);
        check(r#"{"error":{"type":"x","message":"too\nlong"}}"#, "too long");
        check(r#"{"message":"invalid"}"#, "invalid");
        check(r#"{"error":"plain"}"#, "plain");
        check("<html>down</html>", "<html>down</html>");
        check("", "");
        assert_eq!(message(&"x".repeat(1000)).len(), LONGEST_MESSAGE);
    }
}
