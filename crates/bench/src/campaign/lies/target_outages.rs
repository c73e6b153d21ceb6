//! Targets that do not answer: a report calls that an outage, not a loss of recall.

use std::time::Duration;

use anyhow::Result;
use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer};
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;
use super::suites::{questions, suite_of};

/// How long an answer is waited for, in seconds: no honest one is late, and one that hangs does not hold up.
const PATIENCE: f64 = 2.0;

/// The fault injected into the question of this number.
type Trouble = fn(u64) -> Fault;

const TROUBLES: &[(&str, Trouble)] = &[
    ("every answer is a 500", |_| Fault::Status(500, None)),
    ("every answer is a 503", |_| Fault::Status(503, None)),
    ("every answer is a 429", |_| Fault::Status(429, None)),
    ("every answer hangs", |_| Fault::Hang(Duration::from_secs(4))),
    ("every other answer is a 500", |number| match number % 2 {
        0 => Fault::Status(500, None),
        _ => Fault::None,
    }),
    ("a quarter of the answers is a 429", |number| match number % 4 {
        0 => Fault::Status(429, None),
        _ => Fault::None,
    }),
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = TROUBLES.iter().map(troubled).collect();
    cases.push(Case::new(Class::Outage, "nobody listens", attempts(), |scene, rng| {
        questions(scene, &[("alpha", 25)], rng)?;
        suite_of(scene, "regression", "", "prod")?;
        scene.configure(&json!({ "prod": target("http://127.0.0.1:9") }))
    }));
    cases.push(Case::new(
        Class::Outage,
        "every answer is garbage",
        vec![
            Attempt::refused("suites run checks"),
            Attempt::new("suites history", Allowed::Told(&["usable answers"])),
            Attempt::new("alerts list --json", Allowed::Shown(one_outage)),
        ],
        |scene, rng| {
            questions(scene, &[("alpha", 25)], rng)?;
            serve(scene, |_| Fault::Garbage)
        },
    ));
    cases.push(Case::new(
        Class::Outage,
        "everything is answered",
        vec![Attempt::green("suites run checks --json"), Attempt::green("suites run checks")],
        |scene, rng| {
            questions(scene, &[("alpha", 25)], rng)?;
            serve(scene, |_| Fault::None)
        },
    ));
    cases
}

fn attempts() -> Vec<Attempt> {
    vec![
        Attempt::refused("suites run checks"),
        Attempt::refused("suites run checks --json"),
        Attempt::new("suites history", Allowed::Told(&["unreachable"])),
        Attempt::new("suites show 1", Allowed::Told(&["unreachable"])),
        Attempt::new("suites show 1", Allowed::Silent(&["recall@5 of all is"])),
        Attempt::new("alerts list", Allowed::Told(&["unreachable"])),
        Attempt::new("alerts list", Allowed::Silent(&["recall@5/all is"])),
        Attempt::new("alerts list --json", Allowed::Shown(one_outage)),
        Attempt::refused("triage 1"),
    ]
}

/// One alert tells of the outage, and none of a measure.
fn one_outage(body: &Value) -> bool {
    let alerts = body["alerts"].as_array().into_iter().flatten();
    let keys: Vec<&str> = alerts.filter_map(|one| one["key"].as_str()).collect();
    keys == ["gbrain/default/checks/unreachable"]
}

fn troubled((name, trouble): &(&'static str, Trouble)) -> Case {
    let trouble = *trouble;
    Case::new(Class::Outage, *name, attempts(), move |scene, rng| {
        questions(scene, &[("alpha", 25)], rng)?;
        serve(scene, trouble)
    })
}

/// Has the suite ask an API that knows every answer, with some trouble.
fn serve(scene: &mut Scene, trouble: Trouble) -> Result<()> {
    let mut known = std::collections::BTreeMap::new();
    for line in scene.rows("sampled.jsonl")? {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        known.insert(text(&line["query"]), text(&line["expected"][0]));
    }
    let reply = move |question: &Question| {
        let document = known.get(&question.text).cloned().unwrap_or_default();
        Reply { hits: vec![Hit::new(document, 0.9)], ..Reply::default() }
    };
    let server = RetrievalServer::start(reply, move |question| trouble(question.number))?;
    suite_of(scene, "regression", "", "prod")?;
    scene.configure(&json!({ "prod": target(&server.url()) }))?;
    scene.server = Some(server);
    Ok(())
}

fn target(url: &str) -> Value {
    json!({
        "kind": "http", "api": "lightfast-v1", "url": url, "timeout_seconds": PATIENCE, "attempts": 1,
    })
}
