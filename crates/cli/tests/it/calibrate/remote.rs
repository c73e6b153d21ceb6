//! A threshold of a target elsewhere: it can only be looked at from here.

use gbrain_testkit::retrieval::{Fault as Broken, Hit, Question, Reply, RetrievalServer};

use super::*;
use crate::suites::queries;

/// The results of a target: all, those above its threshold, or more than its threshold allows.
#[derive(Clone, Copy)]
enum Shows {
    All,
    High,
    Fallback,
}

fn answer(question: &Question, shows: Shows) -> Reply {
    let number = question.text.rsplit(' ').next().unwrap();
    let mut hits = vec![Hit::new(format!("doc-{number}"), 0.9)];
    if !matches!(shows, Shows::High) {
        hits.push(Hit::new("low".to_owned(), 0.1));
    }
    Reply { hits, fallback: Some(matches!(shows, Shows::Fallback)), ..Reply::default() }
}

#[test]
fn target_results_are_checked_against_the_threshold() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(32, 0));
    lab.ok(&["calibrate", "score"]);
    let asked: Vec<Value> = (0..20)
        .map(|at| json!({ "id": format!("q{at}"), "query": format!("question {at}"), "expected": [format!("doc-{at}")] }))
        .collect();
    queries(lab.home(), &asked);
    let check = |shows: Shows, code: i32, failures: Value, note: &str| {
        let server =
            RetrievalServer::start(move |question| answer(question, shows), |_| Broken::None)
                .unwrap();
        let target = json!({ "kind": "http", "api": "lightfast-2026", "url": server.url() });
        lab.provided.configure(json!({ "targets": { "prod": target } }));
        let (found, tried) = lab.json(&["calibrate", "verify", "--target", "prod"]);
        let trial = &tried["verification"];
        assert_eq!((found, &trial["failures"]), (Some(code), &failures), "{tried:#}");
        assert_eq!((&trial["target"], &trial["hits"]), (&json!("prod"), &json!(20)));
        assert!(trial["notes"].to_string().contains(note), "{trial:#}");
    };
    check(Shows::All, 1, json!(["not_filtered"]), "reports no threshold");
    check(Shows::High, 0, json!([]), "verify again when it is set there");
    // A trial elsewhere says nothing of the brain here.
    lab.run(&["calibrate", "deploy"]).exits(2).stderr_has("calibrate verify");
    check(Shows::Fallback, 1, json!(["bypassed"]), "");
}
