//! Model names (`provider:model`) and the order of precedence by which a model is chosen.

use std::fmt;
use std::str::FromStr;

use gbrain_core::config::model_parts;
use gbrain_core::named;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelRef {
    /// The provider's name, as in the settings.
    pub provider: String,
    /// The model's name at the provider. It may contain colons.
    pub model: String,
}

/// A malformed model name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} does not name a model; write it as provider:model, such as openai:gpt-5-mini")]
pub struct ModelError(String);

impl FromStr for ModelRef {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let (provider, model) = model_parts(text).ok_or_else(|| ModelError(text.to_owned()))?;
        Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

named! {
    /// Where a model was configured.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ModelSource {
        Flag = "flag",
        /// The setting of the command, such as `models.eval.contradictions_judge`.
        Command = "command",
        Environment = "environment",
        /// The setting of a family of commands, such as `models.judge`.
        Family = "family",
        Global = "global",
        /// The default of this version of gbrain.
        BuiltIn = "built_in",
    }
}

/// The configured models by source.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelsBySource<'a> {
    pub flag: Option<&'a str>,
    pub command: Option<&'a str>,
    pub environment: Option<&'a str>,
    pub family: Option<&'a str>,
    pub global: Option<&'a str>,
    pub built_in: Option<&'a str>,
}

/// The configured model and its source, by precedence: flag, command setting, environment, family
/// setting, global setting, built-in default. `None` if none is configured. A malformed name is an
/// error and never skipped.
pub fn resolve_model(
    choice: &ModelsBySource<'_>,
) -> Result<Option<(ModelRef, ModelSource)>, ModelError> {
    let ModelsBySource { flag, command, environment, family, global, built_in } = *choice;
    let chain = [
        (flag, ModelSource::Flag),
        (command, ModelSource::Command),
        (environment, ModelSource::Environment),
        (family, ModelSource::Family),
        (global, ModelSource::Global),
        (built_in, ModelSource::BuiltIn),
    ];
    let found = chain.into_iter().find_map(|(name, source)| Some((name?, source)));
    found.map(|(name, source)| Ok((name.parse()?, source))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models() {
        let check = |text: &str, provider: &str, model: &str| {
            let found: ModelRef = text.parse().unwrap();
            assert_eq!((found.provider.as_str(), found.model.as_str()), (provider, model));
            assert_eq!(found.to_string().parse(), Ok(found));
        };
        check("openai:gpt-5.2", "openai", "gpt-5.2");
        check(" ollama:llama3:8b ", "ollama", "llama3:8b");
        check("vllm:meta/Llama-3", "vllm", "meta/Llama-3");
        for bad in ["", "gpt-5", ":gpt", "openai:", "Open AI:x", "openai:a b", "openai:a\nb"] {
            assert!(bad.parse::<ModelRef>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_chain_is_followed_in_order() {
        let all = ModelsBySource {
            flag: Some("a:flag"),
            command: Some("a:command"),
            environment: Some("a:environment"),
            family: Some("a:family"),
            global: Some("a:global"),
            built_in: Some("a:built_in"),
        };
        let chosen = |choice: ModelsBySource<'_>| {
            let (model, source) = resolve_model(&choice).unwrap().unwrap();
            assert_eq!(model.model, source.name());
            source
        };
        use ModelSource::{BuiltIn, Command, Environment, Family, Flag, Global};
        assert_eq!(chosen(all), Flag);
        let all = ModelsBySource { flag: None, ..all };
        assert_eq!(chosen(all), Command);
        let all = ModelsBySource { command: None, ..all };
        assert_eq!(chosen(all), Environment);
        let all = ModelsBySource { environment: None, ..all };
        assert_eq!(chosen(all), Family);
        let all = ModelsBySource { family: None, ..all };
        assert_eq!(chosen(all), Global);
        assert_eq!(chosen(ModelsBySource { global: None, ..all }), BuiltIn);
        assert_eq!(resolve_model(&ModelsBySource::default()), Ok(None));
        let bad = ModelsBySource { flag: Some("no model"), ..all };
        assert!(resolve_model(&bad).is_err(), "a bad name is not passed over");
    }
}
