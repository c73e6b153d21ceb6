//! Converts operation results to MCP results and errors.
//!
//! A fault is a tool result, so that the agent can read its kind, message and hints and correct the
//! call. Internal errors are logged and hidden from the caller, because they may name files and
//! hosts.

use gbrain_core::fault::{Fault, FaultKind};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde_json::json;

use super::tool_call::ToolOutput;
use crate::http::{is_internal, masked};

/// The result of a tool call: the HTTP API's body as text and as structured content.
pub(super) fn of_tool(outcome: Result<ToolOutput, Fault>) -> CallToolResult {
    match outcome {
        Ok(ToolOutput { text, document }) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(document);
            result
        }
        Err(fault) => CallToolResult::structured_error(shown(fault).to_json()),
    }
}

/// The error of a resource that could not be read or listed. The protocol has no other way to
/// report it.
pub(super) fn of_resource(uri: &str, fault: Fault) -> ErrorData {
    let fault = shown(fault);
    let data = Some(json!({ "uri": uri, "fault": fault.to_json()["error"] }));
    ErrorData::new(code_of(fault.kind), fault.message, data)
}

fn code_of(kind: FaultKind) -> ErrorCode {
    match kind {
        FaultKind::NotFound | FaultKind::UnknownSource => ErrorCode::RESOURCE_NOT_FOUND,
        FaultKind::Usage | FaultKind::Input => ErrorCode::INVALID_PARAMS,
        FaultKind::Config
        | FaultKind::Io
        | FaultKind::Page
        | FaultKind::UnknownWorkspace
        | FaultKind::Conflict
        | FaultKind::Private
        | FaultKind::Unauthorised
        | FaultKind::Forbidden
        | FaultKind::MethodNotAllowed
        | FaultKind::UnsupportedMediaType
        | FaultKind::TooLarge
        | FaultKind::RateLimited
        | FaultKind::Overloaded
        | FaultKind::Timeout
        | FaultKind::Cancelled
        | FaultKind::OverBudget
        | FaultKind::Model
        | FaultKind::Target
        | FaultKind::AttemptsExhausted
        | FaultKind::Unavailable
        | FaultKind::Unreachable
        | FaultKind::Busy
        | FaultKind::NotInitialised
        | FaultKind::Store
        | FaultKind::Index
        | FaultKind::Internal => ErrorCode::INTERNAL_ERROR,
    }
}

fn shown(fault: Fault) -> Fault {
    if !is_internal(fault.kind) {
        return fault;
    }
    tracing::error!(kind = fault.kind.name(), message = %fault.message, "a call failed");
    masked(&fault)
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
        for kind in [
            FaultKind::Config,
            FaultKind::Index,
            FaultKind::Internal,
            FaultKind::Io,
            FaultKind::Store,
        ] {
            let result = of_tool(Err(Fault::new(kind, "/secret/brain.db is locked").hint("rm it")));
            let text = serde_json::to_string(&result).unwrap();
            assert!(!text.contains("secret") && !text.contains("rm it"), "{text}");
            assert!(text.contains("\"kind\":\"internal\""), "{text}");
        }
    }

    #[test]
    fn a_body_is_text_and_structure() {
        let result = of_tool(ToolOutput::new(br#"{"pages":[],"next_after":null}"#.to_vec(), true));
        assert_eq!(result.is_error, Some(false));
        assert_eq!(result.content[0].as_text().unwrap().text, r#"{"pages":[],"next_after":null}"#);
        let expected = json!({ "pages": [], "next_after": null });
        assert_eq!(result.structured_content, Some(expected));
    }
}
