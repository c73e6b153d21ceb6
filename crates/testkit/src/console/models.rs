//! The models of a seeded brain: a reader of the probe's questions with its judges, and a reranker.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::process::Gbrain;
use crate::providers::{Asked, Fault, ProviderServer, price};

/// The questions of the nightly probe.
const QUESTIONS: &str = include_str!("../../../eval/src/probe/mini.json");
/// The question that the reader gets wrong.
const WRONG: usize = 4;
const MODELS: [(&str, &str); 4] = [
    ("models.eval.longmemeval", "anthropic:reader"),
    ("models.eval.cross_modal.slot_a", "openai:a"),
    ("models.eval.cross_modal.slot_b", "anthropic:b"),
    ("models.eval.cross_modal.slot_c", "google:c"),
];
pub(super) const RERANKER: &str = "jina:m";

/// Starts the models and writes the settings that name them.
pub(super) fn start(brain: &Gbrain, mut config: Value) -> Result<ProviderServer> {
    let answers = answers()?;
    let models = ProviderServer::start(move |asked| says(asked, &answers), |_| Fault::None)?;
    config["llm"] = json!({ "providers": models.settings(), "timeout_seconds": 20, "attempts": 2 });
    std::fs::write(brain.home().join("config.json"), config.to_string())?;
    let names = MODELS.iter().map(|(_, model)| *model).chain([RERANKER]);
    let prices: Map<String, Value> = names.map(|name| (name.to_owned(), price())).collect();
    std::fs::write(brain.home().join("prices.json"), Value::Object(prices).to_string())?;
    for (key, model) in MODELS {
        brain.run(&["config", "set", key, model])?;
    }
    Ok(models)
}

/// The right answers by question, but for one.
fn answers() -> Result<BTreeMap<String, String>> {
    let questions: Vec<Value> = serde_json::from_str(QUESTIONS)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let right = questions.iter().enumerate().filter(|(at, _)| *at != WRONG);
    Ok(right.map(|(_, one)| (text(&one["question"]), text(&one["answer"]))).collect())
}

fn says(asked: &Asked, answers: &BTreeMap<String, String>) -> String {
    match asked {
        Asked::Chat { system, user, .. } if system.starts_with("You are one judge") => {
            let score =
                if inside(user, "expected_answer") == inside(user, "output") { 9 } else { 2 };
            json!({ "scores": { "correctness": score, "directness": score }, "improvements": [] })
                .to_string()
        }
        Asked::Chat { user, .. } => {
            let question = user.rsplit("Question: ").next().unwrap_or_default().trim();
            answers.get(question).cloned().unwrap_or_else(|| "I do not know.".to_owned())
        }
        Asked::Rerank { documents, .. } => {
            let scores: Vec<f64> = documents.iter().map(|text| score_in(text)).collect();
            json!({ "scores": scores }).to_string()
        }
        Asked::Embed { .. } => String::new(),
    }
}

fn inside<'a>(text: &'a str, tag: &str) -> &'a str {
    let rest = text.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
    rest.split_once(&format!("</{tag}>")).map_or("", |(inside, _)| inside).trim()
}

/// The score that a judged passage names; a page is good.
fn score_in(text: &str) -> f64 {
    let number = text.split("scored ").nth(1).and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.9)
}
