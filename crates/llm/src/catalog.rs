//! The model configuration of a process: providers, prices, limits, and the model for each task.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gbrain_core::config;
use gbrain_core::doctor::DoctorStatus;
use gbrain_core::money::Usd;
use gbrain_net::RetryPolicy;

use crate::client::{EnvLookup, ModelClient, ModelLimits};
use crate::model::{ModelError, ModelRef, ModelSource, ModelsBySource, resolve_model};
use crate::price::{PriceError, Prices};
use crate::provider::Providers;

/// The variable that sets the model for all tasks.
pub const MODEL_VARIABLE: &str = "GBRAIN_MODEL";

/// Timeout of one attempt while a caller waits for the answer to a query.
const QUERY_DEADLINE: Duration = Duration::from_secs(6);

/// The tasks that models are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTask {
    LongMemEval,
    Contradictions,
    /// The first model of a panel.
    SlotA,
    SlotB,
    SlotC,
    /// Expands a query into variants.
    Expansion,
    /// Reranks the candidates of a query.
    Rerank,
}

impl ModelTask {
    pub const ALL: [Self; 7] = [
        Self::LongMemEval,
        Self::Contradictions,
        Self::SlotA,
        Self::SlotB,
        Self::SlotC,
        Self::Expansion,
        Self::Rerank,
    ];

    pub fn key(self) -> &'static str {
        match self {
            Self::LongMemEval => config::MODEL_LONGMEMEVAL,
            Self::Contradictions => config::MODEL_CONTRADICTIONS,
            Self::SlotA => config::MODEL_SLOT_A,
            Self::SlotB => config::MODEL_SLOT_B,
            Self::SlotC => config::MODEL_SLOT_C,
            Self::Expansion => config::MODEL_EXPANSION,
            Self::Rerank => config::MODEL_RERANK,
        }
    }

    /// Severity of an outage of its model: a warning if answers only lack the stage, a failure if
    /// the feature cannot work.
    pub fn outage_severity(self) -> DoctorStatus {
        match self {
            Self::Expansion | Self::Rerank => DoctorStatus::Warn,
            Self::LongMemEval | Self::Contradictions | Self::SlotA | Self::SlotB | Self::SlotC => {
                DoctorStatus::Fail
            }
        }
    }

    /// The setting of its family. Panel models have none, and a reranker is not a chat model, so
    /// the setting for all tasks does not apply to them.
    fn family(self) -> Option<&'static str> {
        match self {
            Self::LongMemEval => Some(config::MODEL_ANSWER),
            Self::Contradictions => Some(config::MODEL_JUDGE),
            Self::Expansion => Some(config::MODEL),
            Self::SlotA | Self::SlotB | Self::SlotC | Self::Rerank => None,
        }
    }

    fn built_in(self) -> Option<&'static str> {
        match self {
            Self::LongMemEval => Some("anthropic:claude-sonnet-4-5"),
            Self::SlotA => Some("openai:gpt-5.2"),
            Self::SlotB => Some("anthropic:claude-opus-4-7"),
            Self::SlotC => Some("google:gemini-2.5-flash"),
            Self::Expansion => Some("anthropic:claude-haiku-4-5"),
            // These use the offline judge and the order of the first stages.
            Self::Contradictions | Self::Rerank => None,
        }
    }
}

/// The models that a process may call.
#[derive(Clone)]
pub struct ModelCatalog {
    pub providers: Providers,
    pub prices: Prices,
    pub limits: ModelLimits,
    pub environment: EnvLookup,
}

impl ModelCatalog {
    /// A client without a budget and without a cassette.
    pub fn client(&self) -> ModelClient {
        let Self { providers, prices, limits, environment } = self.clone();
        ModelClient::new(providers, prices, limits, environment)
    }

    /// The same with short timeouts, for callers that wait for the answer to a query; a slow stage
    /// is skipped.
    #[must_use]
    pub fn with_short_timeouts(mut self) -> Self {
        let first = Duration::from_millis(200);
        let retry = RetryPolicy { attempts: 2, first, max_wait: Duration::from_secs(1) };
        let timeout = self.limits.timeout.min(QUERY_DEADLINE);
        self.limits = ModelLimits { timeout, retry, ..self.limits };
        self
    }

    /// The model for a task: from a flag, then from the settings in their order of precedence.
    pub fn choose(
        &self,
        task: ModelTask,
        flag: Option<&str>,
        settings: &BTreeMap<String, String>,
    ) -> Result<Option<(ModelRef, ModelSource)>, ModelError> {
        let set = |key: &str| settings.get(key).map(String::as_str);
        let family = task.family();
        let variable = (self.environment)(MODEL_VARIABLE).filter(|name| !name.trim().is_empty());
        let everything = family.map(|_| ());
        resolve_model(&ModelsBySource {
            flag,
            command: set(task.key()),
            environment: everything.and(variable.as_deref()),
            family: family.and_then(set),
            global: everything.and_then(|()| set(config::MODEL)),
            built_in: task.built_in(),
        })
    }

    pub fn per_day(settings: &BTreeMap<String, String>) -> Usd {
        usd_setting(settings, config::MAX_USD_PER_DAY)
    }
}

/// An amount from the settings, or its default. Settings are validated when they are stored; an
/// invalid amount counts as zero, so that nothing is spent.
pub fn usd_setting(settings: &BTreeMap<String, String>, key: &str) -> Usd {
    let text = settings.get(key).map(String::as_str);
    let text = text.or_else(|| config::find(key).map(|key| key.default)).unwrap_or_default();
    text.parse().unwrap_or(Usd::ZERO)
}

/// The built-in prices, overridden by the user's file if it exists.
pub fn load_prices(path: &Path) -> Result<Prices, PriceError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Prices::built_in().merged_with(Prices::parse(&text)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Prices::built_in()),
        Err(error) => Err(PriceError(format!("cannot read {}: {error}", path.display()))),
    }
}

/// A catalog without any keys.
impl Default for ModelCatalog {
    fn default() -> Self {
        Self {
            providers: Providers::default(),
            prices: Prices::built_in(),
            limits: ModelLimits::default(),
            environment: Arc::new(|_: &str| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_for_everything_does_not_reach_panels_and_rerankers() {
        let catalog = ModelCatalog {
            environment: Arc::new(|name: &str| {
                (name == MODEL_VARIABLE).then(|| "ollama:all".to_owned())
            }),
            ..ModelCatalog::default()
        };
        let settings = BTreeMap::new();
        let chosen =
            |task| catalog.choose(task, None, &settings).unwrap().map(|(m, _)| m.to_string());
        assert_eq!(chosen(ModelTask::LongMemEval).as_deref(), Some("ollama:all"));
        assert_eq!(chosen(ModelTask::Contradictions).as_deref(), Some("ollama:all"));
        assert_eq!(chosen(ModelTask::SlotA).as_deref(), Some("openai:gpt-5.2"));
        assert_eq!(chosen(ModelTask::Rerank), None);
        assert_eq!(
            ModelCatalog::default().choose(ModelTask::Contradictions, None, &settings),
            Ok(None)
        );
    }

    #[test]
    fn every_built_in_model_has_a_price() {
        let catalog = ModelCatalog::default();
        for model in ModelTask::ALL.into_iter().filter_map(ModelTask::built_in) {
            let model: ModelRef = model.parse().unwrap();
            assert!(catalog.client().price(&model).is_ok(), "{model}");
        }
    }

    #[test]
    fn an_invalid_amount_allows_no_spending() {
        let settings =
            |value: &str| BTreeMap::from([(config::MAX_USD_PER_DAY.to_owned(), value.to_owned())]);
        assert_eq!(ModelCatalog::per_day(&BTreeMap::new()), Usd::cents(500));
        assert_eq!(ModelCatalog::per_day(&settings("2.5")), Usd::cents(250));
        assert_eq!(ModelCatalog::per_day(&settings("NaN")), Usd::ZERO);
    }
}
