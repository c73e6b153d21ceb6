//! The calibration suite: borderline pairs, scored again by the reranker that is set.

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Location, NewPair, NewThreshold, OpenMode, ThresholdStatus};
use gbrain_testkit::providers::Fault;
use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::models::Provided;

/// Thirty pairs, and a threshold of a model in force.
fn calibrated(home: &Home, model: &str, mean: f64) {
    let path = home.path().join("brain.db");
    home.ok(&["stats"]);
    let now = Timestamp::now();
    let store = gbrain_store::Store::open(&Location::Sqlite(path), OpenMode::Use, now).unwrap();
    let ws = WorkspaceId::default();
    let pair = |at: usize| {
        NewPair {
        query_hash: Hash::of(format!("q{at}").as_bytes()),
        chunk_id: format!("c{at}"),
        document: format!("d{at}"),
        label: "borderline".to_owned(),
        body: json!({ "schema_version": 1, "query": format!("query {at}"), "text": format!("text {at}") }).to_string(),
        replaces: Vec::new(),
    }
    };
    store.put_pairs(&ws, &(0..30).map(pair).collect::<Vec<_>>(), now).unwrap();
    let threshold = NewThreshold {
        model: model.to_owned(),
        threshold: mean - 0.1,
        n: 30,
        mean,
        sigma: 0.1,
        body: "{}".to_owned(),
        scores: Vec::new(),
    };
    let id = store.add_threshold(&ws, &threshold, now).unwrap();
    store.set_rerank_threshold_status(&ws, id, ThresholdStatus::Active, &[], now).unwrap();
}

#[test]
fn scores_are_held_against_the_calibration_in_force() {
    let provided = Provided::new(Home::sqlite(), |_| String::new(), |_| Fault::None);
    let home = &provided.home;
    let run = |_: &Home, args: &[&str]| run_by(&|args| provided.run(args), args);
    suites(home, "suites: [{ name: cal, type: rerank_calibration, owners: [x] }]\n");
    let (ran, body) = run(home, &["cal"]);
    assert_eq!(
        (ran.code, &body["verdict"]),
        (Some(2), &json!("inconclusive")),
        "no pairs: {body:#}"
    );
    calibrated(home, "jina:m", 0.5);
    let (_, body) = run(home, &["cal"]);
    assert!(
        body["inconclusive_reasons"].as_array().unwrap().contains(&json!("no_calibration")),
        "no reranker: {body:#}"
    );
    home.ok(&["config", "set", "models.rerank", "jina:m"]);
    let (_, body) = run(home, &["cal"]);
    let mean = measure(&body, "rerank_relevance")["value"].as_f64().unwrap();
    assert_eq!(measure(&body, "rerank_relevance")["n"], 30);
    let check = |model: &str, baseline: f64, code: i32, status: &str| {
        calibrated(home, model, baseline);
        let (ran, body) = run(home, &["cal"]);
        assert_eq!(ran.code, Some(code), "{model} {baseline}: {body:#}");
        assert_eq!(measure(&body, "rerank_relevance")["status"], status);
    };
    check("jina:m", mean, 0, "ok");
    check("jina:m", mean + 0.051, 1, "alert");
    check("jina:m", mean + 0.049, 0, "ok");
    check("other:model", mean, 2, "no_data");
}
