//! Chat Completions (`POST /chat/completions`) of OpenAI-compatible servers.

use serde_json::{Value, json};

use super::{Chat, ProviderRequest, Reply, Usage, malformed, messages, stopped};
use crate::error::{ModelCallError, ModelCallErrorKind};

pub(super) fn request(model: &str, chat: &Chat) -> ProviderRequest {
    let mut body = json!({
        "model": model,
        "max_tokens": chat.max_tokens,
        "temperature": 0,
        "seed": chat.repeat,
        "messages": messages(chat),
    });
    if let Some(schema) = &chat.schema {
        let schema = json!({ "name": schema.name, "schema": schema.schema, "strict": true });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
    }
    ProviderRequest { path: "/chat/completions".to_owned(), body }
}

/// The usage of a chat, which needs both token counts; one may follow from the total. A chat that
/// reports only one of them has unknown cost.
pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let input_tokens = usage["prompt_tokens"].as_u64()?;
    let output_tokens = usage["completion_tokens"].as_u64();
    let output_tokens =
        output_tokens.or_else(|| usage["total_tokens"].as_u64()?.checked_sub(input_tokens))?;
    Some(Usage { input: input_tokens, output: output_tokens, searches: 0 })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, ModelCallError> {
    let choice = &answer["choices"][0];
    let reason = choice["finish_reason"].as_str().unwrap_or_default();
    if let Some(error) = stopped(reason, &["length"], &["content_filter"]) {
        return Err(error);
    }
    let message = &choice["message"];
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        return Err(ModelCallError::new(
            ModelCallErrorKind::Refusal,
            "the model refused to answer",
        ));
    }
    match message["content"].as_str() {
        Some(text) if !text.is_empty() => Ok(Reply { text: text.to_owned(), usage: usage(answer) }),
        _ => Err(malformed("the response has no text")),
    }
}
