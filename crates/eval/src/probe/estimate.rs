//! Estimates the cost of a run before anything is sent.
//!
//! Promises: every call is included (answers, votes, vectors, expansions, rerankings), each with
//! the longest possible input and a reply of usual length. The cap holds even if the estimate is
//! too low: every call is charged at its worst until it is answered.

use gbrain_core::benchmark::reading::{Excerpt, prompt};
use gbrain_core::benchmark::{DatasetDocument, Haystack};
use gbrain_core::cross_modal::JudgeInput;
use gbrain_core::money::Usd;
use gbrain_llm::{
    Chat, Expansion, ModelCallError, ModelClient, ModelRef, TOKEN_BYTES, expansion_chat,
};

use super::measure::K;
use super::models::ModelSelection;
use crate::benchmark::ANSWER_TOKENS;
use crate::cross_modal::Jury;

/// Maximum length of an answer, in bytes: English has four to five per token, and an answer of one
/// or two sentences is far from the limit.
const ANSWER_BYTES: usize = 4 * ANSWER_TOKENS as usize;
/// Typical output tokens of an answer of one or two sentences, and of query variants.
const USUAL_ANSWER: u32 = 200;
/// Bytes that a passage takes beside its words: the speaker, and the frame around it.
const FRAME: usize = 64;
/// The number of query variants, as in `brain`.
const VARIANTS: Expansion = Expansion { variants: 5 };

pub(super) struct EstimateInputs<'a> {
    pub(super) client: &'a ModelClient,
    pub(super) selection: &'a ModelSelection,
    /// The remote embedder, if there is one.
    pub(super) embedder: Option<&'a ModelRef>,
    pub(super) jury: &'a Jury<'a>,
    pub(super) haystacks: &'a [Haystack],
}

/// The estimated cost of a run.
pub(super) fn likely(inputs: &EstimateInputs<'_>) -> Result<Usd, ModelCallError> {
    let mut sum = Usd::ZERO;
    for haystack in inputs.haystacks {
        sum = sum
            + answers(inputs, haystack)?
            + votes(inputs, haystack)?
            + retrieval(inputs, haystack)?;
    }
    Ok(sum)
}

/// The cost of answers, assuming that the largest sessions are read in full.
fn answers(inputs: &EstimateInputs<'_>, haystack: &Haystack) -> Result<Usd, ModelCallError> {
    let mut texts: Vec<(&DatasetDocument, String)> =
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
        sum = sum
            + inputs.client.estimated_chat_cost(&inputs.selection.answers, &chat, USUAL_ANSWER)?;
    }
    Ok(sum)
}

fn votes(inputs: &EstimateInputs<'_>, haystack: &Haystack) -> Result<Usd, ModelCallError> {
    let output = "x".repeat(ANSWER_BYTES);
    let votes = inputs.jury.estimate(haystack.questions.iter().map(|question| JudgeInput {
        task: &question.text,
        expected: question.answer.as_deref(),
        output: &output,
    }))?;
    Ok(votes.likely)
}

/// The cost of remote embeddings, expansions and rerankings.
fn retrieval(inputs: &EstimateInputs<'_>, haystack: &Haystack) -> Result<Usd, ModelCallError> {
    let bytes: usize = haystack.documents.iter().map(|document| text(document).len()).sum();
    let asked: usize = haystack.questions.iter().map(|question| question.text.len()).sum();
    let (documents, questions) = (haystack.documents.len(), haystack.questions.len());
    let mut sum = Usd::ZERO;
    if let Some(model) = inputs.embedder {
        let tokens = (bytes + asked + FRAME * (documents + questions)) as u64 / TOKEN_BYTES;
        sum = sum + inputs.client.price(model)?.of(tokens, 0, 0);
    }
    if let Some(model) = &inputs.selection.expander {
        for question in &haystack.questions {
            let chat = expansion_chat(&question.text, VARIANTS);
            sum = sum + inputs.client.estimated_chat_cost(model, &chat, USUAL_ANSWER)?;
        }
    }
    if let Some(model) = &inputs.selection.reranker {
        // A cross-encoder reads the query again with every document.
        let tokens =
            (questions * (bytes + FRAME * documents) + documents * asked) as u64 / TOKEN_BYTES;
        sum = sum + inputs.client.price(model)?.of(tokens, 0, questions as u64);
    }
    Ok(sum)
}

/// A session as the model reads it, with padding for the frame of each turn.
fn text(document: &DatasetDocument) -> String {
    let turn = |turn: &gbrain_core::benchmark::DatasetTurn| {
        format!("{:<FRAME$}{}\n", turn.speaker, turn.text)
    };
    document.turns().iter().map(turn).collect()
}
