//! A tool of an MCP server, called by a small blocking client.
//!
//! It begins as the protocol says (`initialize`, `notifications/initialized`) and calls one tool. The answer
//! is read from the structured content of the result, or from its text if that is JSON.
//!
//! Deliberately absent: everything else of the protocol. A server that asks something itself is told that
//! nobody can do that here.

mod http;
mod message;
mod stdio;

use std::time::Duration;

use gbrain_core::target::shape::Reading;
use gbrain_core::target::template::{Filling, Template};
use gbrain_core::target::{
    McpTarget, McpTransport, Question, TargetAnswer, TargetError, TargetLimits,
};
use serde_json::{Value, json};

use super::Surroundings;
use super::patience::Missed;
use super::remote::{Naming, Wire};

/// One way to a server: a request, and the result it gave.
trait Exchange: Sync + Send {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, Missed>;

    fn hide(&self, text: String) -> String {
        text
    }
}

struct Mcp {
    exchange: Box<dyn Exchange>,
    tool: String,
    arguments: Template,
    reading: Reading,
    naming: Naming,
}

pub(super) fn open(
    target: McpTarget,
    naming: Naming,
    limits: &TargetLimits,
    surroundings: &Surroundings,
) -> Result<Box<dyn Wire>, TargetError> {
    let McpTarget { transport, tool, arguments, reading } = target;
    let exchange: Box<dyn Exchange> = match transport {
        McpTransport::Stdio(program) => Box::new(stdio::Stdio::new(program, surroundings)),
        McpTransport::Http(address) => {
            Box::new(http::Streamable::open(address, limits, surroundings)?)
        }
    };
    Ok(Box::new(Mcp { exchange, tool, arguments, reading, naming }))
}

impl Wire for Mcp {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, Missed> {
        let filling = Filling { question, vector: None };
        let arguments = self.arguments.fill(&filling).unwrap_or_else(|| json!({}));
        let params = json!({ "name": self.tool, "arguments": arguments });
        let result = self.exchange.call("tools/call", params, timeout)?;
        Ok(message::content(&result)?)
    }

    fn read(&self, question: &Question, said: &Value) -> Result<TargetAnswer, TargetError> {
        let Naming { ids, document } = &self.naming;
        self.reading.answer(said, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, question: &Question) -> Vec<&'static str> {
        self.arguments.not_asked(question)
    }

    fn hide(&self, text: String) -> String {
        self.exchange.hide(text)
    }
}
