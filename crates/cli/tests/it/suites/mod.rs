//! Suites as a user runs them: against the local brain, against a retrieval API in each of its shapes,
//! by hand and by the scheduler.

mod calibration;
mod chroma;
mod commands;
mod drift;
mod hints;
mod kills;
mod kinds;
mod local;
mod remote;
mod samples;
mod scheduled;
mod served;

use serde_json::{Value, json};

use crate::support::{Home, Ran};

/// How slow a debug build on a busy machine may be.
const PATIENT: &str = "thresholds: { all: { latency_p95_ms: { target: 60000, alert: 60000 } } }\n";

/// Writes the file of suites.
pub(crate) fn suites(home: &Home, text: &str) {
    home.write("suites.yaml", format!("{PATIENT}{text}"));
}

#[track_caller]
pub(crate) fn queries(home: &Home, queries: &[Value]) {
    let lines: String = queries.iter().map(|query| format!("{query}\n")).collect();
    let path = home.write("queries.jsonl", lines);
    home.ok(&["queries", "import", &path]);
}

/// So many queries, each of which must find the document of its own number.
pub(crate) fn numbered(count: usize) -> Vec<Value> {
    let query = |at: usize| json!({ "id": format!("q{at:03}"), "query": text(at), "source": "github", "expected": [document(at)] });
    (0..count).map(query).collect()
}

fn text(at: usize) -> String {
    format!("question number {at:03}")
}

fn document(at: usize) -> String {
    format!("doc-{at:03}")
}

/// Runs a suite with `--json`.
pub(crate) fn run(home: &Home, args: &[&str]) -> (Ran, Value) {
    run_by(&|args| home.run(args), args)
}

pub(crate) fn run_by(by: &dyn Fn(&[&str]) -> Ran, args: &[&str]) -> (Ran, Value) {
    let args = [&["suites", "run"], args, &["--json"]].concat();
    let ran = by(&args);
    let body = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{args:?}\n{}\n{}", ran.stdout, ran.stderr));
    (ran, body)
}

/// A measure over all cases.
pub(crate) fn measure<'a>(body: &'a Value, name: &str) -> &'a Value {
    let measures = body["measures"].as_array().unwrap();
    let is_it = |one: &&Value| one["segment"] == "all" && one["measure"] == name;
    measures.iter().find(is_it).unwrap_or_else(|| panic!("no {name} in {body}"))
}
