//! Providers: API format, base URL and key.
//!
//! Built-in providers need only a key. Others are defined in the settings under `llm.providers`:
//! any server that supports one of the API formats.

use std::path::PathBuf;

use gbrain_core::address::without_passwords;
use gbrain_core::named;
use gbrain_core::variable;
use gbrain_net::Secret;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{ModelCallError, ModelCallErrorKind};

named! {
    /// The request and response format of a provider's API.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Api {
        Anthropic = "anthropic",
        /// OpenAI's Responses and embeddings.
        OpenAi = "openai",
        /// Chat Completions and embeddings of compatible servers; rerank as in Jina's API.
        OpenAiCompatible = "openai-compatible",
        Gemini = "gemini",
        Cohere = "cohere",
        Voyage = "voyage",
        /// Rerank, and embeddings as in OpenAI's API.
        Jina = "jina",
    }
}

/// Where a key is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    None,
    /// In an environment variable.
    Env(String),
    /// In a file that contains nothing else.
    File(PathBuf),
}

/// A service that serves models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The prefix of its model names, before the colon.
    pub name: String,
    pub api: Api,
    /// Without a slash at the end.
    pub base_url: String,
    pub key: KeySource,
}

/// An invalid provider in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider {name} in the settings {reason}")]
pub struct ProviderError {
    pub name: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers(Vec<Provider>);

impl Default for Providers {
    fn default() -> Self {
        let known = |name: &str, api, base_url: &str, key: &str| Provider {
            name: name.to_owned(),
            api,
            base_url: base_url.to_owned(),
            key: KeySource::Env(key.to_owned()),
        };
        let own = Provider {
            name: "ollama".to_owned(),
            api: Api::OpenAiCompatible,
            base_url: "http://127.0.0.1:11434/v1".to_owned(),
            key: KeySource::None,
        };
        Self(vec![
            known("anthropic", Api::Anthropic, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
            known("openai", Api::OpenAi, "https://api.openai.com/v1", "OPENAI_API_KEY"),
            known(
                "google",
                Api::Gemini,
                "https://generativelanguage.googleapis.com/v1beta",
                "GEMINI_API_KEY",
            ),
            known("cohere", Api::Cohere, "https://api.cohere.com/v2", "COHERE_API_KEY"),
            known("voyage", Api::Voyage, "https://api.voyageai.com/v1", "VOYAGE_API_KEY"),
            known("jina", Api::Jina, "https://api.jina.ai/v1", "JINA_API_KEY"),
            own,
        ])
    }
}

/// A provider in the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderSettings {
    api: Option<String>,
    base_url: Option<String>,
    key_env: Option<String>,
    key_file: Option<PathBuf>,
}

impl Providers {
    /// The built-in providers and those of the settings. An entry with the name of a built-in
    /// provider overrides the given fields, for example only the base URL.
    pub fn with(settings: &Map<String, Value>) -> Result<Self, ProviderError> {
        let mut all = Self::default();
        for (name, value) in settings {
            let failed = |reason: String| {
                let reason = without_passwords(&reason).into_owned();
                ProviderError { name: name.clone(), reason }
            };
            let described: ProviderSettings = serde_json::from_value(value.clone())
                .map_err(|error| failed(format!("cannot be read: {error}")))?;
            let known = all.0.iter().position(|provider| provider.name == *name);
            let provider = build_provider(name, described, known.map(|at| &all.0[at]));
            let provider = provider.map_err(failed)?;
            match known {
                Some(at) => all.0[at] = provider,
                None => all.0.push(provider),
            }
        }
        Ok(all)
    }

    pub fn find(&self, name: &str) -> Option<&Provider> {
        self.0.iter().find(|provider| provider.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.0.iter()
    }
}

fn build_provider(
    name: &str,
    settings: ProviderSettings,
    known: Option<&Provider>,
) -> Result<Provider, String> {
    let ProviderSettings { api, base_url, key_env, key_file } = settings;
    let api = match (api, known) {
        (Some(text), _) => Api::from_name(&text).ok_or_else(|| {
            let names: Vec<&str> = Api::ALL.iter().map(|api| api.name()).collect();
            format!("has the unknown api {text:?}; known: {}", names.join(", "))
        })?,
        (None, Some(known)) => known.api,
        (None, None) => Api::OpenAiCompatible,
    };
    let base_url = base_url.or_else(|| known.map(|known| known.base_url.clone()));
    let base_url = base_url.ok_or("has no base_url")?.trim_end_matches('/').to_owned();
    if !base_url.starts_with("https://") && !base_url.starts_with("http://") {
        return Err(format!("has the base_url {base_url:?}, which is not an http(s) URL"));
    }
    if let Some(name) = &key_env {
        variable::check("key_env", name)
            .map_err(|error| format!("has an invalid value: {error}"))?;
    }
    let key = match (key_env, key_file) {
        (Some(_), Some(_)) => return Err("has both key_env and key_file; give one".to_owned()),
        (Some(variable), None) => KeySource::Env(variable),
        (None, Some(path)) => KeySource::File(path),
        (None, None) => known.map_or(KeySource::None, |known| known.key.clone()),
    };
    Ok(Provider { name: name.to_owned(), api, base_url, key })
}

impl Provider {
    /// Whether the base URL is on this machine.
    pub fn is_local(&self) -> bool {
        let rest = self.base_url.split_once("://").map_or("", |(_, rest)| rest);
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let name = match host.strip_prefix('[') {
            Some(six) => six.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        name == "localhost" || name == "::1" || name.starts_with("127.")
    }

    /// Whether the key is available, or none is needed.
    pub fn has_key(&self, environment: &dyn Fn(&str) -> Option<String>) -> bool {
        self.secret(environment).is_ok()
    }

    /// Reads the key from the environment or its file.
    pub(crate) fn secret(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Secret>, ModelCallError> {
        let missing = |place: String| {
            ModelCallError::new(
                ModelCallErrorKind::NoKey,
                format!("{} has no key: {place}", self.name),
            )
        };
        match &self.key {
            KeySource::None => Ok(None),
            KeySource::Env(variable) => {
                let key = environment(variable).as_deref().and_then(Secret::new);
                key.map(Some).ok_or_else(|| missing(format!("set {variable}")))
            }
            KeySource::File(path) => Secret::read(path).map(Some).map_err(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &str) -> Result<Providers, ProviderError> {
        Providers::with(serde_json::from_str::<Value>(settings).unwrap().as_object().unwrap())
    }

    #[test]
    fn settings_add_and_change_providers() {
        let providers = with(
            r#"{"lab": {"base_url": "http://10.0.0.2:8000/v1/"},
                "openai": {"base_url": "https://proxy.example/v1", "key_file": "/run/key"}}"#,
        )
        .unwrap();
        let lab = providers.find("lab").unwrap();
        assert_eq!((lab.api, &*lab.base_url), (Api::OpenAiCompatible, "http://10.0.0.2:8000/v1"));
        assert_eq!(lab.key, KeySource::None);
        let openai = providers.find("openai").unwrap();
        assert_eq!((openai.api, &*openai.base_url), (Api::OpenAi, "https://proxy.example/v1"));
        assert_eq!(openai.key, KeySource::File("/run/key".into()));
        assert!(providers.find("anthropic").is_some());
    }

    #[test]
    fn bad_providers_are_refused() {
        for bad in [
            r#"{"lab": {}}"#,
            r#"{"lab": 3}"#,
            r#"{"lab": {"base_url": "ftp://x"}}"#,
            r#"{"lab": {"base_url": "http://x", "api": "soap"}}"#,
            r#"{"lab": {"base_url": "http://x", "key": "sk-1"}}"#,
            r#"{"lab": {"base_url": "http://x", "key_env": "A", "key_file": "b"}}"#,
            r#"{"lab": {"base_url": "http://x", "key_env": "sk-live-1"}}"#,
            r#"{"lab": {"base_url": "ftp:/ada:s3cret@x"}}"#,
            r#"{"lab": {"base_url": "http://x", "api": "ftp://ada:s3cret@x"}}"#,
            r#"{"lab": "ftp://ada:s3cret@x"}"#,
        ] {
            let error = with(bad).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn local_providers_are_recognised() {
        let check = |url: &str, local: bool| {
            let provider =
                Provider { base_url: url.to_owned(), ..Providers::default().0[0].clone() };
            assert_eq!(provider.is_local(), local, "{url}");
        };
        check("http://127.0.0.1:11434/v1", true);
        check("http://localhost/v1", true);
        check("http://[::1]:80/v1", true);
        check("https://localhost.example.com", false);
        check("https://127.example.com@example.com", false);
        check("https://api.openai.com/v1", false);
    }

    #[test]
    fn keys_come_from_where_they_are() {
        let providers = Providers::default();
        let openai = providers.find("openai").unwrap();
        let none = |_: &str| None;
        let error = openai.secret(&none).unwrap_err();
        assert_eq!(error.to_string(), "openai has no key: set OPENAI_API_KEY");
        assert!(!openai.has_key(&|_| Some("  ".to_owned())));
        assert!(openai.has_key(&|name| (name == "OPENAI_API_KEY").then(|| "sk".to_owned())));
        assert!(providers.find("ollama").unwrap().has_key(&none));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "sk-file\n").unwrap();
        let key = KeySource::File(file.path().to_owned());
        let from_file = Provider { key, ..openai.clone() };
        assert_eq!(from_file.secret(&none).unwrap().unwrap().reveal(), "sk-file");
        let gone = Provider { key: KeySource::File("/nowhere/key".into()), ..openai.clone() };
        assert!(!gone.has_key(&none));
    }
}
