//! OpenAI's Responses (`POST /responses`). Nothing is stored at the provider.

use serde_json::{Value, json};

use super::{Chat, ProviderRequest, Reply, Usage, malformed, stopped, unbounded};
use crate::error::{ModelCallError, ModelCallErrorKind};

pub(super) fn request(model: &str, chat: &Chat) -> ProviderRequest {
    let mut body = json!({
        "model": model,
        "max_output_tokens": chat.max_tokens,
        "instructions": chat.system,
        "input": chat.user,
        "store": false,
    });
    if let Some(schema) = &chat.schema {
        body["text"] = json!({ "format": {
            "type": "json_schema",
            "name": schema.name,
            "schema": unbounded(&schema.schema),
            "strict": true,
        } });
    }
    ProviderRequest { path: "/responses".to_owned(), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let (input, output) = (usage["input_tokens"].as_u64()?, usage["output_tokens"].as_u64()?);
    Some(Usage { input, output, searches: 0 })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, ModelCallError> {
    let reason = answer["incomplete_details"]["reason"].as_str().unwrap_or_default();
    if let Some(error) = stopped(reason, &["max_output_tokens"], &["content_filter"]) {
        return Err(error);
    }
    if answer["status"] == "failed" {
        return Err(ModelCallError::new(
            ModelCallErrorKind::Unavailable,
            "the provider reported a failure",
        ));
    }
    let items =
        answer["output"].as_array().ok_or_else(|| malformed("the response has no output"))?;
    let messages = items.iter().filter(|item| item["type"] == "message");
    let parts: Vec<&Value> =
        messages.filter_map(|item| item["content"].as_array()).flatten().collect();
    if parts.iter().any(|part| part["type"] == "refusal") {
        return Err(ModelCallError::new(
            ModelCallErrorKind::Refusal,
            "the model refused to answer",
        ));
    }
    let texts = parts.iter().filter(|part| part["type"] == "output_text");
    let text: String = texts.filter_map(|part| part["text"].as_str()).collect();
    if text.is_empty() {
        return Err(malformed("the response has no text"));
    }
    Ok(Reply { text, usage: usage(answer) })
}
