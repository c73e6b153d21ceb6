//! Retrieves from an API over HTTP.

use std::time::Duration;

use gbrain_core::target::shape::RetrievalApi;
use gbrain_core::target::template::TemplateValues;
use gbrain_core::target::{
    EndpointAddress, HttpTarget, KeyLocation, Question, TargetAnswer, TargetError, TargetErrorKind,
    TargetLimits,
};
use gbrain_embed::{Embedder as _, StaticTable};
use gbrain_net::{Client, ClientOptions, HttpFailure, HttpFailureKind, HttpRequest, Secret};
use serde_json::Value;

use super::TargetEnvironment;
use super::limiter::AttemptError;
use super::remote::{IdMapping, Wire};

pub(super) const LARGEST_ANSWER: u64 = 32 << 20;

/// An HTTP endpoint with its headers, secrets and client.
pub(super) struct HttpEndpoint {
    url: String,
    headers: Vec<(String, String)>,
    secrets: Vec<Secret>,
    client: Client,
}

impl HttpEndpoint {
    /// Reads the keys and certificates that the settings name.
    pub(super) fn open(
        address: EndpointAddress,
        limits: &TargetLimits,
        environment: &TargetEnvironment,
    ) -> Result<Self, TargetError> {
        let EndpointAddress { url, mut headers, headers_env, key, ca_file } = address;
        let mut secrets = Vec::new();
        for (name, variable) in headers_env {
            let secret = of_environment(&variable, environment)?;
            headers.push((name, secret.reveal().to_owned()));
            secrets.push(secret);
        }
        if let Some(place) = key {
            let secret = match place {
                KeyLocation::Env(variable) => of_environment(&variable, environment)?,
                KeyLocation::File(path) => {
                    Secret::read(&environment.path(&path)).map_err(no_key)?
                }
            };
            headers.push(("authorization".to_owned(), format!("Bearer {}", secret.reveal())));
            secrets.push(secret);
        }
        let authorities = match ca_file {
            None => None,
            Some(file) => {
                let path = environment.path(&file);
                Some(std::fs::read(&path).map_err(|error| {
                    no_key(format!("the certificates {}: {error}", path.display()))
                })?)
            }
        };
        let options = ClientOptions {
            timeout: limits.timeout,
            max_idle_connections: limits.concurrency,
            max_response_bytes: LARGEST_ANSWER,
            authorities,
        };
        let client =
            Client::new(options).map_err(|error| no_key(format!("the certificates: {error}")))?;
        Ok(Self { url, headers, secrets, client })
    }

    /// Builds a request from the settings' headers and additional ones.
    pub(super) fn call(
        &self,
        params: &[(String, String)],
        headers: Vec<(String, String)>,
        body: Option<Vec<u8>>,
    ) -> HttpRequest {
        let headers = headers.into_iter().chain(self.headers.iter().cloned()).collect();
        HttpRequest { url: with_params(&self.url, params), headers, body }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// A text of the target without the secrets that were sent to it.
    pub(super) fn hide(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| secret.hide_in(&text))
    }
}

fn of_environment(variable: &str, environment: &TargetEnvironment) -> Result<Secret, TargetError> {
    let value = (environment.lookup)(variable);
    let secret = value.as_deref().and_then(Secret::new);
    secret.ok_or_else(|| no_key(format!("the variable {variable} is not set")))
}

fn no_key(message: String) -> TargetError {
    TargetError::new(TargetErrorKind::NoKey, message)
}

fn with_params(url: &str, params: &[(String, String)]) -> String {
    let mut whole = url.to_owned();
    for (name, value) in params {
        whole.push(if whole.contains('?') { '&' } else { '?' });
        whole.push_str(&escaped(name));
        whole.push('=');
        whole.push_str(&escaped(value));
    }
    whole
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// The attempt error for a failed HTTP request.
pub(super) fn attempt_error(failure: HttpFailure) -> AttemptError {
    let HttpFailure { kind, message, status: _, after } = failure;
    // The client's own timeout messages do not name the setting.
    let message = match kind {
        HttpFailureKind::Timeout => "there was no answer within `timeout_seconds`".to_owned(),
        HttpFailureKind::ConnectTimeout => "there was no connection in time".to_owned(),
        _ => message,
    };
    let kind = match kind {
        HttpFailureKind::ConnectTimeout
        | HttpFailureKind::Timeout
        | HttpFailureKind::ServerTimeout => TargetErrorKind::Timeout,
        HttpFailureKind::NoConnection | HttpFailureKind::Broken => TargetErrorKind::Unreachable,
        HttpFailureKind::Truncated | HttpFailureKind::TooLarge | HttpFailureKind::NotJson => {
            TargetErrorKind::Malformed
        }
        HttpFailureKind::RateLimited => TargetErrorKind::RateLimited,
        HttpFailureKind::Unavailable => TargetErrorKind::Unavailable,
        HttpFailureKind::Denied => TargetErrorKind::Denied,
        HttpFailureKind::Refused | HttpFailureKind::InvalidRequest => TargetErrorKind::BadRequest,
    };
    AttemptError { error: TargetError::new(kind, message), after, reply: None }
}

/// Number of characters of an invalid response that are kept for display.
const MAX_SHOWN: usize = 2_000;

/// A target that is an HTTP API.
pub(super) struct Http {
    endpoint: HttpEndpoint,
    shape: RetrievalApi,
    mapping: IdMapping,
    /// Embeds questions for templates that need a vector.
    embedder: Option<StaticTable>,
}

impl Http {
    pub(super) fn open(
        target: HttpTarget,
        mapping: IdMapping,
        limits: &TargetLimits,
        environment: &TargetEnvironment,
    ) -> Result<Self, TargetError> {
        let HttpTarget { address, shape, max_results: _ } = target;
        let embedder = shape.wants_vector().then(StaticTable::built_in);
        Ok(Self {
            endpoint: HttpEndpoint::open(address, limits, environment)?,
            shape,
            mapping,
            embedder,
        })
    }

    fn vector(&self, text: &str) -> Result<Option<Vec<f32>>, TargetError> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        let failed = |error: String| TargetError::new(TargetErrorKind::Unsupported, error);
        let vectors = embedder.embed_queries(&[text]).map_err(|error| failed(error.to_string()))?;
        Ok(vectors.into_iter().next())
    }
}

impl Wire for Http {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, AttemptError> {
        let vector = self.vector(&question.text)?;
        let filling = TemplateValues { question, vector: vector.as_deref() };
        let outgoing = self.shape.outgoing(&filling);
        let body = outgoing.body.map(|body| body.to_string().into_bytes());
        let call = self.endpoint.call(&outgoing.params, outgoing.headers, body);
        let sent = self.endpoint.client().send(&call, Some(timeout), self.endpoint.secrets());
        let response = sent.map_err(attempt_error)?;
        response.json().map_err(|failure| {
            let mut failed = attempt_error(failure);
            // Keys are hidden before truncation: half a key would not be recognised.
            let reply = self.endpoint.hide(String::from_utf8_lossy(&response.body).into_owned());
            let begins: String = reply.chars().take(80).collect();
            failed.error.message.push_str(&format!("; it begins with {begins:?}"));
            failed.reply = Some(reply.chars().take(MAX_SHOWN).collect());
            failed
        })
    }

    fn read(&self, question: &Question, reply: &Value) -> Result<TargetAnswer, TargetError> {
        let IdMapping { ids, document } = &self.mapping;
        self.shape.answer(reply, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, question: &Question) -> Vec<&'static str> {
        self.shape.outgoing(&TemplateValues { question, vector: None }).not_asked
    }

    fn hide(&self, text: String) -> String {
        self.endpoint.hide(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_escaped() {
        let check = |url: &str, value: &str, expected: &str| {
            assert_eq!(with_params(url, &[("q".to_owned(), value.to_owned())]), expected);
        };
        check("http://h/s", "a b&c=d", "http://h/s?q=a%20b%26c%3Dd");
        check("http://h/s?x=1", "ü\"", "http://h/s?x=1&q=%C3%BC%22");
        assert_eq!(with_params("http://h", &[]), "http://h");
    }
}
