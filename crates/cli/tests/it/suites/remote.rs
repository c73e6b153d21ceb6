//! Suites against a retrieval API in each of its shapes, with boundaries and faults.

use std::time::{Duration, Instant};

use gbrain_core::format::schema::of_body;
use gbrain_core::format::suite::{SuiteRunResultBody, SuiteRunsBody};
use gbrain_testkit::retrieval::{ApiShape, Fault, Hit, Question, Reply, RetrievalServer, Stages};
use serde_json::json;

use super::*;
use crate::conforms::assert_conforms;
use crate::support::{assert_fields, wait_until};

const SHAPES: [&str; 3] = ["lightfast-internal", "lightfast-v1", "lightfast-2026"];

/// The answer to a numbered question: its document first, unless it is one of the first so many.
fn answer(question: &Question, misses: usize) -> Reply {
    let number: usize = question.text.rsplit(' ').next().unwrap().parse().unwrap_or(999);
    let first = if number < misses { "elsewhere".to_owned() } else { document(number) };
    let mut hits = vec![Hit::new(first, 0.9)];
    hits.extend((1..question.k).map(|at| Hit::new(format!("other-{at}"), 0.5 / at as f64)));
    let stages =
        Stages { dense: 40.0, rerank: 30.0, hydration: 20.0, total: 120.0, ..Stages::default() };
    Reply { hits, stages, mode: Some("hybrid".to_owned()), ..Reply::default() }
}

fn serving(misses: usize) -> RetrievalServer {
    RetrievalServer::start(move |question| answer(question, misses), |_| Fault::None).unwrap()
}

/// A suite of so many queries, against a server.
fn staged(home: &Home, server: &RetrievalServer, api: &str, sample: usize) {
    let text = format!(
        "targets: {{ prod: {{ kind: http, api: {api}, url: '{}', timeout_seconds: 2, deadline_seconds: 3 }} }}\n\
         suites: [{{ name: prod, type: regression, target: prod, owners: ['@a'], sample: {{ total: {sample} }}, concurrency: 8 }}]\n",
        server.url()
    );
    home.write("suites.yaml", text);
}

/// The boundaries of the playbook's table, through the program: n = 20, 25 and 100.
#[test]
fn boundaries_through_the_program() {
    let home = Home::sqlite();
    queries(&home, &numbered(100));
    let check = |n: usize, misses: usize, five: &str, ten: &str, code: i32| {
        // Which queries are drawn depends on the seed; those of a hundred are all.
        let home = if n == 100 { &home } else { &Home::sqlite() };
        if n != 100 {
            queries(home, &numbered(n));
        }
        let server = serving(misses);
        staged(home, &server, "lightfast-v1", n);
        let (ran, body) = run(home, &["prod"]);
        let status = |name: &str| measure(&body, name)["status"].clone();
        assert_eq!(
            (status("recall@5"), status("recall@10")),
            (json!(five), json!(ten)),
            "{misses} of {n}"
        );
        assert_eq!(ran.code, Some(code), "{misses} of {n}: {}", ran.stderr);
        assert_eq!(measure(&body, "recall@5")["hits"], n - misses);
    };
    check(20, 0, "ok", "ok", 0);
    check(20, 1, "ok", "alert", 1);
    check(20, 2, "alert", "alert", 1);
    check(25, 1, "ok", "warn", 0);
    check(25, 2, "warn", "alert", 1);
    check(25, 3, "alert", "alert", 1);
    check(100, 2, "ok", "ok", 0);
    check(100, 4, "ok", "warn", 0);
    check(100, 5, "ok", "alert", 1);
    check(100, 8, "warn", "alert", 1);
    check(100, 9, "alert", "alert", 1);
}

#[test]
fn every_shape_on_both_stores() {
    for home in Home::both() {
        queries(&home, &numbered(25));
        for api in SHAPES {
            let server = serving(0);
            staged(&home, &server, api, 25);
            let (ran, body) = run(&home, &["prod"]);
            assert_eq!(ran.code, Some(0), "{api}: {body:#}");
            let asked = server.asked();
            assert!(asked.iter().all(|one| one.k >= 10), "{api}: ranks six to ten are asked for");
            assert_eq!(measure(&body, "latency_p95_ms")["value"], 120.0, "{api}");
            assert_eq!(measure(&body, "dense_p95_ms")["value"], 40.0, "{api}");
        }
    }
}

/// Rank six to ten is a hit at ten and a miss at five.
#[test]
fn a_hit_behind_the_fifth_place_counts_at_ten_only() {
    let home = Home::sqlite();
    queries(&home, &numbered(25));
    let late = |question: &Question| {
        let mut reply = answer(question, 0);
        let first = reply.hits.remove(0);
        reply.hits.insert(6, first);
        reply
    };
    let server = RetrievalServer::start(late, |_| Fault::None).unwrap();
    staged(&home, &server, "lightfast-v1", 25);
    let (ran, body) = run(&home, &["prod"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(measure(&body, "recall@5")["hits"], 0);
    assert_eq!(measure(&body, "recall@10")["status"], "ok");
}

/// Totals have a percentile of their own, and 150 to 170 is worth a look only.
#[test]
fn times_at_their_boundaries() {
    let check = |total: f64, status: &str, code: i32| {
        let home = Home::sqlite();
        queries(&home, &numbered(25));
        let slow = move |question: &Question| {
            let stages = Stages {
                dense: 100.0,
                rerank: 100.0,
                hydration: 100.0,
                total,
                ..Stages::default()
            };
            Reply { stages, ..answer(question, 0) }
        };
        let server = RetrievalServer::start(slow, |_| Fault::None).unwrap();
        staged(&home, &server, "lightfast-internal", 25);
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!(
            (measure(&body, "latency_p95_ms")["status"].clone(), ran.code),
            (json!(status), Some(code)),
            "{total}"
        );
    };
    check(150.0, "ok", 0);
    check(150.5, "warn", 0);
    check(170.0, "warn", 0);
    check(170.5, "alert", 1);
}

#[test]
fn nothing_that_goes_wrong_is_green() {
    let check = |fault: Fault, code: i32, reason: &str| {
        let home = Home::sqlite();
        queries(&home, &numbered(100));
        // One of a hundred goes wrong for good: no alert, and no pass.
        let bad = move |question: &Question| answer(question, 0);
        let is_for_good = matches!(fault, Fault::Status(..));
        let faults = move |question: &Question| match question.number {
            7 => fault,
            8.. if is_for_good => fault,
            _ => Fault::None,
        };
        let server = RetrievalServer::start(bad, faults).unwrap();
        staged(&home, &server, "lightfast-v1", 100);
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!(ran.code, Some(code), "{fault:?}: {body:#}");
        assert_eq!(body["inconclusive_reasons"], json!([reason]), "{fault:?}");
    };
    // A denied request would be denied again: no further request is sent.
    check(Fault::Status(403, None), 1, "errors");
    check(Fault::Garbage, 2, "errors");
    check(Fault::WrongShape, 2, "errors");
    check(Fault::NullIds, 2, "errors");
}

#[test]
fn a_removed_or_unknown_target_is_reported() {
    let home = Home::sqlite();
    queries(&home, &numbered(25));
    let server = serving(0);
    staged(&home, &server, "lightfast-v1", 25);
    drop(server);
    let (ran, body) = run(&home, &["prod"]);
    assert_eq!((ran.code, &body["verdict"]), (Some(1), &json!("fail")), "nobody finds anything");
    assert_eq!(body["inconclusive_reasons"], json!(["errors"]));
    let (ran, body) = run(&home, &["prod", "--target", "mars"]);
    assert_eq!(
        (ran.code, &body["inconclusive_reasons"]),
        (Some(2), &json!(["broken"])),
        "{body:#}"
    );
    assert!(body["notes"][0].as_str().unwrap().contains("mars"), "{body:#}");
    let history = home.json(&["suites", "history", "prod"]);
    assert_eq!(history["runs"].as_array().unwrap().len(), 2, "both are recorded");
}

/// A build that asks staging by the suite of production neither closes its page nor opens one.
#[test]
fn runs_of_another_target_are_distinguished() {
    for home in Home::both() {
        queries(&home, &numbered(25));
        let [bad, good, fast] = [25, 0, 0].map(serving);
        let describe = |prod: &RetrievalServer| {
            let text = format!(
                "targets:\n  prod: {{ kind: http, api: lightfast-v1, url: '{}' }}\n  \
                 staging: {{ kind: http, api: lightfast-v1, url: '{}' }}\n\
                 suites: [{{ name: prod, type: regression, target: prod, owners: ['@a'], alerts: {{ silent_after_days: 8 }} }}]\n",
                prod.url(),
                good.url()
            );
            suites(&home, &text);
        };
        describe(&bad);
        let (ran, body) = run(&home, &["prod"]);
        assert_conforms(of_body::<SuiteRunResultBody>().as_value(), &body);
        let keys = ["recall@5", "recall@10"].map(|name| format!("gbrain/default/prod/{name}/all"));
        assert_eq!((ran.code, &body["id"]), (Some(1), &json!(1)));
        assert_eq!(body["alerts"], json!({ "raised": keys, "resolved": [] }));
        assert_eq!(body["ad_hoc"], Value::Null);
        let strange = ["prod", "--target", "staging", "--ci"];
        let (ran, body) = run(&home, &strange);
        assert_conforms(of_body::<SuiteRunResultBody>().as_value(), &body);
        assert_eq!((ran.code, &body["id"]), (Some(0), &json!(2)), "{body:#}");
        assert_eq!((&body["target"], &body["ad_hoc"]), (&json!("staging"), &json!(true)));
        assert_eq!(body["alerts"], json!({ "raised": [], "resolved": [] }));
        assert!(body["key"].as_str().unwrap().starts_with("ci:"), "{}", body["key"]);
        assert_eq!(home.json(&["alerts", "list"])["alerts"].as_array().unwrap().len(), 2);
        let last = &home.json(&["suites", "list"])["suites"][0]["last_run"];
        assert_eq!(
            (&last["id"], &last["verdict"]),
            (&json!(1), &json!("fail")),
            "nothing is hidden"
        );
        let (_, body) = run(&home, &["prod", "--target", "prod"]);
        assert_eq!(body["ad_hoc"], Value::Null, "its own by name");
        describe(&fast);
        let (_, body) = run(&home, &["prod"]);
        assert_eq!(body["alerts"]["resolved"].as_array().unwrap().len(), 2, "{body:#}");
        // Triage examines the earlier failure, although it is over, and not runs of another target.
        let triaged = home.run(&["triage", &keys[0], "--json"]).json();
        assert_eq!(triaged["run"], 3, "{triaged:#}");
        assert!(triaged["notes"].to_string().contains("the alert is over"), "{triaged:#}");
        let history = home.json(&["suites", "history"]);
        assert_conforms(of_body::<SuiteRunsBody>().as_value(), &history);
        let targets: Vec<_> = history["runs"].as_array().unwrap().iter().collect();
        let targets = targets.iter().map(|one| (&one["target"], &one["ad_hoc"]));
        let (own, other) = (json!("prod"), json!("staging"));
        let (no, yes) = (json!(false), json!(true));
        let expected = [(&own, &no), (&own, &no), (&other, &yes), (&own, &no)];
        assert_eq!(targets.collect::<Vec<_>>(), expected);
        assert!(home.ok(&["suites", "history"]).contains("staging (not its own)"));
        let shown = home.ok(&["suites", "show", "2"]);
        let head = shown.lines().next().unwrap();
        assert!(
            head.starts_with("run 2 of 20") && head.contains(", by ci, against staging"),
            "{head}"
        );
    }
}

/// Results missed by a deciding recall are named, although they rank lower.
#[test]
fn an_alert_of_recall_names_its_cases() {
    let home = Home::sqlite();
    queries(&home, &numbered(25));
    let sixth = |question: &Question| {
        let mut reply = answer(question, 0);
        reply.hits.swap(0, 5);
        reply
    };
    let server = RetrievalServer::start(sixth, |_| Fault::None).unwrap();
    staged(&home, &server, "lightfast-v1", 25);
    let junit = home.path().join("r.xml");
    home.run(&["suites", "run", "prod", "--junit", junit.to_str().unwrap()])
        .exits(1)
        .stdout_has("failing cases: 25")
        .stdout_has("rank 6");
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("<failure message=\"rank 6\" type=\"failing\"/>"), "{junit}");
    let shown = home.json(&["alerts", "show", "gbrain/default/prod/recall@5/all"])["alert"].clone();
    assert_eq!((&shown["failing_count"], &shown["target"]), (&json!(25), &json!("prod")));
    assert_eq!(shown["failing"].as_array().unwrap().len(), 5);
    let triaged = home.run(&["triage", "1"]);
    assert!(triaged.stdout.contains("ranking"), "{}{}", triaged.stdout, triaged.stderr);
}

/// A stopped run has no verdict and notifies no channel.
#[test]
fn a_run_that_is_stopped_is_no_alert() {
    let home = Home::sqlite();
    queries(&home, &numbered(100));
    let slow = Duration::from_millis(200);
    let missing = |question: &Question| answer(question, 1_000);
    let server = RetrievalServer::start_with(slow, 64, missing, |_| Fault::None).unwrap();
    let text = format!(
        "targets: {{ prod: {{ kind: http, api: lightfast-v1, url: '{}' }} }}\n\
         suites: [{{ name: prod, type: weekly_benchmark, target: prod, owners: ['@a'], concurrency: 2 }}]\n",
        server.url()
    );
    suites(&home, &text);
    let mut command = home.command(&["suites", "run", "prod", "--json"]);
    let piped = std::process::Stdio::piped;
    let process = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    wait_until("the server is asked", || server.requests() >= 8);
    let process_id = process.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &process_id]).status().unwrap();
    assert!(sent.success());
    let body = Ran::of(process.wait_with_output().unwrap()).exits(2).json();
    assert_fields(
        &body,
        &json!({ "verdict": "inconclusive", "inconclusive_reasons": ["cancelled"] }),
    );
    assert_eq!(body["alerts"], json!({ "raised": [], "resolved": [] }));
    assert_eq!(home.json(&["alerts", "list"])["alerts"], json!([]));
}

#[test]
fn a_suite_keeps_to_its_time() {
    let home = Home::sqlite();
    queries(&home, &numbered(100));
    let server = RetrievalServer::start_with(
        Duration::from_millis(400),
        64,
        |question| answer(question, 0),
        |_| Fault::None,
    )
    .unwrap();
    let text = format!(
        "targets: {{ prod: {{ kind: http, api: lightfast-v1, url: '{}' }} }}\n\
         suites: [{{ name: prod, type: weekly_benchmark, target: prod, owners: ['@a'], max_duration: 2s, concurrency: 2 }}]\n",
        server.url()
    );
    home.write("suites.yaml", text);
    let began = Instant::now();
    let (ran, body) = run(&home, &["prod"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(2), "{body:#}");
    assert_eq!(body["inconclusive_reasons"][0], "over_time");
    let asked = body["asked"].as_u64().unwrap();
    assert!((1..=20).contains(&asked), "{asked}");
    assert!(server.requests() <= asked + 2, "no question begins after the end");
}

#[test]
fn reasons_are_asked_for_and_must_be_there() {
    let home = Home::sqlite();
    let graph = json!({
        "id": "owner", "query": "who owns x", "family": "ownership", "retrieval_mode": "graph",
        "expected": ["team"], "entities": ["team"],
    });
    queries(&home, &[graph]);
    let check = |edges: Value, code: i32, present: &str| {
        let graph = json!({ "entities": [{ "id": "t1", "aliases": ["team"] }], "edges": edges, "evidenceChunks": ["c1"] });
        let reply =
            Reply { graph: Some(graph), mode: Some("graph".to_owned()), ..Reply::of(&["a", "b"]) };
        let server = RetrievalServer::start(move |_| reply.clone(), |_| Fault::None).unwrap();
        let text = format!(
            "targets: {{ prod: {{ kind: http, api: lightfast-v1, url: '{}' }} }}\n\
             thresholds: {{ all: {{ recall@5: {{ target: 0%, alert: 0% }}, recall@10: {{ target: 0%, alert: 0% }} }} }}\n\
             suites: [{{ name: prod, type: graph_qa, target: prod, owners: ['@a'], sample: {{ total: 1 }} }}]\n",
            server.url()
        );
        home.write("suites.yaml", text);
        let (ran, body) = run(&home, &["prod"]);
        assert!(
            server
                .asked()
                .iter()
                .all(|one| one.rationale && one.highlights && one.shape == ApiShape::V1)
        );
        assert_eq!(measure(&body, "rationale_present")["status"], present, "{body:#}");
        assert_eq!(ran.code, Some(code), "{body:#}");
    };
    check(json!([{ "type": "OWNED_BY", "from": "x", "to": "t1", "confidence": 0.9 }]), 0, "ok");
    check(json!([]), 1, "alert");
}
