//! One attempt to call a provider: a JSON document sent, and what came back sorted by what it means for the
//! bill.

use std::time::Duration;

use gbrain_net::{Call, Client, ClientOptions, Failure, FailureKind, Secret};
use serde_json::Value;

use crate::error::{AskError, AskErrorKind};

/// No answer of a model is larger; one that is, is not read to its end.
const LARGEST_ANSWER: u64 = 64 << 20;

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

pub(crate) fn client(timeout: Duration) -> Client {
    let options = ClientOptions { timeout, kept: 64, largest: LARGEST_ANSWER, authorities: None };
    Client::new(options).expect("no certificates are read")
}

/// Sends a call and reads its answer.
pub(crate) fn send(client: &Client, call: &Call, key: Option<&Secret>) -> Result<Value, Failed> {
    let sent = client.send(call, None, key.map(std::slice::from_ref).unwrap_or_default());
    sent.and_then(|response| response.json()).map_err(failed)
}

/// What a failure means: providers bill what they answered, and what they may have answered.
pub(crate) fn failed(failure: Failure) -> Failed {
    let Failure { kind, message, status, after } = failure;
    let (kind, again, billed) = match kind {
        FailureKind::ConnectTimeout => (AskErrorKind::Timeout, true, false),
        FailureKind::Timeout => (AskErrorKind::Timeout, true, true),
        FailureKind::NoConnection => (AskErrorKind::Unreachable, false, false),
        FailureKind::Broken => (AskErrorKind::Unreachable, false, true),
        FailureKind::CutOff | FailureKind::TooLarge | FailureKind::NotJson => {
            (AskErrorKind::Malformed, false, true)
        }
        FailureKind::RateLimited => (AskErrorKind::RateLimited, true, false),
        FailureKind::TimeoutThere => (AskErrorKind::Timeout, true, false),
        FailureKind::Unavailable => (AskErrorKind::Unavailable, true, false),
        FailureKind::Denied => (AskErrorKind::Denied, false, false),
        FailureKind::Refused | FailureKind::Unsendable => (AskErrorKind::BadRequest, false, false),
    };
    // A gateway that lost patience or the connection does not know what the provider behind it did.
    let is_gateway = matches!(status, Some(408 | 499 | 502 | 504 | 520 | 524));
    Failed { error: AskError::new(kind, message), again, after, billed: billed || is_gateway }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: FailureKind, status: Option<u16>) -> (AskErrorKind, bool, bool) {
        let failure = Failure { kind, message: String::new(), status, after: None };
        let Failed { error, again, billed, .. } = failed(failure);
        (error.kind, again, billed)
    }

    /// Only where it certainly was not answered it is certainly not billed.
    #[test]
    fn what_may_be_billed() {
        use AskErrorKind::{Malformed, RateLimited, Timeout, Unavailable, Unreachable};
        assert_eq!(of(FailureKind::RateLimited, Some(429)), (RateLimited, true, false));
        assert_eq!(of(FailureKind::Unavailable, Some(500)), (Unavailable, true, false));
        assert_eq!(of(FailureKind::Unavailable, Some(502)), (Unavailable, true, true));
        assert_eq!(of(FailureKind::Unavailable, Some(524)), (Unavailable, true, true));
        assert_eq!(of(FailureKind::TimeoutThere, Some(504)), (Timeout, true, true));
        assert_eq!(of(FailureKind::TimeoutThere, Some(408)), (Timeout, true, true));
        assert_eq!(of(FailureKind::ConnectTimeout, None), (Timeout, true, false));
        assert_eq!(of(FailureKind::Timeout, None), (Timeout, true, true));
        assert_eq!(of(FailureKind::NoConnection, None), (Unreachable, false, false));
        assert_eq!(of(FailureKind::Broken, None), (Unreachable, false, true));
        assert_eq!(of(FailureKind::CutOff, Some(200)), (Malformed, false, true));
    }
}
