//! What must hold for what targets say: answers by any description, and saved ones.

use std::borrow::Cow;

use fastrand::Rng;
use gbrain_core::format::target::read_target;
use gbrain_core::target::saved::SavedAnswers;
use gbrain_core::target::shape::AnswerFormat;
use gbrain_core::target::{
    DocumentIdRule, Question, TargetAnswer, TargetError, TargetKind, TargetSettings,
};
use serde_json::{Value, json};

use super::promises::{Broken, check_words, require};

/// The longest words of an error about an answer, in characters.
const LONGEST_ERROR: usize = 2_000;

/// A description of a target and an answer, under `target` and `answer`: at most as many results as
/// were asked for, each with a name, and numbers that are numbers.
pub(super) fn check_answer(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let Ok(case) = serde_json::from_slice::<Value>(bytes) else { return Ok(()) };
    let k = [1, 3, 10][rng.usize(..3)];
    let said = case.get("answer").unwrap_or(&Value::Null);
    for api in ["lightfast-internal", "lightfast-v1", "lightfast-2026", "gbrain"] {
        let settings = json!({ "kind": "http", "api": api, "url": "http://127.0.0.1:9" });
        let target = read_target("ready", &settings).map_err(|error| error.to_string())?;
        check_read(&target, said, k)?;
    }
    let ids = DocumentIdRule::default();
    for reading in [AnswerFormat::Gbrain, AnswerFormat::Own] {
        check_answered(&reading.answer(said, &ids, None, k), k)?;
    }
    match read_target("described", case.get("target").unwrap_or(&Value::Null)) {
        Ok(target) => check_read(&target, said, k),
        Err(error) => check_words(&error.to_string()),
    }
}

fn check_read(target: &TargetSettings, said: &Value, k: usize) -> Result<(), Broken> {
    let document = target.document.as_ref();
    let answer = match &target.kind {
        TargetKind::Http(http) => http.shape.answer(said, &target.ids, document, k),
        TargetKind::Mcp(mcp) => mcp.reading.answer(said, &target.ids, document, k),
        TargetKind::Local | TargetKind::Command(_) | TargetKind::Run(_) => return Ok(()),
    };
    check_answered(&answer, k)
}

pub(super) fn check_answered(
    answer: &Result<TargetAnswer, TargetError>,
    k: usize,
) -> Result<(), Broken> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let words = error.to_string();
            check_words(&words)?;
            let length = words.chars().count();
            return require(length < LONGEST_ERROR, || format!("{length} characters"));
        }
    };
    require(answer.results.len() <= k, || format!("{} of {k} results", answer.results.len()))?;
    for found in &answer.results {
        require(!found.document.is_empty(), || format!("{found:?}"))?;
        require(found.score.is_none_or(f64::is_finite), || format!("{found:?}"))?;
    }
    require(answer.threshold.is_none_or(f64::is_finite), || format!("{answer:?}"))
}

/// Saved answers: each is found by its id, and no more results than were asked for.
pub(super) fn check_saved(bytes: &[u8]) -> Result<(), Broken> {
    let ids = DocumentIdRule::default();
    let saved = match SavedAnswers::parse(bytes, &ids, None) {
        Ok(saved) => saved,
        Err(error) => return check_words(&error.to_string()),
    };
    require(!saved.is_empty(), || "a file without an answer".to_owned())?;
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    let texts = text.split_whitespace().take(50).map(|id| (id.to_owned(), format!("text {id}")));
    let saved = saved.with_texts(texts.collect());
    for id in text.split(['"', ' ', '\n', '\t']).take(50) {
        for question in [
            Question { id: Some(id.to_owned()), ..Question::new(id, 2) },
            Question::new(format!("text {id}"), 1),
        ] {
            check_answered(&saved.answer(&question), question.k)?;
        }
    }
    Ok(())
}
