//! Requests and replies, and their encoding in every API format.
//!
//! A format is a pair of pure functions, one that builds the request and one that parses the
//! response. One exhaustive match here selects them.

mod anthropic;
mod chat_completions;
mod cohere;
mod gemini;
mod openai_embeddings;
mod rerank;
mod responses;
mod voyage;

use gbrain_core::hash::Hash;
use gbrain_net::Secret;
use serde_json::{Value, json};

use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::provider::{Api, Provider};

/// The JSON schema of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Letters, digits and underscores.
    pub name: String,
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chat {
    /// The instructions: the same for every input, so that their hash identifies the prompt
    /// version.
    pub system: String,
    /// The user message: the input to work on.
    pub user: String,
    /// Most tokens of a reply, including reasoning.
    pub max_tokens: u32,
    /// The form of the reply, where the format supports one. The caller checks the reply anyway.
    pub schema: Option<Schema>,
    /// The number of this repetition of the same request, from 0: repeats have separate replies.
    pub repeat: u32,
}

impl Chat {
    /// Hash of the part that is the same for every input.
    pub fn prompt_hash(&self) -> Hash {
        let schema =
            self.schema.as_ref().map(|schema| schema.schema.to_string()).unwrap_or_default();
        let tokens = self.max_tokens.to_string();
        Hash::of_parts(&[self.system.as_bytes(), schema.as_bytes(), tokens.as_bytes()])
    }

    pub fn input_hash(&self) -> Hash {
        Hash::of(self.user.as_bytes())
    }
}

/// The billed usage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Searches, for rerankers that bill them.
    pub searches: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    /// The usage, if the provider reports it.
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    Document,
    Query,
}

/// A request: a path under the provider's base URL, and a JSON body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderRequest {
    pub(crate) path: String,
    pub(crate) body: Value,
}

fn cannot(provider: &Provider, what: &str) -> ModelCallError {
    ModelCallError::new(
        ModelCallErrorKind::NoProvider,
        format!("{} does not {what}", provider.name),
    )
}

pub(crate) fn malformed(what: impl Into<String>) -> ModelCallError {
    ModelCallError::new(ModelCallErrorKind::Malformed, what)
}

/// Builds a chat request.
pub(crate) fn chat(
    provider: &Provider,
    model: &str,
    chat: &Chat,
) -> Result<ProviderRequest, ModelCallError> {
    match provider.api {
        Api::Anthropic => Ok(anthropic::request(model, chat)),
        Api::OpenAi => Ok(responses::request(model, chat)),
        Api::OpenAiCompatible => Ok(chat_completions::request(model, chat)),
        Api::Gemini => Ok(gemini::request(model, chat)),
        Api::Cohere | Api::Voyage | Api::Jina => Err(cannot(provider, "chat")),
    }
}

/// Parses a chat response.
pub fn parse_chat_reply(provider: &Provider, answer: &Value) -> Result<Reply, ModelCallError> {
    match provider.api {
        Api::Anthropic => anthropic::reply(answer),
        Api::OpenAi => responses::reply(answer),
        Api::OpenAiCompatible => chat_completions::reply(answer),
        Api::Gemini => gemini::reply(answer),
        Api::Cohere | Api::Voyage | Api::Jina => Err(cannot(provider, "chat")),
    }
}

/// The usage that a response reports, even if the reply itself is invalid.
pub fn parse_usage(provider: &Provider, answer: &Value) -> Option<Usage> {
    match provider.api {
        Api::Anthropic => anthropic::usage(answer),
        Api::OpenAi => responses::usage(answer).or_else(|| openai_embeddings::usage(answer)),
        Api::OpenAiCompatible => {
            let is_chat = answer["choices"].is_array();
            let others = || openai_embeddings::usage(answer).filter(|_| !is_chat);
            chat_completions::usage(answer).or_else(others)
        }
        Api::Gemini => gemini::usage(answer),
        Api::Cohere => cohere::usage(answer),
        Api::Voyage | Api::Jina => voyage::usage(answer),
    }
}

/// Builds an embedding request.
pub(crate) fn embed(
    provider: &Provider,
    model: &str,
    texts: &[&str],
    purpose: EmbeddingPurpose,
    dims: Option<usize>,
) -> Result<ProviderRequest, ModelCallError> {
    match provider.api {
        Api::OpenAi | Api::OpenAiCompatible | Api::Jina => {
            Ok(openai_embeddings::request(model, texts, dims))
        }
        Api::Gemini => Ok(gemini::embed(model, texts, purpose, dims)),
        Api::Cohere => Ok(cohere::embed(model, texts, purpose, dims)),
        Api::Voyage => Ok(voyage::embed(model, texts, purpose, dims)),
        Api::Anthropic => Err(cannot(provider, "embed")),
    }
}

/// Parses an embedding response: one vector per text.
pub fn parse_embeddings(
    provider: &Provider,
    answer: &Value,
    texts: usize,
) -> Result<Vec<Vec<f32>>, ModelCallError> {
    let vectors = match provider.api {
        Api::OpenAi | Api::OpenAiCompatible | Api::Jina | Api::Voyage => {
            openai_embeddings::vectors(answer, texts)
        }
        Api::Gemini => gemini::vectors(answer),
        Api::Cohere => cohere::vectors(answer),
        Api::Anthropic => return Err(cannot(provider, "embed")),
    };
    let vectors = vectors.ok_or_else(|| malformed("the response contains no vectors"))?;
    let dims = vectors.first().map_or(0, Vec::len);
    if vectors.len() != texts || dims == 0 || vectors.iter().any(|vector| vector.len() != dims) {
        return Err(malformed(format!("{} vectors came back for {texts} texts", vectors.len())));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(malformed("a vector contains a value that is not a number"));
    }
    Ok(vectors)
}

/// Builds a rerank request.
pub(crate) fn rerank(
    provider: &Provider,
    model: &str,
    query: &str,
    documents: &[&str],
) -> Result<ProviderRequest, ModelCallError> {
    match provider.api {
        Api::Cohere | Api::Jina | Api::OpenAiCompatible => {
            Ok(rerank::request("top_n", model, query, documents))
        }
        Api::Voyage => Ok(rerank::request("top_k", model, query, documents)),
        Api::Anthropic | Api::OpenAi | Api::Gemini => Err(cannot(provider, "rerank")),
    }
}

/// Parses a rerank response: one score per document, in the order of the documents.
pub fn parse_rerank_scores(answer: &Value, documents: usize) -> Result<Vec<f64>, ModelCallError> {
    rerank::scores(answer, documents).ok_or_else(|| {
        malformed(format!("the response does not score each of {documents} documents"))
    })
}

/// Bytes of a document that always count as one document where searches are billed: Cohere splits
/// documents that have more than 510 tokens together with the query, and a token is at least a
/// byte.
const SEARCHED_BYTES: usize = 250;

/// The most searches that a rerank is billed for: one per hundred documents, where each part of a
/// long document counts as one.
pub(crate) fn billed_searches(query: &str, documents: &[&str]) -> u64 {
    let room = 510_usize.saturating_sub(query.len()).max(SEARCHED_BYTES);
    let pieces = documents.iter().map(|document| document.len().div_ceil(room).max(1));
    pieces.sum::<usize>().div_ceil(100) as u64
}

/// The authentication headers of a provider's API.
pub(crate) fn headers(provider: &Provider, key: Option<&Secret>) -> Vec<(String, String)> {
    let bearer = |key: &Secret| ("authorization", format!("Bearer {}", key.reveal()));
    let headers: Vec<(&str, String)> = match provider.api {
        Api::Anthropic => {
            let version = ("anthropic-version", "2023-06-01".to_owned());
            key.map(|key| ("x-api-key", key.reveal().to_owned()))
                .into_iter()
                .chain([version])
                .collect()
        }
        Api::Gemini => {
            key.map(|key| ("x-goog-api-key", key.reveal().to_owned())).into_iter().collect()
        }
        Api::OpenAi | Api::OpenAiCompatible | Api::Cohere | Api::Voyage | Api::Jina => {
            key.map(bearer).into_iter().collect()
        }
    };
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(|number| Some(number.as_f64()? as f32)).collect()
}

/// Removes bounds from a schema, because not every provider accepts them; the caller checks them
/// anyway.
fn unbounded(schema: &Value) -> Value {
    const BOUNDS: [&str; 6] =
        ["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"];
    match schema {
        Value::Object(members) => {
            let supported = members.iter().filter(|(name, _)| !BOUNDS.contains(&name.as_str()));
            supported.map(|(name, value)| (name.clone(), unbounded(value))).collect()
        }
        Value::Array(items) => items.iter().map(unbounded).collect(),
        other => other.clone(),
    }
}

/// The error for a reply that stopped early, if the reason is one of these.
fn stopped(reason: &str, cut: &[&str], refused: &[&str]) -> Option<ModelCallError> {
    if cut.contains(&reason) {
        let message = "the reply was cut off at the token limit";
        return Some(ModelCallError::new(ModelCallErrorKind::Truncated, message));
    }
    let is_refusal = refused.contains(&reason);
    is_refusal
        .then(|| ModelCallError::new(ModelCallErrorKind::Refusal, "the model refused to answer"))
}

/// Messages with a system and a user role.
fn messages(chat: &Chat) -> Value {
    json!([{ "role": "system", "content": chat.system }, { "role": "user", "content": chat.user }])
}

#[cfg(test)]
mod tests;
