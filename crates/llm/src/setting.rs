//! Checks whether a setting can name a model; an invalid one would fail every later call.

use gbrain_core::config;

use crate::catalog::ModelCatalog;
use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::model::ModelRef;
use crate::provider::Api;

/// Why a setting cannot name a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelSettingError {
    /// The provider is unknown.
    #[error("{0}")]
    Provider(ModelCallError),
    /// The provider does not support the task.
    #[error("{model} cannot {ability}: its provider {provider} has no such API")]
    Ability { model: ModelRef, ability: &'static str, provider: String },
    #[error("{model} is an embedding model, not a reranker")]
    NoReranker { model: ModelRef },
    #[error("{model} has no price")]
    Price {
        model: ModelRef,
        /// The entry to add to prices.json.
        line: String,
    },
}

impl ModelCatalog {
    /// Checks everything but the key, which may be available only to another process.
    pub fn check_setting(&self, key: &str, model: &ModelRef) -> Result<(), ModelSettingError> {
        let client = self.client();
        let provider = client.provider(model).map_err(ModelSettingError::Provider)?;
        let is_reranker = key == config::MODEL_RERANK;
        let can = if is_reranker { can_rerank(provider.api) } else { can_chat(provider.api) };
        if !can {
            let ability = if is_reranker { "rerank" } else { "chat" };
            let (model, provider) = (model.clone(), provider.name.clone());
            return Err(ModelSettingError::Ability { model, ability, provider });
        }
        let model = || model.clone();
        match client.price(&model()) {
            Ok(_) if is_reranker && is_embedder(provider.api, &model().model) => {
                Err(ModelSettingError::NoReranker { model: model() })
            }
            Ok(_) => Ok(()),
            Err(_) => Err(ModelSettingError::Price { model: model(), line: line(&model(), key) }),
        }
    }

    /// The error if this process lacks the model's key.
    pub fn missing_key(&self, model: &ModelRef) -> Option<ModelCallError> {
        self.client().ready(model).err().filter(|error| error.kind == ModelCallErrorKind::NoKey)
    }
}

fn can_chat(api: Api) -> bool {
    match api {
        Api::Anthropic | Api::OpenAi | Api::OpenAiCompatible | Api::Gemini => true,
        Api::Cohere | Api::Voyage | Api::Jina => false,
    }
}

fn can_rerank(api: Api) -> bool {
    match api {
        Api::Cohere | Api::Voyage | Api::Jina | Api::OpenAiCompatible => true,
        Api::Anthropic | Api::OpenAi | Api::Gemini => false,
    }
}

/// Whether the name is that of an embedding model, by the provider's naming scheme.
fn is_embedder(api: Api, model: &str) -> bool {
    match api {
        Api::Cohere => model.starts_with("embed-"),
        Api::Voyage => model.starts_with("voyage-"),
        Api::Jina => model.starts_with("jina-embeddings-"),
        Api::Anthropic | Api::OpenAi | Api::OpenAiCompatible | Api::Gemini => false,
    }
}

/// An entry for prices.json with placeholders for the amounts.
fn line(model: &ModelRef, key: &str) -> String {
    let price = match (key == config::MODEL_RERANK, model.provider == "cohere") {
        (true, true) => "\"usd_per_thousand_searches\": USD",
        (true, false) => "\"input_usd_per_million\": USD",
        (false, _) => "\"input_usd_per_million\": USD, \"output_usd_per_million\": USD",
    };
    format!("{{ \"{model}\": {{ {price}, \"source\": \"URL\", \"date\": \"2026-01-31\" }} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, model: &str, expected: &str) {
        let found = ModelCatalog::default().check_setting(key, &model.parse().unwrap());
        let found = found.map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert!(found.contains(expected), "{key} {model}: {found}");
    }

    #[test]
    fn a_setting_names_what_can_be_asked() {
        check(config::MODEL_RERANK, "cohere:rerank-v3.5", "ok");
        check(config::MODEL_RERANK, "ollama:any", "ok");
        check(config::MODEL_RERANK, "openai:gpt-5", "cannot rerank");
        check(config::MODEL_RERANK, "anthropic:claude-haiku-4-5", "cannot rerank");
        check(config::MODEL_RERANK, "cohere:embed-v4.0", "not a reranker");
        check(config::MODEL_RERANK, "voyage:voyage-3-large", "not a reranker");
        check(config::MODEL_RERANK, "cohere:rerank-v9", "no price");
        check(config::MODEL_JUDGE, "cohere:rerank-v3.5", "cannot chat");
        check(config::MODEL_JUDGE, "openai:gpt-9", "no price");
        check(config::MODEL_JUDGE, "openai:gpt-5", "ok");
        check(config::MODEL, "lab:llama", "unknown provider lab");
    }

    /// The suggested text is valid in the file once amounts are filled in.
    #[test]
    fn the_line_to_paste_is_read() {
        for (key, model) in [
            (config::MODEL_RERANK, "cohere:rerank-v9"),
            (config::MODEL_RERANK, "jina:m"),
            (config::MODEL_JUDGE, "openai:gpt-9"),
        ] {
            let error =
                ModelCatalog::default().check_setting(key, &model.parse().unwrap()).unwrap_err();
            let ModelSettingError::Price { line, .. } = error else { panic!("{error:?}") };
            let prices = crate::price::Prices::parse(&line.replace("USD", "2")).unwrap();
            let catalog = ModelCatalog { prices, ..ModelCatalog::default() };
            assert_eq!(catalog.check_setting(key, &model.parse().unwrap()), Ok(()));
        }
    }
}
