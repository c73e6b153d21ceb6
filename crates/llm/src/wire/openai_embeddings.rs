//! Embeddings in OpenAI's format (`POST /embeddings`), which many providers use.

use serde_json::{Value, json};

use super::{ProviderRequest, Usage, numbers};

pub(super) fn request(model: &str, texts: &[&str], dims: Option<usize>) -> ProviderRequest {
    let mut body = json!({ "model": model, "input": texts, "encoding_format": "float" });
    if let Some(dims) = dims {
        body["dimensions"] = json!(dims);
    }
    ProviderRequest { path: "/embeddings".to_owned(), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let input = usage["prompt_tokens"].as_u64().or_else(|| usage["total_tokens"].as_u64())?;
    Some(Usage { input, ..Usage::default() })
}

/// Vectors by their `index`, which may differ from their order; `None` if one is missing or
/// duplicated.
pub(super) fn vectors(answer: &Value, texts: usize) -> Option<Vec<Vec<f32>>> {
    let mut vectors = vec![None; texts];
    for (at, item) in answer["data"].as_array()?.iter().enumerate() {
        let index = match &item["index"] {
            Value::Null => at,
            index => usize::try_from(index.as_u64()?).ok()?,
        };
        let place = vectors.get_mut(index)?;
        if place.replace(numbers(&item["embedding"])?).is_some() {
            return None;
        }
    }
    vectors.into_iter().collect()
}
