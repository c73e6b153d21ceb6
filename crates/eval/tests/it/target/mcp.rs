//! MCP servers, started and over HTTP, and what they may do instead.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_eval::retriever::Retriever;
use gbrain_testkit::listener::{Incoming, Listener, respond};
use serde_json::{Value, json};

use super::command::program;
use super::conformance::conforms;
use super::{SECRET, patience, reply, target, world};

fn tool(mut settings: Value, more: Value) -> Box<dyn Retriever> {
    settings["kind"] = json!("mcp");
    settings["tool"] = json!("find");
    settings["arguments"] = json!({ "text": "{{query}}", "n": "{{k}}" });
    settings["response"] = json!({
        "results": "$.results[*]", "document": "$.document", "score": "$.score", "snippet": "$.snippet",
        "timings": { "dense": "$.timings.dense_ms" },
    });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        settings[key] = value;
    }
    target(settings)
}

fn stdio(fault: &str, more: Value) -> (tempfile::TempDir, Box<dyn Retriever>) {
    let (dir, words) = program("mcp", fault);
    (dir, tool(json!({ "command": words, "timeout_seconds": 30 }), more))
}

fn question() -> Question {
    Question::new("who owns the berths?", 5)
}

#[test]
fn a_server_that_is_started_conforms() {
    let (_dir, ask) = stdio("none", json!({}));
    conforms(ask.as_ref(), &world());
}

#[test]
fn one_that_asks_itself_is_answered() {
    let (_dir, ask) = stdio("asks_back", json!({}));
    assert_eq!(ask.retrieve(&question()).unwrap().results.len(), 5);
}

#[test]
fn every_failure_of_one_that_is_started_has_its_kind() {
    let check = |fault: &str, more: Value, kind: TargetErrorKind| {
        let mut limits = json!({ "timeout_seconds": patience(kind, 2.0), "attempts": 1 });
        limits.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let (_dir, ask) = stdio(fault, limits);
        let error = ask.retrieve(&question()).unwrap_err();
        assert_eq!(error.kind, kind, "{fault}: {error}");
    };
    check("hang", json!({}), TargetErrorKind::Timeout);
    check("garbage", json!({}), TargetErrorKind::Malformed);
    check("wrong_shape", json!({}), TargetErrorKind::Malformed);
    check("die", json!({}), TargetErrorKind::Unreachable);
    check("error", json!({}), TargetErrorKind::BadRequest);
    check("bad_greeting", json!({}), TargetErrorKind::BadRequest);
    check("none", json!({ "tool": "other" }), TargetErrorKind::Unsupported);
}

/// How a server over HTTP misbehaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Odd {
    /// It does not: documents.
    No,
    /// It does not: streams of events, left open.
    Streams,
    /// It forgets its session once.
    Forgets,
    /// It forgets its session in the middle of the greeting, always.
    Absent,
    /// It refuses for a while.
    Busy,
    /// It sends what is no JSON.
    Garbage,
    /// It wants another key.
    Denies,
    /// It says nothing for so long.
    Hangs,
}

/// A server that keeps a session, as the protocol says it may.
fn server(odd: Odd) -> Listener {
    let session: Mutex<u64> = Mutex::new(0);
    let refused = Mutex::new(0);
    Listener::start(64, move |stream, incoming: &Incoming| {
        let message: Value = serde_json::from_str(&incoming.body).unwrap();
        let head = incoming.head.to_lowercase();
        assert!(head.contains("accept: application/json, text/event-stream"), "{head}");
        match odd {
            Odd::Denies => {
                return respond(stream, 401, "", &json!({ "error": incoming.head }).to_string());
            }
            Odd::Busy if message["method"] == "tools/call" => {
                let mut refused = refused.lock().unwrap();
                *refused += 1;
                if *refused < 3 {
                    return respond(stream, 503, "", "");
                }
            }
            Odd::Hangs if message["method"] == "tools/call" => {
                std::thread::sleep(Duration::from_secs(3));
                return None;
            }
            _ => (),
        }
        let mut session = session.lock().unwrap();
        if message["method"] == "initialize" {
            *session += 1;
            let result = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {} });
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            let extra = format!("mcp-session-id: s{session}\r\n");
            return respond(stream, 200, &extra, &answer.to_string());
        }
        if odd == Odd::Absent {
            return respond(stream, 404, "", "");
        }
        if odd == Odd::Forgets && message["method"] == "tools/call" && *session == 1 {
            return respond(stream, 404, "", "");
        }
        assert!(head.contains(&format!("mcp-session-id: s{session}")), "{head}");
        assert!(head.contains("mcp-protocol-version: 2025-03-26"), "{head}");
        if message.get("id").is_none() {
            return respond(stream, 202, "", "");
        }
        let arguments = &message["params"]["arguments"];
        let text = arguments["text"].as_str().unwrap();
        let hits = reply(text).hits.into_iter().take(arguments["n"].as_u64().unwrap() as usize);
        let results: Vec<Value> = hits
            .map(|hit| json!({ "document": hit.document, "score": hit.score, "snippet": hit.snippet }))
            .collect();
        let result = json!({ "structuredContent": { "results": results }, "content": [] });
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        match odd {
            Odd::Garbage => respond(stream, 200, "", "<html>"),
            Odd::Streams => {
                let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress" });
                let events = format!("data: {progress}\n\nevent: message\ndata: {answer}\n\n");
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                stream.write_all(format!("{head}{events}").as_bytes()).ok()?;
                drop(session);
                // The answer has arrived; the client should not wait for the stream's end.
                std::thread::sleep(Duration::from_secs(3));
                None
            }
            _ => respond(stream, 200, "", &answer.to_string()),
        }
    })
    .unwrap()
}

fn http(server: &Listener, more: Value) -> Box<dyn Retriever> {
    tool(json!({ "url": format!("{}/mcp", server.url()), "key_env": "PROD_KEY" }), more)
}

#[test]
fn a_server_over_http_conforms() {
    for odd in [Odd::No, Odd::Forgets] {
        let server = server(odd);
        conforms(http(&server, json!({})).as_ref(), &world());
    }
}

#[test]
fn an_answer_in_a_stream_is_not_waited_for_beyond_it() {
    let server = server(Odd::Streams);
    let ask = http(&server, json!({}));
    for _ in 0..2 {
        let answer = ask.retrieve(&question()).unwrap();
        assert_eq!(answer.results.len(), 5);
        assert!(answer.latency_ms < 2_500.0, "{}", answer.latency_ms);
    }
}

#[test]
fn every_failure_of_one_over_http_has_its_kind() {
    let check = |odd: Odd, kind: TargetErrorKind| {
        let server = server(odd);
        let ask = http(&server, json!({ "timeout_seconds": patience(kind, 0.5), "attempts": 2 }));
        let error = ask.retrieve(&question()).unwrap_err();
        assert_eq!(error.kind, kind, "{odd:?}: {error}");
        assert!(!error.to_string().contains(SECRET), "{error}");
    };
    check(Odd::Garbage, TargetErrorKind::Malformed);
    check(Odd::Denies, TargetErrorKind::Denied);
    check(Odd::Absent, TargetErrorKind::BadRequest);
    check(Odd::Hangs, TargetErrorKind::Timeout);
    check(Odd::Busy, TargetErrorKind::Unavailable);
    let server = server(Odd::Busy);
    let ask = http(&server, json!({ "attempts": 3 }));
    assert_eq!(ask.retrieve(&question()).unwrap().attempts, 3);
}
