//! What is asked and answered, and how every wire format spells it.
//!
//! A format is a pair of pure functions, one for what goes out and one for what comes back; which of them
//! is meant is one exhaustive match here.

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

use crate::error::{AskError, AskErrorKind};
use crate::provider::{Api, Provider};

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// A JSON schema of an object.
    pub schema: Value,
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Chat {
    /// What it is to do: the same for every input, so that its hash tells whether the prompt changed.
    pub system: String,
    /// What it is to do it with.
    pub user: String,
    /// The most tokens of an answer, thinking included.
    pub max_tokens: u32,
    /// The form of the answer, where a format can ask for one. A reply is checked by its reader all the
    /// same.
    pub schema: Option<Schema>,
    /// Which asking of the same question this is, from 0: repeats have answers of their own.
    pub repeat: u32,
}

impl Chat {
    /// Names the part that is the same for every input.
    pub fn prompt_hash(&self) -> Hash {
        let schema =
            self.schema.as_ref().map(|schema| schema.schema.to_string()).unwrap_or_default();
        let tokens = self.max_tokens.to_string();
        Hash::of_parts(&[self.system.as_bytes(), schema.as_bytes(), tokens.as_bytes()])
    }

    /// Names the input.
    pub fn input_hash(&self) -> Hash {
        Hash::of(self.user.as_bytes())
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    /// Tokens made, thinking included.
    pub output: u64,
    /// Searches, for rerankers that count those.
    pub searches: u64,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    /// What it used, if the provider says so.
    pub usage: Option<Usage>,
}

/// What a text is embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Document,
    Query,
}

/// What goes out: a path behind the provider's address, and a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) path: String,
    pub(crate) body: Value,
}

fn cannot(provider: &Provider, what: &str) -> AskError {
    AskError::new(AskErrorKind::NoProvider, format!("{} does not {what}", provider.name))
}

pub(crate) fn malformed(what: impl Into<String>) -> AskError {
    AskError::new(AskErrorKind::Malformed, what)
}

/// A chat on its way out.
pub(crate) fn chat(provider: &Provider, model: &str, chat: &Chat) -> Result<Outgoing, AskError> {
    match provider.api {
        Api::Anthropic => Ok(anthropic::request(model, chat)),
        Api::OpenAi => Ok(responses::request(model, chat)),
        Api::OpenAiCompatible => Ok(chat_completions::request(model, chat)),
        Api::Gemini => Ok(gemini::request(model, chat)),
        Api::Cohere | Api::Voyage | Api::Jina => Err(cannot(provider, "chat")),
    }
}

/// A chat's answer.
pub fn replied(provider: &Provider, answer: &Value) -> Result<Reply, AskError> {
    match provider.api {
        Api::Anthropic => anthropic::reply(answer),
        Api::OpenAi => responses::reply(answer),
        Api::OpenAiCompatible => chat_completions::reply(answer),
        Api::Gemini => gemini::reply(answer),
        Api::Cohere | Api::Voyage | Api::Jina => Err(cannot(provider, "chat")),
    }
}

/// What an answer says that it used, also when it is an answer that can't be taken.
pub fn used(provider: &Provider, answer: &Value) -> Option<Usage> {
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

/// Texts to embed, on their way out.
pub(crate) fn embed(
    provider: &Provider,
    model: &str,
    texts: &[&str],
    purpose: Purpose,
    dims: Option<usize>,
) -> Result<Outgoing, AskError> {
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

/// Vectors, one a text.
pub fn embedded(
    provider: &Provider,
    answer: &Value,
    texts: usize,
) -> Result<Vec<Vec<f32>>, AskError> {
    let vectors = match provider.api {
        Api::OpenAi | Api::OpenAiCompatible | Api::Jina | Api::Voyage => {
            openai_embeddings::vectors(answer, texts)
        }
        Api::Gemini => gemini::vectors(answer),
        Api::Cohere => cohere::vectors(answer),
        Api::Anthropic => return Err(cannot(provider, "embed")),
    };
    let vectors = vectors.ok_or_else(|| malformed("the answer holds no vectors"))?;
    let dims = vectors.first().map_or(0, Vec::len);
    if vectors.len() != texts || dims == 0 || vectors.iter().any(|vector| vector.len() != dims) {
        return Err(malformed(format!("{} vectors came back for {texts} texts", vectors.len())));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(malformed("a vector holds what is not a number"));
    }
    Ok(vectors)
}

/// Documents to score, on their way out.
pub(crate) fn rerank(
    provider: &Provider,
    model: &str,
    query: &str,
    documents: &[&str],
) -> Result<Outgoing, AskError> {
    match provider.api {
        Api::Cohere | Api::Jina | Api::OpenAiCompatible => {
            Ok(rerank::request("top_n", model, query, documents))
        }
        Api::Voyage => Ok(rerank::request("top_k", model, query, documents)),
        Api::Anthropic | Api::OpenAi | Api::Gemini => Err(cannot(provider, "rerank")),
    }
}

/// Scores, one a document, in the order of the documents.
pub fn reranked(answer: &Value, documents: usize) -> Result<Vec<f64>, AskError> {
    rerank::scores(answer, documents).ok_or_else(|| {
        malformed(format!("the answer does not score each of {documents} documents"))
    })
}

/// Bytes of a document that are one document where searches are billed, whatever the query: Cohere cuts
/// documents where they and the query are more than 510 tokens, and a token is at least a byte.
const SEARCHED_BYTES: usize = 250;

/// The most searches that a rerank is billed for, where searches are billed: one for a hundred documents, each
/// piece of a long one being a document.
pub(crate) fn searches(query: &str, documents: &[&str]) -> u64 {
    let room = 510_usize.saturating_sub(query.len()).max(SEARCHED_BYTES);
    let pieces = documents.iter().map(|document| document.len().div_ceil(room).max(1));
    pieces.sum::<usize>().div_ceil(100) as u64
}

/// The headers that say who asks.
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

/// A schema without bounds, which not every provider accepts: readers check them anyway.
fn unbounded(schema: &Value) -> Value {
    const BOUNDS: [&str; 6] =
        ["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"];
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !BOUNDS.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), unbounded(value))).collect()
        }
        Value::Array(items) => items.iter().map(unbounded).collect(),
        other => other.clone(),
    }
}

/// An error that ends an answer before its end, if it is one.
fn stopped(reason: &str, cut: &[&str], refused: &[&str]) -> Option<AskError> {
    if cut.contains(&reason) {
        let message = "the answer ended at the limit of tokens";
        return Some(AskError::new(AskErrorKind::Truncated, message));
    }
    let is_refusal = refused.contains(&reason);
    is_refusal.then(|| AskError::new(AskErrorKind::Refusal, "the model will not answer"))
}

/// Messages of a system and a user, as most formats have them.
fn messages(chat: &Chat) -> Value {
    json!([{ "role": "system", "content": chat.system }, { "role": "user", "content": chat.user }])
}

#[cfg(test)]
mod tests;
