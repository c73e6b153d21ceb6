//! A reranker that fails never makes a threshold.

use std::time::Duration;

use super::*;

/// Nothing that could be put in force.
#[track_caller]
fn none_made(lab: &Lab, why: &str) {
    let (_, past) = lab.json(&["calibrate", "history"]);
    for one in past["thresholds"].as_array().unwrap() {
        assert_eq!(one["status"], "rejected", "{why}: {one:#}");
    }
    assert_eq!(lab.json(&["config", "get", "rerank.threshold"]).1["value"], "0", "{why}");
}

#[test]
fn a_failed_scoring_run_makes_no_threshold() {
    for lab in Lab::both() {
        lab.collect(&judged(32, 0));
        let faults = [
            Fault::Status(429, Some(0)),
            Fault::Status(500, None),
            Fault::Gateway(503),
            Fault::Hang(Duration::from_secs(3)),
            Fault::Cut,
            Fault::Garbage,
            Fault::Empty,
        ];
        for fault in faults {
            lab.mood(|mood| mood.fault = Some((0, fault)));
            let ran = lab.run(&["calibrate", "score"]);
            assert_eq!(ran.code, Some(2), "{fault:?}: {}{}", ran.stdout, ran.stderr);
            assert!(ran.stderr.contains("have no score"), "{fault:?}: {}", ran.stderr);
            none_made(&lab, &format!("{fault:?}"));
        }
        lab.mood(|mood| mood.fault = None);
        for said in [json!("NaN"), json!(null), json!({}), json!("0.5")] {
            lab.mood(|mood| mood.says = Some(said.clone()));
            let ran = lab.run(&["calibrate", "score", "--force", "whatever"]);
            assert_eq!(ran.code, Some(2), "{said}: {}{}", ran.stdout, ran.stderr);
            none_made(&lab, &said.to_string());
        }
    }
}

#[test]
fn invalid_scores_are_refused_everywhere() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(32, 0));
    for (said, force) in [(json!(1.5), false), (json!(-0.2), true), (json!(1e300), true)] {
        lab.mood(|mood| mood.says = Some(said.clone()));
        let args: &[&str] = if force { &["--force", "I must"] } else { &[] };
        let (code, made) = lab.json(&[&["calibrate", "score"], args].concat());
        assert_eq!((code, &made["status"]), (Some(1), &json!("rejected")), "{made:#}");
        assert!(made["refusals"].as_array().unwrap().contains(&json!("bad_scores")), "{made:#}");
        let id = made["id"].to_string();
        lab.run(&["calibrate", "deploy", &id, "--force", "I must"]).exits(2);
        none_made(&lab, &said.to_string());
    }
}

#[test]
fn a_run_that_broke_off_goes_on_where_it_was() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(32, 0));
    // Four queries are answered; then the server is unreachable.
    lab.mood(|mood| (mood.fault, mood.requests) = (Some((5, Fault::Status(500, None))), 0));
    lab.run(&["calibrate", "score"]).exits(2);
    lab.mood(|mood| (mood.fault, mood.requests) = (None, 0));
    lab.ok(&["calibrate", "score"]);
    lab.mood(|mood| assert_eq!(mood.requests, 4, "of eight queries four were known"));
    // A calibration that is whole asks anew: scores may have fallen.
    lab.mood(|mood| (mood.requests, mood.less) = (0, 0.1));
    let (_, made) = lab.json(&["calibrate", "score"]);
    lab.mood(|mood| assert_eq!(mood.requests, 8));
    assert!((made["mean"].as_f64().unwrap() - 0.405).abs() < 1e-9, "{made:#}");
    // Nothing was deployed, so there is nothing to have fallen from.
    assert_eq!(lab.json(&["calibrate", "show"]).1["score_drop"], Value::Null);
}

#[test]
fn a_refused_threshold_can_be_forced_with_a_reason() {
    let lab = Lab::new(Home::sqlite());
    harbour(&lab);
    let body = lab.collect(&judged(12, 0));
    assert_eq!(body["missing"], 18);
    let (code, made) = lab.json(&["calibrate", "score"]);
    assert_eq!((code, &made["status"]), (Some(1), &json!("rejected")));
    assert_eq!(made["refusals"], json!(["too_few"]));
    lab.run(&["calibrate", "deploy", "1"]).exits(2).stderr_has("refused");
    assert_eq!(lab.run(&["calibrate", "score", "--force", " "]).code, Some(2), "say why");
    let (code, made) = lab.json(&["calibrate", "score", "--force", "a new product"]);
    assert_eq!(
        (code, &made["status"], &made["forced"]),
        (Some(0), &json!("candidate"), &json!("a new product"))
    );
    lab.ok(&["calibrate", "verify"]);
    let (code, deployed) = lab.json(&["calibrate", "deploy"]);
    assert_eq!((code, &deployed["deployment"]["obstacles"]), (Some(0), &json!([])), "{deployed:#}");
}

#[test]
fn without_a_reranker_or_pairs_there_is_nothing_to_do() {
    let lab = Lab::new(Home::sqlite());
    let check = |args: &[&str], expected: &str| {
        let ran = lab.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["calibrate", "score"], "no borderline pairs");
    check(&["calibrate", "verify"], "no threshold for jina:m yet");
    check(&["calibrate", "show", "7"], "no threshold 7");
    lab.ok(&["config", "unset", "models.rerank"]);
    check(&["calibrate", "score"], "models.rerank");
    check(&["calibrate", "deploy"], "models.rerank");
    assert_eq!(lab.json(&["calibrate", "show"]).1["state"], "no_reranker");
    // A key that is missing is no score either.
    lab.ok(&["config", "set", "models.rerank", "jina:m"]);
    lab.collect(&judged(32, 0));
    lab.home().run(&["calibrate", "score"]).exits(2);
    none_made(&lab, "no key");
}

#[test]
fn a_trial_that_could_not_be_made_is_no_verdict() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(32, 0));
    lab.ok(&["calibrate", "score"]);
    let (code, tried) = lab.json(&["calibrate", "verify"]);
    assert_eq!((code, &tried["verification"]["failures"]), (Some(2), &json!(["no_cases"])));
    assert_eq!(tried["status"], "candidate", "nothing was measured");
    harbour(&lab);
    // A reranker that fails leaves the order of the first stages: nothing was tried.
    lab.mood(|mood| mood.fault = Some((0, Fault::Status(500, None))));
    let (code, tried) = lab.json(&["calibrate", "verify"]);
    assert_eq!((code, &tried["status"]), (Some(2), &json!("candidate")), "{tried:#}");
    assert_eq!(tried["verification"]["failures"], json!(["errors"]), "{tried:#}");
    assert_eq!(tried["verification"]["errors"], 20);
    assert_eq!(tried["verification"]["bypassed"], 0);
    lab.run(&["calibrate", "deploy"]).exits(2);
    lab.mood(|mood| mood.fault = None);
    let (code, tried) = lab.json(&["calibrate", "verify"]);
    assert_eq!((code, &tried["status"]), (Some(0), &json!("candidate")), "after all");
}

/// A trial speaks for the corpus that it was made with, and for enough queries.
#[test]
fn a_trial_of_another_corpus_or_of_one_query_deploys_nothing() {
    for lab in Lab::both() {
        lab.collect(&judged(32, 0));
        lab.ok(&["calibrate", "score"]);
        harbour(&lab);
        lab.ok(&["calibrate", "verify"]);
        let refused = |words: &str| {
            lab.run(&["calibrate", "deploy"]).exits(2).stderr_has(words);
            assert_eq!(lab.json(&["config", "get", "rerank.threshold"]).1["value"], "0");
        };
        assert_eq!(lab.home().put("notes/new", "A page that came later.").code, Some(0));
        refused("since its verification");
        let numbers = lab.json(&["queries", "list"]).1["queries"].as_array().unwrap().clone();
        let numbers: Vec<String> = numbers.iter().map(|one| one["number"].to_string()).collect();
        let retire = ["queries", "retire"].into_iter();
        let args: Vec<&str> = retire.chain(numbers[1..].iter().map(String::as_str)).collect();
        lab.ok(&args);
        let (code, tried) = lab.json(&["calibrate", "verify"]);
        assert_eq!((code, &tried["status"]), (Some(2), &json!("candidate")), "{tried:#}");
        assert_eq!(tried["verification"]["failures"], json!(["too_few_queries"]));
        refused("its verification failed");
    }
}

/// Work that the budget can't hold is not begun.
#[test]
fn a_run_over_budget_does_not_start() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(32, 0));
    let ran = lab.run(&["calibrate", "score", "--max-usd", "0.0000001"]).exits(2);
    let said = &ran.stderr;
    assert!(said.contains("nothing was sent") && said.contains("--max-usd"), "{said}");
    lab.mood(|mood| assert_eq!(mood.requests, 0));
    lab.ok(&["config", "set", "spend.max_usd_per_day", "0.0000001"]);
    let ran = lab.run(&["calibrate", "score"]).exits(2);
    let said = &ran.stderr;
    assert!(said.contains("nothing was sent") && said.contains("max_usd_per_day"), "{said}");
    lab.mood(|mood| assert_eq!(mood.requests, 0));
    lab.ok(&["config", "set", "spend.max_usd_per_day", "5.00"]);
    lab.ok(&["calibrate", "score"]);
}

#[test]
fn equal_scores_are_no_two_groups() {
    let lab = Lab::new(Home::sqlite());
    lab.collect(&judged(31, 0));
    lab.mood(|mood| mood.says = Some(json!(0.7)));
    let (code, made) = lab.json(&["calibrate", "score"]);
    assert_eq!((code, &made["refusals"]), (Some(1), &json!(["no_spread"])), "{made:#}");
}
