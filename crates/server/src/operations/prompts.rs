//! Prompts of the folder that this server was started with, as `eva list` and `eva show` print them.

use gbrain_core::fault::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::http::{NoParameters, OperationCall, Reply};

/// The prompts of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Prompts")]
pub(crate) struct PromptsShown {
    /// Whether the server was started with a folder of prompts.
    configured: bool,
    /// Every prompt by name, as `eva show --json` prints it; an unreadable one with its error.
    prompts: Vec<Value>,
}

pub(crate) fn list(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let Some(lister) = call.registry.prompts() else {
        return Reply::json(&PromptsShown { configured: false, prompts: Vec::new() });
    };
    Reply::json(&PromptsShown { configured: true, prompts: lister()? })
}
