//! `gbrain targets`: what a user sees while describing one.

use gbrain_testkit::retrieval::{Fault, Reply, RetrievalServer};
use serde_json::{Value, json};

use super::describe;
use crate::support::{Home, demo_home};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn targets_are_listed_and_invalid_ones_reported() {
    let home = Home::sqlite();
    let run = json!({ "kind": "run", "file": "bm25.run" });
    describe(
        &home,
        &json!({ "old": run, "prod": { "kind": "http", "api": "lightfast-v1",
                             "url": "https://api.example.com", "key_env": "NOT_SET" } }),
    );
    let listed = home.json(&["targets", "list"]);
    let names: Vec<&str> =
        listed["targets"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["local", "old", "prod"]);
    assert_eq!(listed["targets"][2]["place"], "api.example.com");
    assert_eq!(listed["targets"][2]["most_results"], 50);
    let text = home.ok(&["targets"]);
    assert!(text.contains("prod") && text.contains("api.example.com"), "{text}");
    describe(&home, &json!({ "bad": { "kind": "http", "ulr": "x" }, "old": run }));
    home.run(&["targets", "list"])
        .exits(2)
        .stdout_has("can't be used")
        .stderr_has("did you mean `url`?");
    // One bad target does not keep others from being used.
    let ran = home.run(&["targets", "check", "old"]);
    assert!(ran.stderr.contains("bm25.run"), "{}", ran.stderr);
}

#[test]
fn targets_of_the_file_of_suites_are_listed_too() {
    let home = Home::sqlite();
    describe(&home, &json!({ "old": { "kind": "run", "file": "bm25.run" } }));
    let text =
        "targets: { far: { kind: run, file: far.run }, old: { kind: run, file: other.run } }\n";
    home.write("suites.yaml", text);
    let listed = home.json(&["targets", "list"]);
    let of = |at: usize| {
        let one = &listed["targets"][at];
        let file =
            one["described_in"].as_str().unwrap_or("-").rsplit('/').next().unwrap().to_owned();
        (one["name"].as_str().unwrap().to_owned(), one["place"].as_str().unwrap().to_owned(), file)
    };
    let expected =
        |name: &str, place: &str, file: &str| (name.to_owned(), place.to_owned(), file.to_owned());
    assert_eq!(of(0), expected("far", "far.run", "suites.yaml"));
    assert_eq!(of(1), expected("local", "this brain", "-"));
    assert_eq!(of(2), expected("old", "bm25.run", "config.json"));
    assert!(home.ok(&["targets"]).contains("suites.yaml"));
    let hint = |name: &str| home.run(&["targets", "check", name]).stderr;
    assert!(hint("fra").contains("did you mean `far`?"), "{}", hint("fra"));
    assert!(!hint("production").contains("did you mean"), "{}", hint("production"));
    home.write("suites.yaml", "colour: red\n");
    home.run(&["targets", "list"]).exits(2).stdout_has("bm25.run").stderr_has("colour");
}

#[test]
fn a_check_shows_what_was_understood() {
    let home = Home::sqlite();
    let server =
        RetrievalServer::start(|_| Reply::of(&["a\u{1b}[31m", "b"]), |_| Fault::None).unwrap();
    let target = json!({ "kind": "http", "api": "lightfast-v1", "url": server.url() });
    describe(&home, &json!({ "prod": target }));
    let checked =
        home.json(&["targets", "check", "prod", "--query", "who \"owns\" x?", "--rationale"]);
    assert_eq!(checked["answer"]["results"][1]["document"], "b");
    assert_eq!(checked["response"]["requestId"], "req_1");
    assert_eq!(checked["error"], Value::Null);
    let asked = server.asked().pop().unwrap();
    assert_eq!((asked.text.as_str(), asked.rationale, asked.k), ("who \"owns\" x?", true, 10));
    let text = home.ok(&["targets", "check", "prod", "--raw"]);
    assert!(text.contains("\"requestId\"") && text.contains("what b says"), "{text}");
    assert!(text.contains("stages: words 0.0 ms"), "{text}");
    assert!(text.contains("a\u{1b}[31m"), "a pipe gets what the target said: {text:?}");
}

#[test]
fn a_failed_check_shows_the_reason_and_the_answer() {
    let home = Home::sqlite();
    let server = RetrievalServer::start(|_| Reply::default(), |_| Fault::WrongShape).unwrap();
    let target =
        json!({ "kind": "http", "api": "lightfast-v1", "url": server.url(), "key_env": "KEY" });
    describe(&home, &json!({ "prod": target }));
    let run = |args: &[&str]| {
        let output = home.command(args).env("KEY", "sk-very-secret").output().unwrap();
        let ran = crate::support::Ran::of(output);
        assert!(!ran.stdout.contains("sk-very-secret") && !ran.stderr.contains("sk-very-secret"));
        ran
    };
    let ran = run(&["targets", "check", "prod", "--json"]);
    let checked = json_of(&ran.stdout);
    assert_eq!((ran.code, &checked["error"]["kind"]), (Some(2), &json!("malformed")));
    assert_eq!(checked["response"]["ok"], true);
    run(&["targets", "check", "prod"])
        .exits(2)
        .stderr_has("malformed: no results: there is no $.results");
    let ran = home.run(&["targets", "check", "prod"]);
    assert!(ran.stderr.contains("the variable KEY is not set"), "{}", ran.stderr);
    let ran = home.run(&["targets", "check", "prd"]);
    assert!(ran.stderr.contains("did you mean `prod`?"), "{}", ran.stderr);
}

#[test]
fn answers_that_are_not_json_are_shown_unchanged() {
    let home = Home::sqlite();
    let server = RetrievalServer::start(|_| Reply::of(&["a"]), |_| Fault::Garbage).unwrap();
    let target =
        json!({ "kind": "http", "api": "lightfast-v1", "url": server.url(), "key_env": "KEY" });
    describe(&home, &json!({ "prod": target }));
    let run = |args: &[&str]| {
        let args = [&["targets", "check", "prod"], args].concat();
        let output = home.command(&args).env("KEY", "sk-very-secret").output().unwrap();
        let ran = crate::support::Ran::of(output);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("sk-very-secret"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran
    };
    let ran = run(&["--raw"]);
    assert!(ran.stdout.contains("authorization"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("gbrain targets check"), "{}", ran.stderr);
    let ran = run(&[]);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("--raw shows"), "{}", ran.stderr);
    let said = json_of(&run(&["--json"]).stdout)["response"].clone();
    assert!(said.is_string(), "{said}");
}

#[test]
fn a_slow_target_is_reported_in_words() {
    let home = Home::sqlite();
    let slow = std::time::Duration::from_secs(5);
    let server = RetrievalServer::start(|_| Reply::of(&["a"]), move |_| Fault::Hang(slow)).unwrap();
    let target = json!({ "kind": "http", "api": "lightfast-v1", "url": server.url(),
        "timeout_seconds": 0.2, "attempts": 1 });
    describe(&home, &json!({ "prod": target }));
    let ran = home.run(&["targets", "check", "prod"]);
    assert!(ran.stderr.contains("no answer within `timeout_seconds`"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("global"), "{}", ran.stderr);
}

#[test]
fn the_local_brain_is_a_target_too() {
    let home = demo_home(Home::sqlite());
    let checked =
        home.json(&["targets", "check", "local", "--query", "Captain Pell", "--rationale"]);
    let answer = &checked["answer"];
    assert_eq!(answer["results"][0]["document"], "wiki::people/pell-hathersage");
    assert!(!answer["stages"]["lexical"].as_array().unwrap().is_empty());
    assert!(answer["rationale"]["edges"].is_array());
    assert_eq!(checked["response"], Value::Null);
}
