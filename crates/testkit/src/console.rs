//! The pages of the console, and a brain whose content fills them.
//!
//! Every test of all pages, and the screenshots of the documentation, take their pages from [`PAGES`]. A page of the
//! navigation that is in neither table fails the tests.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::http::Caller;
use crate::process::Gbrain;
use crate::served::Served;

/// A page as a reader with an admin token finds it in a brain that [`seed`] filled.
#[derive(Debug, Clone, Copy)]
pub struct ConsolePage {
    /// Name of its screenshots.
    pub name: &'static str,
    /// Its URL on the server.
    pub path: &'static str,
    pub status: u16,
    /// A word that the content has, so that an empty page is no success.
    pub contains: &'static str,
}

const fn page(name: &'static str, path: &'static str, contains: &'static str) -> ConsolePage {
    ConsolePage { name, path, status: 200, contains }
}

/// All pages: one line each, with the states worth looking at.
pub const PAGES: &[ConsolePage] = &[
    page("sign-in", "/sign-in", "Token"),
    page("runs", "/runs", "gate 1"),
    page("runs-empty", "/runs?state=queued", "No replay or gate"),
    ConsolePage { status: 404, ..page("not-found", "/no-such-page", "no such path") },
    ConsolePage { status: 400, ..page("bad-request", "/runs?before=x", "invalid parameters") },
];

/// Pages that the navigation names and that do not exist yet. A line here must answer 404.
pub const UNBUILT: &[&str] = &[
    "/",
    "/compare",
    "/explain",
    "/benchmarks",
    "/suites",
    "/alerts",
    "/incidents",
    "/probe",
    "/calibration",
    "/captures",
    "/labels",
    "/contradictions",
    "/pages",
    "/prompts",
    "/spending",
];

/// Captures are on and marked as synthetic, so that they may be shared.
const CONFIG: &str = r#"{ "format": "gbrain/1", "eval": { "capture": true, "synthetic": true } }"#;

const QUERIES: [&str; 8] = [
    "Who invested in Quayspark?",
    "What depends on Plug Gateway?",
    "HRB-131",
    "charge floor",
    "Who owns the berth planner?",
    "two boats at the same pier",
    "Kittle Island blackout",
    "smartphone program for boat drivers",
];

/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Fills a brain from the demo corpus: pages, captures, a baseline, labels, a passing and a failing gate, and a suite
/// that failed and recovered. No server may be at work on it, and there must be no token yet.
pub fn seed(brain: &Gbrain, corpus: &Path) -> Result<()> {
    std::fs::write(brain.home().join("config.json"), CONFIG)?;
    let below = |name: &str| corpus.join(name).display().to_string();
    for source in ["wiki", "journal"] {
        run(brain, &["import", &below(source), "--source", source, "--quiet"], 0)?;
    }
    serve(brain, |caller| {
        capture(caller)?;
        send(caller, "PUT", "/v1/baselines/demo", &json!({ "why": "before the change" }))?;
        send(caller, "POST", "/v1/labels", &json!({ "labels": labels() }))?;
        finish_run(caller, &json!({ "kind": "gate", "baseline": "demo", "repeats": 1 }))
    })?;
    run(brain, &["config", "set", "search.cut_ratio", "0.9"], 0)?;
    serve(brain, |caller| {
        finish_run(caller, &json!({ "kind": "gate", "baseline": "demo", "repeats": 1 }))?;
        finish_run(
            caller,
            &json!({ "kind": "replay", "against": { "baseline": "demo" }, "verbose": true }),
        )
    })?;
    run(brain, &["config", "unset", "search.cut_ratio"], 0)?;
    run(brain, &["queries", "import", &below("queries.jsonl"), "--quiet"], 0)?;
    run(brain, &["suites", "enable", "smoke", "--file", &below("suites.yaml")], 0)?;
    run(brain, &["delete", "concepts/charge-floor", "--source", "wiki"], 0)?;
    run(brain, &["suites", "run", "smoke"], 1)?;
    run(brain, &["restore", "concepts/charge-floor", "--source", "wiki"], 0)?;
    run(brain, &["suites", "run", "smoke"], 0)
}

fn labels() -> Value {
    let label = |query: &str, page: &str, grade: u8| json!({ "query": query, "page": page, "grade": grade });
    json!([
        label("charge floor", "wiki::concepts/charge-floor", 3),
        label("HRB-131", "wiki::tickets/hrb-131", 3),
        label("What depends on Plug Gateway?", "wiki::services/charge-broker", 2),
    ])
}

fn run(brain: &Gbrain, arguments: &[&str], code: i32) -> Result<()> {
    let output = brain.run(arguments)?;
    ensure!(
        output.code == Some(code),
        "gbrain {arguments:?}: {:?}\n{}",
        output.code,
        output.stderr
    );
    Ok(())
}

fn serve(brain: &Gbrain, work: impl FnOnce(&mut Caller) -> Result<()>) -> Result<()> {
    let served = Served::start(brain.command(&["serve"]))?;
    work(&mut served.connect()?)?;
    served.stop().map(drop)
}

/// Asks the queries, and waits until their captures are stored.
fn capture(caller: &mut Caller) -> Result<()> {
    for query in QUERIES {
        send(caller, "POST", "/v1/query", &json!({ "query": query }))?;
    }
    let begun = Instant::now();
    loop {
        let stored = caller.get("/v1/captures")?.text().lines().count();
        if stored >= QUERIES.len() {
            return Ok(());
        }
        ensure!(begun.elapsed() < TIMEOUT, "{stored} of {} captures were stored", QUERIES.len());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a run, and follows its events to their end.
fn finish_run(caller: &mut Caller, body: &Value) -> Result<()> {
    let id =
        send(caller, "POST", "/v1/runs", body)?["id"].as_i64().context("a run without an id")?;
    let events = caller.get(&format!("/v1/runs/{id}/events"))?.text();
    ensure!(events.contains(r#""state":"done""#), "run {id}: {events}");
    Ok(())
}

fn send(caller: &mut Caller, method: &str, path: &str, body: &Value) -> Result<Value> {
    let answer = caller.send(method, path, body)?;
    ensure!(
        (200..300).contains(&answer.status),
        "{method} {path}: {} {}",
        answer.status,
        answer.text()
    );
    Ok(answer.json())
}
