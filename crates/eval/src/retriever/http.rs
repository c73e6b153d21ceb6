//! An API over HTTP.

use std::time::Duration;

use gbrain_core::target::shape::Shape;
use gbrain_core::target::template::Filling;
use gbrain_core::target::{
    Address, HttpTarget, KeyPlace, Question, TargetAnswer, TargetError, TargetErrorKind,
    TargetLimits,
};
use gbrain_embed::{Embedder as _, StaticTable};
use gbrain_net::{Call, Client, ClientOptions, Failure, FailureKind, Secret};
use serde_json::Value;

use super::Surroundings;
use super::patience::Missed;
use super::remote::{Naming, Wire};

/// No answer to a question is larger; one that is, is not read to its end.
pub(super) const LARGEST_ANSWER: u64 = 32 << 20;

/// An address with everything that is sent to it.
pub(super) struct Caller {
    url: String,
    headers: Vec<(String, String)>,
    secrets: Vec<Secret>,
    client: Client,
}

impl Caller {
    /// Reads keys and certificates where the settings say they are.
    pub(super) fn open(
        address: Address,
        limits: &TargetLimits,
        surroundings: &Surroundings,
    ) -> Result<Self, TargetError> {
        let Address { url, mut headers, headers_env, key, ca_file } = address;
        let mut secrets = Vec::new();
        for (name, variable) in headers_env {
            let secret = of_environment(&variable, surroundings)?;
            headers.push((name, secret.reveal().to_owned()));
            secrets.push(secret);
        }
        if let Some(place) = key {
            let secret = match place {
                KeyPlace::Env(variable) => of_environment(&variable, surroundings)?,
                KeyPlace::File(path) => Secret::read(&surroundings.path(&path)).map_err(no_key)?,
            };
            headers.push(("authorization".to_owned(), format!("Bearer {}", secret.reveal())));
            secrets.push(secret);
        }
        let authorities = match ca_file {
            None => None,
            Some(file) => {
                let path = surroundings.path(&file);
                Some(std::fs::read(&path).map_err(|error| {
                    no_key(format!("the certificates {}: {error}", path.display()))
                })?)
            }
        };
        let options = ClientOptions {
            timeout: limits.timeout,
            kept: limits.concurrency,
            largest: LARGEST_ANSWER,
            authorities,
        };
        let client =
            Client::new(options).map_err(|error| no_key(format!("the certificates: {error}")))?;
        Ok(Self { url, headers, secrets, client })
    }

    /// A call with headers of its own beside those of the settings.
    pub(super) fn call(
        &self,
        params: &[(String, String)],
        headers: Vec<(String, String)>,
        body: Option<Vec<u8>>,
    ) -> Call {
        let headers = headers.into_iter().chain(self.headers.iter().cloned()).collect();
        Call { url: with_params(&self.url, params), headers, body }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// A text of somebody else without what they were sent.
    pub(super) fn hide(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| secret.hide_in(&text))
    }
}

fn of_environment(variable: &str, surroundings: &Surroundings) -> Result<Secret, TargetError> {
    let value = (surroundings.environment)(variable);
    let secret = value.as_deref().and_then(Secret::new);
    secret.ok_or_else(|| no_key(format!("the variable {variable} is not set")))
}

fn no_key(message: String) -> TargetError {
    TargetError::new(TargetErrorKind::NoKey, message)
}

/// An address with names and values after its `?`.
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

/// What a failure of a call means.
pub(super) fn missed(failure: Failure) -> Missed {
    let Failure { kind, message, status: _, after } = failure;
    // What the client says of its own clocks is nobody's language.
    let message = match kind {
        FailureKind::Timeout => "there was no answer within `timeout_seconds`".to_owned(),
        FailureKind::ConnectTimeout => "there was no connection in time".to_owned(),
        _ => message,
    };
    let kind = match kind {
        FailureKind::ConnectTimeout | FailureKind::Timeout | FailureKind::TimeoutThere => {
            TargetErrorKind::Timeout
        }
        FailureKind::NoConnection | FailureKind::Broken => TargetErrorKind::Unreachable,
        FailureKind::CutOff | FailureKind::TooLarge | FailureKind::NotJson => {
            TargetErrorKind::Malformed
        }
        FailureKind::RateLimited => TargetErrorKind::RateLimited,
        FailureKind::Unavailable => TargetErrorKind::Unavailable,
        FailureKind::Denied => TargetErrorKind::Denied,
        FailureKind::Refused | FailureKind::Unsendable => TargetErrorKind::BadRequest,
    };
    Missed { error: TargetError::new(kind, message), after, said: None }
}

/// As many characters of what is no answer are shown to a person who asks for them.
const SAID: usize = 2_000;

/// An API over HTTP.
pub(super) struct Http {
    caller: Caller,
    shape: Shape,
    naming: Naming,
    /// For templates that want the question's vector.
    embedder: Option<StaticTable>,
}

impl Http {
    pub(super) fn open(
        target: HttpTarget,
        naming: Naming,
        limits: &TargetLimits,
        surroundings: &Surroundings,
    ) -> Result<Self, TargetError> {
        let HttpTarget { address, shape } = target;
        let embedder = shape.wants_vector().then(StaticTable::built_in);
        Ok(Self { caller: Caller::open(address, limits, surroundings)?, shape, naming, embedder })
    }

    fn vector(&self, text: &str) -> Result<Option<Vec<f32>>, TargetError> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        let failed = |error: String| TargetError::new(TargetErrorKind::Unsupported, error);
        let vectors = embedder.embed_queries(&[text]).map_err(|error| failed(error.to_string()))?;
        Ok(vectors.into_iter().next())
    }
}

impl Wire for Http {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, Missed> {
        let vector = self.vector(&question.text)?;
        let filling = Filling { question, vector: vector.as_deref() };
        let outgoing = self.shape.outgoing(&filling);
        let body = outgoing.body.map(|body| body.to_string().into_bytes());
        let call = self.caller.call(&outgoing.params, outgoing.headers, body);
        let sent = self.caller.client().send(&call, Some(timeout), self.caller.secrets());
        let response = sent.map_err(missed)?;
        response.json().map_err(|failure| {
            let mut missed = missed(failure);
            // Hidden before it is cut: half a key would not be known again.
            let said = self.caller.hide(String::from_utf8_lossy(&response.body).into_owned());
            let begins: String = said.chars().take(80).collect();
            missed.error.message.push_str(&format!("; it begins with {begins:?}"));
            missed.said = Some(said.chars().take(SAID).collect());
            missed
        })
    }

    fn read(&self, question: &Question, said: &Value) -> Result<TargetAnswer, TargetError> {
        let Naming { ids, document } = &self.naming;
        self.shape.answer(said, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, question: &Question) -> Vec<&'static str> {
        self.shape.outgoing(&Filling { question, vector: None }).not_asked
    }

    fn hide(&self, text: String) -> String {
        self.caller.hide(text)
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
