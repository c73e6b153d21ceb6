//! A model that answers benchmark questions, with its cost.

use std::sync::{Mutex, PoisonError};

use gbrain_core::benchmark::reading::ReadingPrompt;
use gbrain_core::money::Usd;
use gbrain_llm::{Chat, ModelCallErrorKind, ModelClient, ModelRef};

/// The most tokens of an answer, thinking included.
pub const ANSWER_TOKENS: u32 = 512;
/// Estimated input tokens per question: ten excerpts of a few hundred words.
const USUAL_INPUT: u64 = 4_000;

/// A model that answers questions.
pub struct AnswerReader<'a> {
    client: &'a ModelClient,
    model: ModelRef,
    spent: Mutex<ReaderSpending>,
}

#[derive(Debug, Default)]
struct ReaderSpending {
    cost: Usd,
    is_over: bool,
}

impl<'a> AnswerReader<'a> {
    /// A reader that calls the model through a client.
    pub fn new(client: &'a ModelClient, model: ModelRef) -> Self {
        Self { client, model, spent: Mutex::default() }
    }

    pub fn model(&self) -> &ModelRef {
        &self.model
    }

    /// Answers one question. An error begins with the name of its kind.
    pub fn answer(&self, prompt: &ReadingPrompt) -> Result<String, String> {
        let ReadingPrompt { system, user } = prompt.clone();
        let chat = Chat { system, user, max_tokens: ANSWER_TOKENS, schema: None, repeat: 0 };
        let answered = self.client.chat(&self.model, &chat);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        match answered {
            Ok((text, bill)) => {
                spent.cost = spent.cost + bill.cost;
                Ok(text)
            }
            Err(error) => {
                spent.is_over |= error.kind == ModelCallErrorKind::OverBudget;
                Err(format!("{}: {error}", error.kind))
            }
        }
    }

    pub fn cost(&self) -> Usd {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).cost
    }

    pub fn is_over_budget(&self) -> bool {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Estimated cost of some questions; zero if only a cassette answers.
    pub fn estimate(&self, questions: u64) -> Usd {
        if self.client.is_replay_only() {
            return Usd::ZERO;
        }
        let price = self.client.price(&self.model);
        let one = price.map_or(Usd::ZERO, |price| price.of(USUAL_INPUT, ANSWER_TOKENS.into(), 0));
        one.times(questions)
    }
}
