//! Settings of the database plane that are not numbers of the pipeline: models, money, what runs by itself.
//!
//! One table of keys with their kinds, so that a value is checked where it is set, and a key that nothing
//! reads is refused with a suggestion.

use crate::money::Usd;
use crate::search::edit_distance;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigValueType {
    Flag,
    /// An amount of dollars.
    Usd,
    /// A model, as `provider:model`.
    Model,
    /// A number from 0 to 1.
    Share,
    /// A number of days, at least 1.
    Days,
}

/// A setting as `config list` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    pub name: &'static str,
    /// The type of its value.
    pub kind: ConfigValueType,
    /// The default; empty if there is none.
    pub default: &'static str,
    pub reason: &'static str,
}

macro_rules! keys {
    ($($constant:ident = $name:literal: $kind:ident, $default:literal, $reason:literal;)+) => {
        $(#[doc = $reason] pub const $constant: &str = $name;)+

        /// Every key, in order.
        pub const KEYS: &[ConfigKey] = &[$(ConfigKey {
            name: $name, kind: ConfigValueType::$kind, default: $default, reason: $reason,
        },)+];
    };
}

keys! {
    MAX_USD_PER_DAY = "spend.max_usd_per_day": Usd, "5.00",
        "the most that all model calls of a workspace may cost per day (UTC)";
    MODEL = "models.default": Model, "",
        "the model of every task without a model of its own";
    MODEL_ANSWER = "models.answer": Model, "",
        "the model that answers questions";
    MODEL_JUDGE = "models.judge": Model, "",
        "the model that judges";
    MODEL_EXPANSION = "models.expansion": Model, "",
        "the model that rewrites a query in other words";
    MODEL_RERANK = "models.rerank": Model, "",
        "the model that puts the best candidates of a query in order; none leaves them as they are";
    RERANK_THRESHOLD = "rerank.threshold": Share, "0",
        "a reranker's score below which a result is left out; 0 keeps all. `gbrain calibrate deploy` sets it";
    RERANK_THRESHOLD_MODEL = "rerank.threshold_model": Model, "",
        "the reranker that the threshold was computed for: it is not applied to scores of another; none applies it to any reranker";
    MODEL_LONGMEMEVAL = "models.eval.longmemeval": Model, "",
        "the model that answers LongMemEval's questions";
    MODEL_CONTRADICTIONS = "models.eval.contradictions_judge": Model, "",
        "the model that judges contradictions; none is the offline judge";
    MODEL_SLOT_A = "models.eval.cross_modal.slot_a": Model, "",
        "the first of three models that score an output";
    MODEL_SLOT_B = "models.eval.cross_modal.slot_b": Model, "",
        "the second of three models that score an output";
    MODEL_SLOT_C = "models.eval.cross_modal.slot_c": Model, "",
        "the third of three models that score an output";
    SUITES_RETENTION_DAYS = "suites.retention_days": Days, "",
        "days after which reports of suites, logs of their queries and events are erased; figures stay; none keeps all";
    PROBE_ENABLED = "autopilot.nightly_quality_probe.enabled": Flag, "false",
        "whether the nightly quality probe runs; it calls models, which costs money";
    PROBE_MAX_USD = "autopilot.nightly_quality_probe.max_usd": Usd, "5.00",
        "the most that one run of the nightly probe may cost";
}

/// Why a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such key.
    #[error("unknown key `{key}`; did you mean `{nearest}`?")]
    Unknown {
        /// The key as the caller wrote it.
        key: String,
        /// The closest key there is.
        nearest: &'static str,
    },
    /// The value is not of the key's kind.
    #[error("`{key}` takes {wanted}, not {value:?}")]
    Value {
        key: &'static str,
        value: String,
        /// The expected type, in words.
        wanted: &'static str,
    },
}

/// The name that a key has now, if it had another: values under the old one are still read.
pub fn renamed(key: &str) -> Option<&'static str> {
    (key == OLD_RERANK_THRESHOLD).then_some(RERANK_THRESHOLD)
}

/// The former name of [`RERANK_THRESHOLD`].
pub const OLD_RERANK_THRESHOLD: &str = "search.rerank_threshold";

/// A key by its name.
pub fn find(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// A number of days in the stored form.
pub fn days(value: &str) -> Option<u32> {
    value.parse().ok().filter(|days| (1..=36_500).contains(days))
}

/// Provider and model of a name such as `openai:gpt-5-mini`; none if it is no such name. The model may hold
/// colons.
pub fn model_parts(text: &str) -> Option<(&str, &str)> {
    let (provider, model) = text.trim().split_once(':')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let is_model = |c: char| c.is_ascii_alphanumeric() || "-_./:@+*".contains(c);
    let is_provider = !provider.is_empty() && provider.chars().all(is_name);
    let is_fit = (1..=200).contains(&model.len()) && model.chars().all(is_model);
    (is_provider && is_fit).then_some((provider, model))
}

/// Checks a value, and says how it is stored.
pub fn check(name: &str, value: &str) -> Result<String, ConfigError> {
    let Some(key) = find(name) else {
        let nearest = KEYS.iter().min_by_key(|key| edit_distance(key.name, name));
        let nearest = nearest.map_or("", |key| key.name);
        return Err(ConfigError::Unknown { key: name.to_owned(), nearest });
    };
    let value = value.trim();
    let (is_good, wanted) = match key.kind {
        ConfigValueType::Flag => (matches!(value, "true" | "false"), "true or false"),
        ConfigValueType::Usd => {
            (value.parse::<Usd>().is_ok(), "an amount of dollars, such as 2.50")
        }
        ConfigValueType::Model => (
            model_parts(value).is_some(),
            "a model, as provider:model with the provider in lower case, such as cohere:rerank-v3.5",
        ),
        ConfigValueType::Share => {
            let is_share = value.parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share));
            (is_share, "a number from 0 to 1")
        }
        ConfigValueType::Days => (days(value).is_some(), "a number of days, from 1 to 36500"),
    };
    if !is_good {
        return Err(ConfigError::Value { key: key.name, value: value.to_owned(), wanted });
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values() {
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            assert_eq!(check(key.name, key.default).as_deref(), Ok(key.default));
        }
    }

    #[test]
    fn values_are_checked() {
        assert_eq!(check(PROBE_ENABLED, " true ").as_deref(), Ok("true"));
        assert_eq!(check(MODEL_JUDGE, "openai:gpt-5-mini").as_deref(), Ok("openai:gpt-5-mini"));
        for (key, value) in [
            (PROBE_ENABLED, "yes"),
            (PROBE_ENABLED, ""),
            (PROBE_MAX_USD, "-1"),
            (PROBE_MAX_USD, "NaN"),
            (MODEL_JUDGE, "gpt-5"),
            (MODEL_RERANK, "COHERE:rerank-v3.5"),
            (MODEL_RERANK, "cohere:rerank v3.5"),
            (MODEL_RERANK, "cohere:"),
            (RERANK_THRESHOLD, "NaN"),
            (RERANK_THRESHOLD, "1.01"),
            (SUITES_RETENTION_DAYS, "0"),
            (SUITES_RETENTION_DAYS, "-1"),
            (SUITES_RETENTION_DAYS, "36501"),
        ] {
            assert!(check(key, value).is_err(), "{key} {value:?}");
        }
        let error = check("autopilot.nightly_probe.enabled", "true").unwrap_err().to_string();
        assert!(error.contains(PROBE_ENABLED), "{error}");
    }
}
