//! Checks whether a provider responds, without calling a model.
//!
//! It requests the list of models, which is free. A provider without such a list refuses, which
//! counts as a response; only a timeout, a server error (5xx) and an unknown key (401) count as
//! down.

use std::time::Duration;

use gbrain_net::{HttpRequest, ResponseStatus};

use crate::catalog::ModelCatalog;
use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::http;
use crate::model::ModelRef;
use crate::wire;

/// Longest timeout of the check.
const LONGEST: Duration = Duration::from_secs(5);
/// Status for an unknown key. A restricted key may be refused the list (403) and still be valid for
/// model calls.
const UNKNOWN_KEY: u16 = 401;

impl ModelCatalog {
    /// Whether a model can be called: its provider is known and responds, its key is present and
    /// accepted, and it has a price. Sends one free request without retries.
    pub fn reach(&self, model: &ModelRef) -> Result<(), ModelCallError> {
        let model_client = self.client();
        model_client.ready(model)?;
        let provider = model_client.provider(model)?;
        let key = provider.secret(&*self.environment)?;
        let call = HttpRequest {
            url: format!("{}/models", provider.base_url),
            headers: wire::headers(provider, key.as_ref()),
            body: None,
        };
        let client = http::client(self.limits.timeout.min(LONGEST));
        let secrets = key.as_slice();
        match client.reach(&call, None, secrets) {
            Ok(ResponseStatus { status: UNKNOWN_KEY }) => {
                let message = format!("{} does not accept the key", provider.name);
                Err(ModelCallError::new(ModelCallErrorKind::Denied, message))
            }
            Ok(_) => Ok(()),
            Err(failure) => Err(http::failed(failure).error),
        }
    }
}
