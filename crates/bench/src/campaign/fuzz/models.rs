//! What must hold for models: prices, cassettes, answers of providers, replies to judges.

use std::sync::Arc;

use fastrand::Rng;
use gbrain_core::contradiction;
use gbrain_core::cross_modal::{self, HIGHEST, LOWEST, Rubric};
use gbrain_core::money::Usd;
use gbrain_core::repair::{json_object, repair};
use gbrain_core::untrusted::{frame_untrusted, neutralise, text_outside_frames};
use gbrain_llm::answers::{parse_chat_reply, parse_embeddings, parse_rerank_scores, parse_usage};
use gbrain_llm::{
    Cassette, CassetteError, CassetteMode, Chat, ModelCallError, ModelClient, ModelLimits,
    ModelRef, Prices, Provider, Providers,
};
use gbrain_prompts::domain;
use serde_json::Value;

use super::promises::{Broken, Tools, check_words, require};

/// The longest words of an error about an answer.
const LONGEST_ERROR: usize = 2_000;

/// Prices: amounts are exact and never below zero, whatever is used; a refusal says which entry.
pub(super) fn check_prices(bytes: &[u8]) -> Result<(), Broken> {
    let prices = match Prices::parse(&String::from_utf8_lossy(bytes)) {
        Ok(prices) => prices,
        Err(error) => {
            let words = error.to_string();
            require(words.starts_with("prices: "), || format!("refused with {words:?}"))?;
            return check_words(&words);
        }
    };
    for (name, price) in prices.iter() {
        let model: ModelRef = name.parse().map_err(|error| format!("{error}"))?;
        for used in [(0, 0, 0), (1, 1, 1), (u64::MAX, u64::MAX, u64::MAX)] {
            let cost = price.of(used.0, used.1, used.2);
            require(cost >= Usd::ZERO, || format!("{name} costs {cost}"))?;
        }
        let less = price.of(1_000, 0, 0) <= price.of(1_000_000, 0, 0);
        require(less, || format!("{name} is cheaper by the million"))?;
        for provider in Providers::default().iter() {
            prices.find(&model, provider);
        }
    }
    let count = prices.iter().count();
    let all = Prices::built_in().merged_with(prices);
    require(all.iter().count() >= count, || "a price is lost".to_owned())
}

/// Cassettes: what opens for replaying opens for recording and is the same after, and a refusal names
/// the file and the line.
pub(super) fn check_cassette(bytes: &[u8], tools: &Tools) -> Result<(), Broken> {
    let path = tools.dir.path().join("cassette.ndjson");
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let tape = match Cassette::open(&path, CassetteMode::ReplayOnly) {
        Ok(tape) => tape,
        Err(error) => {
            let is_placed = matches!(&error, CassetteError::Broken { line, .. } if *line > 0);
            let words = error.to_string();
            require(is_placed && words.contains("cassette.ndjson"), || words.clone())?;
            return check_words(&words);
        }
    };
    let before = asked(tape);
    let tape = Cassette::open(&path, CassetteMode::Record).map_err(|error| error.to_string())?;
    drop(tape);
    let tape = Cassette::open(&path, CassetteMode::ReplayOnly);
    let after = asked(tape.map_err(|error| format!("recorded, it is refused: {error}"))?);
    require(before == after, || format!("{before:?} became {after:?}"))
}

/// What a cassette says to the question of the corpus.
fn asked(tape: Cassette) -> Result<String, String> {
    let client = ModelClient::new(
        Providers::default(),
        Prices::built_in(),
        ModelLimits::default(),
        Arc::new(|_: &str| None),
    )
    .cassette(tape);
    let model: ModelRef = "openai:gpt-5-mini".parse().map_err(|error| format!("{error}"))?;
    let chat = Chat {
        system: "system".to_owned(),
        user: "user".to_owned(),
        max_tokens: 100,
        schema: None,
        repeat: 0,
    };
    let said = client.chat(&model, &chat).map(|(text, _)| text);
    said.map_err(|error| error.to_string())
}

/// Answers of providers: a reply, numbers that are numbers, one for each thing asked, and costs that
/// are amounts.
pub(super) fn check_provider(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let Ok(answer) = serde_json::from_slice::<Value>(bytes) else { return Ok(()) };
    let count = rng.usize(1..4);
    let providers = Providers::default();
    for provider in providers.iter() {
        check_provided(provider, &answer, count)?;
    }
    match parse_rerank_scores(&answer, count) {
        Ok(scores) => {
            let all = scores.len() == count && scores.iter().all(|score| score.is_finite());
            require(all, || format!("{scores:?} for {count} documents"))
        }
        Err(error) => check_error(&error),
    }
}

fn check_provided(provider: &Provider, answer: &Value, count: usize) -> Result<(), Broken> {
    if let Err(error) = parse_chat_reply(provider, answer) {
        check_error(&error)?;
    }
    match parse_embeddings(provider, answer, count) {
        Ok(vectors) => {
            let dims = vectors.first().map_or(0, Vec::len);
            let is_whole = vectors.len() == count
                && dims > 0
                && vectors.iter().all(|vector| vector.len() == dims)
                && vectors.iter().flatten().all(|number| number.is_finite());
            require(is_whole, || format!("{} vectors for {count} texts", vectors.len()))?;
        }
        Err(error) => check_error(&error)?,
    }
    let Some(usage) = parse_usage(provider, answer) else { return Ok(()) };
    for (name, price) in Prices::built_in().iter() {
        let cost = price.of_usage(usage);
        require(cost >= Usd::ZERO, || format!("{usage:?} of {name} costs {cost}"))?;
    }
    Ok(())
}

fn check_error(error: &ModelCallError) -> Result<(), Broken> {
    let words = error.to_string();
    check_words(&words)?;
    require(words.len() < LONGEST_ERROR, || format!("an error of {} bytes", words.len()))
}

/// Replies of models: what is put right stays as it is, scores are on their scale, and a text that
/// stands in a frame does not leave it.
pub(super) fn check_reply(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    match repair(&text) {
        Ok(repaired) => {
            let written = repaired.value.to_string();
            let again = json_object(&written).map_err(|error| format!("{error}: {written}"))?;
            require(again == repaired.value, || format!("put right, it is another: {written}"))?;
            match contradiction::parse(&repaired.value) {
                Ok(judged) => {
                    let fits = (0.0..=1.0).contains(&judged.confidence);
                    require(fits, || format!("confidence {}", judged.confidence))?;
                    let is_line = !judged.axis.contains(['\n', '\r']);
                    require(is_line, || format!("axis {:?}", judged.axis))?;
                }
                Err(error) => check_words(&error.to_string())?,
            }
        }
        Err(error) => check_words(&error.to_string())?,
    }
    for rubric in [Rubric::qa(), Rubric::task()] {
        match cross_modal::read(&rubric, &text) {
            Ok(vote) => {
                let fits = vote.scores.len() == rubric.dimensions.len()
                    && vote.scores.iter().all(|score| (LOWEST..=HIGHEST).contains(score));
                require(fits, || format!("{vote:?}"))?;
            }
            Err(error) => {
                let words = error.to_string();
                check_words(&words)?;
                require(words.len() < LONGEST_ERROR, || format!("{} bytes", words.len()))?;
            }
        }
    }
    if let Some(score) = domain::score(&text) {
        require((1.0..=5.0).contains(&score), || format!("a score of {score}"))?;
    }
    domain::verdict(&text);
    check_framed(&text)
}

fn check_framed(text: &str) -> Result<(), Broken> {
    let once = neutralise(text);
    require(neutralise(&once) == once, || "neutralised twice, it is another".to_owned())?;
    let frame = frame_untrusted("document", &[("title", text)], text);
    let left = text_outside_frames(&format!("before {frame} after"), "document");
    require(left == "before  after", || format!("out of its frame: {left:?}"))
}
