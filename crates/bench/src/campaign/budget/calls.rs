//! The calls to providers and the injected faults, derived from numbers and a seed so that every process has the
//! same.
//!
//! A call has a model of its own name, so that its charges and the provider's bills are told from all others.

use anyhow::Result;
use fastrand::Rng;
use gbrain_llm::{
    CallCost, Chat, EmbeddingPurpose, ModelCallError, ModelClient, ModelRef, Prices, Providers,
    Schema,
};
use serde_json::{Map, Value, json};

use gbrain_testkit::providers::{Asked, BilledAnswer, Fault};

/// An address where nothing listens.
const GONE: &str = "http://127.0.0.1:1/v1";
/// The provider without a server.
pub(super) const GONE_NAME: &str = "gone";
/// A key that providers get and do not check.
pub(super) const KEY: &str = "campaign-key";

/// A provider, and what it takes in billionths of a dollar: whole numbers, so that a bill is exact.
#[derive(Debug)]
pub(super) struct Tariff {
    name: &'static str,
    /// The API format; none if the name implies it.
    api: Option<&'static str>,
    path: &'static str,
    /// A token sent.
    input: u64,
    /// A token made.
    output: u64,
    /// A search.
    search: u64,
}

const fn tariff(
    name: &'static str,
    path: &'static str,
    [input, output, search]: [u64; 3],
) -> Tariff {
    Tariff { name, api: None, path, input, output, search }
}

const COMPATIBLE: Option<&str> = Some("openai-compatible");

/// All of the callers.
pub(super) const TARIFFS: [Tariff; 8] = [
    tariff("anthropic", "/v1", [3_000, 15_000, 0]),
    tariff("openai", "/v1", [1_250, 10_000, 0]),
    tariff("google", "/v1beta", [300, 2_500, 0]),
    tariff("cohere", "/v2", [120, 0, 2_000_000]),
    tariff("voyage", "/v1", [180, 0, 0]),
    tariff("jina", "/v1", [20, 0, 0]),
    Tariff { api: COMPATIBLE, ..tariff("lab", "/v1", [100, 400, 0]) },
    Tariff { api: COMPATIBLE, ..tariff(GONE_NAME, "/v1", [1_000, 2_000, 0]) },
];

impl Tariff {
    /// The sum of a bill, in billionths.
    pub(super) fn of(&self, bill: &BilledAnswer) -> i64 {
        let BilledAnswer { input, output, searches, .. } = bill;
        (input * self.input + output * self.output + searches * self.search) as i64
    }

    /// The provider it belongs to.
    pub(super) fn find(provider: &str) -> Option<&'static Self> {
        TARIFFS.iter().find(|tariff| tariff.name == provider)
    }
}

/// Every provider, at one server; one is gone.
pub(super) fn providers(server: &str) -> Result<Providers> {
    let mut settings = Map::new();
    for Tariff { name, api, path, .. } in &TARIFFS {
        let url = if *name == GONE_NAME { GONE.to_owned() } else { format!("{server}{path}") };
        let mut described = json!({ "base_url": url, "key_env": "CAMPAIGN_KEY" });
        if let Some(api) = api {
            described["api"] = json!(api);
        }
        settings.insert((*name).to_owned(), described);
    }
    Ok(Providers::with(&settings)?)
}

/// Their prices, for all of their models.
pub(super) fn prices() -> Result<Prices> {
    let millions = |nanos: u64| json!(nanos as f64 / 1000.0);
    let entry = |Tariff { name, input, output, search, .. }: &Tariff| {
        let entry = json!({
            "input_usd_per_million": millions(*input),
            "output_usd_per_million": millions(*output),
            "usd_per_thousand_searches": *search as f64 / 1e6,
            "source": "a campaign",
            "date": "2026-01-01",
        });
        (format!("{name}:*"), entry)
    };
    Ok(Prices::parse(&Value::Object(TARIFFS.iter().map(entry).collect()).to_string())?)
}

#[derive(Debug)]
pub(super) struct Call {
    /// The provider of the call; the call's id is the model's name.
    pub(super) model: ModelRef,
    ask: Ask,
}

#[derive(Debug)]
enum Ask {
    Chat(Chat),
    Embed { texts: Vec<String>, purpose: EmbeddingPurpose, dims: usize },
    Rerank { query: String, documents: Vec<String> },
}

const CHATTERS: [&str; 4] = ["anthropic", "openai", "google", "lab"];
const EMBEDDERS: [&str; 6] = ["openai", "google", "cohere", "voyage", "jina", "lab"];
const RERANKERS: [&str; 4] = ["cohere", "voyage", "jina", "lab"];

impl Call {
    /// The call of a number.
    pub(super) fn of(seed: u64, number: usize) -> Self {
        let mut rng = Rng::with_seed(mixed(seed, number as u64));
        let (providers, ask): (&[&str], Ask) = match rng.u32(..100) {
            0..1 => (&[GONE_NAME], chat(&mut rng)),
            1..51 => (&CHATTERS, chat(&mut rng)),
            51..81 => (&EMBEDDERS, embed(&mut rng)),
            _ => (&RERANKERS, rerank(&mut rng)),
        };
        let provider = providers[rng.usize(..providers.len())].to_owned();
        Self { model: ModelRef { provider, model: name(number) }, ask }
    }

    /// Asks, and tells what it cost.
    pub(super) fn run(&self, client: &ModelClient) -> Result<CallCost, ModelCallError> {
        match &self.ask {
            Ask::Chat(chat) => client.chat(&self.model, chat).map(|(_, bill)| bill),
            Ask::Embed { texts, purpose, dims } => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                client.embed(&self.model, &texts, *purpose, Some(*dims)).map(|(_, bill)| bill)
            }
            Ask::Rerank { query, documents } => {
                let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
                client.rerank(&self.model, query, &documents).map(|(_, bill)| bill)
            }
        }
    }
}

/// The name of a call's model.
pub(super) fn name(number: usize) -> String {
    format!("call-{number}")
}

fn text(rng: &mut Rng, longest: usize) -> String {
    let mut text = String::new();
    let length = rng.usize(10..longest);
    while text.len() < length {
        text.push_str(
            rng.choice(["harbour ", "tide ", "größe ", "クレーン ", "\"quay\" "]).unwrap_or(" "),
        );
    }
    text
}

fn chat(rng: &mut Rng) -> Ask {
    let schema = json!({ "type": "object", "properties": { "said": { "type": "string" } } });
    Ask::Chat(Chat {
        system: text(rng, 200),
        user: text(rng, 1_500),
        max_tokens: rng.u32(20..300),
        schema: rng.bool().then(|| Schema { name: "said".to_owned(), schema }),
        repeat: 0,
    })
}

fn embed(rng: &mut Rng) -> Ask {
    let texts = (0..rng.usize(1..6)).map(|_| text(rng, 400)).collect();
    let purpose = if rng.bool() { EmbeddingPurpose::Document } else { EmbeddingPurpose::Query };
    Ask::Embed { texts, purpose, dims: 16 }
}

fn rerank(rng: &mut Rng) -> Ask {
    let documents = (0..rng.usize(1..8)).map(|_| text(rng, 200)).collect();
    Ask::Rerank { query: text(rng, 60), documents }
}

/// A model's answer of any length, so that some answers end at the token limit.
pub(super) fn says(asked: &Asked) -> String {
    let Asked::Chat { user, .. } = asked else { return String::new() };
    let length = mixed(user.len() as u64, 7) % 900;
    "so it is ".repeat(1 + length as usize / 9)
}

/// The fault injected into a request: one request in six, in every way there is.
pub(super) fn faults(seed: u64, hang: std::time::Duration) -> impl Fn(u64) -> Fault + Send + Sync {
    move |number| match mixed(seed, number) % 1000 {
        0..30 => Fault::Status(429, Some(0)),
        30..34 => Fault::Status(429, Some(1)),
        34..64 => Fault::Status(500, None),
        64..84 => Fault::Status(503, Some(0)),
        84..94 => Fault::Hang(hang),
        94..109 => Fault::Cut,
        109..124 => Fault::Garbage,
        124..144 => Fault::Empty,
        144..150 => Fault::Gateway(502),
        150..160 => Fault::Gateway(504),
        _ => Fault::None,
    }
}

/// A number that looks like chance, of two.
fn mixed(seed: u64, number: u64) -> u64 {
    Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number).u64(..)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use gbrain_llm::Usage;

    use super::*;

    #[test]
    fn everybody_is_asked_for_everything_and_every_fault_comes() {
        let kind = |call: &Call| match call.ask {
            Ask::Chat(_) => "chat",
            Ask::Embed { .. } => "embed",
            Ask::Rerank { .. } => "rerank",
        };
        let calls = (0..2_000).map(|number| Call::of(1, number));
        let asked: BTreeSet<_> =
            calls.map(|call| (call.model.provider.clone(), kind(&call))).collect();
        assert_eq!(
            asked.len(),
            CHATTERS.len() + EMBEDDERS.len() + RERANKERS.len() + 1,
            "{asked:?}"
        );
        assert_eq!(Call::of(1, 7).model, Call::of(1, 7).model);
        let hang = Duration::from_secs(1);
        let faults = faults(1, hang);
        let seen: Vec<Fault> = (1..4_000).map(faults).collect();
        for fault in [
            Fault::Status(429, Some(1)),
            Fault::Status(500, None),
            Fault::Status(503, Some(0)),
            Fault::Hang(hang),
            Fault::Cut,
            Fault::Garbage,
            Fault::Empty,
            Fault::Gateway(504),
        ] {
            assert!(seen.contains(&fault), "{fault:?}");
        }
        let right = seen.iter().filter(|fault| **fault == Fault::None).count();
        assert!((3_200..3_500).contains(&right), "{right}");
    }

    #[test]
    fn prices_are_the_tariff() {
        let (prices, providers) = (prices().unwrap(), providers("http://127.0.0.1:9").unwrap());
        let bill =
            BilledAnswer { model: String::new(), input: 7, output: 3, searches: 2, told: true };
        for tariff in &TARIFFS {
            let model = ModelRef { provider: tariff.name.to_owned(), model: "any".to_owned() };
            let provider = providers.find(tariff.name).unwrap();
            let price = prices.find(&model, provider).unwrap();
            let usage = Usage { input: 7, output: 3, searches: 2 };
            assert_eq!(price.of_usage(usage).as_nanos(), tariff.of(&bill), "{}", tariff.name);
        }
    }
}
