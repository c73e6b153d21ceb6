//! Model prices: a table that the user can extend; every built-in entry has its source and date.
//!
//! A model without an entry has no price and is not called, because no budget could limit it.
//! Prices are never guessed from similar names.

use std::collections::BTreeMap;

use gbrain_core::money::Usd;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::model::ModelRef;
use crate::provider::Provider;
use crate::wire::Usage;

const BUILT_IN: &str = include_str!("prices.json");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Per million input tokens.
    pub input: Usd,
    /// Per million output tokens.
    pub output: Usd,
    /// Per thousand searches, for rerankers that bill searches instead of tokens.
    pub searches: Usd,
    pub source: String,
    /// The date of the source.
    pub date: String,
}

impl Price {
    /// The cost of tokens and searches.
    pub fn of(&self, input: u64, output: u64, searches: u64) -> Usd {
        let Self { input: prompt, output: completion, searches: search, .. } = self;
        prompt.for_tokens(input)
            + completion.for_tokens(output)
            + search.for_tokens(searches.saturating_mul(1000))
    }

    pub fn of_usage(&self, usage: Usage) -> Usd {
        let Usage { input, output, searches } = usage;
        self.of(input, output, searches)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("prices: {0}")]
pub struct PriceError(pub(crate) String);

/// Prices by `provider:model`; `provider:*` covers all models of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices(BTreeMap<String, Price>);

/// An entry of the price file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input_usd_per_million: Option<Number>,
    output_usd_per_million: Option<Number>,
    usd_per_thousand_searches: Option<Number>,
    source: String,
    date: String,
}

impl Prices {
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).expect("a test reads the built-in table")
    }

    /// Parses a table of the form `{"provider:model": {...}}`. An entry without source or date is
    /// refused.
    pub fn parse(json: &str) -> Result<Self, PriceError> {
        let entries: BTreeMap<String, PriceEntry> =
            serde_json::from_str(json).map_err(|error| PriceError(error.to_string()))?;
        let price = |(name, entry): (String, PriceEntry)| {
            let price = price(&entry).map_err(|why| PriceError(format!("{name}: {why}")))?;
            let is_named = name.parse::<ModelRef>().is_ok();
            let named = is_named.then_some(()).ok_or_else(|| {
                PriceError(format!("{name:?} is not a model name (provider:model)"))
            });
            named.map(|()| (name, price))
        };
        entries.into_iter().map(price).collect::<Result<_, _>>().map(Self)
    }

    /// These prices, overridden by another table.
    #[must_use]
    pub fn merged_with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The price of a model. A built-in entry for all models of a provider applies only if the
    /// provider is local.
    pub fn find(&self, model: &ModelRef, provider: &Provider) -> Option<&Price> {
        let own = self.0.get(&model.to_string());
        let all = || {
            let all = self.0.get(&format!("{}:*", model.provider))?;
            (provider.is_local() || !all.is_own_machine()).then_some(all)
        };
        own.or_else(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.0.iter().map(|(name, price)| (name.as_str(), price))
    }
}

const OWN_MACHINE: &str = "runs on the caller's own machine";

impl Price {
    fn is_own_machine(&self) -> bool {
        self.source == OWN_MACHINE
    }
}

fn price(entry: &PriceEntry) -> Result<Price, String> {
    let PriceEntry {
        input_usd_per_million, output_usd_per_million, usd_per_thousand_searches, ..
    } = entry;
    let amount = |number: &Option<Number>| match number {
        None => Ok(Usd::ZERO),
        Some(number) => number.to_string().parse::<Usd>().map_err(|error| error.to_string()),
    };
    if [input_usd_per_million, output_usd_per_million, usd_per_thousand_searches] == [&None; 3] {
        return Err("the entry has no price".to_owned());
    }
    if entry.source.trim().is_empty() {
        return Err("the entry has no source".to_owned());
    }
    if entry.date.parse::<jiff::civil::Date>().is_err() {
        return Err(format!("the date {:?} must have the form 2026-01-31", entry.date));
    }
    Ok(Price {
        input: amount(input_usd_per_million)?,
        output: amount(output_usd_per_million)?,
        searches: amount(usd_per_thousand_searches)?,
        source: entry.source.clone(),
        date: entry.date.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Providers;

    #[test]
    fn every_built_in_entry_has_its_source() {
        let prices = Prices::parse(BUILT_IN).unwrap();
        assert!(prices.iter().count() > 10);
        for (name, price) in prices.iter() {
            assert!(price.source.contains("://") || price.is_own_machine(), "{name}");
        }
    }

    /// The reranker of the playbook is charged by the search unit, without a file of prices.
    #[test]
    fn the_reranker_of_the_playbook_has_a_price() {
        let prices = Prices::built_in();
        let model: ModelRef = "cohere:rerank-v3.5".parse().unwrap();
        let price = prices.find(&model, Providers::default().find("cohere").unwrap()).unwrap();
        assert_eq!(price.of(90_000, 0, 3), "0.006".parse().unwrap());
    }

    #[test]
    fn call_costs_are_computed() {
        let price = Price {
            input: "1.25".parse().unwrap(),
            output: "10".parse().unwrap(),
            searches: "2".parse().unwrap(),
            source: String::new(),
            date: String::new(),
        };
        let check = |input, output, searches, cost: &str| {
            assert_eq!(price.of(input, output, searches), cost.parse().unwrap());
        };
        check(1_000_000, 0, 0, "1.25");
        check(1000, 100, 0, "0.00225");
        check(0, 0, 1, "0.002");
        check(1, 0, 0, "0.00000125");
    }

    #[test]
    fn an_entry_without_a_source_or_a_price_is_refused() {
        for bad in [
            r#"{"a:b": {"input_usd_per_million": 1, "source": "", "date": "2026-01-01"}}"#,
            r#"{"a:b": {"input_usd_per_million": 1, "date": "2026-01-01"}}"#,
            r#"{"a:b": {"input_usd_per_million": 1, "source": "x", "date": "soon"}}"#,
            r#"{"a:b": {"source": "x", "date": "2026-01-01"}}"#,
            r#"{"a:b": {"input_usd_per_million": -1, "source": "x", "date": "2026-01-01"}}"#,
            r#"{"a b": {"input_usd_per_million": 1, "source": "x", "date": "2026-01-01"}}"#,
            r#"{"a:b": {"input": 1, "source": "x", "date": "2026-01-01"}}"#,
            "[]",
        ] {
            assert!(Prices::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_provider_of_one_s_own_is_free_only_on_this_machine() {
        let prices = Prices::built_in();
        let providers = Providers::default();
        let ollama = providers.find("ollama").unwrap();
        let model: ModelRef = "ollama:any".parse().unwrap();
        assert_eq!(prices.find(&model, ollama).unwrap().input, Usd::ZERO);
        let away = Provider { base_url: "https://gpu.example/v1".to_owned(), ..ollama.clone() };
        assert_eq!(prices.find(&model, &away), None);
        let said = r#"{"ollama:*": {"input_usd_per_million": 0.5, "source": "our bill", "date": "2026-01-01"}}"#;
        let prices = prices.merged_with(Prices::parse(said).unwrap());
        assert_eq!(prices.find(&model, &away).unwrap().input, Usd::cents(50));
        let openai = providers.find("openai").unwrap();
        assert_eq!(prices.find(&"openai:gpt-9".parse().unwrap(), openai), None);
    }
}
