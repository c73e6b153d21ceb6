//! Voyage: embeddings (`POST /embeddings`); its rerank is in `rerank.rs`.

use serde_json::{Value, json};

use super::{EmbeddingPurpose, ProviderRequest, Usage};

pub(super) fn embed(
    model: &str,
    texts: &[&str],
    purpose: EmbeddingPurpose,
    dims: Option<usize>,
) -> ProviderRequest {
    let input_type = match purpose {
        EmbeddingPurpose::Document => "document",
        EmbeddingPurpose::Query => "query",
    };
    let mut body = json!({ "model": model, "input": texts, "input_type": input_type });
    if let Some(dims) = dims {
        body["output_dimension"] = json!(dims);
    }
    ProviderRequest { path: "/embeddings".to_owned(), body }
}

/// The usage of embeddings and of rerank.
pub(super) fn usage(answer: &Value) -> Option<Usage> {
    let usage = &answer["usage"];
    let input = usage["total_tokens"].as_u64().or_else(|| usage["prompt_tokens"].as_u64())?;
    Some(Usage { input, ..Usage::default() })
}
