//! A retrieval API on loopback, in each of the shapes that targets know, with faults.
//!
//! One function of the request decides the answers, another injects faults. The server reports the stage times that it is
//! given, and waits a fixed time if asked to. The path and the body select the shape: one server speaks all of them.
//!
//! Deliberately absent: TLS, any retrieval of its own.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::listener::{Incoming, Listener, respond};

/// The shape in which something was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiShape {
    /// `POST /api/knowledge/search`, also at `/api/search`.
    Internal,
    /// `POST /v1/search` with `q` and `topK`.
    V1,
    /// `POST /v1/search` with `query` and `limit`.
    V2026,
    /// Anything else: the answer is `{"data": [...]}` with plain names.
    Plain,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The number of the request, from 1.
    pub number: u64,
    pub shape: ApiShape,
    pub text: String,
    pub k: usize,
    pub mode: Option<String>,
    pub workspace: Option<String>,
    /// Whether reasons were asked for.
    pub rationale: bool,
    pub highlights: bool,
    pub body: Value,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hit {
    /// The id of the document.
    pub document: String,
    /// The id of the chunk.
    pub chunk: Option<String>,
    pub score: f64,
    pub title: String,
    pub source: String,
    pub snippet: String,
}

impl Hit {
    /// A result of which only the document matters.
    pub fn new(document: impl Into<String>, score: f64) -> Self {
        let document = document.into();
        Self {
            chunk: Some(format!("{document}#0")),
            title: format!("About {document}"),
            source: "github".to_owned(),
            snippet: format!("what {document} says"),
            document,
            score,
        }
    }
}

/// How long the stages took, in milliseconds, as the server says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stages {
    /// The time of the keyword search.
    pub lexical: f64,
    /// The time of the vector search.
    pub dense: f64,
    /// The time of the reranking.
    pub rerank: f64,
    /// The time of the fetching.
    pub hydration: f64,
    /// All of it; the sum if it is 0.
    pub total: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The results, best first. As many as were asked for are sent.
    pub hits: Vec<Hit>,
    pub stages: Stages,
    /// `{"entities": [...], "edges": [...], "evidenceChunks": [...]}`, for shapes that have it.
    pub graph: Option<Value>,
    /// The half that answered.
    pub mode: Option<String>,
    /// Whether more was kept than the threshold allows.
    pub fallback: Option<bool>,
    pub candidates: Option<u64>,
}

impl Reply {
    /// An answer of documents, best first, with falling scores.
    pub fn of(documents: &[&str]) -> Self {
        let hit = |(at, document): (usize, &&str)| Hit::new(*document, 1.0 / (at + 1) as f64);
        Self { hits: documents.iter().enumerate().map(hit).collect(), ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A status, with the seconds of a `retry-after`.
    Status(u16, Option<u64>),
    Redirect,
    /// The answer, after so long.
    Slow(Duration),
    /// No answer for so long, then the connection is closed.
    Hang(Duration),
    /// The answer breaks off in the middle.
    Cut,
    /// The answer comes a byte at a time, with so long between them.
    Drip(Duration),
    /// The answer is not JSON, and quotes the headers.
    Garbage,
    /// The answer is JSON of another shape, with an error that quotes the headers.
    WrongShape,
    /// The answer has so many bytes.
    Huge(usize),
    /// The answer is nested so deep.
    Deep(usize),
    NullIds,
}

/// The response to a query, as a function of the request.
pub type Answers = dyn Fn(&Question) -> Reply + Send + Sync;
/// The fault injected into a query, as a function of the request.
pub type Faults = dyn Fn(&Question) -> Fault + Send + Sync;

/// The server; it stops when it is dropped.
pub struct RetrievalServer {
    listener: Listener,
    shared: Arc<SharedState>,
}

struct SharedState {
    answers: Box<Answers>,
    faults: Box<Faults>,
    delay: Duration,
    asked: Mutex<Vec<Question>>,
}

const CONNECTIONS: usize = 256;

impl RetrievalServer {
    /// A server that answers what `answers` decides, with the faults of `faults`.
    pub fn start(
        answers: impl Fn(&Question) -> Reply + Send + Sync + 'static,
        faults: impl Fn(&Question) -> Fault + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_with(Duration::ZERO, CONNECTIONS, answers, faults)
    }

    /// The same with a fixed time for every answer and so many connections at once.
    pub fn start_with(
        delay: Duration,
        connections: usize,
        answers: impl Fn(&Question) -> Reply + Send + Sync + 'static,
        faults: impl Fn(&Question) -> Fault + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(SharedState {
            answers: Box::new(answers),
            faults: Box::new(faults),
            delay,
            asked: Mutex::default(),
        });
        let own = shared.clone();
        let listener =
            Listener::start(connections, move |stream, incoming| own.answer(stream, incoming))?;
        Ok(Self { listener, shared })
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    pub fn requests(&self) -> u64 {
        self.listener.requests()
    }

    /// The most requests that were being answered at once.
    pub fn most_at_once(&self) -> u64 {
        self.listener.most_at_once()
    }

    /// The requests, in the order of arrival.
    pub fn asked(&self) -> Vec<Question> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All requests as they came.
    pub fn kept(&self) -> Vec<Incoming> {
        self.listener.kept()
    }
}

impl SharedState {
    /// None if the connection is over.
    fn answer(&self, stream: &mut TcpStream, incoming: &Incoming) -> Option<()> {
        let begun = Instant::now();
        let question = understood(incoming);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
        let body = || shaped(&question, (self.answers)(&question)).to_string();
        let body = match (self.faults)(&question) {
            Fault::None => body(),
            Fault::Slow(time) => {
                std::thread::sleep(time);
                body()
            }
            Fault::Status(status, after) => {
                let after = after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
                // Careless servers quote what they were sent.
                let said = format!("as planned; you sent {}", incoming.head);
                let said = json!({ "error": { "code": "planned", "message": said } });
                return respond(stream, status, &after, &said.to_string());
            }
            Fault::Redirect => {
                return respond(stream, 302, "location: http://127.0.0.1:1/elsewhere\r\n", "");
            }
            Fault::Hang(time) => {
                std::thread::sleep(time);
                return None;
            }
            Fault::Cut => return cut(stream, &body()),
            Fault::Drip(pause) => return drip(stream, &body(), pause),
            Fault::Garbage => format!("<html>{}</html>", incoming.head),
            Fault::WrongShape => {
                json!({ "ok": true, "error": { "message": incoming.head } }).to_string()
            }
            Fault::Huge(bytes) => return huge(stream, bytes),
            Fault::Deep(levels) => format!("{}{}", "[".repeat(levels), "]".repeat(levels)),
            Fault::NullIds => {
                json!({ "results": [{ "documentId": null }], "data": [{ "id": null }] }).to_string()
            }
        };
        std::thread::sleep(self.delay.saturating_sub(begun.elapsed()));
        respond(stream, 200, "", &body)
    }
}

fn cut(stream: &mut TcpStream, body: &str) -> Option<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body.as_bytes()[..body.len() / 2]).ok()?;
    None
}

fn drip(stream: &mut TcpStream, body: &str, pause: Duration) -> Option<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    for byte in body.bytes() {
        stream.write_all(&[byte]).ok()?;
        std::thread::sleep(pause);
    }
    Some(())
}

fn huge(stream: &mut TcpStream, bytes: usize) -> Option<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let block = vec![b' '; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(block.len());
        stream.write_all(&block[..piece]).ok()?;
        left -= piece;
    }
    Some(())
}

fn understood(incoming: &Incoming) -> Question {
    let body: Value = serde_json::from_str(&incoming.body).unwrap_or_default();
    let (path, params) = incoming.path.split_once('?').unwrap_or((&incoming.path, ""));
    let shape = match path {
        "/api/knowledge/search" | "/api/search" => ApiShape::Internal,
        "/v1/search" if body["q"].is_string() => ApiShape::V1,
        "/v1/search" => ApiShape::V2026,
        _ => ApiShape::Plain,
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (query, k) = match shape {
        ApiShape::Internal => (text(&body["text"]), &body["limit"]),
        ApiShape::V1 => (text(&body["q"]), &body["topK"]),
        ApiShape::V2026 => (text(&body["query"]), &body["limit"]),
        ApiShape::Plain => (text(&body["query"]).or_else(|| param(params, "q")), &body["k"]),
    };
    let flag = |value: &Value| value.as_bool().unwrap_or(false);
    let is_v1 = shape == ApiShape::V1;
    Question {
        number: incoming.number,
        shape,
        text: query.unwrap_or_default(),
        k: k.as_u64().map_or(20, |k| k as usize),
        mode: text(&body["mode"]),
        workspace: text(&body["workspaceId"]),
        rationale: if is_v1 {
            flag(&body["include"]["rationale"])
        } else {
            flag(&body["includeContext"])
        },
        highlights: match shape {
            ApiShape::V1 => flag(&body["include"]["highlights"]),
            ApiShape::V2026 => flag(&body["includeHighlights"]),
            ApiShape::Internal | ApiShape::Plain => true,
        },
        body,
    }
}

/// A value after the `?`.
fn param(params: &str, name: &str) -> Option<String> {
    let value = params.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The reply in the shape in which it was asked for.
fn shaped(question: &Question, reply: Reply) -> Value {
    let Reply { hits, stages, graph, mode, fallback, candidates } = reply;
    let Stages { lexical, dense, rerank, hydration, total } = stages;
    let total = if total == 0.0 { lexical + dense + rerank + hydration } else { total };
    let hits = hits.iter().take(question.k);
    let snippet = |hit: &Hit| question.highlights.then(|| hit.snippet.clone());
    let document = |hit: &Hit| {
        json!({
            "documentId": hit.document, "chunkId": hit.chunk, "score": hit.score, "title": hit.title,
            "type": "issue", "source": hit.source, "sectionLabel": "", "highlight": snippet(hit),
        })
    };
    match question.shape {
        ApiShape::Internal => json!({
            "results": hits.map(document).collect::<Vec<_>>(),
            "totalCandidates": candidates,
            "latency": { "totalMs": total, "lexicalMs": lexical, "vectorMs": dense,
                         "rerankMs": rerank, "hydrationMs": hydration },
        }),
        ApiShape::V1 => {
            let rationale =
                question.rationale.then(|| json!({ "routerMode": mode, "graph": graph }));
            json!({
                "results": hits.map(document).collect::<Vec<_>>(),
                "rationale": rationale,
                "usage": { "latencyMs": total, "stages": { "lexical": lexical, "vector": dense,
                           "rerank": rerank, "hydrate": hydration } },
                "requestId": format!("req_{}", question.number),
            })
        }
        ApiShape::V2026 => {
            let data = hits.map(|hit| {
                json!({
                    "id": hit.document, "title": hit.title, "url": "https://example.com",
                    "snippet": snippet(hit), "score": hit.score, "source": hit.source, "type": "issue",
                })
            });
            json!({
                "data": data.collect::<Vec<_>>(),
                "meta": { "total": candidates, "fallback": fallback },
                "latency": { "total": total, "retrieval": dense, "rerank": rerank, "enrich": hydration },
                "requestId": format!("req_{}", question.number),
            })
        }
        ApiShape::Plain => {
            let data = hits.map(|hit| {
                json!({ "id": hit.document, "chunk": hit.chunk, "score": hit.score, "title": hit.title,
                        "source": hit.source, "text": snippet(hit) })
            });
            json!({ "data": data.collect::<Vec<_>>(), "took": { "vector": dense, "all": total } })
        }
    }
}
