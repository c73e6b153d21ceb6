//! What a caller sees of an operation that was done, failed or was refused.
//!
//! A fault is an answer: the agent reads its kind, message and hints, and can do better. What went
//! wrong inside is told to the log and not to the caller, because it may name files and hosts.

use gbrain_core::fault::Fault;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use crate::lanes::Refused;

/// Kinds whose messages are about the inside of the server.
const INSIDE: [&str; 5] = ["config", "index", "internal", "io", "store"];

/// The result of a tool call.
pub(super) fn of_tool(outcome: Result<Value, Fault>) -> CallToolResult {
    match outcome {
        Ok(body) => CallToolResult::structured(body),
        Err(fault) => CallToolResult::structured_error(shown(fault).to_json()),
    }
}

/// The error of a resource that could not be read or listed; there is no other way to say it.
pub(super) fn of_resource(uri: &str, fault: Fault) -> ErrorData {
    let fault = shown(fault);
    let data = Some(json!({ "uri": uri, "fault": fault.to_json()["error"] }));
    match fault.kind {
        "not_found" | "unknown_source" => ErrorData::resource_not_found(fault.message, data),
        "usage" => ErrorData::invalid_params(fault.message, data),
        _ => ErrorData::internal_error(fault.message, data),
    }
}

/// The fault of work that found no turn.
pub(super) fn of_refusal(refused: Refused) -> Fault {
    match refused {
        Refused::Full | Refused::Late => {
            Fault::overloaded(refused.to_string()).hint("try again in a moment")
        }
        Refused::Panicked => Fault::internal(refused.to_string()),
    }
}

fn shown(fault: Fault) -> Fault {
    if !INSIDE.contains(&fault.kind) {
        return fault;
    }
    tracing::error!(kind = fault.kind, message = %fault.message, "a call failed");
    Fault::internal("the server could not do this; its log says why")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_an_answer_that_says_what_to_do() {
        let fault = Fault::not_found("there is no page `a`").hint("did you mean `b`?");
        let result = of_tool(Err(fault.clone()));
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, Some(fault.to_json()));
        assert_eq!(result.content[0].as_text().unwrap().text, fault.to_json().to_string());
    }

    #[test]
    fn the_inside_is_not_shown() {
        for kind in INSIDE {
            let result = of_tool(Err(Fault::new(kind, "/secret/brain.db is locked").hint("rm it")));
            let text = serde_json::to_string(&result).unwrap();
            assert!(!text.contains("secret") && !text.contains("rm it"), "{text}");
            assert!(text.contains("\"kind\":\"internal\""), "{text}");
        }
    }

    #[test]
    fn a_refusal_says_when_to_come_back() {
        assert_eq!(of_refusal(Refused::Full).kind, "overloaded");
        assert_eq!(of_refusal(Refused::Late).hints, ["try again in a moment"]);
        assert_eq!(of_refusal(Refused::Panicked).kind, "internal");
    }
}
