//! A server on loopback that speaks the documented wire formats of providers of models, with faults.
//!
//! A function of the request decides its answers, so a test can have a judge that is right, wrong, or obeys the text it
//! judges; a function of the request's number injects faults. It counts one token per four bytes, ends answers at the
//! requested limit, and bills every answer, for comparison with the caller's ledger.
//!
//! Deliberately absent: TLS, streaming, checking of prices.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::listener::{Incoming, Listener, respond};

const CONNECTIONS: usize = 1024;

/// The providers that are asked with a key, and where their APIs begin.
const PROVIDERS: [(&str, &str); 6] = [
    ("anthropic", "/v1"),
    ("openai", "/v1"),
    ("google", "/v1beta"),
    ("cohere", "/v2"),
    ("voyage", "/v1"),
    ("jina", "/v1"),
];

/// Prices for the model `m` of each provider: one dollar for a million tokens in, two for a million out.
pub fn prices() -> Map<String, Value> {
    PROVIDERS.iter().map(|(name, _)| (format!("{name}:m"), price())).collect()
}

/// The price of one model.
pub fn price() -> Value {
    json!({
        "input_usd_per_million": 1, "output_usd_per_million": 2,
        "source": "a test", "date": "2026-01-01",
    })
}

#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Chat {
        model: String,
        system: String,
        user: String,
    },
    Embed {
        texts: Vec<String>,
        /// How many numbers a vector has.
        dims: usize,
    },
    Rerank {
        model: String,
        query: String,
        documents: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A status, with the seconds of a `retry-after`.
    Status(u16, Option<u64>),
    /// A status from a gateway that lost patience with a provider that answers, and bills it.
    Gateway(u16),
    /// No answer for so long, then the connection is closed. The provider bills it.
    Hang(Duration),
    /// The answer breaks off in the middle. The provider bills it.
    Cut,
    /// The answer is not JSON. The provider bills it.
    Garbage,
    /// The answer is JSON of another shape, with its usage. The provider bills it.
    Empty,
}

/// The text of a model's answer. Embeddings, and a rerank request with an empty answer, get answers of the server. An
/// answer to rerank is `{"scores": [...]}`, one value per document; a value that is no number is sent unchanged.
pub type Says = dyn Fn(&Asked) -> String + Send + Sync;
/// The fault injected into the request of a number, from 1.
pub type Faults = dyn Fn(u64) -> Fault + Send + Sync;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub model: String,
    pub fault: Fault,
}

/// One answer that a provider would bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BilledAnswer {
    pub model: String,
    /// The number of prompt tokens.
    pub input: u64,
    /// The number of generated tokens.
    pub output: u64,
    /// Searches, where these are billed and tokens are not.
    pub searches: u64,
    /// Whether the caller was told.
    pub told: bool,
}

/// The server; it stops when it is dropped.
pub struct ProviderServer {
    listener: Listener,
    shared: Arc<SharedState>,
}

struct SharedState {
    says: Box<Says>,
    faults: Box<Faults>,
    seen: Mutex<Vec<Seen>>,
    billed: Mutex<Vec<BilledAnswer>>,
}

impl ProviderServer {
    /// A server that says what `says` decides, with the faults of `faults`.
    pub fn start(
        says: impl Fn(&Asked) -> String + Send + Sync + 'static,
        faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(SharedState {
            says: Box::new(says),
            faults: Box::new(faults),
            seen: Mutex::default(),
            billed: Mutex::default(),
        });
        let own = shared.clone();
        let listener =
            Listener::start(CONNECTIONS, move |stream, incoming| own.answer(stream, incoming))?;
        Ok(Self { listener, shared })
    }

    /// Settings that send what is asked of any provider here, with the key of the variable `TEST_KEY`.
    pub fn settings(&self) -> Map<String, Value> {
        PROVIDERS.iter().map(|(name, path)| ((*name).to_owned(), self.setting(path))).collect()
    }

    /// The same for one provider whose API begins here.
    pub fn setting(&self, path: &str) -> Value {
        json!({ "base_url": format!("{}{path}", self.url()), "key_env": "TEST_KEY" })
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    pub fn requests(&self) -> u64 {
        self.listener.requests()
    }

    /// Every request, in the order in which they came.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every answer that would be billed.
    pub fn billed(&self) -> Vec<BilledAnswer> {
        self.shared.billed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn bodies(&self) -> Vec<String> {
        self.listener.kept().into_iter().map(|incoming| incoming.body).collect()
    }

    pub fn headers(&self) -> Vec<String> {
        self.listener.kept().into_iter().map(|incoming| incoming.head).collect()
    }
}

impl SharedState {
    /// None if the connection is over.
    fn answer(&self, stream: &mut TcpStream, incoming: &Incoming) -> Option<()> {
        let Incoming { method: _, number, path, head, body } = incoming;
        let fault = (self.faults)(*number);
        let request: Value = serde_json::from_str(body).unwrap_or_default();
        let model = model_of(path, &request);
        keep(&self.seen, Seen { model: model.clone(), fault });
        if let Fault::Status(status, after) = fault {
            let after = after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
            // Careless providers quote what they were sent.
            let said = json!({ "error": { "message": format!("as planned; you sent {head}") } });
            return respond(stream, status, &after, &said.to_string());
        }
        let Some((asked, format)) = understood(path, &request) else {
            return respond(stream, 404, "", r#"{"error":{"message":"no such route"}}"#);
        };
        let (mut answer, output) = format.answer(&asked, limit_of(&request), &*self.says);
        let told = matches!(fault, Fault::None | Fault::Empty);
        let (input, searches) = format.billed(&asked, body);
        let bill = BilledAnswer { model, input, output, searches, told };
        format.add_usage(&mut answer, &bill);
        keep(&self.billed, bill.clone());
        match fault {
            Fault::None => respond(stream, 200, "", &answer.to_string()),
            Fault::Hang(time) => {
                std::thread::sleep(time);
                None
            }
            Fault::Cut => {
                let text = answer.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
                stream.write_all(head.as_bytes()).ok()?;
                stream.write_all(&text.as_bytes()[..text.len() / 2]).ok()?;
                None
            }
            Fault::Garbage => respond(stream, 200, "", "<html>it works</html>"),
            Fault::Gateway(status) => respond(stream, status, "", "<html>upstream</html>"),
            Fault::Empty => {
                let mut empty = json!({});
                format.add_usage(&mut empty, &bill);
                respond(stream, 200, "", &empty.to_string())
            }
            Fault::Status(..) => None,
        }
    }
}

fn keep<T>(list: &Mutex<Vec<T>>, item: T) {
    list.lock().unwrap_or_else(PoisonError::into_inner).push(item);
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// The shape of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Anthropic,
    Responses,
    ChatCompletions,
    Gemini,
    GeminiEmbeddings,
    Embeddings,
    CohereEmbeddings,
    CohereRerank,
    VoyageRerank,
    Rerank,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().map(|items| items.iter().map(text).collect()).unwrap_or_default()
}

fn model_of(path: &str, request: &Value) -> String {
    match path.split_once("/models/") {
        Some((_, rest)) => rest.split(':').next().unwrap_or_default().to_owned(),
        None => text(&request["model"]),
    }
}

/// The most tokens that an answer may have.
fn limit_of(request: &Value) -> u64 {
    let gemini = &request["generationConfig"]["maxOutputTokens"];
    let limits = [&request["max_tokens"], &request["max_output_tokens"], gemini];
    limits.into_iter().find_map(Value::as_u64).unwrap_or(u64::MAX)
}

/// Parses the request by its route.
fn understood(path: &str, request: &Value) -> Option<(Asked, Format)> {
    let model = model_of(path, request);
    let chat = |system: &Value, user: &Value, format| {
        Some((Asked::Chat { model: model.clone(), system: text(system), user: text(user) }, format))
    };
    let dims = |key: &str| request[key].as_u64().unwrap_or(16) as usize;
    match path.rsplit(['/', ':']).next()? {
        "messages" => {
            chat(&request["system"], &request["messages"][0]["content"], Format::Anthropic)
        }
        "responses" => chat(&request["instructions"], &request["input"], Format::Responses),
        "completions" => {
            let messages = &request["messages"];
            chat(&messages[0]["content"], &messages[1]["content"], Format::ChatCompletions)
        }
        "generateContent" => {
            let system = &request["systemInstruction"]["parts"][0]["text"];
            chat(system, &request["contents"][0]["parts"][0]["text"], Format::Gemini)
        }
        "batchEmbedContents" => {
            let requests = request["requests"].as_array()?;
            let texts =
                requests.iter().map(|one| text(&one["content"]["parts"][0]["text"])).collect();
            let dims = requests.first()?["outputDimensionality"].as_u64().unwrap_or(16) as usize;
            Some((Asked::Embed { texts, dims }, Format::GeminiEmbeddings))
        }
        "embeddings" => {
            let dims = dims("dimensions").max(dims("output_dimension"));
            Some((Asked::Embed { texts: texts(&request["input"]), dims }, Format::Embeddings))
        }
        "embed" => {
            let (texts, dims) = (texts(&request["texts"]), dims("output_dimension"));
            Some((Asked::Embed { texts, dims }, Format::CohereEmbeddings))
        }
        "rerank" => {
            let asked = Asked::Rerank {
                model,
                query: text(&request["query"]),
                documents: texts(&request["documents"]),
            };
            let format = match (path, &request["top_k"]) {
                ("/v2/rerank", _) => Format::CohereRerank,
                (_, Value::Number(_)) => Format::VoyageRerank,
                _ => Format::Rerank,
            };
            Some((asked, format))
        }
        _ => None,
    }
}

impl Format {
    /// The answer, and the tokens that were made for it: no more than the limit.
    fn answer(self, asked: &Asked, limit: u64, says: &Says) -> (Value, u64) {
        match asked {
            Asked::Chat { .. } => {
                let said = says(asked);
                let made = tokens(said.len());
                let bytes = usize::try_from(limit.saturating_mul(4)).unwrap_or(usize::MAX);
                let part = said.floor_char_boundary(bytes);
                let is_whole = made <= limit;
                (self.chat(if is_whole { &said } else { &said[..part] }, is_whole), made.min(limit))
            }
            Asked::Embed { texts, dims } => {
                let vectors: Vec<Vec<f64>> =
                    texts.iter().map(|text| meaning(text, *dims)).collect();
                (self.vectors(&vectors), 0)
            }
            Asked::Rerank { model: _, query, documents } => {
                let said: Value = serde_json::from_str(&says(asked)).unwrap_or_default();
                let own = || documents.iter().map(|one| json!(overlap(query, one))).collect();
                (self.scores(&said["scores"].as_array().cloned().unwrap_or_else(own)), 0)
            }
        }
    }

    /// The billed units of a request: prompt tokens, or searches.
    fn billed(self, asked: &Asked, body: &str) -> (u64, u64) {
        match (self, asked) {
            (Self::CohereRerank, Asked::Rerank { documents, .. }) => {
                (0, documents.len().div_ceil(100) as u64)
            }
            _ => (tokens(body.len()), 0),
        }
    }

    fn chat(self, said: &str, is_whole: bool) -> Value {
        let reason = |whole: &'static str, cut: &'static str| if is_whole { whole } else { cut };
        match self {
            Self::Anthropic => json!({
                "type": "message",
                "content": [{ "type": "text", "text": said }],
                "stop_reason": reason("end_turn", "max_tokens"),
            }),
            Self::Responses => json!({
                "status": reason("completed", "incomplete"),
                "incomplete_details":
                    (!is_whole).then(|| json!({ "reason": "max_output_tokens" })),
                "output": [
                    { "type": "reasoning", "summary": [] },
                    { "type": "message", "content": [{ "type": "output_text", "text": said }] },
                ],
            }),
            Self::Gemini => json!({ "candidates": [{
                "content": { "role": "model", "parts": [{ "text": said }] },
                "finishReason": reason("STOP", "MAX_TOKENS"),
            }] }),
            _ => json!({ "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": said },
                "finish_reason": reason("stop", "length"),
            }] }),
        }
    }

    fn vectors(self, vectors: &[Vec<f64>]) -> Value {
        match self {
            Self::GeminiEmbeddings => {
                let values: Vec<Value> = vectors.iter().map(|v| json!({ "values": v })).collect();
                json!({ "embeddings": values })
            }
            Self::CohereEmbeddings => json!({ "embeddings": { "float": vectors } }),
            // Backwards: their index says which is which.
            _ => {
                let items = vectors.iter().enumerate().rev();
                let data: Vec<Value> =
                    items.map(|(index, v)| json!({ "index": index, "embedding": v })).collect();
                json!({ "object": "list", "data": data })
            }
        }
    }

    /// Best first, as providers answer.
    fn scores(self, scores: &[Value]) -> Value {
        let mut ranked: Vec<(usize, &Value)> = scores.iter().enumerate().collect();
        let number = |score: &Value| score.as_f64().unwrap_or_default();
        ranked.sort_by(|a, b| number(b.1).total_cmp(&number(a.1)));
        let result = |(index, score)| json!({ "index": index, "relevance_score": score });
        let results: Vec<Value> = ranked.into_iter().map(result).collect();
        if self == Self::VoyageRerank {
            json!({ "data": results })
        } else {
            json!({ "results": results })
        }
    }

    fn add_usage(self, answer: &mut Value, bill: &BilledAnswer) {
        let BilledAnswer { input, output, searches, .. } = bill;
        let (name, usage) = match self {
            Self::Anthropic | Self::Responses => {
                ("usage", json!({ "input_tokens": input, "output_tokens": output }))
            }
            Self::ChatCompletions => {
                let total = input + output;
                let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": total });
                ("usage", usage)
            }
            Self::Gemini => {
                let usage = json!({ "promptTokenCount": input, "candidatesTokenCount": output });
                ("usageMetadata", usage)
            }
            Self::GeminiEmbeddings => return,
            Self::CohereEmbeddings => {
                ("meta", json!({ "billed_units": { "input_tokens": input } }))
            }
            Self::CohereRerank => ("meta", json!({ "billed_units": { "search_units": searches } })),
            Self::Embeddings | Self::VoyageRerank | Self::Rerank => {
                ("usage", json!({ "total_tokens": input }))
            }
        };
        answer[name] = usage;
    }
}

/// A vector by the words of a text: texts with words in common are near each other.
fn meaning(text: &str, dims: usize) -> Vec<f64> {
    let mut vector = vec![0.0; dims.max(1)];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty())
    {
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        vector[(hash % dims.max(1) as u64) as usize] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
    }
    vector
}

/// The share of a query's words that a document has.
fn overlap(query: &str, document: &str) -> f64 {
    let document = document.to_lowercase();
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let found = words.iter().filter(|word| document.contains(**word)).count();
    found as f64 / words.len().max(1) as f64
}
