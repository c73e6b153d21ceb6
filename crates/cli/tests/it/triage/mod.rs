//! Triage and incidents as a user runs them.

mod campaign;
mod classes;
mod elsewhere;
mod hostile;
mod incidents;
mod served;

use serde_json::{Value, json};

use crate::suites::{queries, run, suites};
use crate::support::{Home, Ran};

/// The suite of every test here.
const SUITE: &str = "suites: [{ name: s, type: regression, owners: ['@a'] }]\n";

/// Runs the suite, and triages the run.
#[track_caller]
fn triaged(home: &Home, flags: &[&str]) -> (Ran, Value) {
    run(home, &["s"]);
    triage(home, flags)
}

/// Triages the newest run.
#[track_caller]
fn triage(home: &Home, flags: &[&str]) -> (Ran, Value) {
    let runs = home.json(&["suites", "history", "-n", "1"]);
    let number = runs["runs"][0]["id"].to_string();
    triage_of(home, &number, flags)
}

#[track_caller]
fn triage_of(home: &Home, what: &str, flags: &[&str]) -> (Ran, Value) {
    let args = [&["triage", what, "--json"], flags].concat();
    let ran = home.run(&args);
    let body = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{args:?}\n{}\n{}", ran.stdout, ran.stderr));
    (ran, body)
}

/// The ids of the cases of a class.
fn cases(body: &Value, class: &str) -> Vec<String> {
    let findings = body["findings"].as_array().unwrap();
    let own = findings.iter().filter(|one| one["class"] == class);
    let cases = own.flat_map(|one| one["cases"].as_array().unwrap());
    cases.map(|case| case["query_id"].as_str().unwrap().to_owned()).collect()
}

/// A brain of notes that have little in common, and a question about one of them.
fn brain(home: &Home) {
    suites(home, SUITE);
    for (slug, text) in NOTES {
        home.put(slug, text);
    }
    let find =
        |id: &str, query: &str, page: &str| json!({ "id": id, "query": query, "expected": [page] });
    queries(
        home,
        &[
            find("harbour", "lantern harbour pilot", "notes/harbour"),
            find("bakery", "rye bread oven", "notes/bakery"),
            find("meaning", "physician automobile vessel", "notes/doctor"),
        ],
    );
}

const NOTES: [(&str, &str); 4] = [
    ("notes/harbour", "The pilot lights a lantern in the harbour."),
    ("notes/bakery", "Rye bread leaves the oven before dawn."),
    ("notes/doctor", "It was about the doctor and the car, and then about the ship."),
    ("notes/orchard", "Apples and pears are picked in autumn."),
];
