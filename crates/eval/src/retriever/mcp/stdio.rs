//! An MCP server as a child process, on its standard input and output.

use std::time::Duration;

use gbrain_core::target::{TargetError, TargetProgram};
use serde_json::Value;

use crate::retriever::TargetEnvironment;
use crate::retriever::child::{ChildProcess, ChildProgram};
use crate::retriever::limiter::AttemptError;

use super::McpClient;
use super::message;

/// A client of an MCP server in a child process.
pub(super) struct Stdio(ChildProgram);

impl Stdio {
    pub(super) fn new(program: TargetProgram, environment: &TargetEnvironment) -> Self {
        Self(ChildProgram::new(program, environment, message::route))
    }
}

fn greet(running: &ChildProcess, timeout: Duration) -> Result<(), TargetError> {
    let greeting = |id| message::request(id, "initialize", &message::greeting());
    message::result(&running.ask(greeting, timeout)?)?;
    running.notify(&message::initialized());
    Ok(())
}

impl McpClient for Stdio {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, AttemptError> {
        let running = self.0.running(timeout, &greet)?;
        let answer = running.ask(|id| message::request(id, method, &params), timeout)?;
        Ok(message::result(&answer)?)
    }
}
