//! Spans as a collector sees them, and what happens where there is none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::ranking::StageTime;
use gbrain_server::telemetry::traces::DRAIN;
use gbrain_server::telemetry::{
    EvaluationResult, EvaluationSpan, LogFormat, RetrievalSpan, TraceOptions, Tracer,
};
use serde_json::{Value, json};

use crate::collector::{Collector, Manner};
use crate::logs::lines;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const OK: Manner = Manner::Status(200);

fn options(endpoint: &str) -> TraceOptions {
    TraceOptions {
        endpoint: endpoint.to_owned(),
        headers: vec![("x-scope".to_owned(), "brains".to_owned())],
        service_name: "gbrain-test".to_owned(),
        attributes: vec![("deployment.environment.name".to_owned(), "lab".to_owned())],
        include_content: false,
    }
}

fn at(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000) + Duration::from_micros(micros)
}

fn nanos(micros: u64) -> Value {
    (1_700_000_000_000_000_000 + micros * 1_000).to_string().into()
}

fn stages() -> [StageTime; 2] {
    [StageTime { stage: "plan", micros: 40 }, StageTime { stage: "rank", micros: 900 }]
}

fn retrieve(tracer: &Tracer, parent: Option<&str>, error: Option<&str>) {
    tracer.retrieval(&RetrievalSpan {
        operation: "query",
        workspace: &WorkspaceId::new("acme").unwrap(),
        started: at(0),
        finished: at(800),
        parent,
        query: "who is ada?",
        top_k: 10,
        hits: &[("notes::people/ada".to_owned(), 0.75), ("notes::b".to_owned(), 0.5)],
        stages: &stages(),
        request_id: "r-1",
        error,
    });
}

/// Attributes by name, each with its only value.
fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let pairs = span["attributes"].as_array().unwrap().iter();
    pairs
        .map(|pair| {
            let value = pair["value"].as_object().unwrap().values().next().unwrap().clone();
            (pair["key"].as_str().unwrap().to_owned(), value)
        })
        .collect()
}

fn find<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    spans.iter().find(|span| span["name"] == name).unwrap()
}

#[test]
fn a_retrieval_is_a_span_with_a_child_for_every_stage() {
    let collector = Collector::start(OK);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    retrieve(&tracer, Some(&format!("00-{TRACE}-{CALLER}-01")), None);
    tracer.shutdown();

    let spans = collector.spans();
    assert_eq!(spans.len(), 3, "{spans:?}");
    let retrieval = find(&spans, "retrieval acme");
    assert_eq!(retrieval["traceId"], TRACE);
    assert_eq!(retrieval["parentSpanId"], CALLER);
    assert_eq!(retrieval["kind"], 3, "a client's span, as the conventions say");
    assert_eq!(retrieval["startTimeUnixNano"], nanos(0));
    assert_eq!(retrieval["endTimeUnixNano"], nanos(800));
    let expected = BTreeMap::from(
        [
            ("gen_ai.operation.name", json!("retrieval")),
            ("gen_ai.provider.name", json!("gbrain")),
            ("gen_ai.data_source.id", json!("acme")),
            ("gen_ai.request.top_k", json!("10")),
            ("openinference.span.kind", json!("RETRIEVER")),
            ("gbrain.operation", json!("query")),
            ("gbrain.request_id", json!("r-1")),
            ("gbrain.query.bytes", json!("11")),
            ("gbrain.hits", json!("2")),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    assert_eq!(attributes(retrieval), expected);
    for (name, from, to) in [("plan", 0, 40), ("rank", 40, 800)] {
        let stage = find(&spans, name);
        assert_eq!(stage["traceId"], TRACE);
        assert_eq!(stage["parentSpanId"], retrieval["spanId"]);
        assert_eq!(stage["startTimeUnixNano"], nanos(from));
        assert_eq!(stage["endTimeUnixNano"], nanos(to), "no stage outlasts its retrieval");
    }
    assert_eq!(tracer.dropped(), 0);
}

#[test]
fn a_batch_says_whose_it_is_and_not_what_was_asked_or_found() {
    let collector = Collector::start(OK);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    retrieve(&tracer, None, None);
    tracer.shutdown();
    let [request] = &collector.received()[..] else { panic!("one batch") };
    assert!(request.head.starts_with("post /v1/traces "), "{}", request.head);
    assert!(request.head.contains("\r\nx-scope: brains\r\n"), "{}", request.head);
    assert!(request.head.contains("\r\ncontent-type: application/json\r\n"), "{}", request.head);
    for private in ["who is", "people/ada"] {
        assert!(!request.body.to_string().contains(private), "{}", request.body);
    }
    let service = attributes(&request.body["resourceSpans"][0]["resource"]);
    assert_eq!(service["service.name"], "gbrain-test");
    assert_eq!(service["deployment.environment.name"], "lab");

    let asked = TraceOptions { include_content: true, ..options(&collector.endpoint) };
    let tracer = Tracer::start(&asked).unwrap();
    retrieve(&tracer, None, None);
    tracer.shutdown();
    let spans = collector.spans();
    let last = attributes(spans.iter().rfind(|span| span["name"] == "retrieval acme").unwrap());
    assert_eq!(last["gen_ai.retrieval.query.text"], "who is ada?");
    let found = r#"[{"id":"notes::people/ada","score":0.75},{"id":"notes::b","score":0.5}]"#;
    assert_eq!(last["gen_ai.retrieval.documents"], found);
}

#[test]
fn callers_decide_whether_their_trace_is_sampled() {
    let collector = Collector::start(OK);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    retrieve(&tracer, Some(&format!("00-{TRACE}-{CALLER}-00")), None);
    let broken = [
        "",
        "00",
        "00-x-y-01",
        &"9".repeat(10_000),
        "ü
",
    ];
    for header in broken {
        retrieve(&tracer, Some(header), None);
    }
    tracer.shutdown();
    let spans = collector.spans();
    let roots: Vec<&Value> = spans.iter().filter(|s| s["name"] == "retrieval acme").collect();
    assert_eq!(roots.len(), broken.len(), "the one that was not sampled is left out");
    for root in roots {
        assert_ne!(root["traceId"], TRACE);
        assert!(root["parentSpanId"].as_str().is_none_or(str::is_empty), "{root}");
    }
}

#[test]
fn failed_spans_have_an_error_status() {
    let collector = Collector::start(OK);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    retrieve(&tracer, None, Some("store"));
    tracer.shutdown();
    let spans = collector.spans();
    let retrieval = find(&spans, "retrieval acme");
    assert_eq!(retrieval["status"], json!({ "code": 2, "message": "store" }));
    assert_eq!(attributes(retrieval)["error.type"], "store");
}

#[test]
fn a_run_is_a_span_with_its_results_as_events() {
    let collector = Collector::start(OK);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    tracer.evaluation(&EvaluationSpan {
        kind: "gate",
        workspace: &WorkspaceId::new("acme").unwrap(),
        started: at(0),
        finished: at(9),
        run_id: "run-7",
        rows: 40,
        verdict: Verdict::Fail,
        results: &[EvaluationResult {
            name: "nDCG@10",
            value: Some(0.25),
            verdict: Verdict::Fail,
            explanation: Some("below 0.5"),
        }],
    });
    tracer.shutdown();
    let spans = collector.spans();
    let run = find(&spans, "evaluation gate");
    let said = attributes(run);
    assert_eq!((&said["gbrain.run.id"], &said["gbrain.run.rows"]), (&json!("run-7"), &json!("40")));
    let events = run["events"].as_array().unwrap();
    assert!(events.iter().all(|event| event["name"] == "gen_ai.evaluation.result"), "{events:?}");
    let [whole, measure] = &events[..] else { panic!("two events: {events:?}") };
    assert_eq!(attributes(whole)["gen_ai.evaluation.score.label"], "fail");
    let measure = attributes(measure);
    assert_eq!(measure["gen_ai.evaluation.name"], "nDCG@10");
    assert_eq!(measure["gen_ai.evaluation.score.value"], 0.25);
    assert_eq!(measure["gen_ai.evaluation.explanation"], "below 0.5");
}

/// Ends a tracer that can't send, within its bound.
fn end_in_time(tracer: &Tracer) {
    let started = Instant::now();
    tracer.shutdown();
    let took = started.elapsed();
    assert!(took < DRAIN * 2, "{took:?}");
}

#[test]
fn a_collector_that_fails_costs_spans_and_nothing_else() {
    for manner in [500, 400, 302].map(Manner::Status) {
        let collector = Collector::start(manner);
        let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
        retrieve(&tracer, None, None);
        end_in_time(&tracer);
        assert_eq!(collector.received().len(), 1, "neither redirected nor tried again");
        assert_eq!(tracer.dropped(), 3);
    }
}

#[test]
fn an_unreachable_collector_loses_only_spans() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [format!("http://{free}/v1/traces"), "https://no.such.host.invalid/".into()] {
        let tracer = Tracer::start(&options(&endpoint)).unwrap();
        retrieve(&tracer, None, None);
        end_in_time(&tracer);
        assert!(!endpoint.starts_with("http:") || tracer.dropped() == 3, "{}", tracer.dropped());
    }
}

#[test]
fn a_hanging_collector_blocks_no_request() {
    let collector = Collector::start(Manner::Silent);
    let tracer = Tracer::start(&options(&collector.endpoint)).unwrap();
    let mut slowest = Duration::ZERO;
    let said = lines(LogFormat::Text, "warn", || {
        for _ in 0..6_000 {
            let started = Instant::now();
            retrieve(&tracer, None, None);
            slowest = slowest.max(started.elapsed());
        }
    });
    assert_eq!(said.len(), 1, "once a minute: {said:?}");
    assert!(said[0].contains("spans were not sent"), "{said:?}");
    assert!(slowest < DRAIN, "{slowest:?}");
    // 18,000 spans, of which the queue and the batch in flight hold fewer than half.
    assert!((9_000..18_000).contains(&tracer.dropped()), "{}", tracer.dropped());
    assert_eq!(tracer.dropped() % 3, 0, "traces are dropped whole");
    end_in_time(&tracer);
    drop(tracer);
}

#[test]
fn without_an_endpoint_nothing_happens() {
    let tracer = Tracer::off();
    assert!(!tracer.is_on());
    for _ in 0..100_000 {
        retrieve(&tracer, None, None);
    }
    tracer.shutdown();
    assert_eq!(tracer.dropped(), 0);
}
