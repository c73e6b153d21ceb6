//! Anthropic's Messages (`POST /messages`).

use serde_json::{Value, json};

use super::{Chat, ProviderRequest, Reply, Usage, malformed, stopped, unbounded};
use crate::error::ModelCallError;

pub(super) fn request(model: &str, chat: &Chat) -> ProviderRequest {
    let mut body = json!({
        "model": model,
        "max_tokens": chat.max_tokens,
        "system": chat.system,
        "messages": [{ "role": "user", "content": chat.user }],
    });
    if let Some(schema) = &chat.schema {
        let schema = unbounded(&schema.schema);
        body["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } });
    }
    ProviderRequest { path: "/messages".to_owned(), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let cached = cached.iter().filter_map(|name| usage[*name].as_u64());
    Some(Usage {
        input: cached.fold(usage["input_tokens"].as_u64()?, u64::saturating_add),
        output: usage["output_tokens"].as_u64()?,
        searches: 0,
    })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, ModelCallError> {
    let reason = answer["stop_reason"].as_str().unwrap_or_default();
    let cut = ["max_tokens", "model_context_window_exceeded"];
    if let Some(error) = stopped(reason, &cut, &["refusal"]) {
        return Err(error);
    }
    let blocks =
        answer["content"].as_array().ok_or_else(|| malformed("the response has no content"))?;
    let texts = blocks.iter().filter(|block| block["type"] == "text");
    let text: String = texts.filter_map(|block| block["text"].as_str()).collect();
    if text.is_empty() {
        return Err(malformed("the response has no text"));
    }
    Ok(Reply { text, usage: usage(answer) })
}
