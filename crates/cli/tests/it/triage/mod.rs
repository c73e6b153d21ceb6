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
const SUITE: &str =
    "suites: [{ name: s, type: regression, owners: ['@a'], sample: { total: 3 } }]\n";
/// The same for a query more.
const SUITE_OF_4: &str =
    "suites: [{ name: s, type: regression, owners: ['@a'], sample: { total: 4 } }]\n";

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

/// The ids of the cases of a class, sorted.
fn cases(body: &Value, class: &str) -> Vec<String> {
    let findings = body["findings"].as_array().unwrap();
    let own = findings.iter().filter(|one| one["class"] == class);
    let cases = own.flat_map(|one| one["cases"].as_array().unwrap());
    let mut ids: Vec<String> =
        cases.map(|case| case["query_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Takes pages in, all at once.
#[track_caller]
fn import(home: &Home, pages: &[(String, String)]) {
    let dir = tempfile::tempdir().unwrap();
    for (slug, text) in pages {
        let path = dir.path().join(format!("{slug}.md"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home.ok(&["import", dir.path().to_str().unwrap(), "--quiet"]);
}

/// A brain of notes that have little in common, and a question about one of them.
fn brain(home: &Home) {
    suites(home, SUITE);
    let own = NOTES.iter().map(|(slug, text)| ((*slug).to_owned(), (*text).to_owned()));
    // More than an answer has room for, about nothing that is asked.
    let more = (0..20).map(|at| {
        let text = format!("Ledger {at}: invoice {} was paid by transfer {}.", at * 7, at * 13);
        (format!("ledger/l{at}"), text)
    });
    import(home, &own.chain(more).collect::<Vec<_>>());
    let find =
        |id: &str, query: &str, page: &str| json!({ "id": id, "query": query, "expected": [page] });
    queries(
        home,
        &[
            find("harbour", "lantern harbour pilot", "notes/n1"),
            find("bakery", "rye bread oven", "notes/n2"),
            find("meaning", "physician automobile vessel", "notes/n3"),
        ],
    );
}

const NOTES: [(&str, &str); 4] = [
    ("notes/n1", "The pilot lights a lantern in the harbour."),
    ("notes/n2", "Rye bread leaves the oven before dawn."),
    ("notes/n3", "It was about the doctor and the car, and then about the ship."),
    ("notes/n4", "Apples and pears are picked in autumn."),
];
