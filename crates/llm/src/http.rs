//! Sends one attempt to a provider and classifies a failure by whether it may be retried and
//! billed.

use std::time::Duration;

use gbrain_net::{Client, ClientOptions, HttpFailure, HttpFailureKind, HttpRequest, Secret};
use serde_json::Value;

use crate::error::{ModelCallError, ModelCallErrorKind};

/// Largest response in bytes; a larger one is not read to its end.
const LARGEST_ANSWER: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct FailedAttempt {
    pub(crate) error: ModelCallError,
    /// Whether a retry may help.
    pub(crate) again: bool,
    /// The wait that the provider requested.
    pub(crate) after: Option<Duration>,
    /// Whether the provider may bill it anyway.
    pub(crate) billed: bool,
}

pub(crate) fn client(timeout: Duration) -> Client {
    let options = ClientOptions {
        timeout,
        max_idle_connections: 64,
        max_response_bytes: LARGEST_ANSWER,
        authorities: None,
    };
    Client::new(options).expect("no certificates are read")
}

pub(crate) fn send(
    client: &Client,
    call: &HttpRequest,
    key: Option<&Secret>,
) -> Result<Value, FailedAttempt> {
    let sent = client.send(call, None, key.map(std::slice::from_ref).unwrap_or_default());
    sent.and_then(|response| response.json()).map_err(failed)
}

/// Classifies a failure. Providers bill calls that they answered or may have answered.
pub(crate) fn failed(failure: HttpFailure) -> FailedAttempt {
    let HttpFailure { kind, message, status, after } = failure;
    let (kind, again, billed) = match kind {
        HttpFailureKind::ConnectTimeout => (ModelCallErrorKind::Timeout, true, false),
        HttpFailureKind::Timeout => (ModelCallErrorKind::Timeout, true, true),
        HttpFailureKind::NoConnection => (ModelCallErrorKind::Unreachable, false, false),
        HttpFailureKind::Broken => (ModelCallErrorKind::Unreachable, false, true),
        HttpFailureKind::Truncated | HttpFailureKind::TooLarge | HttpFailureKind::NotJson => {
            (ModelCallErrorKind::Malformed, false, true)
        }
        HttpFailureKind::RateLimited => (ModelCallErrorKind::RateLimited, true, false),
        HttpFailureKind::ServerTimeout => (ModelCallErrorKind::Timeout, true, false),
        HttpFailureKind::Unavailable => (ModelCallErrorKind::Unavailable, true, false),
        HttpFailureKind::Denied => (ModelCallErrorKind::Denied, false, false),
        HttpFailureKind::Refused | HttpFailureKind::InvalidRequest => {
            (ModelCallErrorKind::BadRequest, false, false)
        }
    };
    // A gateway that timed out or lost the connection does not know what the provider did.
    let is_gateway = matches!(status, Some(408 | 499 | 502 | 504 | 520 | 524));
    FailedAttempt {
        error: ModelCallError::new(kind, message),
        again,
        after,
        billed: billed || is_gateway,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: HttpFailureKind, status: Option<u16>) -> (ModelCallErrorKind, bool, bool) {
        let failure = HttpFailure { kind, message: String::new(), status, after: None };
        let FailedAttempt { error, again, billed, .. } = failed(failure);
        (error.kind, again, billed)
    }

    /// Only where it certainly was not answered it is certainly not billed.
    #[test]
    fn calls_that_may_be_billed_are_charged() {
        use ModelCallErrorKind::{Malformed, RateLimited, Timeout, Unavailable, Unreachable};
        assert_eq!(of(HttpFailureKind::RateLimited, Some(429)), (RateLimited, true, false));
        assert_eq!(of(HttpFailureKind::Unavailable, Some(500)), (Unavailable, true, false));
        assert_eq!(of(HttpFailureKind::Unavailable, Some(502)), (Unavailable, true, true));
        assert_eq!(of(HttpFailureKind::Unavailable, Some(524)), (Unavailable, true, true));
        assert_eq!(of(HttpFailureKind::ServerTimeout, Some(504)), (Timeout, true, true));
        assert_eq!(of(HttpFailureKind::ServerTimeout, Some(408)), (Timeout, true, true));
        assert_eq!(of(HttpFailureKind::ConnectTimeout, None), (Timeout, true, false));
        assert_eq!(of(HttpFailureKind::Timeout, None), (Timeout, true, true));
        assert_eq!(of(HttpFailureKind::NoConnection, None), (Unreachable, false, false));
        assert_eq!(of(HttpFailureKind::Broken, None), (Unreachable, false, true));
        assert_eq!(of(HttpFailureKind::Truncated, Some(200)), (Malformed, false, true));
    }
}
