//! Hints for commands that have no effect or look in the wrong place.

use super::*;
use crate::support::{demo_home, find};

const SUITE: &str = "suites: [{ name: s, type: smoke, owners: [x] }]\n";

/// A home with a suite whose run failed, and the keys of what fires.
fn failed() -> (Home, Vec<String>) {
    let home = demo_home(Home::sqlite());
    suites(&home, SUITE);
    queries(&home, &[json!({ "query": "what is nowhere?", "expected": ["nowhere"] })]);
    home.ok(&["suites", "enable", "s"]);
    let (ran, _) = run(&home, &["s"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let alerts = home.json(&["alerts", "list"])["alerts"].clone();
    let key = |one: &Value| one["key"].as_str().unwrap().to_owned();
    (home, alerts.as_array().unwrap().iter().map(key).collect())
}

#[track_caller]
fn says(home: &Home, args: &[&str], code: i32, words: &str) {
    let ran = home.run(args);
    assert_eq!(ran.code, Some(code), "{args:?}: {} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
}

#[test]
fn queries_that_say_nothing() {
    let home = Home::sqlite();
    let file = |name: &str, text: &str| home.write(name, text);
    let empty = file("empty.jsonl", "\n");
    says(&home, &["queries", "import", &empty], 2, "there are no queries in");
    let bad = file("bad.yaml", "- query: a\n- query: b\n  colour: red\n");
    says(&home, &["queries", "import", &bad], 2, "bad.yaml:2: ");
    let blank = file("blank.jsonl", "{\"query\":\"a\"}\n{\"query\":\" \"}\n");
    says(&home, &["queries", "import", &blank], 2, "blank.jsonl:2: the query is empty");
    home.ok(&["queries", "add", "a", "--expected", "x"]);
    let number = home.json(&["queries", "list"])["queries"][0]["number"].to_string();
    says(&home, &["queries", "edit", &number], 0, "nothing changes");
    says(&home, &["queries", "edit", &number, "--expected", "x"], 0, "nothing changes");
    assert!(home.ok(&["queries", "edit", &number, "--expected", "y"]).contains("changed"));
}

#[test]
fn alerts_of_another_workspace_and_silences_of_nothing() {
    let (home, keys) = failed();
    let key = keys[0].as_str();
    home.ok(&["workspaces", "add", "team"]);
    for args in [
        &["--workspace", "team", "alerts", "show", key][..],
        &["--workspace", "team", "triage", key],
    ] {
        says(&home, args, 2, "--workspace default");
    }
    let silence = |key: &str, how_long: &str, code: i32, words: &str| {
        let args = ["alerts", "silence", key, "--for", how_long, "--reason", "x"];
        says(&home, &args, code, words);
    };
    silence("gbrain/default/nothing/*", "1h", 0, "no alert of workspace default has such a key");
    silence(key, "0s", 2, "--for is zero or negative");
    let ran = home.run(&["alerts", "silence", key, "--for", "1h", "--reason", "x"]);
    assert!(ran.code == Some(0) && !ran.stderr.contains("no alert"), "{}", ran.stderr);
}

#[test]
fn the_doctor_and_the_autopilot_know_of_suites() {
    let (home, keys) = failed();
    let report = home.json(&["doctor"]);
    let check = |name: &str| find(&report["checks"], "name", name).clone();
    assert_eq!(check("alerts")["details"]["firing"], keys.len());
    assert_eq!(check("alerts")["status"], "warn");
    let suites = check("suites");
    assert_eq!((&suites["status"], &suites["remedy"]), (&json!("warn"), &json!("gbrain triage 1")));
    let text = home.ok(&["autopilot", "--once"]);
    assert!(text.contains("suite:s") && !text.contains("nothing is turned on"), "{text}");
}

#[test]
fn a_model_without_a_known_provider_is_refused() {
    let home = Home::sqlite();
    let set = ["config", "set", "models.rerank", "cohre:rerank-v3.5"];
    says(&home, &set, 2, "known providers: anthropic, openai");
    let described = r#"{"llm":{"providers":{"lab":{"base_url":"http://127.0.0.1:9/v1"}}}}"#;
    home.write("config.json", described);
    let price = r#"{"lab:m":{"input_usd_per_million":0.1,"source":"test","date":"2026-01-31"}}"#;
    home.write("prices.json", price);
    home.ok(&["config", "set", "models.rerank", "lab:m"]);
    std::fs::remove_file(home.path().join("config.json")).unwrap();
    let report = home.json(&["doctor"]);
    let calibration = find(&report["checks"], "name", "rerank_calibration");
    assert_eq!(calibration["status"], "warn", "{calibration}");
    assert!(calibration["message"].as_str().unwrap().contains("`lab`"), "{calibration}");
    home.ok(&["config", "unset", "models.rerank"]);
    says(&home, &["calibrate", "show"], 0, "gbrain config set models.rerank");
    home.ok(&["config", "set", "rerank.threshold", "0.17845102598403653"]);
    let shown = home.ok(&["calibrate", "show"]);
    assert!(shown.contains("0.1785 for") && !shown.contains("0.17845"), "{shown}");
}

#[test]
fn a_cooldown_that_is_none() {
    let home = Home::sqlite();
    home.write("config.json", r#"{"alerts":{"cooldown":"banana"}}"#);
    says(&home, &["alerts", "list"], 2, "`alerts.cooldown` takes a duration, such as \"4h\"");
}

#[test]
fn a_run_that_could_not_measure_says_what_it_needs() {
    let home = demo_home(Home::sqlite());
    suites(&home, SUITE);
    run(&home, &["s"]);
    let commands = home.run(&["triage", "1"]).stdout;
    assert!(commands.contains("queries import"), "{commands}");
    queries(&home, &[json!({ "query": "what is nowhere?", "expected": ["nowhere"] })]);
    let (ran, _) = run(&home, &["s", "--target", "gone"]);
    assert_eq!(ran.code, Some(2));
    let told = home.run(&["triage", "2"]).stdout;
    assert!(told.contains("targets list") && told.contains("--target gone"), "{told}");
    assert!(told.contains("unknown target"), "{told}");
}

#[test]
fn a_reranker_without_a_price_is_reported() {
    let home = demo_home(Home::sqlite());
    let prices = home.path().join("prices.json");
    std::fs::write(
        &prices,
        r#"{"cohere:new":{"usd_per_thousand_searches":2,"source":"a","date":"2026-01-31"}}"#,
    )
    .unwrap();
    home.ok(&["config", "set", "models.rerank", "cohere:new"]);
    std::fs::remove_file(prices).unwrap();
    let mut command = home.command(&["query", "charge floor"]);
    let ran = Ran::of(command.env("COHERE_API_KEY", "k").output().unwrap());
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code == Some(0) && told.contains("without rerank (no_price)"), "{told}");
}
