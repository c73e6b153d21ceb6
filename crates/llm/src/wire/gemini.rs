//! Google's Gemini (`POST /models/MODEL:generateContent` and `:batchEmbedContents`).

use serde_json::{Value, json};

use super::{Chat, EmbeddingPurpose, ProviderRequest, Reply, Usage, malformed, numbers, stopped};
use crate::error::{ModelCallError, ModelCallErrorKind};

const REFUSED: [&str; 6] =
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"];

pub(super) fn request(model: &str, chat: &Chat) -> ProviderRequest {
    let mut config = json!({ "maxOutputTokens": chat.max_tokens, "temperature": 0 });
    if let Some(schema) = &chat.schema {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = schema.schema.clone();
    }
    let body = json!({
        "systemInstruction": { "parts": [{ "text": chat.system }] },
        "contents": [{ "role": "user", "parts": [{ "text": chat.user }] }],
        "generationConfig": config,
    });
    ProviderRequest { path: format!("/models/{model}:generateContent"), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usageMetadata"];
    let names = ["candidatesTokenCount", "thoughtsTokenCount"];
    let output = names.iter().filter_map(|name| usage[*name].as_u64()).fold(0, u64::saturating_add);
    Some(Usage { input: usage["promptTokenCount"].as_u64()?, output, searches: 0 })
}

pub(super) fn reply(answer: &Value) -> Result<Reply, ModelCallError> {
    if answer["promptFeedback"]["blockReason"].is_string() {
        return Err(ModelCallError::new(
            ModelCallErrorKind::Refusal,
            "the model refused to answer",
        ));
    }
    let candidate = &answer["candidates"][0];
    let reason = candidate["finishReason"].as_str().unwrap_or_default();
    if let Some(error) = stopped(reason, &["MAX_TOKENS"], &REFUSED) {
        return Err(error);
    }
    let parts = candidate["content"]["parts"].as_array();
    let parts = parts.ok_or_else(|| malformed("the response has no parts"))?;
    let answer_parts = parts.iter().filter(|part| part["thought"] != true);
    let text: String = answer_parts.filter_map(|part| part["text"].as_str()).collect();
    if text.is_empty() {
        return Err(malformed("the response has no text"));
    }
    Ok(Reply { text, usage: usage(answer) })
}

pub(super) fn embed(
    model: &str,
    texts: &[&str],
    purpose: EmbeddingPurpose,
    dims: Option<usize>,
) -> ProviderRequest {
    let task = match purpose {
        EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
    };
    let request = |text: &&str| {
        let mut request = json!({
            "model": format!("models/{model}"),
            "content": { "parts": [{ "text": text }] },
            "taskType": task,
        });
        if let Some(dims) = dims {
            request["outputDimensionality"] = json!(dims);
        }
        request
    };
    let requests: Vec<Value> = texts.iter().map(request).collect();
    let path = format!("/models/{model}:batchEmbedContents");
    ProviderRequest { path, body: json!({ "requests": requests }) }
}

pub(super) fn vectors(answer: &Value) -> Option<Vec<Vec<f32>>> {
    answer["embeddings"].as_array()?.iter().map(|vector| numbers(&vector["values"])).collect()
}
