//! Requests and responses of the API shapes, and what they refuse.

use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::mapping::{AnswerMapping, ResultPaths, ScoreKind};
use super::path::Path;
use super::shape::{ApiKind, ModeMeaning, RetrievalApi, SearchEffort};
use super::template::TemplateValues;
use super::*;
use crate::format::target::preset::preset;
use crate::request::RetrievalMode;

fn question() -> Question {
    Question {
        mode: Some(RetrievalMode::Graph),
        kind: Some(QueryKind::Identifier),
        workspace: Some("ws_1".to_owned()),
        filter: QuestionFilter {
            sources: vec!["github".to_owned()],
            after: Some(date(2026, 1, 2)),
            ..QuestionFilter::default()
        },
        rationale: true,
        ..Question::new("who owns \"x\"?", 5)
    }
}

fn sent(shape: &RetrievalApi) -> (Value, Vec<&'static str>) {
    let question = question();
    let outgoing = shape.outgoing(&TemplateValues { question: &question, vector: None });
    (outgoing.body.unwrap(), outgoing.not_asked)
}

fn ready(api: ApiKind, mode_means: ModeMeaning, tier: Option<SearchEffort>) -> RetrievalApi {
    preset(api, mode_means, tier).unwrap().shape
}

fn internal() -> RetrievalApi {
    ready(ApiKind::LightfastInternal, ModeMeaning::RetrievalMode, None)
}

fn specified() -> RetrievalApi {
    ready(ApiKind::LightfastV1, ModeMeaning::RetrievalMode, None)
}

fn shipped(tier: Option<SearchEffort>) -> RetrievalApi {
    ready(ApiKind::Lightfast2026, ModeMeaning::RetrievalMode, tier)
}

fn read(shape: &RetrievalApi, answer: &Value) -> Result<TargetAnswer, TargetError> {
    shape.answer(answer, &DocumentIdRule::default(), None, 10)
}

#[test]
fn the_internal_api_is_asked_for_ten_and_has_one_mode() {
    let filters = json!({ "sources": ["github"], "after": "2026-01-02" });
    let body = |mode: &str| {
        json!({
            "workspaceId": "ws_1", "text": "who owns \"x\"?", "filters": filters, "mode": mode,
            "limit": 10,
        })
    };
    assert_eq!(sent(&internal()), (body("graph"), vec!["query_kind"]));
    let by_kind = ready(ApiKind::LightfastInternal, ModeMeaning::QueryKind, None);
    assert_eq!(sent(&by_kind), (body("identifier"), vec!["mode"]));
}

#[test]
fn the_specified_api_is_asked_for_reasons_and_highlights() {
    let body = json!({
        "workspaceId": "ws_1", "q": "who owns \"x\"?", "mode": "graph", "topK": 10,
        "filters": { "sources": ["github"], "after": "2026-01-02" },
        "include": { "document": false, "rationale": true, "highlights": true },
    });
    assert_eq!(sent(&specified()), (body, vec!["query_kind"]));
}

#[test]
fn the_shipped_api_means_something_else_by_mode() {
    let body = json!({
        "query": "who owns \"x\"?", "limit": 10, "offset": 0, "mode": "thorough",
        "filters": { "sources": ["github"], "after": "2026-01-02" },
        "includeContext": true, "includeHighlights": true,
    });
    let shape = shipped(Some(SearchEffort::Thorough));
    assert_eq!(sent(&shape), (body, vec!["mode", "query_kind", "workspace"]));
}

#[test]
fn more_than_ten_is_asked_for_as_it_is() {
    let question = Question::new("a", 33);
    let filling = TemplateValues { question: &question, vector: None };
    let body = |shape: &RetrievalApi| shape.outgoing(&filling).body.unwrap();
    assert_eq!(body(&internal())["limit"], 33);
    assert_eq!(body(&specified())["topK"], 33);
    assert_eq!(body(&shipped(None))["limit"], 33);
    assert_eq!(body(&shipped(None)).get("mode"), None);
    assert_eq!(body(&RetrievalApi::Gbrain)["limit"], 33);
}

#[test]
fn the_internal_api_is_read() {
    let answer = json!({
        "results": [{
            "documentId": "d1", "chunkId": "c1", "score": 0.9, "title": "T", "type": "issue",
            "source": "github", "occurredAt": "2026-01-01T00:00:00Z", "author": "a",
            "sectionLabel": "s", "highlight": "the <em>span</em>",
        }, { "documentId": 7, "chunkId": null, "score": null }],
        "totalCandidates": 48,
        "latency": { "totalMs": 120, "lexicalMs": 20.5, "vectorMs": 40, "rerankMs": 30, "hydrationMs": 10 },
    });
    let read = read(&internal(), &answer).unwrap();
    let first = TargetResult {
        document: "d1".to_owned(),
        chunk: Some("c1".to_owned()),
        source: Some("github".to_owned()),
        score: Some(0.9),
        title: Some("T".to_owned()),
        snippet: Some("the <em>span</em>".to_owned()),
        text: None,
    };
    let second = TargetResult { document: "7".to_owned(), ..TargetResult::default() };
    assert_eq!(read.results, [first, second]);
    assert_eq!(
        read.timings,
        TargetTimings {
            lexical_ms: Some(20.5),
            dense_ms: Some(40.0),
            rerank_ms: Some(30.0),
            hydration_ms: Some(10.0),
            total_ms: Some(120.0),
        }
    );
    assert_eq!((read.candidates, read.rationale), (Some(48), None));
}

#[test]
fn the_specified_api_is_read_with_its_reasons() {
    let answer = json!({
        "results": [{ "documentId": "d1", "chunkId": "c1", "score": 0.5, "url": "https://x" }],
        "rationale": {
            "routerMode": "graph",
            "graph": {
                "entities": [{ "id": "e1", "aliases": ["x", "X"] }],
                "edges": [{ "type": "OWNED_BY", "from": "e1", "to": "e2", "confidence": 0.9 }],
                "evidenceChunks": ["c9", { "chunkId": "c8" }],
            },
        },
        "usage": {
            "latencyMs": 99, "stages": { "lexical": 9, "vector": 30, "rerank": 20, "hydrate": 5 },
            "contributionShares": { "vector": 0.6 },
        },
        "requestId": "req_1",
    });
    let read = read(&specified(), &answer).unwrap();
    assert_eq!(read.mode, Some(RetrievalMode::Graph));
    assert_eq!(read.request_id.as_deref(), Some("req_1"));
    assert_eq!((read.timings.dense_ms, read.timings.total_ms), (Some(30.0), Some(99.0)));
    let rationale = read.rationale.unwrap();
    assert_eq!(
        rationale.edges,
        [RationaleEdge {
            kind: "OWNED_BY".to_owned(),
            from: "e1".to_owned(),
            to: "e2".to_owned(),
            confidence: Some(0.9),
            evidence: Vec::new(),
        }]
    );
    assert_eq!(rationale.entities[0].aliases, ["x", "X"]);
    assert_eq!(rationale.evidence, ["c9", "c8"]);
}

#[test]
fn missing_reasons_are_distinguished_from_empty_ones() {
    let read =
        |rationale: Value| read(&specified(), &json!({ "results": [], "rationale": rationale }));
    assert_eq!(read(Value::Null).unwrap().rationale, None);
    assert_eq!(read(json!({})).unwrap().rationale, None);
    let none = read(json!({ "graph": { "edges": [] } })).unwrap().rationale;
    assert_eq!(none, Some(GraphEvidence::default()));
    assert!(read(json!({ "graph": { "edges": "none" } })).is_err());
    assert!(read(json!({ "graph": { "edges": [{ "type": "X", "from": "a" }] } })).is_err());
    assert_eq!(read(json!({ "routerMode": "neural" })).unwrap().mode, None);
}

#[test]
fn the_built_in_api_is_read_and_reports_too_many_results() {
    let answer = |meta: Value| {
        json!({
            "data": [{ "id": "d1", "title": "T", "url": "u", "snippet": "s", "score": 0.4,
                       "source": "slack", "type": "message", "highlights": { "title": "T" } }],
            "meta": meta, "latency": { "total": 80, "retrieval": 50, "rerank": 20, "enrich": 8 },
            "requestId": "r",
        })
    };
    let shape = shipped(None);
    let plain = read(&shape, &answer(json!({ "total": 1 }))).unwrap();
    assert_eq!(plain.results[0].snippet.as_deref(), Some("s"));
    assert_eq!(plain.timings.hydration_ms, Some(8.0));
    assert_eq!((plain.threshold_applied, plain.fallbacks), (None, vec![]));
    let kept = read(&shape, &answer(json!({ "fallback": true }))).unwrap();
    assert_eq!(
        (kept.threshold_applied, kept.fallback_stages()),
        (Some(false), vec!["rerank".to_owned()])
    );
    let applied = read(&shape, &answer(json!({ "fallback": false }))).unwrap();
    assert_eq!((applied.threshold_applied, applied.fallbacks), (Some(true), vec![]));
}

#[test]
fn our_own_answers_are_read() {
    let hit = |slug: &str, edges: Value| {
        json!({
            "rank": 1, "source_id": "wiki", "slug": slug, "title": "T", "score": 0.7,
            "passages": [{ "chunk_id": "c1", "snippet": "s" }], "edges": edges,
        })
    };
    let edge = json!([{ "type": "owned_by", "from": "wiki::a", "to": "wiki::b", "confidence": 1.0,
                        "evidence_chunk": "c9" }]);
    let answer = json!({
        "retrieval_mode_resolved": "hybrid", "relation": { "resolved": ["wiki::a"] },
        "hits": [hit("b", edge.clone()), hit("a", edge), hit("c", Value::Null)],
        "degraded": [{ "stage": "graph", "reason": "no_seed" },
                     { "stage": "rerank", "reason": "all_below_threshold" }],
        "rerank_model": null,
        "served": { "timings_us": { "plan": 100, "words": 1000, "embed": 500, "vectors": 500,
                                    "rerank": 1, "hydrate": 2000 } },
    });
    let read = read(&RetrievalApi::Gbrain, &answer).unwrap();
    assert_eq!(read.documents(), ["wiki::b", "wiki::a", "wiki::c"]);
    assert_eq!(read.fallback_stages(), ["rerank"]);
    assert_eq!(read.threshold_applied, Some(false));
    assert_eq!((read.timings.dense_ms, read.timings.rerank_ms), (Some(1.0), None));
    let rationale = read.rationale.unwrap();
    assert_eq!((rationale.edges.len(), rationale.entities.len()), (1, 1));
    assert_eq!(rationale.edges[0].evidence, ["c9"]);
}

#[test]
fn results_are_cut_at_k() {
    let result = |n: usize| json!({ "documentId": format!("d{n}") });
    let answer = json!({ "results": (0..30).map(result).collect::<Vec<_>>() });
    let read = internal().answer(&answer, &DocumentIdRule::default(), None, 3).unwrap();
    assert_eq!(read.documents(), ["d0", "d1", "d2"]);
}

#[test]
fn the_id_may_be_elsewhere() {
    let answer = json!({ "results": [{ "documentId": "d1", "url": "https://h/p/a" }] });
    let ids = DocumentIdRule {
        strip_prefix: Some("https://h/p/".to_owned()),
        source: DocumentSourceRule::Fixed("wiki".to_owned()),
    };
    let field = Path::parse("$.url").unwrap();
    let read = internal().answer(&answer, &ids, Some(&field), 10).unwrap();
    assert_eq!(read.documents(), ["wiki::a"]);
}

fn check_malformed(answer: &str, expected: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let error = read(&internal(), &answer).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (TargetErrorKind::Malformed, expected));
}

#[test]
fn an_invalid_answer_is_never_an_empty_one() {
    check_malformed("{}", "no results: there is no $.results");
    check_malformed("[]", "no results: $ is a list, not an object");
    check_malformed("null", "no results: $ is null, not an object");
    check_malformed(r#"{"results": null}"#, "no results: $.results is null, not a list");
    check_malformed(r#"{"results": {}}"#, "no results: $.results is an object, not a list");
    check_malformed(
        r#"{"error": {"code": "x", "message": "index\nis gone"}}"#,
        "no results: there is no $.results; it says: index\\nis gone",
    );
    check_malformed(r#"{"results": [{}]}"#, "result 1: there is no $.documentId");
    check_malformed(r#"{"results": [{"documentId": null}]}"#, "result 1: there is no $.documentId");
    check_malformed(r#"{"results": ["d1"]}"#, "result 1: there is no $.documentId");
    check_malformed(
        r#"{"results": [{"documentId": "a"}, {"documentId": " "}]}"#,
        "result 2: $.documentId is blank, not an id",
    );
    check_malformed(
        r#"{"results": [{"documentId": {"id": 1}}]}"#,
        "result 1: $.documentId is an object, not an id",
    );
    check_malformed(
        r#"{"results": [{"documentId": 1.5}]}"#,
        "result 1: $.documentId is a number, not an id",
    );
    check_malformed(
        r#"{"results": [{"documentId": "a", "score": "0.9"}]}"#,
        "result 1: $.score is a text, not a number",
    );
    check_malformed(
        r#"{"results": [{"documentId": "a", "highlight": ["x"]}]}"#,
        "result 1: $.highlight is a list, not a text",
    );
    check_malformed(
        r#"{"results": [], "latency": {"totalMs": -1}}"#,
        "$.latency.totalMs is below zero, not a time",
    );
    check_malformed(
        r#"{"results": [], "latency": {"vectorMs": "12ms"}}"#,
        "$.latency.vectorMs is a text, not a number",
    );
    check_malformed(
        r#"{"results": [], "totalCandidates": -4}"#,
        "$.totalCandidates is a number, not a count",
    );
}

/// Columns, as vector databases answer.
fn columns() -> AnswerMapping {
    let path = |text: &str| Path::parse(text).unwrap();
    AnswerMapping::new(ResultPaths {
        rows: None,
        document: path("$.ids[0][*]"),
        chunk: None,
        source: Some(path("$.metadatas[0][*].source")),
        score: Some(path("$.distances[0][*]")),
        title: None,
        snippet: Some(path("$.documents[0][*]")),
        text: None,
        score_kind: ScoreKind::Distance,
    })
}

#[test]
fn columns_are_read_side_by_side() {
    let answer = json!({
        "ids": [["a", "b"]], "distances": [[0.25, null]], "documents": [["A", "B"]],
        "metadatas": [[{ "source": "x" }, { "source": null }]],
    });
    let read = columns().read(&answer, &DocumentIdRule::default(), 10).unwrap();
    assert_eq!(read.documents(), ["a", "b"]);
    let scores: Vec<Option<f64>> = read.results.iter().map(|found| found.score).collect();
    assert_eq!(scores, [Some(-0.25), None]);
    assert_eq!(read.results[1].snippet.as_deref(), Some("B"));
    assert_eq!(read.results[0].source.as_deref(), Some("x"));
    let cut = columns().read(&answer, &DocumentIdRule::default(), 1).unwrap();
    assert_eq!(cut.documents(), ["a"]);
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let answer = json!({
        "ids": [["a", "b"]], "distances": [[0.25]], "documents": [["A", "B"]],
        "metadatas": [[{ "source": "x" }, {}]],
    });
    let error = columns().read(&answer, &DocumentIdRule::default(), 10).unwrap_err();
    assert_eq!(
        error.message,
        "there are 2 ids and 1 values of $.distances[0][*]: they can't be told apart"
    );
    let empty = json!({ "ids": [[]], "distances": [[]], "documents": [[]], "metadatas": [[]] });
    assert!(columns().read(&empty, &DocumentIdRule::default(), 10).unwrap().results.is_empty());
    assert!(columns().read(&json!({ "ids": [] }), &DocumentIdRule::default(), 10).is_err());
}

/// Any JSON, with the names that answers have.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "results",
        "data",
        "hits",
        "documentId",
        "id",
        "slug",
        "source_id",
        "source",
        "score",
        "title",
        "snippet",
        "highlight",
        "latency",
        "usage",
        "stages",
        "totalMs",
        "rationale",
        "graph",
        "edges",
        "entities",
        "type",
        "from",
        "to",
        "meta",
        "fallback",
        "degraded",
        "served",
        "timings_us",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_answer_brings_a_shape_down(answer in any_json(), k in 0_usize..20) {
        let by_source = DocumentIdRule { strip_prefix: Some("d".to_owned()), source: DocumentSourceRule::OfResult };
        let shapes = [
            (internal(), "results"),
            (specified(), "results"),
            (shipped(None), "data"),
            (RetrievalApi::Gbrain, "hits"),
        ];
        for (shape, list) in &shapes {
            for ids in [&DocumentIdRule::default(), &by_source] {
                match shape.answer(&answer, ids, None, k) {
                    Err(error) => prop_assert_eq!(error.kind, TargetErrorKind::Malformed),
                    Ok(read) => {
                        // An empty answer is one whose list is there and empty.
                        let there = answer[list].as_array().map(Vec::len);
                        prop_assert_eq!(there.map(|n| n.min(k)), Some(read.results.len()));
                        prop_assert!(read.results.iter().all(|found| !found.document.is_empty()));
                        let times = [read.timings.dense_ms, read.timings.total_ms];
                        prop_assert!(times.into_iter().flatten().all(|ms| ms >= 0.0));
                    }
                }
            }
        }
        let _ = columns().read(&answer, &by_source, k);
    }
}
