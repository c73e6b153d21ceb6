//! Chat Completions (`POST /chat/completions`), as OpenAI-compatible servers speak them.

use serde_json::{Value, json};

use super::{Chat, Outgoing, Reply, Usage, malformed, messages, stopped};
use crate::error::{AskError, AskErrorKind};

pub(super) fn request(model: &str, chat: &Chat) -> Outgoing {
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
    Outgoing { path: "/chat/completions".to_owned(), body }
}

/// Of chats, which have both kinds of tokens, one of them perhaps only in the sum; a chat that tells one kind
/// has not told what it costs.
pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let sent = usage["prompt_tokens"].as_u64()?;
    let made = usage["completion_tokens"].as_u64();
    let made = made.or_else(|| usage["total_tokens"].as_u64()?.checked_sub(sent))?;
    Some(Usage { input: sent, output: made, searches: 0 })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, AskError> {
    let choice = &answer["choices"][0];
    let reason = choice["finish_reason"].as_str().unwrap_or_default();
    if let Some(error) = stopped(reason, &["length"], &["content_filter"]) {
        return Err(error);
    }
    let message = &choice["message"];
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        return Err(AskError::new(AskErrorKind::Refusal, "the model will not answer"));
    }
    match message["content"].as_str() {
        Some(text) if !text.is_empty() => Ok(Reply { text: text.to_owned(), usage: usage(answer) }),
        _ => Err(malformed("the answer has no text")),
    }
}
