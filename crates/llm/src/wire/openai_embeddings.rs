//! Embeddings as OpenAI has them (`POST /embeddings`), which many others speak.

use serde_json::{Value, json};

use super::{Outgoing, Usage, numbers};

pub(super) fn request(model: &str, texts: &[&str], dims: Option<usize>) -> Outgoing {
    let mut body = json!({ "model": model, "input": texts, "encoding_format": "float" });
    if let Some(dims) = dims {
        body["dimensions"] = json!(dims);
    }
    Outgoing { path: "/embeddings".to_owned(), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let input = usage["prompt_tokens"].as_u64().or_else(|| usage["total_tokens"].as_u64())?;
    Some(Usage { input, ..Usage::default() })
}

/// Vectors by their `index`, which need not be their order; none if one is missing or there twice.
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
