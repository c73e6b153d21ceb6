//! HTTP in every shape, as it should be.

use std::time::{Duration, Instant};

use gbrain_core::request::RetrievalMode;
use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_testkit::retrieval::{self, ApiShape, Fault, Hit, Reply, RetrievalServer, Stages};
use serde_json::{Value, json};

use super::conformance::conforms;
use super::{SECRET, reply, target, try_target, world};

pub(super) const APIS: [&str; 4] =
    ["lightfast-internal", "lightfast-v1", "lightfast-2026", "custom"];

pub(super) fn server(
    faults: impl Fn(&retrieval::Question) -> Fault + Send + Sync + 'static,
) -> RetrievalServer {
    RetrievalServer::start(|question| reply(&question.text), faults).unwrap()
}

/// Settings of an API of a shape.
pub(super) fn settings(api: &str, url: &str, more: Value) -> Value {
    let mut settings = json!({ "kind": "http", "api": api, "url": url, "key_env": "PROD_KEY" });
    if api == "custom" {
        settings["url"] = json!(format!("{url}/find"));
        settings["body"] = json!({ "query": "{{query}}", "k": "{{k}}" });
        settings["response"] = json!({
            "results": "$.data[*]", "document": "$.id", "chunk": "$.chunk", "score": "$.score",
            "title": "$.title", "snippet": "$.text", "source": "$.source",
            "timings": { "dense": "$.took.vector", "total": "$.took.all" },
        });
    }
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        settings[key] = value;
    }
    settings
}

#[test]
fn every_shape_conforms() {
    for api in APIS {
        let server = server(|_| Fault::None);
        conforms(target(settings(api, &server.url(), json!({}))).as_ref(), &world());
        let heads: Vec<String> = server.kept().into_iter().map(|one| one.head).collect();
        let sent = format!("authorization: Bearer {SECRET}");
        assert!(heads.iter().all(|head| head.to_lowercase().contains(&sent.to_lowercase())));
    }
}

#[test]
fn a_question_in_the_address_survives() {
    let server = server(|_| Fault::None);
    let get =
        json!({ "method": "GET", "body": null, "params": { "q": "{{query}}", "n": "{{k}}" } });
    conforms(target(settings("custom", &server.url(), get)).as_ref(), &world());
}

#[test]
fn at_least_ten_are_asked_for_and_k_are_given() {
    for (api, shape) in [
        ("lightfast-internal", ApiShape::Internal),
        ("lightfast-v1", ApiShape::V1),
        ("lightfast-2026", ApiShape::V2026),
    ] {
        let server = server(|_| Fault::None);
        let ask = target(settings(api, &server.url(), json!({})));
        assert_eq!(ask.retrieve(&Question::new("a", 3)).unwrap().results.len(), 3);
        let asked = server.asked();
        assert_eq!((asked[0].shape, asked[0].k, asked[0].highlights), (shape, 10, true));
    }
}

#[test]
fn stages_reasons_and_workspaces_arrive() {
    let server = RetrievalServer::start(
        |_| Reply {
            hits: vec![Hit::new("d", 0.9)],
            stages: Stages { lexical: 8.0, dense: 40.0, rerank: 30.0, hydration: 12.0, total: 0.0 },
            graph: Some(json!({
                "entities": [{ "id": "e", "aliases": ["E"] }],
                "edges": [{ "type": "OWNED_BY", "from": "e", "to": "f", "confidence": 0.8 }],
                "evidenceChunks": ["d#0"],
            })),
            mode: Some("graph".to_owned()),
            fallback: Some(true),
            candidates: Some(48),
        },
        |_| Fault::None,
    )
    .unwrap();
    let question = Question {
        mode: Some(RetrievalMode::Graph),
        rationale: true,
        ..Question::new("who owns e?", 10)
    };
    let workspace = json!({ "workspace": "ws_7" });
    let v1 = target(settings("lightfast-v1", &server.url(), workspace.clone()))
        .retrieve(&question)
        .unwrap();
    assert_eq!(v1.rationale.unwrap().edges[0].to, "f");
    assert_eq!((v1.mode, v1.request_id.as_deref()), (Some(RetrievalMode::Graph), Some("req_1")));
    assert_eq!(v1.timings.total_ms, Some(90.0));
    assert!(v1.not_asked.is_empty());
    let asked = server.asked().pop().unwrap();
    assert_eq!((asked.mode.as_deref(), asked.workspace.as_deref()), (Some("graph"), Some("ws_7")));
    assert!(asked.rationale);
    let internal = target(settings("lightfast-internal", &server.url(), workspace));
    let internal = internal.retrieve(&question).unwrap();
    assert_eq!(internal.timings.dense_ms, Some(40.0));
    assert_eq!((internal.candidates, internal.rationale), (Some(48), None));
    let shipped =
        target(settings("lightfast-2026", &server.url(), json!({}))).retrieve(&question).unwrap();
    assert_eq!(shipped.not_asked, ["mode"]);
    assert_eq!((shipped.threshold_applied, shipped.fallbacks.len()), (Some(false), 1));
    assert_eq!(shipped.timings.hydration_ms, Some(12.0));
}

#[test]
fn ids_are_called_as_the_settings_say() {
    let server = RetrievalServer::start(|_| Reply::of(&["doc:a"]), |_| Fault::None).unwrap();
    let ids = |ids: Value| {
        let ask = target(settings("lightfast-v1", &server.url(), json!({ "ids": ids })));
        ask.retrieve(&Question::new("a", 10)).unwrap().results[0].document.clone()
    };
    assert_eq!(ids(json!({})), "doc:a");
    assert_eq!(ids(json!({ "strip_prefix": "doc:", "source": "wiki" })), "wiki::a");
    assert_eq!(ids(json!({ "strip_prefix": "doc:", "source_of_result": true })), "github::a");
    assert_eq!(ids(json!({ "field": "$.chunkId" })), "doc:a#0");
}

#[test]
fn more_than_there_can_be_is_not_asked_for() {
    let server = server(|_| Fault::None);
    let ask = target(settings("lightfast-v1", &server.url(), json!({})));
    assert_eq!(ask.info().max_results, Some(50));
    let error = ask.retrieve(&Question::new("a", 51)).unwrap_err();
    assert_eq!((error.kind, server.requests()), (TargetErrorKind::Unsupported, 0));
}

#[test]
fn so_many_at_once_and_no_more() {
    let server = RetrievalServer::start_with(
        Duration::from_millis(20),
        256,
        |question| reply(&question.text),
        |_| Fault::None,
    )
    .unwrap();
    let ask = target(settings("lightfast-v1", &server.url(), json!({ "concurrency": 3 })));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| ask.retrieve(&Question::new("a", 5)).unwrap());
        }
    });
    assert_eq!((server.requests(), server.most_at_once()), (12, 3));
}

#[test]
fn so_many_a_second_and_no_more() {
    let server = server(|_| Fault::None);
    let pace = json!({ "per_second": 20, "concurrency": 8 });
    let ask = target(settings("lightfast-v1", &server.url(), pace));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..9 {
            scope.spawn(|| ask.retrieve(&Question::new("a", 5)).unwrap());
        }
    });
    // Nine turns, of which the first is at once.
    assert!(started.elapsed() >= Duration::from_millis(400), "{:?}", started.elapsed());
    assert_eq!(server.requests(), 9);
}

#[test]
fn missing_settings_are_reported_before_the_first_request() {
    let check = |more: Value, words: &str| {
        let error = try_target(settings("lightfast-v1", "http://127.0.0.1:1", more));
        let error = error.err().unwrap();
        assert_eq!(error.kind, TargetErrorKind::NoKey);
        assert!(error.message.contains(words), "{error}");
    };
    check(json!({ "key_env": "NOT_SET" }), "NOT_SET is not set");
    check(json!({ "headers_env": { "x-key": "NOT_SET" } }), "NOT_SET is not set");
    check(json!({ "key_env": null, "key_file": "/nowhere/key" }), "/nowhere/key");
    check(json!({ "ca_file": "/nowhere/ca.pem" }), "/nowhere/ca.pem");
}

#[test]
fn raw_answers_can_be_inspected() {
    let server = server(|_| Fault::WrongShape);
    let ask = target(settings("lightfast-v1", &server.url(), json!({})));
    let look = ask.inspect(&Question::new("a", 5));
    assert_eq!(look.answer.unwrap_err().kind, TargetErrorKind::Malformed);
    let said = look.raw.unwrap().to_string();
    assert!(said.contains("\"ok\":true") && !said.contains(SECRET), "{said}");
}
