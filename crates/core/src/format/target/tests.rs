//! Settings that describe targets, good and bad; answers there and back.

use serde_json::{Value, json};

use super::*;
use crate::format::schema::of_input;
use crate::target::shape::{AnswerFormat, RetrievalApi};
use crate::target::template::TemplateValues;
use crate::target::{
    DocumentIdRule, DocumentSourceRule, GraphEvidence, McpTransport, Question, RationaleEdge,
    RationaleEntity, RerankJudgement, StageFallback, StageIds, TargetAnswer, TargetKind,
    TargetResult, TargetSettings, TargetTimings,
};

fn good(value: Value) -> TargetSettings {
    read_target("prod", &value).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(value: Value) -> (String, Option<String>) {
    let error = read_target("prod", &value).unwrap_err();
    (error.reason, error.hint)
}

fn custom(change: impl FnOnce(&mut Value)) -> Value {
    let mut target = json!({
        "kind": "http", "api": "custom", "url": "https://api.example.com/find",
        "body": { "q": "{{query}}", "n": "{{k}}" },
        "response": { "results": "$.data[*]", "document": "$.id", "score": "$.score" },
    });
    change(&mut target);
    target
}

#[test]
fn a_ready_api_has_its_path() {
    let target = good(json!({
        "kind": "http", "api": "lightfast-v1", "url": "https://api.example.com/", "key_env": "KEY",
        "ids": { "strip_prefix": "doc_", "source": "wiki" }, "timeout_seconds": 0.5, "per_second": 2,
        "attempts": 1,
    }));
    let TargetKind::Http(http) = &target.kind else { panic!("{target:?}") };
    assert_eq!(http.address.url, "https://api.example.com/v1/search");
    assert!(matches!(&http.shape, RetrievalApi::Custom(custom) if custom.bypass.is_empty()));
    assert_eq!(
        (target.describe_address().as_str(), target.max_results()),
        ("api.example.com", Some(50))
    );
    assert_eq!(target.limits.timeout.as_millis(), 500);
    assert_eq!((target.limits.attempts, target.limits.concurrency), (1, 8));
    assert_eq!(target.ids.source, DocumentSourceRule::Fixed("wiki".to_owned()));
    let other = good(json!({
        "kind": "http", "api": "lightfast-internal", "url": "http://h:1", "path": "/api/search",
    }));
    let TargetKind::Http(http) = &other.kind else { panic!("{other:?}") };
    assert_eq!(http.address.url, "http://h:1/api/search");
}

#[test]
fn a_custom_api_is_described() {
    let target = good(custom(|target| {
        target["headers"] = json!({ "x-workspace": "{{workspace}}" });
        target["headers_env"] = json!({ "x-api-key": "PROD_KEY" });
        target["max_k"] = json!(20);
    }));
    assert_eq!(target.max_results(), Some(20));
    let TargetKind::Http(http) = &target.kind else { panic!("{target:?}") };
    let question = Question { workspace: Some("w".to_owned()), ..Question::new("a", 3) };
    let outgoing = http.shape.outgoing(&TemplateValues { question: &question, vector: None });
    assert_eq!(outgoing.body, Some(json!({ "q": "a", "n": 3 })));
    assert_eq!(outgoing.headers, [("x-workspace".to_owned(), "w".to_owned())]);
    assert_eq!(http.address.headers_env, [("x-api-key".to_owned(), "PROD_KEY".to_owned())]);
}

#[test]
fn other_kinds() {
    let stdio = good(json!({ "kind": "mcp", "command": ["gbrain", "mcp"] }));
    let TargetKind::Mcp(mcp) = &stdio.kind else { panic!("{stdio:?}") };
    assert_eq!((mcp.tool.as_str(), &mcp.reading), ("query", &AnswerFormat::Gbrain));
    assert_eq!(stdio.describe_address(), "gbrain");
    let http = good(json!({
        "kind": "mcp", "url": "http://127.0.0.1:1/mcp", "tool": "find", "arguments": { "t": "{{query}}" },
        "response": { "results": "$[*]", "document": "$" },
    }));
    let TargetKind::Mcp(mcp) = &http.kind else { panic!("{http:?}") };
    assert!(matches!(mcp.transport, McpTransport::Http(_)));
    assert!(matches!(mcp.reading, AnswerFormat::Mapped(_)));
    let command = good(json!({ "kind": "command", "command": ["./ask"], "env": { "A": "b" } }));
    assert!(matches!(command.kind, TargetKind::Command(_)));
    let run = good(json!({ "kind": "run", "file": "bm25.run", "queries": "queries.jsonl" }));
    assert_eq!(run.describe_address(), "bm25.run");
}

#[test]
fn invalid_settings_are_explained() {
    let check = |value: Value, words: &str| {
        let (reason, _) = refused(value);
        assert!(reason.contains(words), "{reason:?} does not say {words:?}");
    };
    check(json!({}), "`kind` is missing");
    check(json!(3), "a number stands where a table belongs");
    check(json!({ "kind": "http" }), "`api` is missing: lightfast-internal, lightfast-v1");
    check(json!({ "kind": "http", "api": "gbrain" }), "`url` is missing");
    check(json!({ "kind": "http", "api": "gbrain", "url": "ftp://x" }), "no http(s) address");
    check(json!({ "kind": "http", "api": "gbrain", "url": "http:///x" }), "no http(s) address");
    check(json!({ "kind": "http", "api": "gbrain", "url": "https://u:pw@x" }), "holds a user");
    check(
        json!({ "kind": "http", "api": "gbrain", "url": "https://x", "body": {} }),
        "`body` says nothing of kind http with gbrain",
    );
    check(
        json!({ "kind": "http", "api": "lightfast-v1", "url": "https://x", "tier": "fast" }),
        "`tier` says nothing",
    );
    check(
        json!({ "kind": "run", "file": "x", "url": "https://x" }),
        "`url` says nothing of kind run",
    );
    check(json!({ "kind": "run" }), "`file` is missing");
    check(
        json!({ "kind": "http", "api": "lightfast-2026", "url": "https://x", "workspace": "w" }),
        "`workspace` has no place",
    );
    check(json!({ "kind": "mcp", "command": ["x"], "workspace": "w" }), "`workspace` has no place");
    check(
        json!({ "kind": "mcp", "command": ["x"], "tool": "t", "arguments": { "v": "{{vector}}" } }),
        "{{vector}} is for APIs",
    );
    check(json!({ "kind": "command" }), "`command` is missing");
    check(json!({ "kind": "command", "command": [" "] }), "`command` is missing");
    check(json!({ "kind": "mcp" }), "either `command` or `url`");
    check(json!({ "kind": "mcp", "command": ["x"], "arguments": {} }), "`tool` is missing");
    check(
        custom(|t| t["response"]["score"] = json!("score")),
        "`response.score`: \"score\" is no path",
    );
    check(custom(|t| t["response"]["document"] = Value::Null), "`response.document` is missing");
    check(
        custom(|t| t["body"]["q"] = json!("{{qeury}}")),
        "`body`: there is no placeholder {{qeury}}",
    );
    check(custom(|t| t["method"] = json!("GET")), "`body` is not sent with GET");
    check(custom(|t| t["body"] = Value::Null), "no place for the question");
    check(custom(|t| t["headers"] = json!({ "Authorization": "Bearer x" })), "is a secret");
    check(custom(|t| t["headers"] = json!({ "x y": "z" })), "no name of a header");
    check(
        custom(|t| t["timeout_seconds"] = json!(0)),
        "`timeout_seconds` is 0; it takes 0.01 to 3600",
    );
    check(custom(|t| t["attempts"] = json!(0)), "`attempts` is 0; it takes 1 to 20");
    check(custom(|t| t["concurrency"] = json!(1000)), "`concurrency` is 1000");
    check(custom(|t| t["per_second"] = json!(-1)), "`per_second` is -1");
    check(custom(|t| t["max_k"] = json!(0)), "`max_k` is 0");
    check(custom(|t| t["ids"] = json!({ "field": "slug" })), "`ids.field`");
    let both = json!({ "source": "a", "source_of_result": true });
    check(custom(|t| t["ids"] = both), "both `source` and `source_of_result`");
    check(
        custom(|t| {
            t["key_env"] = json!("A");
            t["key_file"] = json!("b")
        }),
        "give one",
    );
    let (_, hint) = refused(json!({ "kind": "http", "ulr": "x" }));
    assert_eq!(hint.as_deref(), Some("did you mean `url`?"));
    let (_, hint) = refused(json!({ "kind": "htp" }));
    assert_eq!(hint.as_deref(), Some("did you mean `http`?"));
    let (_, hint) = refused(custom(|t| t["response"]["snipet"] = json!("$.x")));
    assert_eq!(hint.as_deref(), Some("did you mean `snippet`?"));
    let run = json!({ "kind": "run", "file": "x" });
    for name in ["local", "", "a b", "ü", &"x".repeat(65)] {
        assert!(read_target(name, &run).is_err(), "{name}");
    }
}

#[test]
fn a_secret_in_place_of_a_name_is_refused_and_not_repeated() {
    let secret = "sk-live-0123456789";
    let check = |value: Value, field: &str| {
        let (reason, hint) = refused(value);
        assert!(reason.contains(field), "{reason:?} does not say {field:?}");
        assert!(!format!("{reason}{hint:?}").contains(secret), "{reason}");
    };
    check(custom(|t| t["key_env"] = json!(secret)), "`key_env`");
    check(custom(|t| t["key_env"] = json!("")), "`key_env`");
    check(custom(|t| t["headers_env"] = json!({ "x-api-key": secret })), "`headers_env.x-api-key`");
    check(custom(|t| t["headers_env"] = json!(secret)), "a text stands where a table belongs");
    let url = format!("https://search.example/?api_key={secret}");
    check(custom(|t| t["url"] = json!(url)), "`url` holds a key");
    check(custom(|t| t["url"] = json!(format!("https://{secret}@x"))), "`url` holds a user");
    check(custom(|t| t["url"] = json!(secret)), "`url` is no http(s) address");
}

#[test]
fn the_schema_knows_every_key() {
    let schema = serde_json::to_value(of_input::<WireTarget>()).unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["required"], json!(["kind"]));
    let written = serde_json::to_value(WireTarget::default()).unwrap();
    for key in written.as_object().unwrap().keys() {
        let described = &schema["properties"][key]["description"];
        assert!(described.is_string(), "{key}");
    }
}

#[test]
fn an_answer_reads_back_from_what_is_printed() {
    let text = |text: &str| Some(text.to_owned());
    let answer = TargetAnswer {
        results: vec![
            TargetResult {
                document: "wiki::a \"quoted\" ü".to_owned(),
                chunk: text("c1"),
                source: text("wiki"),
                score: Some(0.1 + 0.2),
                title: text("T"),
                snippet: text("line\nline"),
                text: text("whole"),
            },
            TargetResult { document: "b".to_owned(), ..TargetResult::default() },
        ],
        timings: TargetTimings {
            dense_ms: Some(1.25),
            total_ms: Some(3.0),
            ..TargetTimings::default()
        },
        rationale: Some(GraphEvidence {
            edges: vec![RationaleEdge {
                kind: "owned_by".to_owned(),
                from: "a".to_owned(),
                to: "b".to_owned(),
                confidence: None,
                evidence: vec!["c2".to_owned()],
            }],
            entities: vec![RationaleEntity { id: "a".to_owned(), aliases: vec!["A".to_owned()] }],
            evidence: vec!["c3".to_owned()],
        }),
        mode: Some(crate::request::RetrievalMode::Hybrid),
        fallbacks: vec![StageFallback::unexplained("rerank")],
        threshold: Some(0.3),
        threshold_applied: Some(false),
        stages: Some(StageIds {
            lexical: vec!["b".to_owned()],
            vector: vec![],
            graph: vec![],
            rerank: vec![RerankJudgement { document: "b".to_owned(), score: Some(0.2) }],
        }),
        candidates: Some(9),
        request_id: text("r"),
        ..TargetAnswer::default()
    };
    let printed = serde_json::to_value(AnswerBody::new(&answer)).unwrap();
    let read = AnswerFormat::Own.answer(&printed, &DocumentIdRule::default(), None, 10).unwrap();
    assert_eq!(read, answer);
    let empty = TargetAnswer::default();
    let printed = serde_json::to_value(AnswerBody::new(&empty)).unwrap();
    let read = AnswerFormat::Own.answer(&printed, &DocumentIdRule::default(), None, 10).unwrap();
    assert_eq!(read, empty);
}

#[test]
fn a_question_is_one_line() {
    let question = Question::new("a\nb \"c\"", 3);
    let line = serde_json::to_string(&QuestionBody::new(7, &question)).unwrap();
    assert!(!line.contains('\n'), "{line}");
    let read: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&read["id"], &read["query"], &read["k"]),
        (&json!(7), &json!("a\nb \"c\""), &json!(3))
    );
}
