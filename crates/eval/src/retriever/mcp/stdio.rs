//! An MCP server that is started, on its standard input and output.

use std::time::Duration;

use gbrain_core::target::{Program, TargetError};
use serde_json::Value;

use crate::retriever::Surroundings;
use crate::retriever::child::{Child, Running};
use crate::retriever::patience::Missed;

use super::Exchange;
use super::message;

/// A server that is started.
pub(super) struct Stdio(Child);

impl Stdio {
    pub(super) fn new(program: Program, surroundings: &Surroundings) -> Self {
        Self(Child::new(program, surroundings, message::route))
    }
}

fn greet(running: &Running, timeout: Duration) -> Result<(), TargetError> {
    let greeting = |id| message::request(id, "initialize", &message::greeting());
    message::result(&running.ask(greeting, timeout)?)?;
    running.tell(&message::initialized());
    Ok(())
}

impl Exchange for Stdio {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, Missed> {
        let running = self.0.running(timeout, &greet)?;
        let answer = running.ask(|id| message::request(id, method, &params), timeout)?;
        Ok(message::result(&answer)?)
    }
}
