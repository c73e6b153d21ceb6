//! About what a run costs, before anything is sent.
//!
//! Promises: nothing that is asked is left out (answers, votes, vectors, other words, orders), each with
//! the longest text that it can be asked about and a reply of the usual length. The cap holds whatever is estimated:
//! every call is charged at its worst until it is answered.

use gbrain_core::benchmark::reading::{Excerpt, prompt};
use gbrain_core::benchmark::{Document, Haystack};
use gbrain_core::cross_modal::Case;
use gbrain_core::money::Usd;
use gbrain_llm::{AskError, Asker, Chat, Expansion, ModelRef, TOKEN_BYTES, expansion_chat};

use super::cast::Cast;
use super::measure::K;
use crate::benchmark::ANSWER_TOKENS;
use crate::cross_modal::Jury;

/// What an answer is at most, in bytes: English has four to five a token, and an answer of one or two
/// sentences is far from the limit.
const ANSWER_BYTES: usize = 4 * ANSWER_TOKENS as usize;
/// About what an answer of one or two sentences takes, and as much for variants of a question.
const USUAL_ANSWER: u32 = 200;
/// What a passage takes beside its words: who speaks, and the frame it stands in.
const FRAME: usize = 64;
/// Variants of a question that are asked for, as `brain` does.
const VARIANTS: Expansion = Expansion { variants: 5 };

/// What the cost depends on.
pub(super) struct Parts<'a> {
    pub(super) asker: &'a Asker,
    pub(super) cast: &'a Cast,
    /// The remote embedder, if there is one.
    pub(super) embedder: Option<&'a ModelRef>,
    pub(super) jury: &'a Jury<'a>,
    pub(super) haystacks: &'a [Haystack],
}

/// About what it costs.
pub(super) fn likely(parts: &Parts<'_>) -> Result<Usd, AskError> {
    let mut sum = Usd::ZERO;
    for haystack in parts.haystacks {
        sum =
            sum + answers(parts, haystack)? + votes(parts, haystack)? + retrieval(parts, haystack)?;
    }
    Ok(sum)
}

/// The largest sessions are read, whole.
fn answers(parts: &Parts<'_>, haystack: &Haystack) -> Result<Usd, AskError> {
    let mut texts: Vec<(&Document, String)> =
        haystack.documents.iter().map(|document| (document, text(document))).collect();
    texts.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    let largest = texts.iter().take(K);
    let date = Some("2025/01/01 (Wed) 00:00");
    let excerpts: Vec<Excerpt<'_>> =
        largest.zip(1..).map(|((_, text), number)| Excerpt { number, date, text }).collect();
    let mut sum = Usd::ZERO;
    for question in &haystack.questions {
        let prompt = prompt(&question.text, date, &excerpts);
        let chat = Chat {
            system: prompt.system,
            user: prompt.user,
            max_tokens: ANSWER_TOKENS,
            schema: None,
            repeat: 0,
        };
        sum = sum + parts.asker.likely_of_chat(&parts.cast.answers, &chat, USUAL_ANSWER)?;
    }
    Ok(sum)
}

fn votes(parts: &Parts<'_>, haystack: &Haystack) -> Result<Usd, AskError> {
    let output = "x".repeat(ANSWER_BYTES);
    let votes = parts.jury.estimate(haystack.questions.iter().map(|question| Case {
        task: &question.text,
        expected: question.answer.as_deref(),
        output: &output,
    }))?;
    Ok(votes.likely)
}

/// Vectors, other words and orders, where models elsewhere make them.
fn retrieval(parts: &Parts<'_>, haystack: &Haystack) -> Result<Usd, AskError> {
    let bytes: usize = haystack.documents.iter().map(|document| text(document).len()).sum();
    let asked: usize = haystack.questions.iter().map(|question| question.text.len()).sum();
    let (documents, questions) = (haystack.documents.len(), haystack.questions.len());
    let mut sum = Usd::ZERO;
    if let Some(model) = parts.embedder {
        let tokens = (bytes + asked + FRAME * (documents + questions)) as u64 / TOKEN_BYTES;
        sum = sum + parts.asker.price(model)?.of(tokens, 0, 0);
    }
    if let Some(model) = &parts.cast.expander {
        for question in &haystack.questions {
            let chat = expansion_chat(&question.text, VARIANTS);
            sum = sum + parts.asker.likely_of_chat(model, &chat, USUAL_ANSWER)?;
        }
    }
    if let Some(model) = &parts.cast.reranker {
        // A cross-encoder reads the query again with every document.
        let tokens =
            (questions * (bytes + FRAME * documents) + documents * asked) as u64 / TOKEN_BYTES;
        sum = sum + parts.asker.price(model)?.of(tokens, 0, questions as u64);
    }
    Ok(sum)
}

/// A session as it is read, with room for what stands around each turn.
fn text(document: &Document) -> String {
    let turn =
        |turn: &gbrain_core::benchmark::Turn| format!("{:<FRAME$}{}\n", turn.speaker, turn.text);
    document.turns().iter().map(turn).collect()
}
