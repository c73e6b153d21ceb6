//! Rerank (`POST /rerank`): Cohere v2, Voyage and Jina differ only in field names.

use serde_json::{Value, json};

use super::ProviderRequest;

/// `top` is the format's name for the number of results: all documents.
pub(super) fn request(top: &str, model: &str, query: &str, documents: &[&str]) -> ProviderRequest {
    let mut body = json!({ "model": model, "query": query, "documents": documents });
    body[top] = json!(documents.len());
    ProviderRequest { path: "/rerank".to_owned(), body }
}

/// Scores in the order of the documents; `None` if one is missing, duplicated or not a number.
pub(super) fn scores(answer: &Value, documents: usize) -> Option<Vec<f64>> {
    let results = answer["results"].as_array().or_else(|| answer["data"].as_array())?;
    let mut scores = vec![None; documents];
    for result in results {
        let index = usize::try_from(result["index"].as_u64()?).ok()?;
        let score = result["relevance_score"].as_f64()?;
        if scores.get_mut(index)?.replace(score).is_some() {
            return None;
        }
    }
    scores.into_iter().collect()
}
