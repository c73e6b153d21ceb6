//! Cohere v2: embeddings (`POST /embed`); its rerank is in `rerank.rs`.

use serde_json::{Value, json};

use super::{EmbeddingPurpose, ProviderRequest, Usage, numbers};

pub(super) fn embed(
    model: &str,
    texts: &[&str],
    purpose: EmbeddingPurpose,
    dims: Option<usize>,
) -> ProviderRequest {
    let input_type = match purpose {
        EmbeddingPurpose::Document => "search_document",
        EmbeddingPurpose::Query => "search_query",
    };
    let mut body = json!({
        "model": model,
        "texts": texts,
        "input_type": input_type,
        "embedding_types": ["float"],
    });
    if let Some(dims) = dims {
        body["output_dimension"] = json!(dims);
    }
    ProviderRequest { path: "/embed".to_owned(), body }
}

pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let billed = &answer["meta"]["billed_units"];
    let input = billed["input_tokens"].as_u64();
    let searches = billed["search_units"].as_u64();
    if input.is_none() && searches.is_none() {
        return None;
    }
    Some(Usage { input: input.unwrap_or(0), searches: searches.unwrap_or(0), output: 0 })
}

pub(super) fn vectors(answer: &Value) -> Option<Vec<Vec<f32>>> {
    answer["embeddings"]["float"].as_array()?.iter().map(numbers).collect()
}
