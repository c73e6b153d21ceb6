//! A program that answers questions, one line of JSON each.
//!
//! It reads `{"id": 1, "query": "...", "k": 10, ...}` and writes `{"id": 1, "results": [{"document": "..."}]}`,
//! in any order, or `{"id": 1, "error": {"kind": "timeout", "message": "..."}}`.

use std::time::Duration;

use gbrain_core::fault::message_in;
use gbrain_core::format::target::QuestionBody;
use gbrain_core::target::shape::AnswerFormat;
use gbrain_core::target::{Question, TargetAnswer, TargetError, TargetErrorKind, TargetProgram};
use serde_json::{Value, json};

use super::TargetEnvironment;
use super::child::{ChildProgram, Route};
use super::limiter::AttemptError;
use super::remote::{IdMapping, Wire};

/// A program that answers questions on stdin and stdout.
pub(super) struct Command {
    child: ChildProgram,
    mapping: IdMapping,
}

impl Command {
    pub(super) fn new(
        program: TargetProgram,
        mapping: IdMapping,
        environment: &TargetEnvironment,
    ) -> Self {
        Self { child: ChildProgram::new(program, environment, route), mapping }
    }
}

fn route(message: &Value) -> Route {
    message["id"].as_u64().map_or(Route::Pass, Route::Answer)
}

impl Wire for Command {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, AttemptError> {
        let running = self.child.running(timeout, &|_, _| Ok(()))?;
        let reply = running.ask(|id| json!(QuestionBody::new(id, question)), timeout)?;
        match reply.get("error").filter(|error| !error.is_null()) {
            None => Ok(reply),
            Some(error) => {
                // Errors whose kind is transient are retried.
                let kind = error["kind"].as_str().and_then(TargetErrorKind::from_name);
                let message = message_in(&reply).unwrap_or("it failed and does not say why");
                let kind = kind.unwrap_or(TargetErrorKind::BadRequest);
                Err(TargetError::new(kind, message).into())
            }
        }
    }

    fn read(&self, question: &Question, reply: &Value) -> Result<TargetAnswer, TargetError> {
        let IdMapping { ids, document } = &self.mapping;
        AnswerFormat::Own.answer(reply, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, _: &Question) -> Vec<&'static str> {
        Vec::new()
    }
}
