//! What a process knows of models before it asks one: providers, prices, limits, and which model is meant
//! for what.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gbrain_core::config;
use gbrain_core::doctor::Wellness;
use gbrain_core::money::Usd;
use gbrain_net::Retry;

use crate::ask::{Asker, Environment, Limits};
use crate::model::{ModelChoice, ModelError, ModelRef, ModelSource, resolve_model};
use crate::price::{PriceError, Prices};
use crate::provider::Providers;

/// The variable that names a model for everything.
pub const MODEL_VARIABLE: &str = "GBRAIN_MODEL";

/// How long one attempt may take while somebody waits for an answer to a query.
const QUERY_DEADLINE: Duration = Duration::from_secs(6);

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    LongMemEval,
    Contradictions,
    /// The first model of a panel.
    SlotA,
    SlotB,
    SlotC,
    /// Saying a query in other words.
    Expansion,
    /// Putting candidates in order.
    Rerank,
}

impl Task {
    /// Every task, in order.
    pub const ALL: [Self; 7] = [
        Self::LongMemEval,
        Self::Contradictions,
        Self::SlotA,
        Self::SlotB,
        Self::SlotC,
        Self::Expansion,
        Self::Rerank,
    ];

    /// The setting of the task itself.
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

    /// What an outage of its model means: answers come without the stage, or the feature can't work.
    pub fn when_down(self) -> Wellness {
        match self {
            Self::Expansion | Self::Rerank => Wellness::Warn,
            Self::LongMemEval | Self::Contradictions | Self::SlotA | Self::SlotB | Self::SlotC => {
                Wellness::Fail
            }
        }
    }

    /// The setting of its family. The models of a panel have none, and a reranker is no chat model: what
    /// names one model for everything does not reach them.
    fn family(self) -> Option<&'static str> {
        match self {
            Self::LongMemEval => Some(config::MODEL_ANSWER),
            Self::Contradictions => Some(config::MODEL_JUDGE),
            Self::Expansion => Some(config::MODEL),
            Self::SlotA | Self::SlotB | Self::SlotC | Self::Rerank => None,
        }
    }

    /// The model where nobody says anything.
    fn built_in(self) -> Option<&'static str> {
        match self {
            Self::LongMemEval => Some("anthropic:claude-sonnet-4-5"),
            Self::SlotA => Some("openai:gpt-5.2"),
            Self::SlotB => Some("anthropic:claude-opus-4-7"),
            Self::SlotC => Some("google:gemini-2.5-flash"),
            Self::Expansion => Some("anthropic:claude-haiku-4-5"),
            // The offline judge, and the order of the first stages.
            Self::Contradictions | Self::Rerank => None,
        }
    }
}

/// What a process knows of models.
#[derive(Clone)]
pub struct Desk {
    /// Who can be asked.
    pub providers: Providers,
    pub prices: Prices,
    /// How long, how often, how many at once.
    pub limits: Limits,
    /// Where keys are looked up.
    pub environment: Environment,
}

impl Desk {
    /// A door, without money and without a cassette.
    pub fn asker(&self) -> Asker {
        let Self { providers, prices, limits, environment } = self.clone();
        Asker::new(providers, prices, limits, environment)
    }

    /// The same, for somebody who waits for an answer to a query: a stage that takes longer is left out.
    #[must_use]
    pub fn quick(mut self) -> Self {
        let first = Duration::from_millis(200);
        let retry = Retry { attempts: 2, first, longest: Duration::from_secs(1) };
        let timeout = self.limits.timeout.min(QUERY_DEADLINE);
        self.limits = Limits { timeout, retry, ..self.limits };
        self
    }

    /// The model that is meant for a task: a flag, then the settings of the database plane in their order.
    pub fn choose(
        &self,
        task: Task,
        flag: Option<&str>,
        settings: &BTreeMap<String, String>,
    ) -> Result<Option<(ModelRef, ModelSource)>, ModelError> {
        let set = |key: &str| settings.get(key).map(String::as_str);
        let family = task.family();
        let variable = (self.environment)(MODEL_VARIABLE).filter(|name| !name.trim().is_empty());
        let everything = family.map(|_| ());
        resolve_model(&ModelChoice {
            flag,
            command: set(task.key()),
            environment: everything.and(variable.as_deref()),
            family: family.and_then(set),
            global: everything.and_then(|()| set(config::MODEL)),
            built_in: task.built_in(),
        })
    }

    /// The most that may be spent in a day.
    pub fn per_day(settings: &BTreeMap<String, String>) -> Usd {
        amount(settings, config::MAX_USD_PER_DAY)
    }
}

/// An amount of the settings, or its default. What is stored was checked when it was set; what is not an
/// amount all the same is nothing, so that nothing is spent.
pub fn amount(settings: &BTreeMap<String, String>, key: &str) -> Usd {
    let text = settings.get(key).map(String::as_str);
    let text = text.or_else(|| config::find(key).map(|key| key.default)).unwrap_or_default();
    text.parse().unwrap_or(Usd::ZERO)
}

/// The built-in prices, with those of a file of the user's on top, if it is there.
pub fn prices_with(path: &Path) -> Result<Prices, PriceError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Prices::built_in().and(Prices::parse(&text)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Prices::built_in()),
        Err(error) => Err(PriceError(format!("{} can't be read: {error}", path.display()))),
    }
}

/// A desk that knows no key, for what needs none.
impl Default for Desk {
    fn default() -> Self {
        Self {
            providers: Providers::default(),
            prices: Prices::built_in(),
            limits: Limits::default(),
            environment: Arc::new(|_: &str| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_for_everything_does_not_reach_panels_and_rerankers() {
        let desk = Desk {
            environment: Arc::new(|name: &str| {
                (name == MODEL_VARIABLE).then(|| "ollama:all".to_owned())
            }),
            ..Desk::default()
        };
        let settings = BTreeMap::new();
        let chosen = |task| desk.choose(task, None, &settings).unwrap().map(|(m, _)| m.to_string());
        assert_eq!(chosen(Task::LongMemEval).as_deref(), Some("ollama:all"));
        assert_eq!(chosen(Task::Contradictions).as_deref(), Some("ollama:all"));
        assert_eq!(chosen(Task::SlotA).as_deref(), Some("openai:gpt-5.2"));
        assert_eq!(chosen(Task::Rerank), None);
        assert_eq!(Desk::default().choose(Task::Contradictions, None, &settings), Ok(None));
    }

    #[test]
    fn every_built_in_model_has_a_price() {
        let desk = Desk::default();
        for model in Task::ALL.into_iter().filter_map(Task::built_in) {
            let model: ModelRef = model.parse().unwrap();
            assert!(desk.asker().price(&model).is_ok(), "{model}");
        }
    }

    #[test]
    fn what_is_no_amount_buys_nothing() {
        let settings =
            |value: &str| BTreeMap::from([(config::MAX_USD_PER_DAY.to_owned(), value.to_owned())]);
        assert_eq!(Desk::per_day(&BTreeMap::new()), Usd::cents(500));
        assert_eq!(Desk::per_day(&settings("2.5")), Usd::cents(250));
        assert_eq!(Desk::per_day(&settings("NaN")), Usd::ZERO);
    }
}
