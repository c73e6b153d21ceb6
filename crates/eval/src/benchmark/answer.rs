//! A model that answers a benchmark's questions, with what it cost.

use std::sync::{Mutex, PoisonError};

use gbrain_core::benchmark::reading::Prompt;
use gbrain_core::money::Usd;
use gbrain_llm::{AskErrorKind, Asker, Chat, ModelRef};

/// The most tokens of an answer, thinking included.
pub const ANSWER_TOKENS: u32 = 512;
/// What a question takes, for an estimate: ten excerpts of a few hundred words.
const USUAL_INPUT: u64 = 4_000;

/// A model that answers.
pub struct Reader<'a> {
    asker: &'a Asker,
    model: ModelRef,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    cost: Usd,
    is_over: bool,
}

impl<'a> Reader<'a> {
    /// A reader through a door.
    pub fn new(asker: &'a Asker, model: ModelRef) -> Self {
        Self { asker, model, spent: Mutex::default() }
    }

    /// Which model.
    pub fn model(&self) -> &ModelRef {
        &self.model
    }

    /// Answers one question. An error begins with the name of its kind.
    pub fn answer(&self, prompt: &Prompt) -> Result<String, String> {
        let Prompt { system, user } = prompt.clone();
        let chat = Chat { system, user, max_tokens: ANSWER_TOKENS, schema: None, repeat: 0 };
        let answered = self.asker.chat(&self.model, &chat);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        match answered {
            Ok((text, bill)) => {
                spent.cost = spent.cost + bill.cost;
                Ok(text)
            }
            Err(error) => {
                spent.is_over |= error.kind == AskErrorKind::OverBudget;
                Err(format!("{}: {error}", error.kind))
            }
        }
    }

    /// What the answers cost.
    pub fn cost(&self) -> Usd {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).cost
    }

    /// Whether the budget ran out.
    pub fn is_over_budget(&self) -> bool {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// About what so many questions cost; nothing where nobody but a cassette is asked.
    pub fn estimate(&self, questions: u64) -> Usd {
        if self.asker.is_replay_only() {
            return Usd::ZERO;
        }
        let price = self.asker.price(&self.model);
        let one = price.map_or(Usd::ZERO, |price| price.of(USUAL_INPUT, ANSWER_TOKENS.into(), 0));
        one.times(questions)
    }
}
