//! The whole way: collect, score, verify, deploy, the suite, drift, another model.

use gbrain_core::format::calibration::{
    CalibrationOverviewBody, HistoryBody, PairCollectionBody, ThresholdInfo,
};
use gbrain_core::format::schema::of_body;

use super::*;
use crate::conforms::assert_conforms;
use crate::suites::{measure, run_by, suites};
use crate::support::{assert_fields, find};

/// mean - 1 sigma of 0.35, 0.36, ... of so many.
fn expected(n: usize) -> f64 {
    let scores: Vec<f64> = (0..n).map(|at| 0.35 + at as f64 / 100.0).collect();
    let mean = scores.iter().sum::<f64>() / n as f64;
    let sum: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    mean - (sum / (n as f64 - 1.0)).sqrt()
}

fn close(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-9
}

/// The results that a live answer omits, and its log.
fn live(lab: &Lab) -> (Value, RetrievalLog) {
    let (code, answer) =
        lab.json(&["query", "which lighthouse zubro03 keeps a lamp", "--limit", "50"]);
    assert_eq!(code, Some(0), "{answer:#}");
    let log = lab.logs().into_iter().next().unwrap();
    assert_eq!(log.fields.request_id.as_deref(), answer["served"]["request_id"].as_str());
    (answer, log)
}

fn slugs(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["slug"].as_str().unwrap()).collect()
}

fn suite(lab: &Lab) -> (Option<i32>, Value) {
    let (ran, body) = run_by(&|args| lab.run(args), &["cal"]);
    (ran.code, body)
}

#[test]
fn from_pairs_to_a_setting_and_on() {
    for lab in Lab::both() {
        harbour(&lab);
        suites(lab.home(), "suites: [{ name: cal, type: rerank_calibration, owners: [x] }]\n");
        scored(&lab);
        tried_and_deployed(&lab);
        in_force(&lab);
        drifting(&lab);
        another_model(&lab);
    }
}

fn scored(lab: &Lab) {
    let pairs = judged(32, 12);
    let body = lab.collect(&pairs);
    assert_eq!((&body["added"], &body["missing"]), (&json!(48), &json!(0)), "{body:#}");
    assert_eq!(body["pairs"], json!({ "borderline": 32, "relevant": 4, "irrelevant": 12 }));
    let again = lab.collect(&pairs);
    assert_eq!((&again["added"], &again["unchanged"]), (&json!(0), &json!(48)), "{again:#}");
    let before = lab.provided.server.requests();
    let (code, made) = lab.json(&["calibrate", "score"]);
    assert_eq!((code, &made["status"]), (Some(0), &json!("candidate")), "{made:#}");
    assert_eq!(lab.provided.server.requests() - before, 8, "one call a query");
    assert!(close(&made["threshold"], expected(32)), "{made:#}");
    assert_eq!((&made["n"], &made["min"], &made["max"]), (&json!(32), &json!(0.35), &json!(0.66)));
    assert_eq!((&made["model"], &made["separation"]), (&json!("jina:m"), &json!(1.0)));
    assert_eq!(made["precision"], 1.0);
    let recall = made["recall"].as_f64().unwrap();
    let kept = (0..32).filter(|at| 0.35 + f64::from(*at) / 100.0 >= expected(32)).count() + 4;
    assert!((recall - kept as f64 / 36.0).abs() < 1e-9, "{recall}");
    let (_, shown) = lab.json(&["calibrate", "show"]);
    assert_conforms(of_body::<CalibrationOverviewBody>().as_value(), &shown);
    assert_conforms(of_body::<ThresholdInfo>().as_value(), &made);
    assert_conforms(of_body::<PairCollectionBody>().as_value(), &body);
    assert_eq!(
        (&shown["state"], shown["scores"].as_array().unwrap().len()),
        (&json!("no_threshold"), 48)
    );
    let text = lab.ok(&["calibrate", "show"]);
    assert!(text.contains("<- threshold") && text.contains("robust floor"), "{text}");
}

fn tried_and_deployed(lab: &Lab) {
    lab.run(&["calibrate", "deploy", "1"]).exits(2).stderr_has("calibrate verify");
    let get = || lab.json(&["config", "get", "rerank.threshold"]).1["value"].clone();
    assert_eq!(get(), "0", "nothing was set");
    let (code, tried) = lab.json(&["calibrate", "verify"]);
    let trial = &tried["verification"];
    assert_eq!((code, &trial["passed"]), (Some(0), &json!(true)), "{tried:#}");
    assert_eq!((&trial["hits"], &trial["n"]), (&json!(20), &json!(20)));
    assert_fields(trial, &json!({ "leaked": 0, "bypassed": 0, "lost": 0 }));
    assert!(trial["filtered"].as_u64().unwrap() >= 20, "{trial:#}");
    assert_eq!(get(), "0", "a trial sets nothing");
    let (code, deployed) = lab.json(&["calibrate", "deploy"]);
    assert_eq!((code, &deployed["status"]), (Some(0), &json!("active")), "{deployed:#}");
    assert!((get().as_str().unwrap().parse::<f64>().unwrap() - expected(32)).abs() < 1e-9);
    assert_eq!(lab.json(&["config", "get", "rerank.threshold_model"]).1["value"], "jina:m");
    let (_, events) = lab.json(&["events", "list"]);
    let events = events["events"].as_array().unwrap();
    assert!(events.iter().all(|event| event["kind"] == "rerank.changed"), "{events:#?}");
    assert_eq!(events.len(), 2, "the reranker was set, and its threshold");
}

fn in_force(lab: &Lab) {
    let (answer, log) = live(lab);
    assert!(slugs(&answer).iter().all(|slug| slug.starts_with("good")), "{answer:#}");
    assert_eq!(answer["degraded"], json!([]));
    assert!((log.fields.rerank_threshold.unwrap() - expected(32)).abs() < 1e-9);
    assert_eq!((log.fields.user_id.as_deref(), &log.fields.experiment_id), (Some("local"), &None));
    assert!(log.fields.rerank_ms.is_some() && log.fields.total_ms.is_some());
    let body = body_of(&log);
    assert_eq!(body["threshold_applied"], true, "{body:#}");
    assert!(body["rerank_ids"].as_array().unwrap().iter().any(|one| one["score"] == 0.1));
    let (code, run) = suite(lab);
    assert_eq!((code, &run["verdict"]), (Some(0), &json!("pass")), "{run:#}");
    assert_eq!(measure(&run, "rerank_relevance")["status"], "ok");
    let asked: Vec<RetrievalLog> =
        lab.logs().into_iter().filter(|log| log.fields.top_k.is_some()).collect();
    let of_run = asked.iter().filter(|log| log.fields.experiment_id.is_some());
    assert!(
        of_run.clone().count() == 20
            && of_run.clone().all(|log| log.fields.rerank_threshold.is_some())
    );
}

fn drifting(lab: &Lab) {
    let check = |less: f64, code: i32, status: &str| {
        lab.mood(|mood| mood.less = less);
        let (found, run) = suite(lab);
        assert_eq!(found, Some(code), "{less}: {run:#}");
        assert_eq!(measure(&run, "rerank_relevance")["status"], status, "{less}");
    };
    check(0.049, 0, "ok");
    check(0.05, 1, "alert");
    check(0.0, 0, "ok");
}

fn another_model(lab: &Lab) {
    lab.ok(&["config", "set", "models.rerank", "cohere:m"]);
    let (answer, log) = live(lab);
    assert!(slugs(&answer).iter().any(|slug| slug.starts_with("low")), "{answer:#}");
    assert_eq!(answer["degraded"], json!([{ "stage": "rerank_threshold", "reason": "stale" }]));
    let body = body_of(&log);
    assert_fields(&body, &json!({ "threshold_applied": false, "fallbacks": ["rerank_threshold"] }));
    let (_, shown) = lab.json(&["calibrate", "show"]);
    assert_eq!(shown["state"], "stale");
    let (_, doctor) = lab.json(&["doctor"]);
    let check = find(&doctor["checks"], "name", "rerank_calibration");
    assert_eq!(check["status"], "warn", "{check:#}");
    let (code, run) = suite(lab);
    assert_eq!(code, Some(2));
    assert!(
        run["inconclusive_reasons"].as_array().unwrap().contains(&json!("stale_calibration")),
        "{run:#}"
    );
    // A threshold of the old model can be neither tried nor put in force.
    for verb in ["verify", "deploy"] {
        let ran = lab.run(
            &["calibrate", verb, "1", "--force", "I want it"]
                [..if verb == "verify" { 3 } else { 5 }],
        );
        assert_eq!(ran.code, Some(2), "{verb}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("reranker") || ran.stderr.contains("cohere:m"),
            "{}",
            ran.stderr
        );
    }
    // A calibration of the new one takes its place.
    lab.ok(&["calibrate", "score"]);
    lab.ok(&["calibrate", "verify"]);
    lab.ok(&["calibrate", "deploy"]);
    assert!(slugs(&live(lab).0).iter().all(|slug| slug.starts_with("good")));
    let (code, run) = suite(lab);
    assert_eq!(code, Some(0), "{run:#}");
    let (_, past) = lab.json(&["calibrate", "history"]);
    assert_conforms(of_body::<HistoryBody>().as_value(), &past);
    let statuses: Vec<&Value> =
        past["thresholds"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["active", "active"], "one of each model");
    let (_, shown) = lab.json(&["calibrate", "show"]);
    assert_eq!((&shown["state"], &shown["in_force"]["id"]), (&json!("in_force"), &json!(2)));
    assert_eq!(shown["shown"]["previous"]["model"], "jina:m");
    assert_eq!(shown["score_drop"], Value::Null, "of different models nothing is compared");
}

#[test]
fn a_threshold_that_loses_what_must_be_found_is_not_deployed() {
    let lab = Lab::new(Home::sqlite());
    harbour(&lab);
    // Every borderline pair scores above the good pages.
    let pairs: Vec<Value> = (0..32)
        .map(|at| {
            json!({
                "query": format!("q {at}"), "document": format!("d{at}"), "label": "borderline",
                "text": format!("scored 0.{}", 930 + at),
            })
        })
        .collect();
    lab.collect(&pairs);
    // Pages are good for 0.95 here and there, or nothing would be left and the threshold bypassed.
    lab.home().put("wiki-top", "# Top\n\nA lighthouse keeps a lamp. scored 0.99");
    lab.ok(&["calibrate", "score"]);
    let (code, tried) = lab.json(&["calibrate", "verify"]);
    assert_eq!(code, Some(1), "{tried:#}");
    assert_eq!(tried["status"], "rejected");
    let failures = tried["verification"]["failures"].as_array().unwrap();
    assert!(failures.contains(&json!("recall_lost")), "{tried:#}");
    assert_eq!(tried["verification"]["lost"], 20);
    lab.run(&["calibrate", "deploy"]).exits(2).stderr_has("--force");
    let (code, forced) = lab.json(&["calibrate", "deploy", "--force", "a drill"]);
    assert_eq!((code, &forced["status"]), (Some(0), &json!("active")));
    assert_eq!(forced["deployment"]["forced"], "a drill");
    assert_eq!(forced["deployment"]["obstacles"], json!(["verify_failed"]));
}

#[test]
fn a_threshold_by_hand_is_for_whichever_judges() {
    let lab = Lab::new(Home::sqlite());
    harbour(&lab);
    // The name of before is understood, and is the same setting.
    lab.ok(&["config", "set", "search.rerank_threshold", "0.5"]);
    assert_eq!(lab.json(&["config", "get", "rerank.threshold"]).1["value"], "0.5");
    assert_eq!(lab.json(&["calibrate", "show"]).1["state"], "by_hand");
    for model in ["jina:m", "cohere:m"] {
        lab.ok(&["config", "set", "models.rerank", model]);
        let (answer, _) = live(&lab);
        assert!(slugs(&answer).iter().all(|slug| slug.starts_with("good")), "{answer:#}");
    }
    // A value stored by an earlier version under the old name applies until the new one is set.
    let ws = WorkspaceId::default();
    let store = lab.home().store();
    store.config_unset(&ws, "rerank.threshold").unwrap();
    store.config_set(&ws, "search.rerank_threshold", "0.95").unwrap();
    assert_eq!(lab.json(&["config", "get", "rerank.threshold"]).1["value"], "0.95");
    assert_eq!(lab.json(&["calibrate", "show"]).1["set_threshold"], 0.95);
    lab.ok(&["config", "set", "rerank.threshold", "0.5"]);
    assert_eq!(store.config_get(&ws, "search.rerank_threshold").unwrap(), None);
    assert_eq!(lab.run(&["config", "set", "rerank.threshold", "1.5"]).code, Some(2));
    lab.ok(&["config", "unset", "rerank.threshold"]);
    assert_eq!(lab.json(&["calibrate", "show"]).1["state"], "no_threshold");
}

#[test]
fn recall_of_95_percent_is_preserved() {
    let lab = Lab::new(Home::sqlite());
    harbour(&lab);
    // Sixty pairs, of which the newest fifty count: 0.45 and on.
    lab.collect(&judged(60, 0));
    let (_, made) = lab.json(&["calibrate", "score"]);
    assert_eq!((&made["n"], &made["min"]), (&json!(50), &json!(0.45)), "{made:#}");
    let lose = |at: usize| {
        let path = lab.home().path().join(format!("harbour/good-{at:02}.md"));
        let text = std::fs::read_to_string(&path).unwrap().replace("0.90", "0.20");
        std::fs::write(&path, text).unwrap();
        let dir = lab.home().path().join("harbour");
        lab.ok(&["import", dir.to_str().unwrap(), "--source", "wiki", "--quiet"]);
        lab.json(&["calibrate", "verify"])
    };
    let (code, tried) = lose(3);
    assert_eq!((code, &tried["verification"]["hits"]), (Some(0), &json!(19)), "{tried:#}");
    assert_eq!(tried["verification"]["lost"], 1);
    let (code, tried) = lose(4);
    assert_eq!((code, &tried["verification"]["hits"]), (Some(1), &json!(18)), "{tried:#}");
    assert_eq!(tried["verification"]["failures"], json!(["recall_lost"]));
}
