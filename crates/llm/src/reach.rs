//! Whether a provider answers at all, found out without asking a model anything.
//!
//! The list of models is asked for, which costs nothing. A provider that has no such list says so, and that is an
//! answer too: only silence, a failure of the server (5xx) and a key that it does not know (401) count as down.

use std::time::Duration;

use gbrain_net::{Call, Reached};

use crate::desk::Desk;
use crate::error::{AskError, AskErrorKind};
use crate::http;
use crate::model::ModelRef;
use crate::wire;

/// The longest wait for a sign of life.
const LONGEST: Duration = Duration::from_secs(5);
/// The status of a key that the provider does not know. A key of limited rights may be refused the list (403)
/// and still be good for what it is used for.
const UNKNOWN_KEY: u16 = 401;

impl Desk {
    /// Whether a model can be asked: its provider is known and answers, its key is there and known, and it has
    /// a price. One free request, without retries.
    pub fn reach(&self, model: &ModelRef) -> Result<(), AskError> {
        let asker = self.asker();
        asker.ready(model)?;
        let provider = asker.provider(model)?;
        let key = provider.secret(&*self.environment)?;
        let call = Call {
            url: format!("{}/models", provider.base_url),
            headers: wire::headers(provider, key.as_ref()),
            body: None,
        };
        let client = http::client(self.limits.timeout.min(LONGEST));
        let secrets = key.as_slice();
        match client.reach(&call, None, secrets) {
            Ok(Reached { status: UNKNOWN_KEY }) => {
                let message = format!("{} does not accept the key", provider.name);
                Err(AskError::new(AskErrorKind::Denied, message))
            }
            Ok(_) => Ok(()),
            Err(failure) => Err(http::failed(failure).error),
        }
    }
}
