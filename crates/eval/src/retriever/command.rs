//! A program that answers questions, one line of JSON each.
//!
//! It reads `{"id": 1, "query": "...", "k": 10, ...}` and writes `{"id": 1, "results": [{"document": "..."}]}`,
//! in any order, or `{"id": 1, "error": {"kind": "timeout", "message": "..."}}`.

use std::time::Duration;

use gbrain_core::fault::message_in;
use gbrain_core::format::target::QuestionBody;
use gbrain_core::target::shape::Reading;
use gbrain_core::target::{Program, Question, TargetAnswer, TargetError, TargetErrorKind};
use serde_json::{Value, json};

use super::Surroundings;
use super::child::{Child, Route};
use super::patience::Missed;
use super::remote::{Naming, Wire};

/// A program that answers questions.
pub(super) struct Command {
    child: Child,
    naming: Naming,
}

impl Command {
    pub(super) fn new(program: Program, naming: Naming, surroundings: &Surroundings) -> Self {
        Self { child: Child::new(program, surroundings, route), naming }
    }
}

fn route(message: &Value) -> Route {
    message["id"].as_u64().map_or(Route::Pass, Route::Answer)
}

impl Wire for Command {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, Missed> {
        let running = self.child.running(timeout, &|_, _| Ok(()))?;
        let said = running.ask(|id| json!(QuestionBody::new(id, question)), timeout)?;
        match said.get("error").filter(|error| !error.is_null()) {
            None => Ok(said),
            Some(error) => {
                // What it says may pass is tried again.
                let kind = error["kind"].as_str().and_then(TargetErrorKind::from_name);
                let message = message_in(&said).unwrap_or("it failed and does not say why");
                let kind = kind.unwrap_or(TargetErrorKind::BadRequest);
                Err(TargetError::new(kind, message).into())
            }
        }
    }

    fn read(&self, question: &Question, said: &Value) -> Result<TargetAnswer, TargetError> {
        let Naming { ids, document } = &self.naming;
        Reading::Own.answer(said, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, _: &Question) -> Vec<&'static str> {
        Vec::new()
    }
}
