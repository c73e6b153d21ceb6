//! A tool of an MCP server, called by a small blocking client.
//!
//! It follows the protocol (`initialize`, `notifications/initialized`) and calls one tool. The
//! answer is read from the structured content of the result, or from its text if that is JSON.
//!
//! Deliberately absent: the rest of the protocol. Requests of a server are answered with an error.

mod http;
mod message;
mod stdio;

use std::time::Duration;

use gbrain_core::target::shape::AnswerFormat;
use gbrain_core::target::template::{RequestTemplate, TemplateValues};
use gbrain_core::target::{
    McpTarget, McpTransport, Question, TargetAnswer, TargetError, TargetLimits,
};
use serde_json::{Value, json};

use super::TargetEnvironment;
use super::limiter::AttemptError;
use super::remote::{IdMapping, Wire};

/// A client of an MCP server, over one transport.
trait McpClient: Sync + Send {
    fn call(&self, method: &str, params: Value, timeout: Duration) -> Result<Value, AttemptError>;

    fn hide(&self, text: String) -> String {
        text
    }
}

struct McpTool {
    client: Box<dyn McpClient>,
    tool: String,
    arguments: RequestTemplate,
    reading: AnswerFormat,
    mapping: IdMapping,
}

pub(super) fn open(
    target: McpTarget,
    mapping: IdMapping,
    limits: &TargetLimits,
    environment: &TargetEnvironment,
) -> Result<Box<dyn Wire>, TargetError> {
    let McpTarget { transport, tool, arguments, reading } = target;
    let client: Box<dyn McpClient> = match transport {
        McpTransport::Stdio(program) => Box::new(stdio::Stdio::new(program, environment)),
        McpTransport::Http(address) => {
            Box::new(http::StreamableHttp::open(address, limits, environment)?)
        }
    };
    Ok(Box::new(McpTool { client, tool, arguments, reading, mapping }))
}

impl Wire for McpTool {
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, AttemptError> {
        let filling = TemplateValues { question, vector: None };
        let arguments = self.arguments.fill(&filling).unwrap_or_else(|| json!({}));
        let params = json!({ "name": self.tool, "arguments": arguments });
        let result = self.client.call("tools/call", params, timeout)?;
        Ok(message::content(&result)?)
    }

    fn read(&self, question: &Question, reply: &Value) -> Result<TargetAnswer, TargetError> {
        let IdMapping { ids, document } = &self.mapping;
        self.reading.answer(reply, ids, document.as_ref(), question.k)
    }

    fn not_asked(&self, question: &Question) -> Vec<&'static str> {
        self.arguments.unsupported_fields(question)
    }

    fn hide(&self, text: String) -> String {
        self.client.hide(text)
    }
}
