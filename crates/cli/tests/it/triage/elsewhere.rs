//! Targets elsewhere: errors, slow stages, and what asking them again can tell.

use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer, Stages};

use super::*;
use crate::suites::numbered;

fn answer(question: &Question, misses: usize, total: f64) -> Reply {
    let number: usize = question.text.rsplit(' ').next().unwrap().parse().unwrap_or(999);
    let mut hits: Vec<Hit> =
        (0..question.k).map(|at| Hit::new(format!("other-{at}"), 0.5)).collect();
    let place = if number < misses { 14 } else { 0 };
    if place < hits.len() {
        hits[place] = Hit::new(format!("doc-{number:03}"), 0.9);
    }
    let stages =
        Stages { dense: 20.0, rerank: total - 30.0, hydration: 10.0, total, ..Stages::default() };
    Reply { hits, stages, ..Reply::default() }
}

fn serving(home: &Home, misses: usize, total: f64, fault: Fault) -> RetrievalServer {
    let server = RetrievalServer::start(
        move |question| answer(question, misses, total),
        move |question| if question.number % 4 == 1 { fault } else { Fault::None },
    )
    .unwrap();
    let text = format!(
        "targets: {{ prod: {{ kind: http, api: lightfast-v1, url: '{}', timeout_seconds: 5, attempts: 1 }} }}\n\
         suites: [{{ name: s, type: regression, target: prod, owners: ['@a'], concurrency: 8 }}]\n",
        server.url()
    );
    home.write("suites.yaml", text);
    server
}

#[test]
fn errors_of_every_kind_are_infrastructure_on_both_stores() {
    for home in Home::both() {
        queries(&home, &numbered(25));
        for fault in [Fault::Status(500, None), Fault::Garbage, Fault::Status(429, None)] {
            let server = serving(&home, 0, 100.0, fault);
            let (ran, body) = triaged(&home, &[]);
            assert_eq!((ran.code, &body["class"]), (Some(1), &json!("infrastructure")), "{body:#}");
            assert_eq!(body["findings"].as_array().unwrap().len(), 1, "{fault:?} {body:#}");
            drop(server);
        }
        let (ran, body) = triaged(&home, &[]);
        assert_eq!((ran.code, cases(&body, "infrastructure").len()), (Some(1), 25), "refused");
    }
}

#[test]
fn a_slow_run_that_found_everything_names_its_stage() {
    let home = Home::sqlite();
    queries(&home, &numbered(25));
    let _server = serving(&home, 0, 412.0, Fault::None);
    let (ran, body) = triaged(&home, &[]);
    assert_eq!((ran.code, &body["class"]), (Some(1), &json!("infrastructure")), "{body:#}");
    let because = body["findings"][0]["because"][0].as_str().unwrap();
    assert!(because.contains("412.0 ms") && because.contains("rerank 382.0"), "{because}");
    assert_eq!(cases(&body, "infrastructure").len(), 25);
}

/// The state of a remote target is unknown without `--ask`.
#[test]
fn asking_again_tells_what_logs_do_not() {
    let home = Home::sqlite();
    queries(&home, &numbered(25));
    let server = serving(&home, 5, 100.0, Fault::None);
    let (ran, body) = triaged(&home, &[]);
    assert_eq!((ran.code, &body["class"]), (Some(1), &json!("unknown")), "{body:#}");
    let before = server.requests();
    let (ran, body) = triage(&home, &["--ask"]);
    assert_eq!((ran.code, &body["class"]), (Some(1), &json!("ranking")), "{body:#}");
    assert_eq!(body["findings"][0]["cases"][0]["evidence"]["deeper_rank"], 15);
    assert!(server.requests() > before);
    let logs = home.store().retrieval_logs(
        &gbrain_core::id::WorkspaceId::default(),
        &gbrain_store::RetrievalFilter::default(),
    );
    assert_eq!(logs.unwrap().len(), 25, "what is asked here is not logged");
}

#[test]
fn an_unknown_target_is_classified_as_infrastructure() {
    let home = Home::sqlite();
    queries(&home, &numbered(3));
    suites(&home, SUITE);
    run(&home, &["s", "--target", "mars"]);
    let (ran, body) = triage(&home, &[]);
    assert_eq!((ran.code, &body["class"]), (Some(1), &json!("infrastructure")), "{body:#}");
}
