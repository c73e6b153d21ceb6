//! Messages of the protocol, as pure functions: JSON-RPC requests and the meaning of replies.

use gbrain_core::fault::message_in;
use gbrain_core::target::{TargetError, TargetErrorKind};
use serde_json::{Value, json};

use crate::retriever::child::Route;

/// The supported protocol version.
pub(super) const PROTOCOL: &str = "2025-06-18";

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The parameters of `initialize`.
pub(super) fn greeting() -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": { "name": "gbrain", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The notification after `initialize`.
pub(super) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// Decides how to handle a message of a server.
pub(super) fn route(message: &Value) -> Route {
    let id = &message["id"];
    match (message["method"].as_str(), id.as_u64()) {
        (None, Some(number)) => Route::Answer(number),
        (Some("ping"), _) if !id.is_null() => {
            Route::Reply(json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
        }
        (Some(_), _) if !id.is_null() => {
            let error = json!({ "code": -32601, "message": "nobody here can do that" });
            Route::Reply(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
        _ => Route::Pass,
    }
}

/// The result in a reply, or its error.
pub(super) fn result(answer: &Value) -> Result<Value, TargetError> {
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let kind = match error["code"].as_i64() {
            Some(-32601) => TargetErrorKind::Unsupported,
            Some(-32603) => TargetErrorKind::Unavailable,
            _ => TargetErrorKind::BadRequest,
        };
        let reply = error["message"].as_str().unwrap_or("the server does not say why");
        return Err(TargetError::new(kind, reply));
    }
    let result = answer.get("result").filter(|result| result.is_object());
    result.cloned().ok_or_else(|| TargetError::malformed("the answer has no result"))
}

/// The content of a tool result: its structured content, or its text as JSON.
pub(super) fn content(result: &Value) -> Result<Value, TargetError> {
    let items = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = items.iter().find_map(|item| item["text"].as_str());
    let structured = result.get("structuredContent").filter(|content| !content.is_null());
    let parsed = || text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if result["isError"] == json!(true) {
        return Err(tool_error(structured.cloned().or_else(parsed), text));
    }
    match structured {
        Some(content) => Ok(content.clone()),
        None => parsed().ok_or_else(|| match text {
            Some(_) => TargetError::malformed("the tool's text is not JSON"),
            None => TargetError::malformed("the tool said nothing"),
        }),
    }
}

/// The error of a failed tool. A gbrain server names its kind; an unknown error is not retried,
/// because a repeat may do harm.
fn tool_error(reply: Option<Value>, text: Option<&str>) -> TargetError {
    let reply = reply.unwrap_or_default();
    let kind = match reply["error"]["kind"].as_str() {
        Some("overloaded" | "rate_limited") => TargetErrorKind::RateLimited,
        Some("unavailable" | "busy" | "unreachable" | "internal") => TargetErrorKind::Unavailable,
        Some("timeout") => TargetErrorKind::Timeout,
        Some("unauthorised" | "forbidden") => TargetErrorKind::Denied,
        _ => TargetErrorKind::BadRequest,
    };
    let message = message_in(&reply).or(text).unwrap_or("the tool does not say why");
    TargetError::new(kind, message.chars().take(300).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors() {
        let kind = |answer: Value| result(&answer).map_err(|error| error.kind);
        assert_eq!(kind(json!({ "result": { "a": 1 } })), Ok(json!({ "a": 1 })));
        assert_eq!(kind(json!({ "result": 3 })), Err(TargetErrorKind::Malformed));
        assert_eq!(kind(json!({})), Err(TargetErrorKind::Malformed));
        let failed = |code: i64| json!({ "error": { "code": code, "message": "m" } });
        assert_eq!(kind(failed(-32601)), Err(TargetErrorKind::Unsupported));
        assert_eq!(kind(failed(-32602)), Err(TargetErrorKind::BadRequest));
        assert_eq!(kind(failed(-32603)), Err(TargetErrorKind::Unavailable));
    }

    #[test]
    fn tool_results_are_parsed() {
        let check = |result: Value, expected: Result<Value, (TargetErrorKind, &str)>| {
            let found = content(&result).map_err(|error| (error.kind, error.message));
            let expected = expected.map_err(|(kind, message)| (kind, message.to_owned()));
            assert_eq!(found, expected);
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        check(
            json!({ "structuredContent": { "hits": [] }, "content": text("x") }),
            Ok(json!({ "hits": [] })),
        );
        check(json!({ "content": text(r#"{"hits": []}"#) }), Ok(json!({ "hits": [] })));
        check(
            json!({ "content": text("no") }),
            Err((TargetErrorKind::Malformed, "the tool's text is not JSON")),
        );
        check(json!({ "content": [] }), Err((TargetErrorKind::Malformed, "the tool said nothing")));
        check(
            json!({ "isError": true, "content": text("sorry") }),
            Err((TargetErrorKind::BadRequest, "sorry")),
        );
        let ours = r#"{"status":"error","error":{"kind":"overloaded","message":"full"}}"#;
        check(
            json!({ "isError": true, "content": text(ours) }),
            Err((TargetErrorKind::RateLimited, "full")),
        );
    }

    #[test]
    fn servers_that_ask_are_answered() {
        assert!(matches!(route(&json!({ "id": 3, "result": {} })), Route::Answer(3)));
        assert!(matches!(route(&json!({ "method": "notifications/progress" })), Route::Pass));
        let Route::Reply(pong) = route(&json!({ "id": "p", "method": "ping" })) else { panic!() };
        assert_eq!(pong, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
        let Route::Reply(no) = route(&json!({ "id": 1, "method": "sampling/x" })) else { panic!() };
        assert_eq!(no["error"]["code"], -32601);
    }
}
